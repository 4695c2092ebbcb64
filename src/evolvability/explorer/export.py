"""The explorer of one run as a single file that needs no server, for a paper's web page."""

import gzip
import json
from pathlib import Path
from typing import Any

from evolvability.core.errors import ConfigError
from evolvability.explorer.page import page
from evolvability.explorer.service import Explorer
from evolvability.runs.files import write_output
from evolvability.runs.folder import Run, spread_out
from evolvability.studies.rebuild import FRESH_TOGETHER

GENERATIONS, MEMBERS = 25, 2000  # that the page has of a run, at most
PICTURES = 100  # of an episode of a task that draws itself
MUTATIONS, DRAWN = 50, 10  # whose episodes it has; of a task that draws itself fewer, since pictures take much room


def export_page(run: Run, output: Path) -> Path:
    """Write the explorer of one run as HTML, for tasks that no playground can simulate.

    In it the slider moves over some of the generations. A click plays the nearest of some fresh mutations of the last
    center, whose episodes lie in the file.
    """
    check_ending(output)
    last = run.rebuildable[-1:]
    if not last:
        raise ConfigError("No center of this run was kept, so the file would have nothing to play.")
    explorer = Explorer([run], most=MEMBERS, pictures=PICTURES)
    draws = json.loads(explorer.answer("robot?run=0"))["draws"]
    table = json.loads(explorer.answer("overview")) | {"mutations": DRAWN if draws else MUTATIONS}
    about = table["runs"][0]
    about |= {"recorded": spread_out(about["recorded"], GENERATIONS), "rebuildable": last, "done": True}
    # The page offers what is named here: one seed, since answers for others are not in the file.
    about |= {"seeds": about["seeds"][:1]}
    answers = {question: explorer.answer(question) for question in _questions(about, table["mutations"])}
    answers["overview"] = json.dumps(table).encode()
    # Without the time, so that the same run gives the same file.
    compressed = {question: gzip.compress(content, mtime=0) for question, content in answers.items()}
    write_output(output, page(compressed).encode())
    return output


def check_ending(output: Path) -> None:
    """Refuse a file that no browser would open as a page."""
    if output.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"The page's file must end in .html, got '{output}'.")


def _questions(about: dict[str, Any], mutations: int) -> list[str]:
    """What the page may ask for, given the description of the run."""
    center = f"run=0&seed=0&generation={about['rebuildable'][-1]}"
    questions = ["history?run=0&seed=0", "curves?run=0", "robot?run=0", f"center?{center}"]
    questions += [f"cloud?run=0&seed=0&generation={generation}" for generation in about["recorded"]]
    questions += [f"fresh?{center}&chunk={chunk}" for chunk in range(-(-mutations // FRESH_TOGETHER))]
    return questions + [f"replay?{center}&fresh={index}" for index in range(mutations)]
