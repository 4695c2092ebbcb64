"""The explorer of one run as a single file that needs no server, for a paper's web page."""

import gzip
import json
from pathlib import Path

from evolvability.errors import ConfigError
from evolvability.explorer.page import page
from evolvability.explorer.service import Explorer
from evolvability.files import write_output
from evolvability.runs import Run, spread_out
from evolvability.studies.rebuilding import FRESH_TOGETHER


def export_page(
    run: Run,
    output: Path,
    *,
    generations: int = 25,
    members: int = 2000,
    mutations: int = 60,
) -> Path:
    """Write the explorer of one run as HTML.

    In it the slider moves over some of the generations, and a click plays the nearest of some fresh mutations of the
    last center, whose episodes lie in the file.

    Args:
        run: the run.
        output: the file.
        generations: how many of the recorded generations it holds.
        members: how many members of each.
        mutations: how many fresh mutations can be played.
    """
    if output.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"The explorer's file must end in .html, got '{output}'.")
    for name, value in (("generations", generations), ("members", members), ("mutations", mutations)):
        if value < 1:
            raise ConfigError(f"{name} must be 1 or more, got {value}.")
    explorer = Explorer([run], most=members)
    table = json.loads(explorer.answer("overview"))
    about = table["runs"][0]
    about["recorded"] = spread_out(about["recorded"], generations)
    about["rebuildable"] = run.rebuildable[-1:]
    about["seeds"] = about["seeds"][:1]
    about["done"] = True
    table["mutations"] = mutations
    questions = [f"cloud?run=0&seed=0&generation={generation}" for generation in about["recorded"]]
    questions += ["history?run=0&seed=0", "curves?run=0", "robot?run=0"]
    last = about["rebuildable"][0]
    questions.append(f"center?run=0&seed=0&generation={last}")
    chunks = -(-mutations // FRESH_TOGETHER)
    questions += [f"fresh?run=0&seed=0&generation={last}&chunk={chunk}" for chunk in range(chunks)]
    answers = {question: explorer.answer(question) for question in questions}
    for index in range(mutations):
        question = f"replay?run=0&seed=0&generation={last}&fresh={index}"
        answers[question] = explorer.answer(question)
    answers["overview"] = json.dumps(table).encode()
    compressed = {question: gzip.compress(content, mtime=0) for question, content in answers.items()}
    write_output(output, page(compressed).encode())
    return output
