"""What a person sees while a run goes on."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from evolvability import evolve, resume
from evolvability.config.schema import layered
from evolvability.training import progress
from evolvability.training.progress import display


def row(generation: int, seconds: float = 0.01) -> dict[str, Any]:
    values = {"variance": 11.872345, "entropy": 2.4191234, "fitness_mean": -0.0604812}
    return {"generation": generation, "num_invalid": 0, "seconds": seconds} | values


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_shows_bar_time_left_and_every_number(width: int) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=width, color_system=None)
    with display(layered("interference", values={"generations": 2000}), console) as show:
        for generation in range(1999):
            show([row(generation)])
    last = screen.getvalue()[screen.getvalue().rindex("1999/2000 generations ━") :]
    assert " left 0:" in last
    assert "variance 11.87  entropy 2.419  fitness -0.06048" in last
    assert "50,000 evaluations/s" in last
    assert "…" not in last


def test_what_is_no_terminal_gets_plain_lines() -> None:
    lines = io.StringIO()
    with display(layered("interference", values={"generations": 40}), Console(file=lines, width=80)) as show:
        for generation in range(40):
            show([row(generation)])
    assert len(lines.getvalue().splitlines()) == 21  # the first, and every second of 40
    assert "\x1b" not in lines.getvalue()


def test_plain_lines_tell_the_time_left_once_a_generation_that_does_not_compile_is_done() -> None:
    """Also where nothing was estimated before, as on a GPU."""
    text = io.StringIO()
    with display(layered("interference", values={"generations": 40}), Console(file=text, width=80)) as show:
        for generation in range(40):
            show([row(generation, seconds=90.0 if generation == 0 else 3.0)])
    first, second, *_, last = text.getvalue().splitlines()
    assert [" left" in line for line in (first, last)] == [False, False]
    assert second.endswith("about 2 min left")  # 38 generations of 3 s


def test_evolve_and_resume_show_the_same_on_a_terminal_and_nothing_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def screen(is_terminal: bool) -> io.StringIO:
        text = io.StringIO()
        monkeypatch.setattr(progress, "Console", lambda **_: Console(file=text, force_terminal=is_terminal))
        return text

    seen = screen(is_terminal=True)
    evolve("interference", objective="max_variance", generations=2, population_size=4, output=tmp_path / "run")
    assert "2/2" in seen.getvalue()
    assert "variance" in seen.getvalue()
    seen = screen(is_terminal=True)
    resume(tmp_path / "run", generations=3, progress=False)
    assert seen.getvalue() == ""
    resume(tmp_path / "run", generations=4)
    assert "4/4" in seen.getvalue()
    seen = screen(is_terminal=False)
    evolve("interference", generations=2, population_size=4)
    assert seen.getvalue() == ""


def test_a_notebook_without_widgets_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr("rich.jupyter.display", lambda segments, text: lines.append(text))
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    monkeypatch.setattr(progress, "Console", lambda **_: Console(force_jupyter=True))
    evolve("interference", objective="max_variance", generations=2, population_size=4)
    assert ["1/2 generations " in lines[0], "2/2 generations " in lines[-1]] == [True, True]
