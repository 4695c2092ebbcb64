"""Docs that run: every Python block, every command line, every example."""

import dataclasses
import functools
import inspect
import re
import runpy
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import pytest
import tyro

import evolvability
from evolvability import cli
from evolvability.cli import training
from evolvability.config.schema import PRESETS, Config
from evolvability.core.errors import UserError
from evolvability.figures.registry import FIGURES
from evolvability.methods.maml import MamlOptions
from evolvability.tasks.registry import TASKS
from evolvability.training.processes import Processes

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
EXAMPLES = {
    "own_task": r"angle 1\.00 -> 1\.[56]\d rad",
    "drive": r"left\.safetensors brings the cart to -.*\n.*right\.safetensors brings the cart to \+",
    "ask_and_tell": r"generation 60: spread [2-9]\.",
    "feasibility": r"are g in 4\d% and h in 4\d% of all cases",
}
NOT_RUN = "<!-- not run -->"
TINY = ("--generations", "2", "--population-size", "64", "--seeds", "1")  # as the Python block: compiled once
LONGER = "3"


class Block(NamedTuple):
    """A fenced block of a page: its language, its first line's number, its text, and whether it is marked."""

    language: str
    line: int
    text: str
    not_run: bool


def blocks(page: Path) -> Iterator[Block]:
    lines = page.read_text().splitlines()
    start, language, indent = None, "", ""
    for number, line in enumerate(lines):
        fence = re.fullmatch(r"(\s*)```(\w*).*", line)
        if fence is None:
            continue
        if start is None:
            start, indent, language = number + 1, fence[1], fence[2]
        else:
            text = "\n".join(body.removeprefix(indent) for body in lines[start:number])
            before = [above.strip() for above in lines[: start - 1] if above.strip()]
            yield Block(language, start + 1, text, before[-1:] == [NOT_RUN])
            start = None
    assert start is None, f"{page.name}: the block at line {start} is never closed"


def commands(page: Path) -> list[list[str]]:
    """The arguments of every `ees` command line in a page's shell blocks."""
    found = []
    for block in blocks(page):
        if block.language in ("bash", "console", "sh", "shell"):
            for line in block.text.replace("\\\n", " ").splitlines():
                words = shlex.split(line.removeprefix("$ "), comments=True)
                if words and Path(words[0]).name == "ees":
                    found.append(words[1:])
    return found


def with_python(page: Path) -> bool:
    return any(block.language == "python" for block in blocks(page))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary working directory, where nothing is shown on a screen."""
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if with_python(page)], ids=lambda page: page.name)
def test_python_blocks_run(page: Path, folder: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "docs"}
    for block in blocks(page):
        if block.language == "python" and not block.not_run:
            # Padded, so that a traceback names the page's own line.
            code = "\n" * (block.line - 1) + block.text
            exec(compile(code, str(page), "exec"), namespace)


class ParsedError(Exception):
    """Stands for a command whose options were all understood."""


@pytest.fixture
def parse(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], None]:
    """Parses a command line as `ees` does, and stops before anything is done."""
    real = tyro.cli

    def parse_only(target: Any, **options: Any) -> Any:
        if inspect.isclass(target):  # the dataclass of ees train
            return real(target, **options)

        @functools.wraps(target)
        def stop(*values: Any, **named: Any) -> None:
            raise ParsedError

        return real(stop, **options)

    def parse(arguments: list[str]) -> None:
        if not arguments or arguments[0].startswith("-"):
            assert arguments in ([], ["--help"], ["--version"])
            return
        name, *rest = arguments
        assert name in cli.COMMANDS, f"there is no command ees {name}"
        assert name != "figure" or rest[0] in FIGURES, f"there is no figure {rest[0]}"
        if name in ("train", "maml"):
            task = "point" if rest[0].startswith("-") else rest[0]
            monkeypatch.setattr(training, "read_toml", lambda path: {"task": task})
            training.parse_train([*rest, "--objective", "maml"] if name == "maml" else rest)
            return
        monkeypatch.setattr(tyro, "cli", parse_only)
        with pytest.raises(ParsedError):
            cli.run_command(name, rest)

    return parse


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_command_lines_are_understood(page: Path, parse: Callable[[list[str]], None]) -> None:
    for arguments in commands(page):
        try:
            parse(arguments)
        except (SystemExit, UserError) as error:
            pytest.fail(f"{page.name}: ees {shlex.join(arguments)}: {error}")


def tiny(arguments: list[str]) -> list[str]:
    """The same command with little to do."""
    if arguments[0] == "train":
        return [*arguments, *TINY, "--quiet"]
    return [
        LONGER if before == "--generations" else word for before, word in zip(["", *arguments], arguments, strict=False)
    ]


def test_getting_started_works_from_its_first_command_to_its_last(folder: Path) -> None:
    for arguments in commands(ROOT / "docs" / "getting-started.md"):
        cli.main(tiny(arguments))
    assert {"behaviors.png", "curves.png", "comparison.png", "figure1.png"} <= {path.name for path in folder.iterdir()}
    assert evolvability.Run("runs/first").config.generations == int(LONGER)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run_and_show_what_they_claim(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "examples" / name
    path = path if path.is_dir() else path.with_suffix(".py")
    script = path / "__main__.py" if path.is_dir() else path
    assert len(script.read_text().splitlines()) < 60
    runpy.run_path(str(path), run_name="__main__")
    assert re.search(EXAMPLES[name], capsys.readouterr().out)
    assert name != "own_task" or (folder / "cannon.png").stat().st_size > 10_000


def test_command_line_page_explains_every_option() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text()
    classes = (Config, training.TrainOptions, Processes, training.WorkerOptions, MamlOptions)
    options = [field for cls in classes for field in dataclasses.fields(cls)]
    options += [field for entry in TASKS.values() for field in dataclasses.fields(entry.options)]
    names = {field.name for field in options} - {"task", "task_options", "evaluation", "maml"}
    missing = [name for name in names if f"`--{name.replace('_', '-')}`" not in text]
    assert not missing
    assert all(f"`{name}`" in text for name in (*FIGURES, *PRESETS, *TASKS))
    assert all(f"- {name}: " in (cli.COMMANDS["figure"].__doc__ or "") for name in FIGURES)


def test_reference_has_every_public_name() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    assert [name for name in evolvability.__all__ if f"::: evolvability.{name}\n" not in text] == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    assert [page.name for page in PAGES[:-1] if f": {page.name}\n" not in navigation] == []


def test_results_stay_light() -> None:
    sizes = {path: path.stat().st_size for path in (ROOT / "results").rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 20e6
    assert [path for path, size in sizes.items() if size > 2e6] == []
