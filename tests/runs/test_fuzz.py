"""Damaged copies of one run: every command gives the undisturbed answer, says what it did, or names what is wrong."""

import hashlib
import random
import re
import shutil
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolvability import Run, cli, evolve
from evolvability.config.schema import layered
from evolvability.runs.checkpoints import checkpoint_generations
from evolvability.studies.adaptation import Adaptation, save_adaptation
from evolvability.training import driver
from evolvability.training.evolution import Evolution

GENERATIONS = 6
SECONDS = 60  # that a command has
VALUES = {"population_size": 8, "generations": GENERATIONS, "seeds": 2, "record_every": 2, "checkpoint_seconds": 0.0}
CONFIG = layered("point", values=VALUES | {"task_options": {"num_steps": 3, "hidden": 2}})
Commands = dict[str, Callable[[Path], None]]


def export_and_show(path: Path) -> None:
    cli.main(["export", str(path), str(path.parent / "slim")])
    cli.main(["show", str(path.parent / "slim" / path.name)])


def resume_and_show(path: Path) -> None:
    cli.main(["resume", str(path), "--quiet"])
    run = Run(path)
    newest = checkpoint_generations(path)[-1]
    rows = [{name: value for name, value in row.items() if name != "seconds"} for row in run.rows]
    found = {
        "rows": rows,
        "state": as_bytes(run.checkpoint(newest)),
        **{str(one): as_bytes(run.behaviors(one)) for one in run.recorded},
    }
    print(newest, *(f"{name} {hashlib.sha256(str(value).encode()).hexdigest()[:8]}" for name, value in found.items()))


def as_bytes(arrays: Any) -> list[tuple[str, bytes]]:
    return sorted((name, array.tobytes()) for name, array in arrays.items())


QUICK: Commands = {
    "show": lambda path: cli.main(["show", str(path)]),
    "compare": lambda path: cli.main(["compare", str(path), "--metric", "variance"]),
    "measured": lambda path: cli.main(["compare", str(path), "--metric", "coverage"]),
    "adapted": lambda path: cli.main(["compare", str(path), "--metric", "adapted:right"]),
    "export": export_and_show,
    "resume": resume_and_show,
}
SLOW: Commands = {
    "figure": lambda path: cli.main(["figure", "curves", str(path), "--output", str(path.parent / "curves.png")]),
    "measure": lambda path: cli.main(["measure", str(path), "--offspring", "4"]),
}


class Overdue(BaseException):
    """Not to be taken for an error of a file."""


def overdue(number: int, frame: Any) -> None:
    raise Overdue


def flipped(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]


def overwritten(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data))
    block = chance.randbytes(64) if chance.random() < 0.5 else bytes(64)
    return (data[:place] + block + data[place + 64 :])[: len(data)]


def doubled(data: bytes, chance: random.Random) -> bytes:
    place, size = chance.randrange(len(data)), chance.randrange(1, 100)
    return data[: place + size] + data[place:]


DAMAGE: list[Callable[[bytes, random.Random], bytes]] = [
    flipped,
    flipped,
    overwritten,
    doubled,
    lambda data, chance: data[: chance.randrange(len(data))],
    lambda data, chance: data + chance.randbytes(20),
    lambda data, chance: b"",
]
REMOVED, ANOTHER_ONES = "removed", "in the place of another"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fuzz") / "run"
    evolve("point", CONFIG, output=path, progress=False)
    scores = np.arange(6.0).reshape(2, 3)
    save_adaptation(Run(path), Adaptation("right", 0.0, scores, scores[..., None], None, GENERATIONS))
    return path


@pytest.fixture(scope="module")
def trained(base: Path) -> Any:
    """Compiled once: what is tested is what is read and written."""
    whole = Evolution(CONFIG)
    return lambda config, *more: whole if config == CONFIG else Evolution(config, *more)


def answer(command: Callable[[Path], None], path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Any, str, str]:
    """The exit code of a command, what it said, and what it complained of; it has a minute."""
    code: Any = 0
    signal.signal(signal.SIGALRM, overdue)
    signal.alarm(SECONDS)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        try:
            command(path)
        except SystemExit as stop:
            code = stop.code
        except (Exception, Overdue) as error:
            code = f"{type(error).__name__}: {error}"
        finally:
            signal.alarm(0)
    said = capsys.readouterr()
    text = said.out.replace(str(path.parent), "")
    # Whether some of it was done again need not be said where all of it is as it was.
    about = r"wrote .*|.* in \d+ generations, [\d.]+ s|.*is complete.*|figures: .*|watch its mutations: .*|"
    lines = [line for line in text.splitlines() if not re.fullmatch(about, line)]
    return code, "\n".join(lines), said.err


def check(seed: int, base: Path, folder: Path, commands: Commands, whole: dict[str, str], capsys: Any) -> None:
    chance = random.Random(seed)
    copy = Path(shutil.copytree(base, folder / str(seed) / "run"))
    files = sorted(file for file in copy.rglob("*") if file.is_file() and file.name != ".lock")
    file = chance.choice(files)
    damage = chance.choice([*DAMAGE, REMOVED, ANOTHER_ONES])
    if damage == REMOVED:
        file.unlink()
    elif damage == ANOTHER_ONES:
        alike = [other for other in files if (other.parent, other.suffix) == (file.parent, file.suffix)]
        file.write_bytes(chance.choice(alike).read_bytes())
    elif callable(damage):
        file.write_bytes(damage(file.read_bytes(), chance))
    for name, command in commands.items():
        code, said, complained = answer(command, copy, capsys)
        story = f"seed {seed}: {name} after damage to {file.relative_to(copy)}: exit {code}\n{said}\n{complained}"
        assert code in (0, 2), story
        assert "Traceback" not in complained, story
        if code == 2:
            assert "error:" in complained, story
            assert str(copy.parent) in complained, story  # of the copy, or of its export
        elif said != whole[name]:
            assert "warning:" in complained, f"silent: {story}\n{whole[name]}"
            assert str(copy.parent) in complained, story
    shutil.rmtree(copy.parent)


def fuzz(seeds: range, commands: Commands, base: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    undisturbed = {}
    for name, command in commands.items():
        path = Path(shutil.copytree(base, folder / name / "run"))
        code, undisturbed[name], complained = answer(command, path, capsys)
        assert (code, complained) == (0, "")
    for seed in seeds:
        # Of the quick commands one each, in turn: all of them are for the full tier.
        own = dict([list(commands.items())[seed % len(commands)]]) if commands is QUICK else commands
        check(seed, base, folder, own, undisturbed, capsys)


def test_no_damage_is_silent(
    base: Path, trained: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "Evolution", trained)
    fuzz(range(50), QUICK, base, tmp_path, capsys)


@pytest.mark.full
def test_no_damage_of_a_thousand_is_silent(
    base: Path, trained: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "Evolution", trained)
    fuzz(range(1000, 2000), {**QUICK}, base, tmp_path, capsys)
    fuzz(range(2000, 2020), SLOW, base, tmp_path / "slow", capsys)
