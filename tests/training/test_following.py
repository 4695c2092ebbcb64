"""Following a run while it goes on: callbacks, early ends, loggers; and folders that are in the way, or are not."""

import io
import itertools
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from evolvability import Generation, Run, StopTraining, TaskError, evolve, function_task, resume
from evolvability.cli import main
from evolvability.config.schema import layered
from evolvability.core.errors import ConfigError, RunFolderError
from evolvability.training import following, progress
from evolvability.training.evolution import Evolution
from evolvability.training.progress import Pace, at_first, display, pair_seconds, seconds_per_generation
from tests.patience import PATIENCE

SMALL: dict[str, Any] = {"population_size": 8, "objective": "max_variance", "progress": False}


def test_a_callback_gets_rows_and_on_demand_centers_and_behaviors(tmp_path: Path) -> None:
    seen: list[tuple[int, Any, Any, Any]] = []

    def watch(generation: Generation) -> None:
        seen.append((generation.number, generation[0]["variance"], generation.centers, generation.behaviors()))
        assert [row["seed"] for row in generation] == [0, 1]
        np.testing.assert_array_equal(generation.center, generation.centers[0, 0])

    run = evolve("point", generations=3, seeds=2, output=tmp_path / "run", on_generation=watch, **SMALL)
    assert [number for number, *_ in seen] == [0, 1, 2]
    assert [variance for _, variance, *_ in seen] == pytest.approx(run.metrics["variance"][0])
    np.testing.assert_array_equal(seen[-1][2], run.centers)
    for number, _, _, did in seen:
        for name, array in Run(tmp_path / "run").behaviors(number).items():
            np.testing.assert_array_equal(did[name], array)


def test_a_run_that_is_stopped_early_is_kept_and_goes_on(tmp_path: Path) -> None:
    def stop(generation: Generation) -> None:
        if generation.number == 1:
            raise StopTraining

    whole = evolve("point", generations=4, **SMALL)
    run = evolve("point", generations=4, output=tmp_path / "run", on_generation=stop, **SMALL)
    assert run.generations_done == 2
    assert run.metrics["variance"].shape == (1, 2)
    assert run.pick("left", mutations=3, repeats=1).performance is not None
    folder = Run(tmp_path / "run")
    assert folder.generations_done == 2
    assert not folder.is_complete
    np.testing.assert_array_equal(folder.centers, run.centers)
    np.testing.assert_array_equal(resume(folder, progress=False).centers, whole.centers)


def read_tensorboard(folder: Path) -> dict[str, list[tuple[int, float]]]:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(folder))
    events.Reload()
    names = [*events.Tags()["scalars"], *events.Tags()["tensors"]]
    found = {}
    for name in names:
        if name in events.Tags()["scalars"]:
            found[name] = [(event.step, event.value) for event in events.Scalars(name)]
        else:
            from tensorboard.util.tensor_util import make_ndarray

            found[name] = [(event.step, float(make_ndarray(event.tensor_proto))) for event in events.Tensors(name)]
    return found


def test_tensorboard_reads_what_is_logged_for_it(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    run = evolve("point", generations=2, output=tmp_path / "run", log="tensorboard", **SMALL)
    found = read_tensorboard(tmp_path / "run" / "tensorboard")
    assert [step for step, _ in found["variance"]] == [0, 1]
    assert [value for _, value in found["variance"]] == pytest.approx(run.metrics["variance"][0])
    resume(tmp_path / "run", generations=3, log=["tensorboard"], progress=False)
    assert [step for step, _ in read_tensorboard(tmp_path / "run" / "tensorboard")["variance"]] == [0, 1, 2]
    with pytest.raises(ConfigError, match=r"go into the run folder\. Give output"):
        evolve("point", generations=1, log="tensorboard", **SMALL)


def test_metrics_of_several_seeds_are_told_apart(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    options = ["--generations", "1", "--seeds", "2", "--population-size", "8", "--quiet", "--log", "tensorboard"]
    main(["train", "point", "--output", str(tmp_path / "run"), *options])
    found = read_tensorboard(tmp_path / "run" / "tensorboard")
    assert {"variance/seed 0", "variance/seed 1"} <= set(found)


def wandb_records(file: Path) -> Iterator[bytes]:
    """What W&B wrote while it was offline: a log as LevelDB has them, of records in blocks of 32 kB."""
    data, place, parts = file.read_bytes(), 7, b""  # after the file's own header
    while place + 7 <= len(data):
        if (rest := -place % 32768) < 7 and rest:  # what is left of a block holds no header
            place += rest
            continue
        length, kind = struct.unpack("<HB", data[place + 4 : place + 7])
        parts += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # a whole record, or the last piece of one
            yield parts
            parts = b""


def parsed(data: bytes) -> Any:
    from wandb.proto import wandb_internal_pb2

    record = wandb_internal_pb2.Record()  # type: ignore[attr-defined]
    record.ParseFromString(data)
    return record


def history(record: Any) -> tuple[int, float]:
    items = {item.key or item.nested_key[0]: item.value_json for item in record.history.item}
    return int(items["_step"]), float(items["variance"])


def test_weights_and_biases_takes_metrics_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    for name, value in {"MODE": "offline", "DIR": str(tmp_path), "SILENT": "true"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    run = evolve("point", generations=2, output=tmp_path / "run", log="wandb", **SMALL)
    (file,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    logged: list[tuple[int, float]] = []
    until = time.monotonic() + PATIENCE
    while len(logged) < 2 and time.monotonic() < until:  # a process of W&B's own writes it, and may be late
        logged = [history(record) for data in wandb_records(file) if (record := parsed(data)).HasField("history")]
    assert [step for step, _ in logged] == [0, 1]
    assert [variance for _, variance in logged] == pytest.approx(run.metrics["variance"][0])


NAMES = st.sampled_from(["noted", " noted", "noted,", "", "tensorboard"]) | st.text("notedx,. \n\0[", max_size=8)
ANYTHING = (
    st.none()
    | st.integers()
    | st.floats()
    | st.binary(min_size=1, max_size=3)
    | st.dictionaries(NAMES, NAMES, max_size=2)
)
VALUES = st.none() | st.floats() | st.integers() | st.text(max_size=3) | st.lists(st.floats(), max_size=2)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(names=NAMES | ANYTHING | st.lists(NAMES | ANYTHING, max_size=3), values=st.dictionaries(st.text(), VALUES))
def test_whatever_is_given_as_loggers_is_used_or_refused(names: Any, values: dict[str, Any]) -> None:
    seen: list[dict[str, float]] = []

    @contextmanager
    def noted(config: Any, output: Any) -> Iterator[Any]:
        yield lambda generation, numbers: seen.append(numbers)

    wanted = names.split(",") if isinstance(names, str) else names
    is_known = isinstance(wanted, list) and all(
        isinstance(name, str) and name.strip() in ("", "noted") for name in wanted
    )
    with pytest.MonkeyPatch.context() as patch, nullcontext() if is_known else pytest.raises(ConfigError, match="log"):
        patch.setitem(following.LOGGERS, "noted", noted)
        with following.logged(names, layered("point"), None) as write:
            write([{"generation": 0, "seed": 0} | values])
    assert len(seen) == (sum(bool(name.strip()) for name in wanted) if is_known else 0)
    assert all(isinstance(number, int | float) for numbers in seen for number in numbers.values())


def test_an_unknown_logger_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Unknown logger 'tensorbord'. Did you mean 'tensorboard'\?"):
        evolve("point", generations=1, output=tmp_path / "run", log="tensorbord", **SMALL)
    assert not (tmp_path / "run").exists()


def test_a_run_is_replaced_where_that_is_asked_for(tmp_path: Path) -> None:
    first = evolve("point", generations=3, output=tmp_path / "run", **SMALL)
    with pytest.raises(RunFolderError, match=r"already holds a run. Go on with resume\(.*overwrite=True"):
        evolve("point", generations=1, output=tmp_path / "run", **SMALL)
    evolve("point", generations=1, seed=1, output=tmp_path / "run", overwrite=True, **SMALL)
    assert Run(tmp_path / "run").recorded == [0]
    assert not np.array_equal(Run(tmp_path / "run").centers, first.centers)
    main(["train", "point", "--preset", "smoke", "--overwrite", "--quiet", "--output", str(tmp_path / "run")])
    assert Run(tmp_path / "run").generations_done == 10


def test_what_is_not_of_a_run_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(RunFolderError, match=r"is not empty \(it has thesis.tex\)"):
        evolve("point", generations=1, output=tmp_path, overwrite=True, **SMALL)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def failing_after(calls: int) -> Any:
    """A task in Python whose function fails after so many calls; the first is made when the task is."""
    left = iter(range(calls))

    def behavior(x: Any) -> float:
        if next(left, None) is None:
            raise RuntimeError("out of fuel")
        return float(x[0])

    return function_task(behavior, np.zeros(2), on_host=True)


def test_a_run_that_fails_before_its_first_generation_leaves_no_folder(tmp_path: Path) -> None:
    for _ in range(2):  # the second finds nothing in its way
        with pytest.raises(TaskError, match="out of fuel"):
            evolve(failing_after(3), generations=2, output=tmp_path / "run", **SMALL)
        assert not (tmp_path / "run").exists()
    task = failing_after(1 + 8)
    with pytest.raises(TaskError, match="out of fuel"):
        evolve(task, generations=2, output=tmp_path / "run", **SMALL)
    assert Run(tmp_path / "run", task=task).generations_done == 1  # what was done is kept


def test_explore_is_offered_where_there_is_something_to_watch(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for task, is_offered in (("point", True), ("interference", False)):
        main(["train", task, "--preset", "smoke", "--quiet", "--output", str(tmp_path / task)])
        assert ("ees explore" in capsys.readouterr().out) == is_offered


def test_a_long_generation_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("evolvability.training.progress.time.monotonic", lambda: now[0])
    shares = [0.0]
    pace = Pace(10, expected=250.0, share=lambda: shares[0])
    assert pace.under_way() == ""
    now[0] = 35.0
    assert pace.under_way() == "generation 1: 35 s of about 4 min"
    shares[0] = 0.4
    assert pace.under_way() == "generation 1: 35 s, 40% of its members"
    pace.note([{"generation": 0, "seconds": 20.0}])
    assert pace.under_way() == ""
    now[0], shares[0] = 45.0, 0.0
    assert pace.under_way() == "generation 2: 10 s of about 20 s"
    now[0] = 70.0  # longer than expected: nobody knows of how many
    assert pace.under_way() == "generation 2: 35 s"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_silent_generation_is_seen_to_go_on(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LONG", 0.0)
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.05)
    screen, seen = io.StringIO(), threading.Event()

    class Watched(io.StringIO):
        def write(self, text: str) -> int:
            if "generation 1: " in text and "of about 4 min" in text:
                seen.set()
            return screen.write(text)

    console = Console(file=Watched(), force_terminal=is_terminal, width=80, color_system=None)
    with display(layered("interference"), console, expected=250.0):
        assert seen.wait(PATIENCE), screen.getvalue()


def test_the_whole_is_estimated_from_a_few_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "MANY", 100)
    assert seconds_per_generation(Evolution(layered("point", values={"population_size": 64}))) is None
    evolution = Evolution(layered("point", values={"population_size": 256}))
    clock = iter([0.0, 9.0, 10.0, 12.0])  # the first evaluation compiles, and does not count
    monkeypatch.setattr("evolvability.training.progress.time.perf_counter", lambda: next(clock))
    assert seconds_per_generation(evolution) == pytest.approx(2.0 * 256 / 64)


def test_pairs_of_members_count_with_their_square_and_a_grid_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.cycle([0.0, 9.0, 10.0, 12.0])  # of 1,024 members two seconds, forth or back
    monkeypatch.setattr("evolvability.training.progress.time.perf_counter", lambda: next(clock))

    def expected(number: int, num_behaviors: int, objective: str = "max_entropy", **values: Any) -> float:
        config = layered("point", objective=objective, values={"population_size": number, **values})
        return pair_seconds(config, num_behaviors)

    assert expected(2048, 2) == expected(2048, 3, "max_variance") == expected(1024, 3) == 0
    assert expected(2048, 3) == pytest.approx(2 * 2 * 2.0**2)
    assert expected(4096, 3) == pytest.approx(2 * 2 * 4.0**2)
    assert expected(2048, 2, leave_one_out=True) == pytest.approx(2 * 2 * 2.0**2)
    assert expected(2048, 3, "max_variance+0.5*max_entropy") == pytest.approx(2 * 2 * 2.0**2)


def test_robots_are_estimated_and_functions_of_the_user_are_not_called_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "MANY", 100)
    calls: list[Any] = []
    task = function_task(lambda x: calls.append(x) or float(x[0]), np.zeros(2), on_host=True)  # type: ignore[func-returns-value]
    before = len(calls)
    assert seconds_per_generation(Evolution(layered("python:own", values={"population_size": 256}), task)) is None
    assert len(calls) == before
    pytest.importorskip("mujoco")
    options = {"engine": "mujoco", "num_steps": 2, "hidden": 4}
    robot = Evolution(layered("cheetah", values={"population_size": 128, "task_options": options}))
    assert robot.task.on_host
    assert (seconds_per_generation(robot) or 0) > 0


def test_a_long_run_is_pointed_to_the_preset_of_minutes() -> None:
    assert at_first("cheetah", Pace(100)) == "compiling; no estimate before generation 2"
    assert at_first("cheetah", Pace(100, 6.0)) == "compiling; about 10 min in all, as 64 members tell"
    assert at_first("cheetah", Pace(100, 240.0)).endswith("ees train cheetah --preset laptop")
    assert "preset" not in at_first("point", Pace(100, 240.0))


def test_a_callback_that_takes_rows_alone_works_as_before() -> None:
    rows: list[dict[str, Any]] = []
    run = evolve(function_task(lambda x: x, jnp.zeros(2)), generations=2, on_generation=rows.extend, **SMALL)
    assert [row["variance"] for row in rows] == pytest.approx(run.metrics["variance"][0])
