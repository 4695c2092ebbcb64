"""Shared pieces of the tests."""

import contextlib
import gc
import importlib
import os
import shutil
from collections.abc import Callable, Collection, Iterable
from copy import copy
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from jax import Array

from evolvability.config.schema import Config
from evolvability.core.entries import loaded
from evolvability.core.objectives import sample_weights
from evolvability.core.populations import normal
from evolvability.core.types import Outcome, Sample, make_outcome
from evolvability.explorer.videos import draw_without_window
from evolvability.studies import sweeps
from evolvability.tasks.base import Task
from evolvability.tasks.registry import TASKS, make_task
from evolvability.training import driver
from evolvability.training import evolution as evolutions
from evolvability.training.evolution import Evolution
from tests.browsing import browsers, pages
from tests.lowering import lower_sooner

draw_without_window()  # before anything imports MuJoCo, which chooses once

browser = pytest.fixture(scope="module")(browsers)
opened = pytest.fixture(pages)


def pytest_configure(config: pytest.Config) -> None:
    """Programs this small take longer to optimize than to run; those of the full tier are optimized, as in use."""
    if config.option.markexpr != "full":
        jax.config.update("jax_disable_most_optimizations", True)
        os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # of processes that tests start
        with contextlib.suppress(ImportError):
            importlib.import_module("warp").config.optimization_level = 0


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what -m does not name
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in a browser are of the full tier: a page takes seconds to open, and its server is tested without one."""
    for item in items:
        if "opened" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.full)


def pytest_collection_finish() -> None:
    """Imported modules stay: the garbage collector need not look at them, nor as often at what JAX traces."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 10, 2)


OURS = Path(__file__).parents[1] / ".pytest_cache" / "compiled"
COMPILED = Path(os.environ.get("JAX_COMPILATION_CACHE_DIR", OURS))
"""Compiled programs, kept between runs of the suite and shared by its processes and those that they start."""
KEPT_BYTES = 10**9
"""Of compiled programs, at most; one run of the suite makes a tenth of it."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """Nothing tells which compiled programs are still of use: once they are too many, all of them go."""
    is_worker = hasattr(session.config, "workerinput")
    if not is_worker and OURS.is_dir() and sum(file.stat().st_size for file in OURS.iterdir()) > KEPT_BYTES:
        shutil.rmtree(OURS)


jax.config.update("jax_compilation_cache_dir", str(COMPILED))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
# Where in the source each operation of a program comes from is for profiles, and a tenth of the time to make it.
jax.config.update("jax_include_full_tracebacks_in_locations", False)
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(COMPILED)
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ.setdefault("WARP_CACHE_PATH", str(OURS.with_name("kernels")))
os.environ.setdefault("NUMBA_OPT", "0")  # what a library beside ours compiles, anew in each process
lower_sooner()


@pytest.fixture(autouse=True, scope="session")
def own_home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a user's programs remember is not this user's."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


# As one program each. Operation by operation, as a person at a prompt runs them, each of dozens is compiled by itself,
# which takes most of a test's time.
compiled_outcome = jax.jit(make_outcome)
compiled_weights = jax.jit(sample_weights, static_argnums=0)


prepared = lru_cache(64)(Evolution)
TOYS = ("interference", "point", "maze", "navigation")


def shared_evolution(config: Config, task: Task | None = None, *given: Any) -> Evolution:
    """An Evolution; of a toy, with programs that are traced and compiled once for all tests that train alike."""
    is_toy = config.task in TOYS and "task" not in config.from_python  # with a policy of one's own
    is_toy = is_toy and (task is None or task is make_task(config.task, config.task_options))
    # None is not a leaf, nor are Pieces of nothing else. The options of a sum are a dictionary, which has no hash.
    if not is_toy or jax.tree.leaves(given) or isinstance(config.objective_options, dict):
        return Evolution(config, task, *given)
    uncompiled: dict[str, Any] = {"generations": 1, "start_from": "", "seed": 0}
    uncompiled |= {"record_every": 1, "checkpoint_seconds": 0.0}
    evolution = copy(prepared(replace(config, **uncompiled)))
    evolution.config = config
    return evolution


def remembered(make: Callable[..., Task]) -> Callable[..., Task]:
    """A task's factory that makes the same of the same options once; networks of one's own may change meanwhile."""
    once = lru_cache(64)(make)
    return lambda options, *own: make(options, *own) if own or ":" in getattr(options, "policy", "") else once(options)


@pytest.fixture(autouse=True, scope="session")
def compiled_once() -> None:
    """What is trained or tried in one test is not compiled for the next: toys of the same options are the same task."""
    for name in TOYS:
        make = TASKS[name].make
        TASKS[name] = replace(TASKS[name], make=remembered(loaded(make) if isinstance(make, str) else make))
    for module in (driver, evolutions, sweeps):  # the command line asks the second for it when it trains
        vars(module)["Evolution"] = shared_evolution


@pytest.fixture(autouse=True, scope="session")
def collected_seldom() -> None:
    """What hundreds of tests have traced and compiled stays: to look at all of it before each training takes longer
    than the training. What is left by one is collected when Python finds that there is enough of it."""
    vars(evolutions)["gc"] = SimpleNamespace(collect=int)


@partial(jax.jit, static_argnums=(1, 2))
def _mutations(center: Array, sigma: float, num_members: int) -> Sample:
    population = normal(sigma)
    parameters = population.init(jax.random.key(2), center[None])
    return population.sample(jax.random.key(1), parameters, 0, population.draws(num_members))


def mutations_for(task: Task, num_members: int, sigma: float = 0.1) -> Sample:
    """Mutations of a network for a task, the same ones each time; fresh networks hardly act, and they do."""
    return _mutations(task.init(jax.random.key(0)), sigma, num_members)


def in_tiers(cases: Iterable[Any], quick: Collection[Any]) -> list[Any]:
    """Cases of a parametrized test: those of ``quick``, one of each kind, in the quick tier, others in the full one."""
    marks = {True: (), False: (pytest.mark.full,)}
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks[case in quick]) for case in cases]


@pytest.fixture
def key() -> Array:
    return jax.random.key(0)


def clustered_outcome(num_members: int = 200, num_behaviors: int = 2, seed: int = 0) -> Outcome:
    """Behaviors in two clusters of unlike size, with some outliers: nothing symmetric that would hide a mistake."""
    generator = np.random.default_rng(seed)
    behavior = generator.normal(size=(num_members, num_behaviors)) * np.arange(1, num_behaviors + 1)
    behavior[: num_members // 4] += 6.0
    behavior[0] += 20.0
    return compiled_outcome(behavior.astype(np.float32), generator.normal(size=num_members).astype(np.float32))
