"""Docs that run: every Python block, every command line, every example and notebook; and links that lead somewhere."""

import dataclasses
import functools
import importlib.util
import inspect
import itertools
import json
import re
import runpy
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import command_pages
import matplotlib as mpl
import pytest
import run_notebooks
import tyro

import evolvability
from evolvability import cli
from evolvability.cli import training
from evolvability.config.schema import PRESETS, Config
from evolvability.core.entries import POPULATIONS
from evolvability.core.errors import UserError
from evolvability.explorer.server import Server
from evolvability.figures.registry import FIGURES
from evolvability.methods.registry import OBJECTIVES
from evolvability.tasks.registry import TASKS

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
EXAMPLES = {
    "own_task": r"angle 1\.00 -> 1\.[56]\d rad",
    "drive": r"left\.safetensors brings the cart to -.*\n.*right\.safetensors brings the cart to \+",
    "ask_and_tell": r"generation 60: spread [2-9]\.",
    "feasibility": r"are g in 4\d% and h in 4\d% of all cases",
}
OTHER_EXAMPLES = [name for name in EXAMPLES if name != "own_task"]
NOT_RUN = "<!-- not run -->"
MAY_MISS = {"evosax", "ribs", "tensorboard"}
"""Packages of others that a platform may have no wheels of: what a page shows of them is left out there."""
OWN_ROBOT = ROOT / "docs" / "own-robot.md"
QUICK_START = ROOT / "docs" / "quick-start.md"
WORDS, WORDS_OF_A_PAGE = 30_500, 1_500
LONGER = "3"

SMALL = ("--generations", "2", "--seeds", "1", "--quiet")
SMALLER = {
    "cheetah": ("--num-steps", "2", "--hidden", "4", "--engine", "mujoco"),  # compiles nothing
    "gymnasium": ("--num-steps", "3", "--hidden", "4", "--workers", "0"),
    "cannon:task": ("--population-size", "16"),
    "tripod.xml": ("--num-steps", "2", "--hidden", "4", "--engine", "mujoco"),
    "my.xml": ("--num-steps", "2", "--hidden", "4", "--engine", "mujoco"),
}
LITTLE = {
    "adapt": ("--mutations", "4", "--repeats", "1"),
    "race": ("--episodes", "10", "--repeats", "1"),
    "measure": ("--mutations", "8"),
    "evolve-from": ("--generations", "2"),
    "split": ("--generations", "2"),
    "explore": ("--no-browser",),
    "reproduce": ("--dry-run",),  # `make smoke` does it
    "maml": (
        "--generations",
        "1",
        "--seeds",
        "1",
        "--tasks",
        "2",
        "--episodes-per-task",
        "2",
        "--num-steps",
        "3",
        "--quiet",
    ),
}
"""Options that leave a command little to do. The last of an option given twice wins."""


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


def commands(page: Path, *, runnable: bool = False) -> list[list[str]]:
    """The arguments of every `ees` command line in a page's shell blocks; or of those that can be run."""
    found = []
    for block in blocks(page):
        if block.language in ("bash", "console", "sh", "shell") and not (runnable and block.not_run):
            for line in block.text.replace("\\\n", " ").splitlines():
                words = shlex.split(line.removeprefix("$ ").removesuffix("&"), comments=True)
                if words and Path(words[0]).name == "ees":
                    found.append(words[1:])
    return found


def with_python(page: Path) -> bool:
    return any(block.language == "python" for block in blocks(page))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary working directory with the robot that pages speak of, where nothing is shown on a screen."""
    monkeypatch.chdir(tmp_path)
    for name in ("tripod.xml", "my.xml"):
        Path(name).write_text(next(block.text for block in blocks(OWN_ROBOT) if block.language == "xml"))
    mpl.use("Agg")
    monkeypatch.setattr(Server, "serve_forever", lambda server, **_: server.server_close())
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if with_python(page)], ids=lambda page: page.name)
def test_python_blocks_run(page: Path, folder: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "docs"}
    missing: set[str] = set()
    for block in blocks(page):
        if block.language == "python" and not block.not_run:
            imported = set(re.findall(r"^(?:import|from) (\w+)", block.text, re.MULTILINE))
            if lacks := {name for name in MAY_MISS & imported if importlib.util.find_spec(name) is None}:
                missing |= lacks
                continue
            # Padded, so that a traceback names the page's own line.
            code = "\n" * (block.line - 1) + block.text
            exec(compile(code, str(page), "exec"), namespace)
    if missing:
        pytest.skip(f"not installed, so that their blocks were left out: {', '.join(sorted(missing))}")


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
    """The same command with little to do, its patterns expanded."""
    name, *rest = arguments
    rest = [path for word in rest for path in (sorted(map(str, Path().glob(word))) if word.endswith("/*") else [word])]
    given = {"--generations": LONGER} if name == "resume" else {"--generation": "1"}  # the last of a shorter run
    rest = [given.get(before, word) for before, word in itertools.pairwise(["", *rest])]
    if name == "train":
        size = () if "--chunk-size" in rest else ("--population-size", "64")
        return [name, *rest, *size, *SMALL, *SMALLER.get(rest[0], ())]
    return [name, *rest, *LITTLE.get(name, ())]


def test_quick_start_works_from_its_first_command_to_its_last(folder: Path) -> None:
    for arguments in commands(QUICK_START, runnable=True):
        cli.main(tiny(arguments))
    assert {"behaviors.png", "comparison.png", "figure1.png"} <= {path.name for path in folder.iterdir()}
    assert evolvability.Run("runs/first").config.generations == int(LONGER)


def module_named(page: Path, name: str) -> str:
    """The first Python block of a page that defines a name, for commands that import it."""
    return next(block.text for block in blocks(page) if block.language == "python" and f"{name} = " in block.text)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run for pages that take one for granted."""
    path: Path = tmp_path_factory.mktemp("docs") / "run"
    evolvability.evolve("point", generations=2, population_size=64, output=str(path), progress=False)
    return path


OTHERS = [page for page in PAGES if commands(page, runnable=True) and page != QUICK_START]


@pytest.mark.full
@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.name)
def test_every_command_of_a_page_runs(page: Path, folder: Path, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    (folder / "cannon.py").write_text(module_named(ROOT / "docs" / "tasks.md", "task"))
    (folder / "brains.py").write_text(module_named(ROOT / "docs" / "own-network.md", "shape"))
    for arguments in commands(page, runnable=True):
        if "BipedalWalker-v3" in arguments and importlib.util.find_spec("Box2D") is None:
            continue
        if any(importlib.util.find_spec(name) is None for name in MAY_MISS.intersection(arguments)):
            continue
        for before, word in itertools.pairwise(arguments):
            taken_for_granted = re.fullmatch(r"runs/[\w-]+", word) and before != "--output"
            if taken_for_granted and not Path(word).exists():
                shutil.copytree(trained, word)
        cli.main(tiny(arguments))


@pytest.mark.parametrize("name", ["own_task", *(pytest.param(name, marks=pytest.mark.full) for name in OTHER_EXAMPLES)])
def test_examples_run_and_show_what_they_claim(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "examples" / name
    path = path if path.is_dir() else path.with_suffix(".py")
    script = path / "__main__.py" if path.is_dir() else path
    assert len(script.read_text().splitlines()) < 60
    runpy.run_path(str(path), run_name="__main__")
    assert re.search(EXAMPLES[name], capsys.readouterr().out)
    assert name != "own_task" or (folder / "cannon.png").stat().st_size > 10_000


def pictures_in(notebook: dict[str, Any]) -> int:
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    return sum("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("path", run_notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_small_and_open_with_pictures_in_them(path: Path) -> None:
    assert path.stat().st_size < 500_000
    assert pictures_in(json.loads(path.read_text())) >= 2


@pytest.mark.full
@pytest.mark.parametrize("path", run_notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, folder: Path) -> None:
    assert pictures_in(run_notebooks.executed(path)) == pictures_in(json.loads(path.read_text()))


@pytest.mark.parametrize("name", [name for name in cli.COMMANDS if name != "train"])
def test_the_help_of_an_option_has_no_line_breaks_of_a_docstring(name: str) -> None:
    actions = command_pages.parser_of(lambda: cli.run_command(name, []))._actions
    assert actions
    assert [action.dest for action in actions if "\n" in str(action.help)] == []


def test_pages_of_commands_explain_every_option() -> None:
    text = "".join(command_pages.pages().values())
    classes: list[Any] = [Config, training.TrainOptions, training.WorkerOptions]
    for entries in (TASKS, OBJECTIVES, POPULATIONS):
        classes += [entry.options for entry in entries.values()]
    options = [field for cls in classes for field in dataclasses.fields(cls)]
    names = {field.name for field in options} - {
        "task", "task_options", "objective_options", "population_options", "digest"
    }  # fmt: skip
    missing = [name for name in names if not re.search(rf"`--{name.replace('_', '-')}[`,]", text)]
    assert not missing
    assert all(f"`{name}`" in text or f"## {name}\n" in text for name in (*PRESETS, *TASKS, *OBJECTIVES, *POPULATIONS))
    assert all(f"- {name}: " in text for name in FIGURES)
    overview = (ROOT / "docs" / "command-line.md").read_text()
    assert [name for name in cli.COMMANDS if f"[{name}](commands/{name}.md)" not in overview] == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "zensical.toml").read_text()
    names = [page.name for page in PAGES[:-1]] + [f"commands/{name}" for name in command_pages.names()]
    assert [name for name in names if f'"{name}"' not in navigation] == []


def test_pages_stay_short() -> None:
    # Pages of the API are lists of names, which nobody reads from top to bottom.
    words = {page.name: len(page.read_text().split()) for page in PAGES if not page.name.startswith("api")}
    assert {name: count for name, count in words.items() if count > WORDS_OF_A_PAGE} == {}
    assert sum(words.values()) < WORDS
    assert all(len(text.split()) <= WORDS_OF_A_PAGE for text in command_pages.pages().values())


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Where links into a page may lead: its headings, as the site and GitHub spell them, and names of the reference."""
    text = prose(page)
    headings = [re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", found) for found in re.findall(r"^#+ (.*)$", text, re.M)]
    slugs = {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}
    members = re.findall(r"^::: (\S+)\n    options:\n      members: \[(.*)\]", text, re.M)
    return (
        slugs
        | set(re.findall(r"^::: (\S+)$", text, re.M))
        | {f"{module}.{name}" for module, names in members for name in names.split(", ")}
    )


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "results").rglob("README.md"))], ids=str
)
def test_links_lead_somewhere(page: Path) -> None:
    made = {ROOT / "docs" / "commands" / name for name in command_pages.names()} | {ROOT / "docs/playground/live.html"}
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists() or found in made, f"{page.name}: {target}"
        assert not anchor or anchor in anchors(found), f"{page.name}: {target} is not a heading there"


def test_nothing_is_fetched_from_elsewhere() -> None:
    """Formulas, fonts and scripts of the site are its own."""
    text = (ROOT / "zensical.toml").read_text()
    assert "https://" not in text
    assert "font = false" in text
    for name in re.findall(r'"(assets/[^"]+)"', text):
        assert (ROOT / "docs" / name).is_file()
    fonts = re.findall(r"url\(([^)]+)\)", (ROOT / "docs/assets/katex/katex.min.css").read_text())
    assert fonts
    assert all((ROOT / "docs/assets/katex" / font).is_file() for font in fonts)


def test_results_stay_light() -> None:
    sizes = {path: path.stat().st_size for path in (ROOT / "results").rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 30e6
    assert [path for path, size in sizes.items() if size > 2e6] == []
