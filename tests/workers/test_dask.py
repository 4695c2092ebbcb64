"""A Dask cluster of real processes, killed, stopped, added and removed while runs go on: no bit changes."""

import gc
import random
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask.config
import numpy as np
import pytest
from distributed import Client

from evolvability import Run, evolve, resume
from evolvability.config.schema import layered
from evolvability.core.errors import ClusterError, ConfigError
from evolvability.runs.rows import PackedRows
from evolvability.training.driver import TrainingResult
from evolvability.training.evolution import Evolution
from evolvability.workers.connect import make_pool
from evolvability.workers.dask import DaskPool
from evolvability.workers.worker import work
from tests.cluster import NUM_STEPS, Cluster, Diary, cluster_in, diary_task
from tests.patience import PATIENCE
from tests.workers.test_evaluators import assert_same

POPULATION_SIZE, GENERATIONS = 32, 3
SETTINGS: dict[str, Any] = {
    "objective": "max_variance",
    "population_size": POPULATION_SIZE,
    "generations": GENERATIONS,
    "sigma": 0.1,
    "worker_batches": 8,
}
CONFIG = layered("python:diary", values=SETTINGS)
EVERYONE = {(generation, member) for generation in range(GENERATIONS) for member in range(POPULATION_SIZE)}
DEADLINE = 3.0
START_SECONDS = 4.0
SECONDS = 0.02  # a member


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster_in(tmp_path_factory.mktemp("cluster"), num_workers=2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster: Cluster) -> Iterator[Client]:
    with Client(cluster.address, timeout=PATIENCE) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        yield client


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    return evolve(diary_task(Diary(tmp_path_factory.mktemp("alone") / "diary.txt")), **SETTINGS)


def kill(cluster: Cluster) -> None:
    cluster.signal(0, signal.SIGKILL)
    cluster.add()


def stop(cluster: Cluster) -> None:
    """For longer than is waited; then it goes on, and answers what nobody asks any more."""
    worker = cluster.workers[0]
    worker.send_signal(signal.SIGSTOP)
    threading.Timer(START_SECONDS + DEADLINE + 0.5, worker.send_signal, (signal.SIGCONT,)).start()


def add(cluster: Cluster) -> None:
    cluster.add()


def remove(cluster: Cluster) -> None:
    cluster.signal(0, signal.SIGTERM)


DISTURBANCES: list[Callable[[Cluster], None]] = [kill, add, remove, stop, kill]


@pytest.mark.parametrize("num_runs", [4, pytest.param(20, marks=pytest.mark.full)])
def test_disturbed_runs_end_with_the_same_bits(
    num_runs: int,
    cluster: Cluster,
    client: Client,
    undisturbed: TrainingResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evolvability.workers.dask.START_SECONDS", START_SECONDS)
    chance = random.Random(0)
    diary = Diary(tmp_path / "diary.txt", seconds=SECONDS)
    evolution = Evolution(CONFIG, diary_task(diary), DaskPool(client, DEADLINE))
    start, again = evolution.start(), 0
    for number in range(num_runs):
        moment = chance.randrange(1, POPULATION_SIZE * (GENERATIONS - 1))

        def in_the_middle(number: int = number, moment: int = moment) -> None:
            while len(diary.evaluated()) < moment:
                time.sleep(0.005)
            DISTURBANCES[number % len(DISTURBANCES)](cluster)

        thread = threading.Thread(target=in_the_middle)
        thread.start()
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # of invalid members
            states, rows, _ = zip(*evolution.generations(start), strict=True)
        thread.join()
        packed = PackedRows(1)
        packed.extend(row for (row,) in rows)
        metrics = packed.arrays()
        result = TrainingResult(states[-1], metrics, evolution.task, evolution.config, False, {})
        assert_same(result, undisturbed)
        assert (metrics["num_steps"] == POPULATION_SIZE * NUM_STEPS).all()  # nobody counts twice
        assert set(diary.evaluated()) == EVERYONE
        again += diary.evaluated().total() - len(EVERYONE)
        diary.path.unlink()
    assert again > 0  # or nothing was disturbed


def test_a_cluster_is_called_by_its_dashboard(client: Client) -> None:
    assert client.dashboard_link in DaskPool(client).description


@pytest.mark.full
def test_only_integers_and_one_center_a_worker_travel(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a call carries does not depend on the number of parameters: the center is a Dask future."""
    pool = DaskPool(client)
    sent: list[tuple[Any, ...]] = []
    original = client.submit

    def submit(function: Any, *arguments: Any, **where: Any) -> Any:
        if function is work:
            sent.append(arguments)
        return original(function, *arguments, **where)

    monkeypatch.setattr(client, "submit", submit)
    evolve(diary_task(Diary(tmp_path / "diary.txt")), **SETTINGS, workers=pool)
    shared = {argument.key for arguments in sent for argument in (arguments[0], arguments[2])}
    assert len(shared) == 1 + GENERATIONS  # the recipe, and a center a generation
    own = [argument for arguments in sent for argument in arguments[3:]]
    assert {type(argument) for argument in own} == {range, np.ndarray}
    weights = [argument for argument in own if isinstance(argument, np.ndarray)]
    assert sum(map(np.size, weights)) == GENERATIONS * POPULATION_SIZE
    gc.collect()
    assert not pool._sent  # a center is dropped when its generation is over


def test_a_call_that_no_worker_comes_to_is_made_again(
    client: Client, undisturbed: TrainingResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of which the scheduler has lost sight."""
    monkeypatch.setattr("evolvability.workers.dask.START_SECONDS", 1.0)
    original, calls = client.submit, 0

    def submit(function: Any, *arguments: Any, **where: Any) -> Any:
        nonlocal calls
        calls += function is work
        nowhere = {"workers": ["tcp://127.0.0.1:1"], "allow_other_workers": False}
        return original(function, *arguments, **where | (nowhere if function is work and calls == 1 else {}))

    pool, task = DaskPool(client, deadline=1.0), diary_task(Diary(tmp_path / "diary.txt"))
    monkeypatch.setattr(client, "submit", submit)
    assert_same(evolve(task, **SETTINGS, workers=pool), undisturbed)


def test_scheduler_that_goes_away_stops_the_run_resumably(undisturbed: TrainingResult, tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary.txt", seconds=SECONDS)
    with cluster_in(tmp_path, num_workers=1) as cluster, Client(cluster.address, timeout=PATIENCE) as client:
        client._timeout = 1  # seconds that it looks for its scheduler

        def in_the_middle() -> None:
            while len(diary.evaluated()) < POPULATION_SIZE + 3:
                time.sleep(0.005)
            cluster.scheduler.kill()

        thread = threading.Thread(target=in_the_middle)
        thread.start()
        with pytest.raises(ClusterError, match="scheduler has gone away"):
            evolve(diary_task(diary), **SETTINGS, output=tmp_path / "run", workers=client)
        thread.join()
    assert len(Run(tmp_path / "run").rows) == 1
    resume(tmp_path / "run", diary_task(diary))
    assert Run(tmp_path / "run").centers.tobytes() == np.asarray(undisturbed.centers).tobytes()


def test_no_worker_for_too_long_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evolvability.workers.evaluator.START_SECONDS", 0.0)
    with cluster_in(tmp_path, num_workers=0) as cluster, Client(cluster.address, timeout=PATIENCE) as client:
        pool = DaskPool(client, deadline=0.5)
        with pytest.raises(ClusterError, match=r"no worker for 0.5 s"):
            evolve(diary_task(Diary(tmp_path / "diary.txt")), **SETTINGS, workers=pool)


def test_address_where_nobody_listens_is_refused() -> None:
    soon = dask.config.set({"distributed.comm.timeouts.connect": "0.3s"})
    with soon, pytest.raises(ConfigError, match="no scheduler answers"):
        make_pool("tcp://127.0.0.1:1")
