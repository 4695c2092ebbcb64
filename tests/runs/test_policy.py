"""A trained population is an object to use: what is picked, acted with and saved does what it did in training."""

import json
import shutil
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

from evolvability import (
    ConfigError,
    Policy,
    Run,
    RunFolderError,
    TrainedPolicy,
    TrainingResult,
    UserError,
    evolve,
    function_task,
    gru,
    load_policy,
    make_task,
    measure,
    mlp,
    resume,
)
from evolvability.cli import main
from evolvability.runs.export import export
from evolvability.runs.sealed import to_bytes
from evolvability.studies.adaptation import adapt, pick_mutation
from evolvability.tasks.actions import clipped
from evolvability.tasks.base import world_of
from evolvability.tasks.families import family_of
from evolvability.tasks.gymnasium import gymnasium_task
from evolvability.tasks.normalizer import Moments, scaling
from evolvability.tasks.options import GymnasiumOptions
from evolvability.tasks.simulators import Address
from tests.optional import needs

SMALL: dict[str, Any] = {"objective": "max_variance", "generations": 2, "population_size": 8, "sigma": 0.3}
SMALL |= {"progress": False}
CARTPOLE = {"env": "CartPole-v1", "behavior": "observation:0", "hidden": 4, "num_steps": 15, "observation_share": 1.0}


class Cart(gymnasium.Env[Any, Any]):
    """Pushed along a line, and always begun at the same place; the larger numbers are far from mean 0, spread 1."""

    action_space: Any = gymnasium.spaces.Box(-2.0, 4.0, (1, 2))
    observation_space: Any = gymnasium.spaces.Box(-np.inf, np.inf, (3,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.x, self.time = 0.0, 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.x, self.time = self.x + float(action[0, 0] - action[0, 1]), self.time + 1
        return self._observation(), 0.0, False, self.time == 10, {}

    def _observation(self) -> Any:
        return np.array([self.x, 100 + 20 * self.time, -3.0], np.float32)


@pytest.fixture(scope="module")
def cart() -> TrainingResult:
    options = GymnasiumOptions(behavior="observation:0", hidden=4, observation_share=1.0)
    return evolve(gymnasium_task(Cart, options, name="cart"), seed=3, seeds=2, **SMALL)


@pytest.fixture(scope="module")
def pole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("runs") / "pole"
    evolve("gymnasium", task_options=CARTPOLE, output=path, seeds=2, **SMALL)
    return Run(path)


def drive(act: Any) -> float:
    env = Cart()
    observation, is_over = env.reset()[0], False
    while not is_over:
        action = act(observation)
        assert env.action_space.contains(action)
        observation, _, _, is_over, _ = env.step(action)
    return float(observation[0])


def test_a_pick_does_in_a_loop_of_ones_own_what_it_was_picked_for(cart: TrainingResult) -> None:
    picked = cart.pick("left", mutations=6, repeats=1, of_seed=4)
    assert drive(picked.policy) == pytest.approx(-picked.performance, rel=1e-5)
    again = cart.policy(picked.parameters, of_seed=4)
    assert drive(again) == drive(picked.policy)
    # The other seed's statistics are others, and so is what the network does.
    assert drive(cart.policy(picked.parameters, of_seed=3)) != pytest.approx(drive(again), rel=1e-3)


def test_parameters_are_not_taken_without_the_statistics_that_they_need(cart: TrainingResult, tmp_path: Path) -> None:
    center, task = cart.centers[0, 0], cart.task
    for call in (lambda: pick_mutation(task, center, "left"), lambda: measure(task, center)):
        with pytest.raises(ConfigError, match=r"'cart' .*statistics.*run\.pick"):
            call()
    for ask in (lambda: cart.policy(center), lambda: cart.pick("left"), lambda: cart.mutations(4)):
        with pytest.raises(ConfigError, match=r"seeds, 3 to 4.*of_seed=3"):
            ask()
    with pytest.raises(ConfigError, match=r"3 to 4, got 5"):
        cart.pick("left", of_seed=5)
    memory = jax.tree.map(lambda leaf: leaf[0], cart.state.memory)
    picked = pick_mutation(task, center, "left", memory=memory, mutations=3, repeats=1, sigma=0.3)
    assert drive(picked.policy) == pytest.approx(-picked.performance, rel=1e-5)


def test_a_number_of_mutations_is_whole_and_positive(cart: TrainingResult) -> None:
    for number in (0, 2.5):
        with pytest.raises(ConfigError, match=f"got {number}"):
            cart.mutations(number, of_seed=3)  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match=f"got {number}"):
            cart.pick("left", mutations=number, of_seed=3)  # type: ignore[arg-type]


def test_mutations_are_those_that_are_picked_from(cart: TrainingResult) -> None:
    picked = cart.pick("right", mutations=5, repeats=1, of_seed=3)
    mutations = cart.mutations(5, of_seed=3)
    np.testing.assert_array_equal(mutations[picked.chosen], picked.parameters)
    steps = (cart.mutations(400, seed=1, of_seed=3) - cart.centers[0, 0]) / 0.3
    np.testing.assert_allclose([steps.mean(), steps.std()], [0, 1], atol=0.05)  # mirrored pairs: once each
    assert not np.array_equal(cart.mutations(5, seed=1, of_seed=3), mutations)


def test_a_run_folder_picks_what_ees_adapt_does_and_so_does_a_slim_export(pole: Run, tmp_path: Path) -> None:
    (adapted,) = adapt(pole, ["left"], mutations=4, repeats=1)
    assert adapted.parameters is not None
    for run in (pole, Run(export(pole, tmp_path / "slim"))):
        picked = run.pick("left", mutations=4, repeats=1, of_seed=1)
        np.testing.assert_array_equal(picked.parameters, adapted.parameters[1])
        np.testing.assert_array_equal(picked.scores, adapted.scores[1])


def test_numpy_and_jax_act_alike_one_by_one_and_in_rows(pole: Run, cart: TrainingResult) -> None:
    rows = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    act = pole.policy(pole.centers[0, 0], of_seed=0)
    one_by_one = [act(row) for row in rows]
    assert all(type(action) is int for action in one_by_one)
    assert act(rows).tolist() == one_by_one == jax.jit(act)(jnp.asarray(rows)).tolist() == act(rows.tolist()).tolist()
    continuous = cart.policy(cart.centers[0, 0], of_seed=3)
    in_numpy, in_jax = continuous(rows[:, :3]), jax.jit(continuous)(jnp.asarray(rows[:, :3]))
    assert in_numpy.shape == in_jax.shape == (6, 1, 2)
    assert isinstance(in_numpy, np.ndarray)
    np.testing.assert_allclose(in_numpy, in_jax, atol=1e-5)
    assert in_numpy.dtype == np.float32


@pytest.mark.full
def test_a_robot_is_acted_for_with_its_statistics_and_within_its_torques() -> None:
    options = {"num_steps": 5, "hidden": 4, "observation_share": 1.0, "engine": "mujoco"}
    run = evolve("cheetah", task_options=options, generations=1, population_size=4, progress=False)
    parameters, observation = 100 * np.asarray(run.centers[0, 0]), np.full(26, 0.5, np.float32)
    mean, std = scaling(Moments(*(np.asarray(leaf[0]) for leaf in run.state.memory)))
    assert np.abs(mean).max() > 0.1
    outputs = family_of(mlp((4, 4)), 26, 6).apply(parameters, np.clip((observation - mean) / std, -5, 5))[0]
    assert np.abs(outputs).max() > 1
    np.testing.assert_allclose(run.policy(parameters)(observation), np.clip(outputs, -1, 1), atol=1e-5)


def test_ees_adapt_saves_what_acts_elsewhere(pole: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["adapt", str(pole.path), "--direction", "left", "-k", "4", "--repeats", "1", "--save", str(tmp_path)])
    file = tmp_path / "pole-left-1.safetensors"
    assert str(file) in capsys.readouterr().out.replace("\n", "")
    picked, act = pole.pick("left", mutations=4, repeats=1, of_seed=1), load_policy(file)
    np.testing.assert_array_equal(act.parameters, picked.parameters)
    rows = np.random.default_rng(1).normal(size=(20, 4))
    np.testing.assert_array_equal(act(rows), picked.policy(rows))
    np.testing.assert_array_equal(act.memory.mean, pole.checkpoint()["memory/mean"][1])


def test_unbounded_actions_keep_their_infinities_in_a_file(cart: TrainingResult, tmp_path: Path) -> None:
    policy = cart.pick("left", mutations=2, repeats=1, of_seed=3).policy
    policy.save(tmp_path / "one.safetensors")
    assert drive(load_policy(tmp_path / "one.safetensors")) == drive(policy)
    with safetensors.safe_open(tmp_path / "one.safetensors", "numpy") as file:
        about = json.loads(file.metadata()["policy"])
    assert (about["task"], about["shapes"][0], about["actions"]["shape"]) == ("cart", [3, 4], [1, 2])
    assert about["version"]
    assert clipped(2)(np.array([1e30, -1e30])).tolist() == pytest.approx([1e30, -1e30])


def test_damaged_and_foreign_files_get_one_sentence(cart: TrainingResult, tmp_path: Path) -> None:
    path = tmp_path / "one.safetensors"
    with pytest.raises(UserError, match=r"one\.safetensors cannot be read"):
        load_policy(path)
    cart.pick("left", mutations=2, repeats=1, of_seed=3).policy.save(path)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[-5] ^= 64
    for content in (whole[: len(whole) // 2], b"", b"PK a zip file", bytes(flipped)):
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"one\.safetensors is damaged"):
            load_policy(path)
    arrays, about = safetensors.numpy.load(whole), _metadata(whole)
    for change in ({}, {"policy": "{"}, {"policy": "[]"}, {"policy": json.dumps(about | {"shapes": [[3, 2], [2]]})}):
        path.write_bytes(to_bytes(arrays, change))
        with pytest.raises(UserError, match="is not a policy"):
            load_policy(path)
    without_statistics = {name: array for name, array in arrays.items() if not name.startswith("memory/")}
    not_finite = {"parameters": np.full_like(arrays["parameters"], np.nan)}
    for others in (arrays | {"memory/mean": np.zeros((1, 7))}, without_statistics, arrays | not_finite):
        path.write_bytes(to_bytes(others, {"policy": json.dumps(about)}))
        with pytest.raises(UserError, match="is not a policy"):
            load_policy(path)
    path.write_bytes(to_bytes(arrays, {"policy": json.dumps(about | {"format": 99})}))
    with pytest.raises(UserError, match="format 99"):
        load_policy(path)


def _metadata(data: bytes) -> dict[str, Any]:
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return dict(json.loads(header["__metadata__"]["policy"]))


def test_what_cannot_act_says_so(cart: TrainingResult, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"of 3 numbers is expected, got one of shape \(4,\)"):
        cart.policy(cart.centers[0, 0], of_seed=3)(np.zeros(4))
    with pytest.raises(ConfigError, match="has 2 parameters, but task 'cart'"):
        cart.policy(np.zeros(2), of_seed=3)
    run = evolve(function_task(lambda x: x, jnp.zeros(2)), generations=1, population_size=4, progress=False)
    assert run.pick("left", mutations=3, repeats=1).performance > 0
    with pytest.raises(ConfigError, match="not a policy"):
        run.policy(run.center)
    with pytest.raises(ConfigError, match="not a policy"):
        run.pick("left", mutations=3, repeats=1).policy.save(tmp_path / "arm.safetensors")


def test_ees_adapt_saves_no_pick_over_another(pole: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(pole.path, tmp_path / "other" / pole.path.name)
    folders = [str(pole.path), str(tmp_path / "other" / pole.path.name)]
    (tmp_path / "file").touch()
    cases = {
        "named pole": [*folders, "--save", str(tmp_path)],
        "is a file": [folders[0], "--save", str(tmp_path / "file")],
    }
    for message, arguments in cases.items():
        with pytest.raises(SystemExit, match="2"):
            main(["adapt", *arguments, "-k", "2", "--repeats", "1"])
        assert message in capsys.readouterr().err.replace("\n", " ")


def test_a_folder_without_a_checkpoint_says_so(pole: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export(pole, tmp_path / "bare")
    for file in (tmp_path / "bare" / "checkpoints").iterdir():
        file.unlink()
    with pytest.raises(RunFolderError, match="has no checkpoints"):
        Run(tmp_path / "bare").pick("left", of_seed=0)
    # As in a repository, which has no empty folders: what is left must not be overwritten by a new start.
    (tmp_path / "bare" / "checkpoints").rmdir()
    rows = (tmp_path / "bare" / "metrics.jsonl").read_bytes()
    for call in (lambda: Run(tmp_path / "bare").centers, lambda: resume(tmp_path / "bare", progress=False)):
        with pytest.raises(RunFolderError, match="left out"):
            call()
    assert rows == (tmp_path / "bare" / "metrics.jsonl").read_bytes()
    shutil.rmtree(tmp_path / "bare" / "centers", ignore_errors=True)
    with pytest.raises(SystemExit, match="2"):
        main(["video", str(tmp_path / "bare"), "--fresh", "8"])
    assert "left out" in capsys.readouterr().err.replace("\n", " ")


def linear(num_observations: int, num_actions: int) -> Policy:
    """A network of somebody's own, which leans ever more to one side."""

    def init(key: Any) -> dict[str, Any]:
        return {"weights": jax.random.normal(key, (num_observations, num_actions))}

    def apply(parameters: Any, seen: Any, age: Any) -> tuple[Any, Any]:
        return seen @ parameters["weights"] + age, age + 0.1

    return Policy(init, apply, 0.0)


POINT: dict[str, Any] = {"task_options": {"num_steps": 6}, **SMALL}


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("runs") / "recurrent"
    evolve("point", policy=gru(5), output=path, **POINT)
    return Run(path)


def followed(act: TrainedPolicy, rows: Any) -> Any:
    """Actions over three steps of episodes side by side, as a loop of one's own has them."""
    carry, actions = act.carry, []
    for seen in (rows, rows / 2, rows):
        action, carry = act(seen, carry)
        actions.append(action)
    return np.stack(actions)


def test_a_network_that_remembers_is_handed_what_it_carries(recurrent: Run, tmp_path: Path) -> None:
    assert (recurrent.config.task_options.policy, recurrent.config.task_options.hidden) == ("gru", 5)
    act, rows = recurrent.policy(recurrent.mutations(2)[1]), np.random.default_rng(0).normal(size=(4, 4))
    with pytest.raises(ConfigError, match=r"remembers.*policy\.carry.*action, carry = policy\(observation, carry\)"):
        act(rows[0])
    whole = followed(act, rows)
    assert not np.allclose(whole[0], whole[2])  # the same observation, another memory
    np.testing.assert_allclose(whole[:, 1], followed(act, rows[1]), atol=1e-6)
    act.save(tmp_path / "one.safetensors")
    np.testing.assert_array_equal(followed(load_policy(tmp_path / "one.safetensors"), rows), whole)
    compiled, carry = jax.jit(act)(jnp.asarray(rows[1]), act.carry)
    np.testing.assert_allclose(compiled, whole[0, 1], atol=1e-6)
    assert carry.shape == (5,)


def test_what_is_picked_of_a_network_that_remembers_does_it_in_the_world(recurrent: Run) -> None:
    picked = recurrent.pick("left", mutations=4, repeats=1)
    world, act = world_of(recurrent.task), picked.policy
    now, carry = world.begin(jax.random.split(jax.random.key(0), 1)), act.carry
    for _ in range(world.num_steps):
        action, carry = act(np.asarray(now.observation[0]), carry)
        now = world.advance(now, jnp.asarray(action)[None])
    assert float(-now.position[0, 0]) == pytest.approx(picked.performance, rel=1e-4)


def test_a_network_of_ones_own_goes_wherever_its_function_is_given_again(tmp_path: Path) -> None:
    run = evolve("point", policy=linear, output=tmp_path / "run", **POINT)
    assert run.center["weights"].shape == (4, 2)
    act = run.pick("left", mutations=4, repeats=1).policy
    rows = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    expected = [seen @ act.parameters.reshape(4, 2) + 0.1 * k for k, seen in enumerate((rows, rows / 2, rows))]
    np.testing.assert_allclose(followed(act, rows), expected, atol=1e-5)
    act.save(tmp_path / "one.safetensors")
    with pytest.raises(UserError, match=r"your own, linear.*load_policy\(path, policy=linear\)"):
        load_policy(tmp_path / "one.safetensors")
    np.testing.assert_array_equal(
        followed(load_policy(tmp_path / "one.safetensors", policy=linear), rows), followed(act, rows)
    )
    with pytest.raises(ConfigError, match=r"shapes \(\(4, 3\).*but the file \(\(4, 2\),\)"):
        load_policy(tmp_path / "one.safetensors", policy=mlp((3,)).__call__)
    with pytest.raises(ConfigError, match="mlp and gru, and this network is your own"):
        act.to_onnx(tmp_path / "one.onnx")
    for call in (lambda: Run(tmp_path / "run").pick("left"), lambda: resume(tmp_path / "run", generations=3)):
        with pytest.raises(ConfigError, match="given from Python"):
            call()
    task = make_task("point", run.config.task_options, policy=linear)
    longer = resume(tmp_path / "run", task, generations=3, progress=False)
    assert longer.generations_done == 3
    assert Run(tmp_path / "run", task=task).config.from_python == ["task"]
    started = evolve("point", policy=linear, start_from=str(tmp_path / "one.safetensors"), **POINT | {"generations": 1})
    assert started.generations_done == 1


def test_a_network_by_its_name_is_found_again_where_the_folder_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    text = "import jax\nfrom evolvability import Policy\ndef small(n, m):\n    return Policy("
    text += "lambda key: jax.random.normal(key, (n, m)), lambda w, x, carry: (x @ w + w[0], carry))\n"
    (tmp_path / "own_brains.py").write_text(text)
    whole = ["train", "point", "--policy", "own_brains:small", "--num-steps", "5", "--population-size", "8", "--quiet"]
    main([*whole, "--generations", "3", "--output", "whole"])
    main([*whole, "--generations", "2", "--output", "run"])
    main(["resume", "run", "--generations", "3", "--quiet"])
    np.testing.assert_array_equal(Run("run").centers, Run("whole").centers)
    assert Run("run").policy(np.ones((4, 2)))(np.zeros(4)).tolist() == [1, 1]
    shutil.copytree("run", "theirs")  # a folder of somebody else names code
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        main(["resume", "theirs", "--generations", "4"])
    assert "'own_brains:small'" in capsys.readouterr().err.replace("\n", " ")
    with pytest.raises(SystemExit, match="2"):
        main(["train", "point", "--policy", "own_brains:none", "--output", "none", "--quiet"])
    assert "Expected module:name, a function (num_observations" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(
    "settings", [{"objective": "maml"}, {"action_std": 0.1}, {"estimator": "actions", "action_std": 0.1}]
)
def test_methods_that_follow_every_step_refuse_what_remembers(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"cannot train a network that remembers\. Choose the policy mlp"):
        evolve("point", policy=gru(4), generations=1, progress=False, **settings)


def test_a_policy_belongs_to_the_task(cart: TrainingResult) -> None:
    with pytest.raises(ConfigError, match="a Task has its network"):
        evolve(cart.task, policy=gru(4), **SMALL)


def test_an_environment_is_driven_anew_by_every_member_that_remembers() -> None:
    options = GymnasiumOptions(behavior="observation:0", observation_share=1.0)
    task = gymnasium_task(Cart, options, policy=linear, name="cart")
    assert task.simulator is not None
    simulate, parameters = task.simulator(), np.zeros(6, np.float32)
    parameters[2:4] = 0.1, -0.1  # of what is clipped to 5: as it ages, one action is clipped to 1
    trials = [simulate(parameters, Address((0,), 0, 0), jax.device_get(task.memory)) for _ in range(2)]
    # The actions 0.5 + age and age - 0.5, at ages of 0 to 0.9, and 3 for the range of actions.
    gaps = [min(0.5 + age, 1) - (age - 0.5) for age in np.arange(10) / 10]
    np.testing.assert_allclose([trial.behavior[0] for trial in trials], 3 * sum(gaps), rtol=1e-5)


@needs("onnx", "onnx")
def test_an_onnx_graph_acts_like_the_policy(pole: Run, cart: TrainingResult, tmp_path: Path) -> None:
    from onnx.reference import ReferenceEvaluator

    rows = 3 * np.random.default_rng(2).normal(size=(50, 4)).astype(np.float32)
    for act, seen in (
        (pole.policy(pole.centers[0, 0], of_seed=0), rows),
        (cart.policy(cart.centers[0, 0], of_seed=3), rows[:, :3]),
    ):
        act.to_onnx(tmp_path / "act.onnx")
        (found,) = ReferenceEvaluator(str(tmp_path / "act.onnx")).run(None, {"observation": seen})
        np.testing.assert_allclose(np.asarray(found, np.float32), act(seen), atol=1e-5)


@needs("onnx", "onnx")
@pytest.mark.parametrize("make", [gru(5), mlp((6, 3), "relu"), mlp((6,), "silu")], ids=["gru", "relu", "silu"])
def test_an_onnx_graph_remembers_as_the_policy_does(make: Any, tmp_path: Path) -> None:
    from onnx.reference import ReferenceEvaluator

    family = family_of(make, 4, 2)
    parameters = np.random.default_rng(0).normal(size=family.num_params).astype(np.float32)
    act = TrainedPolicy("any", parameters, family, (), clipped(2))
    act.to_onnx(tmp_path / "act.onnx")
    graph = ReferenceEvaluator(str(tmp_path / "act.onnx"))
    rows = np.random.default_rng(1).normal(size=(7, 4)).astype(np.float32)
    carry: dict[str, Any] = {"carry": np.zeros((7, 5), np.float32)} if family.remembers else {}
    actions: list[Any] = []
    for seen in (rows, rows / 2, rows):
        action, *after = graph.run(None, {"observation": seen, **carry})
        carry = dict(zip(carry, after, strict=True))
        actions.append(action)
    np.testing.assert_allclose(np.stack(actions), followed(act, rows), atol=1e-5)
