"""Arguments that several commands have."""

from collections.abc import Mapping, Sequence
from dataclasses import make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from tyro.conf import Positional, arg

from evolvability.config.schema import UNSET
from evolvability.core.errors import ConfigError
from evolvability.runs.files import check_is_run
from evolvability.tasks.circumstances import Circumstances, circumstances_in, usual_circumstances

if TYPE_CHECKING:
    from evolvability.runs.folder import Run

RunPath = Annotated[Path, Positional, arg(metavar="RUN")]
RunPaths = Annotated[tuple[Path, ...], Positional, arg(metavar="RUN [RUN ...]"), UNSET]
File = Annotated[Path | None, arg(metavar="FILE"), UNSET]
Folder = Annotated[Path | None, arg(metavar="FOLDER"), UNSET]
Count = Annotated[int, arg(metavar="N")]
MaybeCount = Annotated[int | None, arg(metavar="N"), UNSET]
MaybeFloat = Annotated[float | None, arg(metavar="FLOAT"), UNSET]
Dimensions = Annotated[str, arg(metavar="I,J[,K]"), UNSET]
Goals = Annotated[tuple[str, ...], arg(metavar="GOAL [GOAL ...]")]

# The options of `Circumstances`, with its help, but each may be left out: then it is what it usually is.
_Asked: Any = make_dataclass(
    "Asked",
    [
        (name, Annotated[kind | None, arg(metavar=kind.__name__.upper()), UNSET], None)
        for name, kind in get_type_hints(Circumstances).items()
    ],
    bases=(Circumstances,),
    frozen=True,
    namespace={"__post_init__": lambda self: None},  # what is asked for is checked in `circumstances_for`
)
NOTHING_ASKED: Circumstances = _Asked()
AskedCircumstances = Annotated[Circumstances, arg(constructor=_Asked, name="circumstances")]


def given_circumstances(asked: Circumstances) -> dict[str, Any]:
    """What was asked for on the command line."""
    return {name: value for name, value in circumstances_in(asked).items() if value is not None}


def circumstances_for(run: "Run", asked: Circumstances) -> Circumstances | None:
    """A run's usual circumstances, with those that were asked for; None if none were."""
    given = given_circumstances(asked)
    return replace(usual_circumstances(run.config.task_options), **given) if given else None


def open_runs(paths: Sequence[Path], dimensions: str = "", *, trust: bool = False) -> "list[Run]":
    """The run folders that a command was given, at least one; dimensions: as `parse_dimensions` takes them."""
    if not paths:
        raise ConfigError("give at least one run folder.")
    for path in paths:
        check_is_run(path)  # before JAX is loaded
    shown = parse_dimensions(dimensions)
    from evolvability.runs.folder import Run

    return [Run(path, shown, trust=trust) for path in paths]


def check_alone(what: str, others: Mapping[str, object]) -> None:
    """Refuse options that something does not heed; others: by name, what they were given."""
    if ignored := [option for option, value in others.items() if value]:
        raise ConfigError(f"ees {what} does nothing else: leave out {', '.join(ignored)}.")


def parse_dimensions(text: str) -> tuple[int, ...]:
    """Behavior dimensions from a text such as ``0,2``; none from an empty one."""
    numbers = parse_numbers(text, "--dimensions")
    if len(numbers) > 3:
        raise ConfigError(f"--dimensions takes one to three numbers, got '{text}'.")
    return numbers


def parse_numbers(text: str, option: str) -> tuple[int, ...]:
    """The numbers in an option's text.

    >>> parse_numbers("0,2", "--dimensions")
    (0, 2)
    """
    parts = text.split(",") if text else []
    if not all(part.isdecimal() for part in parts):
        raise ConfigError(f"{option} takes numbers, e.g. 1,2, got '{text}'.")
    return tuple(map(int, parts))
