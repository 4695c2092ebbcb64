"""Workers: the same bits wherever members are evaluated, and whatever happens there."""

import asyncio
import dataclasses
import importlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolvability import Config, ConfigError, Run, TaskError, evolve, resume
from evolvability.config.build import build_population
from evolvability.config.schema import layered
from evolvability.core.cores import machine_memory
from evolvability.core.errors import ClusterError
from evolvability.core.keys import noise_key
from evolvability.tasks.simulators import Address, simulator_task
from evolvability.training.driver import TrainingResult
from evolvability.training.evolution import Evolution, InvalidMembersError
from evolvability.workers import fingerprint
from evolvability.workers.connect import make_pool
from evolvability.workers.evaluator import NUM_SUMS, split
from evolvability.workers.local_processes import LocalProcesses, _Worker
from evolvability.workers.pools import LostError, OverdueError, Pool
from evolvability.workers.worker import Workbench, recipe_of
from tests.cluster import NUM_STEPS, Diary, diary_task
from tests.patience import PATIENCE

SETTINGS: dict[str, Any] = {
    "objective": "max_variance",  # of all objectives, the one that is compiled soonest
    "population_size": 24,
    "generations": 3,
    "sigma": 0.1,
    "worker_batches": 6,
}
EVERYONE = {(generation, member) for generation in range(3) for member in range(24)}


class Panic(BaseException):
    """As libraries raise that are not written in Python."""


@pytest.fixture(scope="module")
def two_processes() -> Iterator[LocalProcesses]:
    pool = LocalProcesses(2)
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    diary = Diary(tmp_path_factory.mktemp("undisturbed") / "diary.txt")
    return evolve(diary_task(diary), **SETTINGS)


def assert_same(result: TrainingResult, other: TrainingResult) -> None:
    assert np.asarray(result.centers).tobytes() == np.asarray(other.centers).tobytes()
    leaves, others = (jax.tree.leaves(each.state.memory) for each in (result, other))
    assert all(
        a.tobytes() == b.tobytes() for a, b in zip(map(np.asarray, leaves), map(np.asarray, others), strict=True)
    )
    for name in result.metrics.keys() - {"seconds"}:
        np.testing.assert_array_equal(result.metrics[name], other.metrics[name], err_msg=name)


def test_local_processes_give_the_same_bits(
    undisturbed: TrainingResult, two_processes: LocalProcesses, tmp_path: Path
) -> None:
    diary = Diary(tmp_path / "diary.txt", seconds=0.005)
    assert_same(evolve(diary_task(diary), **SETTINGS, workers=two_processes), undisturbed)
    assert set(diary.evaluated()) == EVERYONE
    assert set(diary.evaluated().values()) == {1}
    assert len(diary.processes()) == 2
    assert os.getpid() not in diary.processes()


def test_processes_that_are_killed_or_stopped_change_no_bit(
    undisturbed: TrainingResult, two_processes: LocalProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diary = Diary(tmp_path / "diary.txt", seconds=0.03)
    monkeypatch.setattr(two_processes, "deadline", 4.0)

    def disturb() -> None:
        while len(diary.evaluated()) < 5 or len(diary.processes()) < 2:
            time.sleep(0.01)
        first, second = two_processes.process_ids
        os.kill(first, signal.SIGKILL)
        os.kill(second, signal.SIGSTOP)

    threading.Thread(target=disturb).start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = evolve(diary_task(diary), **SETTINGS, workers=two_processes)
    assert_same(result, undisturbed)
    assert set(diary.evaluated()) == EVERYONE
    assert len(diary.processes()) > 2


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        pytest.param("raise", "ZeroDivisionError: of no use", marks=pytest.mark.full),
        ("interrupt", "KeyboardInterrupt: of its own"),
        ("exit", "its worker was lost"),
        pytest.param("hang", "no answer in 10 s", marks=pytest.mark.full),
    ],
)
def test_member_that_always_breaks_down_is_invalid_and_named_once(
    trouble: str, reason: str, two_processes: LocalProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evolvability.workers.evaluator.MAX_LOSSES", 1)  # or the test would last for minutes
    diary = Diary(tmp_path / "diary.txt", at={13: trouble})
    monkeypatch.setattr(two_processes, "deadline", 10.0 if trouble == "hang" else PATIENCE)
    with pytest.warns(UserWarning, match="member 13 is invalid") as caught:
        result = evolve(diary_task(diary), **SETTINGS, workers=two_processes)
    assert len(caught) == 1
    assert reason in str(caught[0].message)
    assert result.metrics["num_invalid"][0].tolist() == [0, 1, 0]
    assert result.metrics["num_steps"][0].tolist() == [24 * NUM_STEPS, 23 * NUM_STEPS, 24 * NUM_STEPS]
    assert set(diary.evaluated()) == EVERYONE


@pytest.mark.parametrize("trouble", ["raise", "quit"])
def test_member_that_raises_is_the_only_one_that_does_not_count(trouble: str, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="member 4 is invalid"):
        result = evolve(diary_task(Diary(tmp_path / "diary.txt", at={4: trouble})), **SETTINGS)
    assert np.isfinite(result.metrics["variance"]).all()
    assert np.isfinite(np.asarray(result.centers)).all()


@pytest.mark.parametrize(
    "population",
    ["normal", *(pytest.param(name, marks=pytest.mark.full) for name in ("low_rank", "diagonal_normal", "mixture"))],
)
def test_summed_gradient_is_the_population_s(population: str, tmp_path: Path) -> None:
    values = {"population": population, "rank": 1, "population_size": 40, "worker_batches": 7}
    config = layered("python:diary", offers=values)
    task = diary_task(Diary(tmp_path / "diary.txt"))
    evolution = Evolution(config, task)
    state = jax.tree.map(lambda leaf: leaf[0], evolution.start())
    evaluator = evolution.evaluator
    assert evaluator is not None
    broadcast = evaluator.broadcast(state)
    weights = jnp.linspace(-1, 2, 40)
    (gradient,) = evaluator.gradient([broadcast], [weights])
    whole = build_population(config, task.shapes)
    sample = whole.sample(noise_key(state.key), state.parameters, state.generation, whole.draws(40))
    expected = whole.gradient(sample, weights)
    for found, right in zip(jax.tree.leaves(gradient), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(found, right, rtol=2e-5, atol=1e-5)
    (part,) = evaluator.evaluate([broadcast])
    assert part.outcome.behavior.shape == (40, 2)


def test_unit_of_one_has_the_bits_of_a_whole_population(tmp_path: Path) -> None:
    config = Config("python:diary", population_size=40, worker_batches=1)
    task = diary_task(Diary(tmp_path / "diary.txt"))
    evolution = Evolution(config, task)
    evaluator = evolution.evaluator
    assert evaluator is not None
    broadcast = evaluator.broadcast(jax.tree.map(lambda leaf: leaf[0], evolution.start()))
    together = evaluator.evaluate([broadcast])[0]
    evaluator.units = [range(k, k + 1) for k in range(40)]
    alone = evaluator.evaluate([broadcast])[0]
    for one, other in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
        np.testing.assert_array_equal(one, other)


def test_units_do_not_grow_with_the_population() -> None:
    assert len(split(50, 256)) == 50
    for num_draws in (500, 5_000, 50_000):
        units = split(num_draws, 256)
        assert len(units) == 256
        assert [k for unit in units for k in unit] == list(range(num_draws))
        assert max(map(len, units)) - min(map(len, units)) <= 1
    assert len(split(50_000, NUM_SUMS)) == NUM_SUMS


@pytest.mark.full
def test_seeds_side_by_side_are_the_seeds_alone(undisturbed: TrainingResult, tmp_path: Path) -> None:
    both = evolve(diary_task(Diary(tmp_path / "diary.txt")), **SETTINGS, seeds=2)
    assert np.asarray(both.centers[0]).tobytes() == np.asarray(undisturbed.centers[0]).tobytes()
    assert not np.array_equal(both.centers[0], both.centers[1])


@pytest.mark.full
def test_resumed_with_other_workers_is_the_same(undisturbed: TrainingResult, tmp_path: Path) -> None:
    task = diary_task(Diary(tmp_path / "diary.txt"))
    evolve(task, **{**SETTINGS, "generations": 1}, output=tmp_path / "run")
    resume(tmp_path / "run", task, generations=3, workers=2)
    result = evolve(task, **SETTINGS)
    assert_same(result, undisturbed)
    assert Run(tmp_path / "run").centers.tobytes() == np.asarray(undisturbed.centers).tobytes()


def test_a_simulator_that_ends_the_program_is_an_error() -> None:
    def quits(parameters: Any, seed: int) -> Any:
        sys.exit(0)

    with pytest.raises(TaskError, match="SystemExit"):
        simulator_task(lambda: quits, start=np.zeros(2))


def test_worker_that_cannot_build_the_simulator_stops_the_run_with_its_words(tmp_path: Path) -> None:
    class Unbuildable:
        def __call__(self) -> Any:
            raise ImportError("no such simulator here")

    task = diary_task(Diary(tmp_path / "diary.txt"))
    broken = dataclasses.replace(task, simulator=Unbuildable())
    with (
        pytest.warns(UserWarning, match=r"no such simulator here|21 more members are invalid"),
        pytest.raises(InvalidMembersError, match="24 of 24 members"),
    ):
        evolve(broken, **SETTINGS)


def test_other_versions_on_a_worker_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    yaml = importlib.import_module("yaml")  # of a package that has another name
    recipe = recipe_of(Config("python:diary", population_size=4), diary_task(Diary(tmp_path / "diary.txt")))
    assert (recipe.code["numpy"], recipe.code["yaml"]) == (np.__version__, yaml.__version__)
    elsewhere = dataclasses.replace(recipe, driver=("another machine", 1))
    Workbench(elsewhere).check_code()
    monkeypatch.setattr(fingerprint, "version_of", lambda name: "0.0.1" if name == "jax" else "")
    with pytest.raises(RuntimeError, match=r"another version of jax, 0\.0\.1, than the driver"):
        Workbench(elsewhere).check_code()
    Workbench(recipe).check_code()  # in the driver itself there is nothing to check


def test_a_package_of_another_name_is_found_by_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    yaml = importlib.import_module("yaml")
    version = yaml.__version__
    monkeypatch.delattr(yaml, "__version__")
    assert fingerprint.version_of.__wrapped__("yaml") == version


def test_another_version_of_a_module_is_refused_as_soon_as_a_worker_has_imported_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that a simulator imports late has changed since the driver did: the worker's file is another one."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "physics_of_mine.py").write_text("GRAVITY = 9.81\n")
    (tmp_path / "falls_of_mine.py").write_text(
        "class Falls:\n    def __call__(self, parameters, seed):\n        from physics_of_mine import GRAVITY\n"
        "        return parameters[:1] * GRAVITY\n"
    )
    task = simulator_task(importlib.import_module("falls_of_mine").Falls, start=np.zeros(2))
    evolve(task, **SETTINGS, workers=1)
    evolution = Evolution(layered("python:falls", values=SETTINGS), task, pool := LocalProcesses(1))
    (tmp_path / "physics_of_mine.py").write_text("GRAVITY = 1.62\n")
    with pytest.raises(TaskError, match="another version of physics_of_mine"):
        next(evolution.generations(evolution.start()))
    pool.close()


@pytest.mark.filterwarnings("ignore:.*more members are invalid")
@pytest.mark.parametrize("raised", [SystemExit(0), GeneratorExit(), asyncio.CancelledError("stop"), Panic("Rust's")])
def test_whatever_a_simulator_raises_makes_a_member_invalid(raised: BaseException) -> None:
    def simulate(parameters: Any, seed: int) -> Any:
        if np.any(parameters):  # so not in the trial at its start
            raise raised
        return parameters

    task = simulator_task(lambda: simulate, np.zeros(2))
    with pytest.raises(InvalidMembersError), pytest.warns(UserWarning, match=f"invalid: {type(raised).__name__}"):
        evolve(task, **SETTINGS, workers=Pool())


def test_simulator_that_cannot_be_pickled_is_refused_by_name(tmp_path: Path) -> None:
    lock = threading.Lock()
    task = dataclasses.replace(diary_task(Diary(tmp_path / "diary.txt")), simulator=lambda: lock)
    with pytest.raises(TaskError, match="'diary': its simulator cannot be sent"):
        evolve(task, **SETTINGS)


def test_processes_that_die_while_they_build_the_simulator_stop_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evolvability.workers.evaluator.MAX_LOST_PER_SLOT", 0)
    monkeypatch.setattr("evolvability.workers.evaluator.MAX_LOST", 2)
    task = dataclasses.replace(diary_task(Diary(tmp_path / "diary.txt")), simulator=lambda: os._exit(7))
    with pytest.raises(ClusterError, match=r"2 calls in a row came to nothing.*exit code 7"):
        evolve(task, **SETTINGS, workers=1)


def test_gradient_that_costs_every_worker_stops_the_run(tmp_path: Path) -> None:
    class Losing(Pool):
        def submit(self, function: Any, *arguments: Any) -> Future[Any]:
            if arguments[1] != "gradient":
                return super().submit(function, *arguments)
            future: Future[Any] = Future()
            future.set_exception(LostError("its worker was lost"))
            return future

    with pytest.raises(ClusterError, match="lost 3 times"):
        evolve(diary_task(Diary(tmp_path / "diary.txt")), **SETTINGS, workers=Losing())


def test_members_that_cost_every_worker_stop_the_run_soon(tmp_path: Path) -> None:
    asked = []

    class Losing(Pool):
        def submit(self, function: Any, *arguments: Any) -> Future[Any]:
            asked.append(arguments)
            future: Future[Any] = Future()
            future.set_exception(LostError("its worker was lost"))
            return future

    with pytest.raises(ClusterError, match=r"9 calls in a row came to nothing.*its worker was lost"):
        evolve(diary_task(Diary(tmp_path / "diary.txt")), **SETTINGS, workers=Losing())
    assert len(asked) < 24


def test_a_worker_that_takes_too_much_memory_is_ended_from_outside_and_named() -> None:
    worker = _Worker()
    assert isinstance(worker.call(PATIENCE, os.getpid), int)
    worker.look_after(1e12)
    assert isinstance(worker.call(PATIENCE, os.getpid), int)
    worker.look_after(1e3)
    with pytest.raises(LostError, match=r"SIGKILL.*of memory, of 0.0 GB at most"):
        worker.call(PATIENCE, os.getpid)
    pool = LocalProcesses(3)
    pool.close()
    assert 0 < pool.memory <= machine_memory() / 3


def test_memory_is_watched_however_short_calls_are() -> None:
    pool = LocalProcesses(1)
    try:
        call: Any = pool.call
        call(os.getpid)
        pool.memory = 1e3
        pids = (call(os.getpid) for _ in range(100_000))
        with pytest.raises(LostError, match=r"of memory, of 0.0 GB at most"):
            list(pids)
    finally:
        pool.close()


def test_a_worker_that_does_not_even_listen_is_overdue() -> None:
    pool = LocalProcesses(1, deadline=2.0)
    try:
        call: Any = pool.call
        os.kill(call(os.getpid), signal.SIGSTOP)
        with pytest.raises(OverdueError):
            call(len, b"x" * 10**7)  # more than a pipe holds
    finally:
        pool.close()


def test_a_pool_can_be_closed_as_soon_as_a_call_is_answered() -> None:
    """By the thread that brings the answer, and would wait for itself."""
    pool, errors = LocalProcesses(1), queue.Queue[Exception | None]()

    def close(_: Any) -> None:
        try:
            pool.close()
            errors.put(None)
        except Exception as error:
            errors.put(error)

    pool.submit(os.getpid).add_done_callback(close)
    assert errors.get(timeout=PATIENCE) is None


def test_why_a_worker_cannot_start_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evolvability.workers.local_processes.START", "raise SystemError('no such interpreter')")
    pool = LocalProcesses(1)
    error = pool.submit(os.getpid).exception(PATIENCE)
    pool.close()
    assert isinstance(error, LostError)
    assert "(exit code 1), whose last words were" in str(error)
    assert "SystemError: no such interpreter" in str(error)


def test_interrupted_workers_leave_nothing_behind(tmp_path: Path) -> None:
    script = tmp_path / "interrupted.py"
    script.write_text(
        "import os, signal, time\n"
        "from evolvability.workers.local_processes import LocalProcesses\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where tests run in the background
        "pool = LocalProcesses(2)\n"
        "print(*(pool.submit(os.getpid).result() for _ in range(2)), flush=True)\n"
        "for _ in range(2):\n"
        "    pool.submit(time.sleep, 1000)\n"
        "time.sleep(1)\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "except KeyboardInterrupt:\n"
        "    pool.close()\n"
    )
    (tmp_path / "tmp").mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=PATIENCE, check=True, env=environment
    )
    assert done.stderr == ""
    assert not list((tmp_path / "tmp").iterdir())
    for process in map(int, done.stdout.split()):
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_who_waits_for_a_worker_hears_that_the_pool_is_closed() -> None:
    pool = LocalProcesses(2)
    calls: list[Future[Any]] = [pool.submit(time.sleep, 1000) for _ in range(3)]
    pool.close()  # while their processes begin
    assert calls[2].cancelled()
    assert [type(call.exception(PATIENCE)) for call in calls[:2]] == [LostError, LostError]
    assert pool.process_ids == []


def last_words(text: str) -> None:
    os.write(2, text.encode())
    os._exit(7)


def test_a_worker_reports_its_last_words_heeds_no_sigterm_and_starts_no_code_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("multiprocessing", "pickle", "numbers"):  # which a new process would import from here
        Path(f"{name}.py").write_text("open('executed', 'w')")
    pool = LocalProcesses(1)
    try:
        first: Any = pool.submit(os.getpid).result(60)
        os.kill(first, signal.SIGTERM)
        path: Any = pool.submit(os.getenv, "PYTHONSAFEPATH").result(60)
        assert path is None
        assert pool.process_ids == [first]
        error = pool.submit(last_words, "the leg broke").exception(60)
        assert isinstance(error, LostError)
        assert "(exit code 7), whose last words were: the leg broke" in str(error)
    finally:
        pool.close()
    assert "the leg broke" in capfd.readouterr().err
    assert not Path("executed").exists()
    assert "PYTHONSAFEPATH" not in os.environ


def test_task_without_simulator_refuses_workers() -> None:
    with pytest.raises(ConfigError, match=r"does not run on workers.*Leave out workers"):
        evolve("point", generations=1, population_size=4, workers=Pool())


@pytest.mark.parametrize("workers", [-1, "nowhere.json", 2.5, True])
def test_workers_that_cannot_be_meant_are_refused(workers: Any) -> None:
    with pytest.raises(ConfigError, match=r"expected|must be 1"):
        make_pool(workers)


def test_no_workers_are_this_process() -> None:
    assert type(make_pool(0)) is type(make_pool(None)) is Pool
    # The task has no simulator for workers, and needs none.
    small: dict[str, Any] = {"generations": 1, "population_size": 8, "objective": "max_variance"}
    evolve("point", **small, workers=0, progress=False)


def test_plain_class_is_a_task() -> None:
    class Throw:
        def __call__(self, parameters: dict[str, Any], seed: int) -> tuple[list[float], float]:
            wind = np.random.default_rng(seed).normal()
            x = float(parameters["speed"] * np.cos(parameters["angle"][0]) + wind)
            return [x, 2 * x], -abs(x)

    task = simulator_task(Throw, {"angle": jnp.zeros(1), "speed": 2.0}, has_fitness=True, behavior_names=("x", "twice"))
    result = evolve(task, objective="max_variance", episodes=2, generations=2, population_size=16)
    assert task.name == "Throw"
    assert set(result.center) == {"angle", "speed"}
    assert result.metrics["num_steps"][0].tolist() == [32, 32]
    outcome, _ = task.evaluate(jax.random.key(0), _sample(task), ())
    np.testing.assert_allclose(outcome.behavior[:, 1], 2 * outcome.behavior[:, 0], rtol=1e-6)


def _sample(task: Any) -> Any:
    population = build_population(Config("python:x", population_size=4), task.shapes)
    cloud = population.init(jax.random.key(1), task.init(jax.random.key(0))[None])
    return population.sample(jax.random.key(2), cloud, 0, population.draws(4))


def seeds_of(parameters: Any, seed: int) -> tuple[float, float]:
    return float(seed >> 16), float(seed & 0xFFFF)  # in halves, which float32 holds


def test_a_member_has_its_seed_in_whatever_part_and_order_it_is_evaluated() -> None:
    task = simulator_task(lambda: seeds_of, start=np.zeros(2))
    sample = _sample(task)
    draws, key = np.arange(sample.num_draws), jax.random.key(0)

    def seeds(places: Any) -> list[Any]:
        found = np.asarray(task.evaluate(key, sample.of_draws(places), ())[0].behavior)
        return found.reshape(len(places), -1).tolist()  # of each draw, both of a pair

    whole = seeds(draws)
    assert len(np.unique(np.reshape(whole, (-1, 2)), axis=0)) == sample.num_members
    assert seeds(draws[::-1]) == whole[::-1]
    assert [seeds(draws[k : k + 1])[0] for k in draws] == whole


@pytest.mark.parametrize(
    ("simulator", "words"),
    [
        (lambda: lambda parameters, seed: np.zeros((2, 2)), "a number or a vector"),
        (lambda: lambda parameters, seed: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_simulator_that_cannot_work_says_so_at_once(simulator: Any, words: str) -> None:
    with pytest.raises(TaskError, match=words):
        simulator_task(simulator, jnp.zeros(2))


@pytest.mark.full
def test_addresses_decide_over_seeds() -> None:
    def seed(generation: int, member: int, scope: Any) -> int:
        return Address((1, 2), generation, member).seed(0, scope)

    assert len({seed(g, m, "member") for g in range(4) for m in range(4)}) == 16
    assert len({seed(g, m, "generation") for g in range(4) for m in range(4)}) == 4
    assert len({seed(g, m, "run") for g in range(4) for m in range(4)}) == 1
