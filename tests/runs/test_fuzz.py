"""Damaged copies of one run: every command gives the undisturbed answer, says what it did, or names what is wrong.

A copy has one to three damages; where a command fails, each is tried alone, and the one that is enough is named. The
long test draws new ones every time, and prints the seed; ``FUZZ_SEED`` repeats it.
"""

import hashlib
import json
import os
import random
import re
import secrets
import shutil
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import safetensors.numpy

from evolvability import Run, cli, evolve
from evolvability.config.schema import layered
from evolvability.core.errors import UserError
from evolvability.explorer.service import Explorer
from evolvability.runs.checkpoints import checkpoint_generations
from evolvability.runs.sealed import to_bytes, to_json
from evolvability.studies.adaptation import Adaptation, save_adaptation

FIRST = int(os.environ.get("FUZZ_SEED", secrets.randbelow(10**6)))
"""Of the damages of the long test: new ones every time, or those that are asked for."""
GENERATIONS = 6
SECONDS = 60  # that a command has
VALUES = {"population_size": 8, "generations": GENERATIONS, "seeds": 2, "objective": "max_variance"}
VALUES |= {"record_every": 2, "checkpoint_seconds": 0.0}
CONFIG = layered("point", values=VALUES | {"task_options": {"num_steps": 3, "hidden": 2}})
Commands = dict[str, Callable[[Path], None]]


def export_and_show(path: Path) -> None:
    cli.main(["export", str(path), str(path.parent / "slim")])
    cli.main(["show", str(path.parent / "slim" / path.name)])


def explore(path: Path) -> None:
    print(Explorer([Run(path)]).answer("overview").decode())


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
    "explore": explore,
    "resume": resume_and_show,  # last: it mends what it can
}
SLOW: Commands = {
    "figure": lambda path: cli.main(["figure", "curves", str(path), "--output", str(path.parent / "curves.png")]),
    "measure": lambda path: cli.main(["measure", str(path), "--mutations", "4"]),
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
FORGED = [10**400, -1, 1e300, 10**9, [], {}, None, "x" * 300, True, [1], "<img src=x>"]
"""Values with a checksum that fits."""


def removed(file: Path, chance: random.Random) -> None:
    file.unlink()


def another_ones(file: Path, chance: random.Random) -> None:
    alike = [other for other in sorted(file.parent.iterdir()) if other.suffix == file.suffix]
    file.write_bytes(chance.choice(alike).read_bytes())


def unsealed(file: Path, chance: random.Random) -> None:
    if file.suffix == ".safetensors":
        file.write_bytes(safetensors.numpy.save(safetensors.numpy.load_file(file), {"generation": file.stem}))
    else:
        file.write_text(re.sub(r'(,\s*"checksum": "\w+"|# checksum \w+\n)', "", file.read_text()))


def flooded(file: Path, chance: random.Random) -> None:
    file.write_bytes(file.read_bytes() + chance.choice([b"\n", b"{}\n", b" "]) * 100_000)


def a_pipe(file: Path, chance: random.Random) -> None:
    file.unlink()
    os.mkfifo(file)


def a_link(file: Path, chance: random.Random) -> None:
    file.unlink()
    file.symlink_to("/etc/passwd")


def forged(file: Path, chance: random.Random) -> None:
    """Some value is another, and the checksum fits: what is read must be looked at, too."""
    if file.suffix == ".safetensors":
        arrays = safetensors.numpy.load_file(file)
        name = chance.choice(sorted(arrays))
        arrays[name] = chance.choice(
            [arrays[name][:0], arrays[name][..., None], np.full_like(arrays[name], 1), np.ones(3)]
        )
        file.write_bytes(to_bytes(arrays, {"generation": file.stem}))
    elif file.suffix in (".json", ".jsonl"):
        lines = file.read_text().split("\n") if file.suffix == ".jsonl" else [file.read_text()]
        place = chance.randrange(len(lines))
        table = json.loads(lines[place] or "{}")
        table.pop("checksum", None)
        table[chance.choice([*table, "new"])] = chance.choice(FORGED)
        file.write_text("\n".join([*lines[:place], to_json(table), *lines[place + 1 :]]))


KINDS = [*DAMAGE, removed, another_ones, unsealed, flooded, a_pipe, a_link, forged, forged]


class Damage(NamedTuple):
    """What becomes of which file."""

    file: str
    kind: int
    seed: int

    def do(self, copy: Path) -> None:
        kind, chance, file = KINDS[self.kind], random.Random(self.seed), copy / self.file
        if file.is_symlink() or not file.is_file() or not file.stat().st_size:
            return  # after another damage
        try:
            kind(file, chance) if self.kind >= len(DAMAGE) else file.write_bytes(kind(file.read_bytes(), chance))  # type: ignore[operator]
        except (ValueError, safetensors.SafetensorError):
            file.write_bytes(b"damaged twice")

    def __str__(self) -> str:
        kind = KINDS[self.kind]
        return f"{kind.__name__} {self.file}"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fuzz") / "run"
    evolve("point", CONFIG, output=path, progress=False)
    scores = np.arange(6.0).reshape(2, 3)
    save_adaptation(Run(path), Adaptation("right", 0.0, scores, scores[..., None], None, GENERATIONS))
    return path


def answer(command: Callable[[Path], None], path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Any, str, str]:
    """The exit code of a command, what it said, and what it complained of; it has a minute."""
    code: Any = 0
    signal.signal(signal.SIGALRM, overdue)
    signal.alarm(SECONDS)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
        try:
            command(path)
        except SystemExit as stop:
            code = stop.code
        except UserError as error:  # as the command line does, where this reads by itself
            code = 2
            print(f"error: {error}", file=sys.stderr)
        except (Exception, Overdue) as error:
            code = f"{type(error).__name__}: {error}"
        finally:
            signal.alarm(0)
    said = capsys.readouterr()
    # Tables are as wide as the path in them, which is another for every copy.
    text = re.sub(r"[ ━─]+", " ", said.out.replace(str(path.parent), ""))
    # Whether some of it was done again need not be said where all of it is as it was.
    about = r"wrote .*|.* in \d+ generations, [\d.]+ s|.*is complete.*|figures: .*|watch its mutations: .*|"
    lines = [line for line in text.splitlines() if not re.fullmatch(about, line)]
    return code, "\n".join(lines), said.err


def trouble(damages: list[Damage], base: Path, folder: Path, commands: Commands, whole: Any, capsys: Any) -> str:
    """What is wrong with a command's answer about a copy with these damages; empty where nothing is."""
    shutil.rmtree(folder, ignore_errors=True)
    copy = Path(shutil.copytree(base, folder / "run"))
    for damage in damages:
        damage.do(copy)
    may_differ = any(KINDS[damage.kind] is forged for damage in damages)  # checksums find accidents, not forgers
    for name, command in commands.items():
        code, said, complained = answer(command, copy, capsys)
        story = f"{name} after {', '.join(map(str, damages))}: exit {code}\n{said}\n{complained}"
        is_named = str(copy.parent) in complained  # the copy, or its export
        if code not in (0, 2) or "Traceback" in complained or (code == 2 and not (is_named and "error:" in complained)):
            return story
        if code == 0 and said != whole[name] and not (is_named and "warning:" in complained.lower()) and not may_differ:
            return f"silent: {story}\n{whole[name]}"
    return ""


def check(seed: int, base: Path, folder: Path, commands: Commands, whole: dict[str, str], capsys: Any) -> None:
    chance = random.Random(seed)
    files = [str(one.relative_to(base)) for one in sorted(base.rglob("*")) if one.is_file() and one.name != ".lock"]
    damages = [
        Damage(chance.choice(files), chance.randrange(len(KINDS)), chance.randrange(2**32))
        for _ in range(chance.choice([1, 1, 2, 3]))
    ]
    if story := trouble(damages, base, folder, commands, whole, capsys):
        alone = [trouble([one], base, folder, commands, whole, capsys) for one in damages if len(damages) > 1]
        pytest.fail(f"FUZZ_SEED={seed}: {next(filter(None, alone), story)}", pytrace=False)


def fuzz(seeds: range, commands: Commands, base: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    undisturbed = {}
    for name, command in commands.items():
        path = Path(shutil.copytree(base, folder / name / "run"))
        code, undisturbed[name], complained = answer(command, path, capsys)
        assert (code, complained) == (0, "")
    for seed in seeds:
        # Of the quick commands one each, in turn: all of them are for the full tier.
        own = dict([list(commands.items())[seed % len(commands)]]) if commands is QUICK else commands
        check(seed, base, folder / "copy", own, undisturbed, capsys)


def test_no_damage_is_silent(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fuzz(range(50), QUICK, base, tmp_path, capsys)


@pytest.mark.full
def test_no_damage_of_a_thousand_is_silent(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\nFUZZ_SEED={FIRST}")
    fuzz(range(FIRST, FIRST + 1000), {**QUICK}, base, tmp_path, capsys)
    fuzz(range(FIRST, FIRST + 20), SLOW, base, tmp_path / "slow", capsys)
