"""What a person sees while a run goes on."""

import io
from typing import Any

import pytest
from rich.console import Console

from evolvability.config.schema import layered
from evolvability.training.progress import display


def row(generation: int) -> dict[str, Any]:
    values = {"variance": 11.872345, "entropy": 2.4191234, "fitness_mean": -0.0604812}
    return {"generation": generation, "num_invalid": 0, "seconds": 0.01} | values


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_shows_bar_time_left_and_every_number(width: int) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=width, color_system=None)
    with display(layered("interference", values={"generations": 2000}), console) as show:
        for generation in range(1999):
            show([row(generation)])
    last = screen.getvalue().replace("\r", "\n").split("generation ")[-1]
    assert last.startswith("1999/2000 ━")
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
