"""The explorer of one run as a single file that needs no server, for a paper's web page."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from evolvability.core.errors import ConfigError
from evolvability.explorer import data
from evolvability.explorer.page import page
from evolvability.explorer.service import Explorer
from evolvability.runs.files import write_output
from evolvability.runs.folder import Run, spread_out
from evolvability.studies.rebuild import FRESH_TOGETHER
from evolvability.tasks.replay import HostArray

GENERATIONS, MEMBERS = 25, 2000  # that the page has of a run, at most
PICTURES = 100  # of an episode of a task that draws itself


def export_page(run: Run, output: Path, embed: int | None = None) -> Path:
    """Write the explorer of one run as HTML.

    In it the slider moves over some of the generations. A click on a point plays the nearest of ``embed`` members of
    the last generation that can be rebuilt; a click on the ground the nearest of as many fresh mutations of the last
    center. Their episodes are in the file, by default 50, or 10 of a task that draws itself, as pictures take much
    more room than poses.
    """
    check_ending(output)
    if embed is not None and embed < 1:
        raise ConfigError(f"embed must be 1 or more, got {embed}.")
    last = run.rebuildable[-1:]
    if not last:
        raise ConfigError("No center of this run was kept, so the file would have nothing to play.")
    explorer = Explorer([run], most=MEMBERS, pictures=PICTURES)
    draws = json.loads(explorer.answer("robot?run=0"))["draws"]
    embed = embed or (10 if draws else 50)
    table = json.loads(explorer.answer("overview")) | {"mutations": embed}
    about = table["runs"][0]
    about |= {"recorded": spread_out(about["recorded"], GENERATIONS), "rebuildable": last, "done": True}
    # The page offers what is named here: one seed, since answers for others are not in the file.
    about |= {"seeds": about["seeds"][:1], "embedded": _embedded(run, embed)}
    answers = {question: explorer.answer(question) for question in _questions(about, embed)}
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
    questions += [f"replay?{center}&fresh={index}" for index in range(mutations)]
    if about["embedded"]:
        parent = f"run=0&seed=0&generation={about['embedded']['generation']}"
        questions += [f"replay?{parent}&member={index}" for index in about["embedded"]["members"]]
    return questions


def _embedded(run: Run, number: int) -> dict[str, Any] | None:
    """Which members can be played: of the last generation that was recorded and can be rebuilt, if there is one."""
    known = sorted(set(run.recorded) & set(run.rebuildable))
    if not known:
        return None
    shown = data.cloud(run, known[-1], 0, MEMBERS)
    rows = scattered(shown["behavior"], number)
    chosen = {"members": shown["index"][rows].tolist(), "behavior": shown["behavior"][rows].tolist()}
    return {"generation": known[-1], **chosen}


def scattered(points: HostArray, number: int) -> HostArray:
    """Rows of (num_points, num_dimensions) points, each as far as can be from those before it.

    >>> scattered(np.array([[0.0], [0.1], [1.0], [5.0]]), 3)
    array([3, 0, 2])
    """
    rows: list[int] = []
    away = np.linalg.norm(points - points.mean(axis=0), axis=1) if len(points) else np.zeros(0)
    while len(rows) < min(number, len(points)):
        rows.append(int(away.argmax()))
        from_last = np.linalg.norm(points - points[rows[-1]], axis=1)
        away = from_last if len(rows) == 1 else np.minimum(away, from_last)
    return np.array(rows, int)
