"""The run folder: what is written, what survives, what is refused."""

import json
import multiprocessing
import operator
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from evolvability import ConfigError, Run, RunFolderError, evolve
from evolvability.config.schema import layered
from evolvability.runs.checkpoints import checkpoint_generations
from evolvability.runs.rows import ROW_FILES
from evolvability.runs.writer import locked
from evolvability.tasks.simulators import Trial, part_of, simulator_task
from evolvability.training.driver import resume, train
from evolvability.training.evolution import Evolution, InvalidMembersError
from tests.conftest import shared_evolution
from tests.patience import PATIENCE

GENERATIONS = 12


@pytest.fixture(scope="module")
def evolution() -> Evolution:
    """A small mixture, so that every part of a State and of a folder is there; compiled once."""
    values = {
        "population": "mixture",
        "population_size": 16,
        "generations": GENERATIONS,
        "seeds": 2,
        "record_every": 5,
        "checkpoint_seconds": 0.0,
    }
    return shared_evolution(layered("point", values=values | {"task_options": {"num_steps": 5, "hidden": 4}}))


@pytest.fixture(scope="module")
def finished(evolution: Evolution, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "finished"
    train(evolution, path)
    return path


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


class StopHereError(Exception):
    """Stands for whatever ends a process."""


def interrupted(evolution: Evolution, path: Path, generation: int) -> None:
    def stop(rows: list[dict[str, Any]]) -> None:
        if rows[0]["generation"] == generation:
            raise StopHereError

    with pytest.raises(StopHereError):
        train(evolution, path, stop)


def assert_same_run(a: Path, b: Path) -> None:
    """Everything but the seconds is the same, bit for bit."""
    for name, values in Run(a).checkpoint().items():
        np.testing.assert_array_equal(values, Run(b).checkpoint()[name])
    first, second = Run(a), Run(b)
    assert first.recorded == second.recorded
    for generation in first.recorded:
        for name, values in first.behaviors(generation).items():
            np.testing.assert_array_equal(values, second.behaviors(generation)[name])
    strip = [[{k: v for k, v in row.items() if k != "seconds"} for row in run.rows] for run in (first, second)]
    assert strip[0] == strip[1]
    assert (a / "histograms.jsonl").read_bytes() == (b / "histograms.jsonl").read_bytes()


def test_a_finished_run_reads_as_documented(finished: Path) -> None:
    run = Run(finished)
    assert run.is_complete
    assert list(run.seeds) == [0, 1]
    assert run.metrics["variance"].shape == (2, GENERATIONS)
    assert run.recorded == [0, 5, 10, 11]
    behaviors = run.behaviors(5)
    assert behaviors["behavior"].shape == (2, 16, 2)
    assert set(np.unique(behaviors["component"])) == {0, 1}
    assert run.centers.shape[:2] == (2, 2)
    assert run.environment["packages"]["jax"]
    assert len(checkpoint_generations(finished)) == 3
    assert (finished / "config.toml").read_text().startswith("format = 2\n")


def test_metrics_have_exactly_the_documented_fields(finished: Path) -> None:
    documented = (Path(__file__).parents[2] / "docs" / "run-folder.md").read_text()
    for name in Run(finished).rows[0]:
        assert f"`{name}`" in documented, f"docs/run-folder.md does not explain {name}"


def test_metrics_have_the_digits_of_their_own_type(finished: Path) -> None:
    for row in Run(finished).rows:
        for name, value in row.items():
            if isinstance(value, float) and name != "seconds":
                assert value == float(str(np.float32(value)))


@pytest.mark.parametrize("generation", [0, 4, GENERATIONS - 2])
def test_resumed_run_is_bit_identical(evolution: Evolution, finished: Path, tmp_path: Path, generation: int) -> None:
    path = tmp_path / "run"
    interrupted(evolution, path, generation)
    assert not Run(path).is_complete
    resume(Run(path))
    assert_same_run(path, finished)


def test_a_line_cut_in_the_middle_is_mended(evolution: Evolution, finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    interrupted(evolution, path, 6)
    with (path / "metrics.jsonl").open("a") as file:
        file.write('{"generation": 7, "seed": 0, "obj')
    (path / "behaviors" / "000007.safetensors.part").write_bytes(b"half")
    (path / "checkpoints" / "000008.safetensors.part").write_bytes(b"half")
    assert Run(path).metrics["variance"].shape == (2, 7)
    resume(Run(path))
    assert_same_run(path, finished)
    assert {file.name for file in (path / "checkpoints").iterdir()} == {
        file.name for file in (finished / "checkpoints").iterdir()
    }


@pytest.mark.parametrize("line", [b"\n", b"}\n", b"{}\n", b"\0", b'{"checksum": "00000000"}\n'])
def test_three_million_bytes_of_no_rows_are_passed_over(
    evolution: Evolution, finished: Path, tmp_path: Path, line: bytes
) -> None:
    path = tmp_path / "run"
    interrupted(evolution, path, 6)
    rows, histograms = Run(path).rows, Run(path).histograms().keys()
    for name in ROW_FILES:
        with (path / name).open("ab") as file:
            file.write(line * (3_145_728 // len(line)))
    assert Run(path).rows == rows
    assert Run(path).histograms().keys() == histograms
    resume(Run(path))
    assert_same_run(path, finished)
    assert (path / "metrics.jsonl").read_bytes().count(b"\n") == 2 * GENERATIONS


def test_resuming_removes_files_of_our_own_naming_alone(evolution: Evolution, finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    interrupted(evolution, path, 6)
    others = [path / folder / name for folder in ("behaviors", "checkpoints") for name in ("notes.txt", "9", "old")]
    for file in others:
        file.mkdir() if file.name == "old" else file.write_text("mine")
    resume(Run(path))
    assert_same_run(path, finished)
    assert all(file.exists() for file in others)


def damage_arrays(path: Path) -> None:
    newest = sorted((path / "checkpoints").glob("*.safetensors"))[-1]
    data = bytearray(newest.read_bytes())
    data[-1] ^= 1
    newest.write_bytes(bytes(data))


def truncate_arrays(path: Path) -> None:
    newest = sorted((path / "checkpoints").glob("*.safetensors"))[-1]
    newest.write_bytes(newest.read_bytes()[:50])


def damage_voucher(path: Path) -> None:
    newest = sorted((path / "checkpoints").glob("*.safetensors"))[-1]
    data = newest.read_bytes()
    assert data.count(b"max_invalid") == 1
    newest.write_bytes(data.replace(b"max_invalid", b"max_unvalid"))


@pytest.mark.parametrize("damage", [damage_arrays, truncate_arrays, damage_voucher])
def test_a_damaged_checkpoint_is_named_and_the_one_before_used(
    damage: Callable[[Path], None], copy: Path, finished: Path
) -> None:
    damage(copy)
    with pytest.warns(UserWarning, match=f"{GENERATIONS:06d}.safetensors is damaged"):
        resume(Run(copy))
    assert_same_run(copy, finished)


def test_a_last_checkpoint_that_somebody_removed_is_missed(copy: Path, finished: Path) -> None:
    (copy / "checkpoints" / f"{GENERATIONS:06d}.safetensors").unlink()
    with pytest.warns(UserWarning, match=f"no checkpoint of generation {GENERATIONS}, its last.*{GENERATIONS - 1} is"):
        Run(copy).checkpoint()
    with pytest.warns(UserWarning, match="its last"):
        resume(Run(copy))
    assert_same_run(copy, finished)


def test_a_removed_last_checkpoint_is_missed_where_the_one_before_is_damaged_too(copy: Path) -> None:
    (copy / "checkpoints" / f"{GENERATIONS:06d}.safetensors").unlink()
    (copy / "checkpoints" / f"{GENERATIONS - 1:06d}.safetensors").write_bytes(b"torn")
    with pytest.warns(UserWarning, match=f"no checkpoint of generation {GENERATIONS}, its last"):
        assert not Run(copy).is_complete


def test_a_finished_run_whose_last_checkpoint_is_damaged_is_finished_again(copy: Path, finished: Path) -> None:
    damage_arrays(copy)
    assert not Run(copy).is_complete
    with pytest.warns(UserWarning, match="is damaged"):
        resume(Run(copy))
    assert Run(copy).is_complete
    assert_same_run(copy, finished)


def test_without_any_intact_checkpoint_the_error_says_what_to_do(copy: Path) -> None:
    for path in (copy / "checkpoints").iterdir():
        path.write_text("{")
    with (
        pytest.warns(UserWarning, match="damaged"),
        pytest.raises(RunFolderError, match=r"no intact checkpoint.*ees train"),
    ):
        resume(Run(copy))


def test_a_finished_run_can_be_made_longer(copy: Path) -> None:
    resume(Run(copy), generations=GENERATIONS + 3)
    run = Run(copy)
    assert run.is_complete
    assert run.metrics["variance"].shape == (2, GENERATIONS + 3)


def hold(path: str, ready: Any, done: Any) -> None:
    with locked(Path(path)):
        ready.set()
        done.wait(PATIENCE)


def test_a_second_process_is_refused(copy: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    process = context.Process(target=hold, args=(str(copy), ready, done))
    process.start()
    assert ready.wait(PATIENCE)
    with pytest.raises(RunFolderError, match=rf"is in use: process {process.pid} on .*remove .*\.lock"):
        resume(Run(copy), generations=GENERATIONS + 1)
    process.kill()  # the lock ends with the process, however it ends
    process.join()
    with locked(copy):
        pass


def test_a_folder_that_holds_a_run_is_not_overwritten(evolution: Evolution, copy: Path) -> None:
    with pytest.raises(RunFolderError, match=r"already holds a run.*resume"):
        train(evolution, copy)


def test_a_folder_that_holds_something_else_is_not_written_to(evolution: Evolution, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(RunFolderError, match=r"thesis.tex"):
        train(evolution, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_unwritable_folder_is_named(evolution: Evolution, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match=r"cannot be written.*another place"):
        train(evolution, tmp_path / "file" / "run")


def test_a_run_whose_checkpoints_are_gone_is_not_started_over(copy: Path) -> None:
    """It has them from its beginning: what is left of it must not be overwritten by a new start."""
    for path in (copy / "checkpoints").iterdir():
        path.unlink()
    recorded = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    with pytest.raises(RunFolderError, match=r"has no checkpoints.*ees show"):
        resume(Run(copy))
    assert {path: path.read_bytes() for path in recorded if path.name != ".lock"} == {
        path: data for path, data in recorded.items() if path.name != ".lock"
    }


def test_a_folder_of_another_version_is_refused(copy: Path) -> None:
    text = (copy / "config.toml").read_text().replace("format = 2", "format = 99")
    (copy / "config.toml").write_text(text)
    with pytest.raises(RunFolderError, match=r"format 99.*format 2.*Use the version that wrote it"):
        Run(copy)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"no config.toml"):
        Run(tmp_path)


@pytest.mark.parametrize(
    ("was", "edited", "named"),
    [
        ("hidden = 4", "hidden = 5", "task_options.hidden is 5.*made with 4"),
        ("population_size = 16", "population_size = 32", "population_size is 32.*made with 16"),
        ("seed = 0", "seed = 7", "seed is 7.*made with 0"),
        ("sigma = ", "sigma = 1", "sigma is 1"),
    ],
)
def test_a_configuration_edited_after_the_fact_is_refused(copy: Path, was: str, edited: str, named: str) -> None:
    text = (copy / "config.toml").read_text()
    assert was in text
    (copy / "config.toml").write_text(text.replace(was, edited))
    with pytest.warns(UserWarning, match="not as the run wrote it"), pytest.raises(RunFolderError, match=named):
        resume(Run(copy), generations=GENERATIONS + 1)


def test_an_edited_configuration_is_refused_before_anything_of_its_size_is_made(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (copy / "config.toml").read_text()
    (copy / "config.toml").write_text(text.replace("population_size = 16", "population_size = 2000000000"))
    monkeypatch.setattr("evolvability.training.driver.Evolution", None)
    with pytest.warns(UserWarning, match="not as the run wrote it"), pytest.raises(RunFolderError, match="made with"):
        resume(Run(copy), generations=GENERATIONS + 1)


def test_what_is_kept_of_a_run_may_be_edited(copy: Path) -> None:
    text = (copy / "config.toml").read_text()
    (copy / "config.toml").write_text(text.replace("record_every = 5", "record_every = 1"))
    with pytest.warns(UserWarning, match="not as the run wrote it"):
        resume(Run(copy), generations=GENERATIONS + 2)
    assert Run(copy).recorded == [0, 5, 10, 11, 12, 13]


def test_a_state_that_is_not_finite_is_never_saved(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"optimizer": "sgd", "learning_rate": 3e38, "l2": 1.0, "objective": "mean_fitness"}
    path = tmp_path / "run"
    with pytest.raises(RunFolderError, match="parameters/center is not finite"):
        evolve("point", generations=2, population_size=8, output=path, progress=False, goal="right", **settings)
    for generation in checkpoint_generations(path):
        assert np.isfinite(Run(path).checkpoint(generation)["parameters/center"]).all()
    assert checkpoint_generations(path) == [0]


@pytest.mark.parametrize("extreme", [2e19, 3e38, -1e16])
def test_finite_extremes_of_a_simulator_are_invalid(extreme: float) -> None:
    assert part_of(Trial(np.array([1e14, 0.0]), 0.0, 1)).outcome.valid.tolist() == [True]
    assert part_of(Trial(np.array([extreme, 0.0]), 0.0, 1)).outcome.valid.tolist() == [False]
    assert part_of(Trial(np.zeros(2), extreme, 1)).outcome.valid.tolist() == [False]


def test_values_that_are_finite_and_too_large_are_called_so() -> None:
    task = simulator_task(lambda: lambda parameters, seed: [1.1e15], start=np.zeros(2))
    with pytest.raises(InvalidMembersError, match=r"8 of 8 members.*not finite, or beyond 1e\+15\)"):
        evolve(task, objective="max_variance", generations=1, population_size=8, progress=False)


def test_a_missing_generation_is_answered_with_those_there_are(finished: Path) -> None:
    with pytest.raises(RunFolderError, match=r"generation 3.*0, 5, 10, 11"):
        Run(finished).behaviors(3)


def test_metrics_are_strict_json(finished: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    for line in (finished / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=refuse)


def test_what_evolve_returns_and_its_run_folder_have_the_same_names_for_the_same_things(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"generations": 3, "population_size": 20, "seeds": 2, "population": "mixture", "seed": 3}
    result = evolve("interference", output=tmp_path / "run", progress=False, **settings)

    def refused(one: Any) -> None:
        with pytest.raises(ConfigError, match="not a policy"):
            one.policy(one.center, of_seed=3)

    calls: dict[str, Callable[[Any], Any]] = {
        "behaviors": lambda one: one.behaviors(),
        "metrics": lambda one: dict(one.metrics),
        "mutations": lambda one: one.mutations(5, of_seed=4),
        "parents": lambda one: [(parent.parameters, parent.memory, parent.generation) for parent in one.parents()],
        "pick": lambda one: one.pick("right", mutations=5, repeats=2, of_seed=4)._replace(policy=None),
        "policy": refused,
        "task": lambda one: (one.task.name, one.task.behavior),
    }
    shared = {name for name in dir(result) if not name.startswith("_")} - {"state"}  # a folder's are `checkpoint`s
    assert shared - set(dir(Run)) <= {"config", "by_name", "population"}  # set when a folder is opened
    assert {"center", "centers", "seeds", "generations_done", "behavior_names", *calls} <= shared
    for one in (Run(tmp_path / "run"), resume(tmp_path / "run", progress=False)):
        for name in sorted(shared):
            ask = calls.get(name, operator.attrgetter(name))
            expected, got = jax.tree.flatten(ask(result)), jax.tree.flatten(ask(one))
            assert str(got[1]) == str(expected[1]), name
            for value, other in zip(expected[0], got[0], strict=True):
                np.testing.assert_array_equal(other, value, err_msg=name)
    assert result.metrics["center"].shape == (2, 3, 2)
