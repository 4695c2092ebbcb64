"""The reference of the command line, made from its parser: a page per command, one of tasks, one of objectives.

    python scripts/command_pages.py docs/commands

The documentation's build runs it first, so that the pages cannot differ from what `ees COMMAND --help` says.
"""

import argparse
import dataclasses
import functools
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import tyro

from evolvability import cli
from evolvability.cli import training
from evolvability.config.schema import PRESETS
from evolvability.config.tables import flat
from evolvability.core.entries import POPULATIONS, loaded
from evolvability.methods.registry import OBJECTIVES
from evolvability.tasks.options import EpisodeOptions
from evolvability.tasks.registry import TASKS, TaskEntry

OWN = ("task", "objective", "population")
"""Groups of options that differ from one task, objective and population to the next: they are on pages of their own."""

HEADER = "| option | default | meaning |\n|---|---|---|\n"


class ParserFoundError(Exception):
    """Carries what a command would have parsed with."""


def _caught(target: Any, **options: Any) -> NoReturn:
    raise ParserFoundError(target, options)


def parser_of(call: Callable[[], object]) -> Any:
    """The parser that ``call`` would parse with."""
    with mock.patch.object(tyro, "cli", _caught), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            call()
        except ParserFoundError as found:
            target, options = found.args
            options.pop("args", None)
            return tyro.extras.get_parser(target, **options)
    raise AssertionError("the command parses nothing")


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().replace("|", "\\|").replace("%%", "%")  # as argparse writes it


def _row(action: argparse.Action) -> str:
    names = [name for name in action.option_strings if not name.startswith("--no-")] or [str(action.metavar)]
    found = re.fullmatch(r"(.*?)\s*(?:\((?:default: (.*)|required)\))?", str(action.help or ""), re.DOTALL)
    meaning, default = (found[1], found[2] or "") if found else (str(action.help), "")
    if action.metavar and "{" in str(action.metavar):
        meaning += f" One of: {str(action.metavar).strip('{}').replace(',', ', ')}."
    shown = {"True": "on", "False": "off"}.get(default, default)
    return f"| `{', '.join(names)}` | {_cell(shown)} | {_cell(meaning)} |"


def tables(parser: argparse.ArgumentParser, shown: Callable[[str], bool]) -> Iterator[str]:
    """A table per group of options, of those whose titles are shown."""
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if "--help" not in action.option_strings]
        title = (group.title or "options").removesuffix(" options")
        if actions and shown(title):
            yield f"\n## {title[0].upper()}{title[1:]}\n\n{HEADER}"
            yield "".join(f"{_row(action)}\n" for action in actions)


def command_page(name: str) -> str:
    """The page of one command."""
    of_train = name == "train"
    call = (lambda: training.parse_train([training.UNNAMED])) if of_train else lambda: cli.run_command(name, [])
    text = re.split(r"\n\s*Args:", loaded(cli.COMMANDS[name]).__doc__ or "")[0]
    about = "\n".join(line.strip() for line in text.splitlines()).strip()
    if of_train:
        about += " The task comes first. Its own options and defaults are on [another page](tasks.md), those of "
        about += "[objectives and populations](objectives.md) on one more."
    return f"# ees {name}\n\n{about}\n" + "".join(tables(parser_of(call), lambda title: title not in OWN))


def _values(values: Mapping[str, Any]) -> str:
    return ", ".join(f"`{key.split('.')[-1]}` {value}" for key, value in flat(dict(values)))


def _options(name: str, arguments: list[str], kind: str, seen: dict[str, dict[str, str]]) -> str:
    """The own options of a task, an objective or a population; those of one like one before by what differs."""
    actions = parser_of(lambda: training.parse_train(arguments))._action_groups
    group = next(group for group in actions if (group.title or "").startswith(kind))
    rows = {action.dest: _row(action) for action in group._group_actions}
    for other, before in seen.items():
        if before.keys() == rows.keys():
            return f"\nIts options are those of {other}{_different(rows, before)}"
    for other, before in seen.items():
        same = [action for action in group._group_actions if before.get(action.dest) == rows[action.dest]]
        if len(same) > 3:
            seen[name] = rows
            shared = ", ".join(f"`{action.option_strings[0].split(',')[0]}`" for action in same)
            own = "".join(f"{row}\n" for key, row in rows.items() if before.get(key) != row)
            return f"\nAs with {other}: {shared}. Its own:\n\n{HEADER}{own}"
    seen[name] = rows
    return f"\n{HEADER}" + "".join(f"{row}\n" for row in rows.values())


def _different(rows: dict[str, str], before: dict[str, str]) -> str:
    """What differs: in a sentence where that is defaults alone."""
    changed = {row: before[key] for key, row in rows.items() if row != before[key]}
    cells = [[part.strip() for part in row.split(" | ")] for row in changed]
    if all(row.split(" | ")[2:] == other.split(" | ")[2:] for row, other in changed.items()):
        values = ", ".join(f"{cell[0].removeprefix('| ')} {cell[1]}" for cell in cells)
        return f", but {values}.\n" if values else ".\n"
    return f", but:\n\n{HEADER}" + "".join(f"{row}\n" for row in changed)


def tasks_page() -> str:
    """Presets, and every task but the robots."""
    parts = ["# Tasks and presets\n\nA task replaces some defaults of `ees train` and adds options of its own.\n"]
    parts.append("\n| preset | for | values for every task |\n|---|---|---|\n")
    parts += [f"| `{name}` | {about} | {_values(values)} |\n" for name, (about, values) in PRESETS.items()]
    return "".join(parts) + _tasks(lambda entry: not issubclass(entry.options, EpisodeOptions))


def robots_page() -> str:
    """Every robot."""
    return "# Robots\n" + _tasks(lambda entry: issubclass(entry.options, EpisodeOptions))


def _tasks(chosen: Callable[[TaskEntry], bool]) -> str:
    """Tasks: what each is, the values it starts from, its presets and its own options."""
    parts: list[str] = []
    seen: dict[str, dict[str, str]] = {}
    told: dict[str, str] = {}
    for name, entry in ((name, entry) for name, entry in TASKS.items() if chosen(entry)):
        parts.append(f"\n## {name}\n\n{entry.summary[0].upper()}{entry.summary[1:]}.\n")
        named = [("", entry.defaults)]
        named += [(f" with `--objective {key}`", value) for key, value in entry.objective_defaults.items()]
        named += [(f" with `--preset {key}`", value) for key, value in entry.presets.items()]
        texts = [f"{when}: {_values(values)}" for when, values in named if values]
        parts += [f"\nValues{text}.\n" for text in texts if text not in told]
        if all(text in told for text in texts) and texts:
            parts.append(f"\nValues are those of {told[texts[0]]}.\n")
        told |= {text: name for text in texts if text not in told}
        if dataclasses.fields(entry.options):
            parts.append(_options(name, [name], "task", seen))
    return "".join(parts)


def objectives_page() -> str:
    """Every objective and every population, and its own options."""
    parts = [
        "# Objectives and populations\n\nBoth add options of their own to `ees train`. Terms of a sum have theirs with "
        "the term in front: `--max-entropy.bandwidth 2`.\n"
    ]
    for kind, entries in (("objective", OBJECTIVES), ("population", POPULATIONS)):
        seen: dict[str, dict[str, str]] = {}
        for name, entry in entries.items():
            parts.append(f"\n## {name}\n\n{entry.summary[0].upper()}{entry.summary[1:]}.\n")
            if dataclasses.fields(entry.options):
                parts.append(_options(name, [training.UNNAMED, f"--{kind}", name], kind, seen))
    return "".join(parts)


def names() -> list[str]:
    """The pages' file names."""
    return ["tasks.md", "robots.md", "objectives.md", *(f"{name}.md" for name in cli.COMMANDS)]


@functools.cache
def pages() -> dict[str, str]:
    """Every page by its file's name."""
    return {
        "tasks.md": tasks_page(),
        "robots.md": robots_page(),
        "objectives.md": objectives_page(),
        **{f"{name}.md": command_page(name) for name in cli.COMMANDS},
    }


def write(folder: Path) -> None:
    """Write every page into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
