"""What the page may ask for: every question is a path, every answer bytes."""

import json
import re
import threading
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import safetensors.numpy

from evolvability.core.errors import ConfigError, unknown
from evolvability.explorer import data
from evolvability.explorer.shapes import robot_table
from evolvability.runs.folder import Run
from evolvability.runs.picking import Parent
from evolvability.studies import rebuild
from evolvability.studies.groups import run_names
from evolvability.studies.rebuild import FRESH_TOGETHER, Brood
from evolvability.tasks.base import Task
from evolvability.tasks.replay import Recording, Stage

Value = TypeVar("Value")
Place = tuple[threading.Lock, list[Any]]
QUESTIONS = ("overview", "cloud", "history", "curves", "robot", "center", "fresh", "replay", "policy", "video")
FRAMES_PER_SECOND = 30
NOT_DRAWN = "This environment does not draw itself (it has no render mode rgb_array): its behaviors are shown alone."
MAX_ROBOTS = 16
MAX_STEPS = 100_000  # of an episode that is watched: it would not end while somebody waits
BROODS: dict[str, Callable[[Parent, int, int], Brood]] = {
    "center": lambda parent, number, episode: rebuild.center(parent),
    "chunk": lambda parent, number, episode: rebuild.fresh(parent, number),
    "fresh": lambda parent, number, episode: rebuild.fresh_one(parent, number),
    "member": lambda parent, number, episode: rebuild.members(parent, [number], episode),
}
"""Who can be simulated; a member in any of its episodes, others in one."""


class Question(dict[str, str]):
    """The values in a question, such as run, seed and generation."""

    def __missing__(self, name: str) -> str:
        raise ConfigError(f"The question lacks a value for '{name}'.")

    def integer(self, name: str) -> int:
        """A value that must be an integer; none that is counted here is negative, or has more than 31 bits."""
        if re.fullmatch(r"[0-9]{1,10}", self[name]) is None or int(self[name]) >= 1 << 31:
            raise ConfigError(f"{name} must be an integer from 0 to {(1 << 31) - 1}, got '{self[name]}'.")
        return int(self[name])

    def place(self) -> tuple[int, int, int]:
        """Which run, seed and generation it is about."""
        return self.integer("run"), self.integer("seed"), self.integer("generation")


class Kept:
    """The last results of slow questions; older ones are forgotten, so that memory stays bounded."""

    def __init__(self, most: int) -> None:
        self._places: Callable[[Hashable], Place] = lru_cache(most)(lambda name: (threading.Lock(), []))
        self._finding = threading.Lock()

    def __call__(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """The result of that name, made where there is none."""
        # lru_cache alone may make two places for threads that ask at once.
        with self._finding:
            lock, results = self._places(name)
        # Whoever asks for what is just being made waits for it, but for nothing else.
        with lock:
            if not results:
                results.append(make())  # where it fails nothing is kept: whoever asks next tries again
            result: Value = results[0]
            return result


class Explorer:
    """Answers questions about runs shown side by side; from several threads, if need be."""

    def __init__(self, runs: Sequence[Run]) -> None:
        if not runs:
            raise ConfigError("ees explore: give at least one run folder.")
        self.runs = list(runs)
        self.names = run_names([run.config for run in runs])
        if len({data.num_behaviors(run) for run in self.runs if run.recorded}) > 1:
            raise ConfigError("These runs differ in their number of behaviors. Explore them one by one.")
        self._kept = Kept(64)  # a thousand fresh mutations are 50 chunks
        self._simulator = threading.Lock()  # one simulation at a time: each of them uses every core
        for index in range(len(self.runs)):
            self._labels(index)  # now, as it may import a simulator, which the first picture should not wait for

    def answer(self, question: str) -> bytes:
        """The answer to a question such as ``cloud?run=0&seed=0&generation=99``."""
        parts = urlsplit(question)
        if parts.path not in QUESTIONS:
            raise ConfigError(unknown("question", parts.path, QUESTIONS))
        # One of QUESTIONS, as was checked: no other attribute can be reached.
        answer: Callable[[Question], bytes] = getattr(self, parts.path)
        return answer(Question({"episode": "0"} | dict(parse_qsl(parts.query))))

    def overview(self, asked: Question) -> bytes:
        """All runs, as tables."""
        named = enumerate(zip(self.runs, self.names, strict=True))
        tables = [data.overview(run, name, self._labels(index)) for index, (run, name) in named]
        return json.dumps({"runs": tables, "together": FRESH_TOGETHER, "max_robots": MAX_ROBOTS}).encode()

    def cloud(self, asked: Question) -> bytes:
        """One generation's behaviors."""
        return _arrays(data.cloud(self._run(asked), asked.integer("generation"), asked.integer("seed")))

    def history(self, asked: Question) -> bytes:
        """The distribution of behavior over generations, on a scale that all runs share."""
        farthest = max(data.reach(run) for run in self.runs)
        shown = data.history(self._run(asked), asked.integer("seed"), farthest)
        return _arrays(shown | {"reach": np.array([farthest], np.float32)})

    def curves(self, asked: Question) -> bytes:
        """The learning curves."""
        return _arrays(data.curves(self._run(asked)))

    def robot(self, asked: Question) -> bytes:
        """The robot's shapes, in what it is simulated here, whether it has a way on the ground, or draws itself."""
        task = self._task(asked)
        stage = task.stage or Stage(None, 1.0)
        # A way on the ground is along x and y, whatever behaviors lie there.
        draws, moves = stage.simulator is not None, stage.replay is not None and not self._run(asked).dimensions
        note = NOT_DRAWN if task.simulator is not None and not draws else ""
        table = {"engine": stage.engine, "moves": moves, "draws": draws, "acts": task.actions is not None, "note": note}
        robot = stage.model and robot_table(stage.model, stage.robot and stage.robot.start)
        return json.dumps({"robot": robot, **table}).encode()

    def center(self, asked: Question) -> bytes:
        """What the unmutated center does."""
        outcome = self._simulated(asked, "center", rebuild.evaluate)
        return _arrays({"behavior": self._run(asked).along(np.asarray(outcome.behavior, np.float32))})

    def fresh(self, asked: Question) -> bytes:
        """What one chunk of fresh mutations does."""
        outcome = self._simulated(asked, "chunk", rebuild.evaluate)
        behavior = self._run(asked).along(np.asarray(outcome.behavior, np.float32))
        return _arrays({"behavior": behavior, "valid": np.asarray(outcome.valid).astype(np.uint8)})

    def replay(self, asked: Question) -> bytes:
        """One mutation's episode, moment by moment."""
        stage = self._task(asked).stage
        motion = self._motion(asked)
        motion = motion._replace(behavior=self._run(asked).along(motion.behavior))
        return _arrays(_thinned(motion, 1.0 if stage is None else stage.time_step))

    def policy(self, asked: Question) -> bytes:
        """One mutation's network with the statistics of observations, as `ees adapt --save` writes it."""
        kind = _kind(asked)
        parent = self._parent(asked)
        brood = BROODS[kind](parent, asked.integer(kind), asked.integer("episode"))
        return parent.policy(brood.sample.members()[brood.wanted[0]]).to_file()

    def video(self, asked: Question) -> bytes:
        """The episodes of several mutations as a video."""
        from evolvability.explorer.videos import make_video

        task = self._task(asked)
        if task.stage is None or (task.stage.model is None and task.stage.simulator is None):
            raise ConfigError(f"Task '{task.name}' has no robot to show in a video. Save the view as PNG instead.")
        casts = [Question({**asked, **_address(word)}) for word in asked["cast"].split(",")]
        motions = [self._motion(one) for one in casts[:MAX_ROBOTS]]
        return make_video(task.stage, motions, asked["format"], speed=float(asked["speed"]))

    def _motion(self, asked: Question) -> Recording:
        return self._simulated(asked, _kind(asked), rebuild.replay)

    def _parent(self, asked: Question) -> Parent:
        run, task, (_, seed, generation) = self._run(asked), self._task(asked), asked.place()
        return self._kept(("parent", *asked.place()), lambda: rebuild.parent_of(run, task, generation, seed))

    def _simulated(self, asked: Question, kind: str, simulate: Callable[[Task, Parent, Brood], Value]) -> Value:
        """What members of a kind in `BROODS` do, the one whose number the question has under that name."""
        task, parent = self._task(asked), self._parent(asked)
        number, episode = 0 if kind == "center" else asked.integer(kind), asked.integer("episode")

        def alone() -> Value:
            with self._simulator:
                return simulate(task, parent, BROODS[kind](parent, number, episode))

        return self._kept((kind, number, episode, *asked.place()), alone)

    def _run(self, asked: Question) -> Run:
        index = asked.integer("run")
        if not 0 <= index < len(self.runs):
            raise ConfigError(f"There are {len(self.runs)} runs, numbered from 0, got {index}.")
        return self.runs[index]

    def _labels(self, index: int) -> list[str]:
        run = self.runs[index]
        return self._kept(("labels", index), lambda: run.behavior_names) if run.recorded else []

    def _task(self, asked: Question) -> Task:
        run = self._run(asked)
        steps = getattr(run.config.task_options, "num_steps", 0)
        if steps > MAX_STEPS:
            raise ConfigError(f"{run.path}: episodes of {steps:,} steps take too long; {MAX_STEPS:,} at most.")
        return self._kept(("task", asked.integer("run")), lambda: rebuild.watchable_task(run))


def _kind(asked: Question) -> str:
    return "fresh" if "fresh" in asked else "member"


def _address(word: str) -> dict[str, str]:
    """What ``SEED.GENERATION.member.17`` stands for, or ``member.17.2`` for its third episode, or ``fresh.3``.

    >>> _address("0.99.fresh.3")
    {'seed': '0', 'generation': '99', 'fresh': '3', 'episode': '0'}
    """
    # Filled up: what a word lacks is then missed by `Question`, which says so.
    seed, generation, kind, index, *episode = [*word.split("."), *[""] * (3 - word.count("."))]
    return {"seed": seed, "generation": generation, kind: index, "episode": ".".join(episode) or "0"}


def _thinned(motion: Recording, time_step: float) -> data.Arrays:
    """A single member's motion at no more frames per second than are shown; the last moment is always among them."""
    last = int(motion.num_frames[0]) - 1
    every = max(1, round(1 / (FRAMES_PER_SECOND * time_step)))
    moments = np.append(np.arange(0, last, every), last)
    arrays = {
        "behavior": motion.behavior[0].astype(np.float32),
        "valid": np.array([motion.valid[0]], np.uint8),
        "time": (moments * time_step).astype(np.float32),
        "path": motion.path[0, moments].astype(np.float32),
    }
    if motion.poses is not None:
        arrays["poses"] = motion.poses[0, moments].astype(np.float32)
    if motion.pictures is not None:
        files = [motion.pictures[0][moment] for moment in moments]
        arrays["pictures"] = np.frombuffer(b"".join(files), np.uint8)
        arrays["picture_ends"] = np.cumsum([len(file) for file in files]).astype(np.uint32)
    if motion.note:
        arrays["note"] = np.frombuffer(motion.note.encode(), np.uint8)
    return arrays


def _arrays(arrays: data.Arrays) -> bytes:
    # Contiguous: safetensors copies memory as it lies.
    return bytes(safetensors.numpy.save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
