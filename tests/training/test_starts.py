"""A run starts from weights of the user's own: arrays, files, a policy; never from a pickle."""

import shutil
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

from evolvability import Run, TrainingResult, evolve, function_task, load_policy, resume
from evolvability.cli import main
from evolvability.core.errors import ConfigError
from evolvability.training.starts import start_in

STILL: dict[str, Any] = {
    "generations": 1,
    "population_size": 8,
    "objective": "max_variance",
    "learning_rate": 1e-9,
    "progress": False,
}
"""A run whose center stays where it starts."""


@pytest.fixture(scope="module")
def point() -> TrainingResult:
    return evolve("point", **STILL)


def layers_of(run: TrainingResult) -> dict[str, Any]:
    """A network's arrays as PyTorch names them, but not transposed."""
    ends = np.cumsum([np.prod(shape) for shape in run.task.shapes])[:-1]
    parts = [
        part.reshape(shape) for part, shape in zip(np.split(run.centers[0, 0], ends), run.task.shapes, strict=True)
    ]
    return {f"{2 * (k // 2)}.{'bias' if k % 2 else 'weight'}": part for k, part in enumerate(parts)}


def test_arrays_and_files_of_them_are_the_center(point: TrainingResult, tmp_path: Path) -> None:
    center, layers = point.centers[0, 0], layers_of(point)
    np.save(tmp_path / "flat.npy", center)
    safetensors.numpy.save_file(layers, tmp_path / "layers.safetensors")  # which sorts names: biases come first
    safetensors.numpy.save_file({"parameters/center": center[None, None]}, tmp_path / "state.safetensors")
    point.policy(point.center).save(tmp_path / "policy.safetensors")
    backwards = dict(reversed(layers.items()))
    files = [tmp_path / name for name in ("flat.npy", "layers.safetensors", "state.safetensors", "policy.safetensors")]
    for source in (center, layers, backwards, *files):
        np.testing.assert_array_equal(start_in(source, point.task).centers, center[None])


def test_a_pytree_goes_by_its_names() -> None:
    task = function_task(lambda tree: tree["b"]["c"] + tree["a"], {"b": {"c": jnp.zeros(2)}, "a": jnp.zeros(2)})
    found = start_in({"b": {"c": np.array([1.0, 2.0])}, "a": np.array([3.0, 4.0])}, task)
    assert found.centers.tolist() == [[3.0, 4.0, 1.0, 2.0]]  # as JAX sorts them
    assert start_in({"b/c": np.ones(2), "a": np.zeros(2)}, task).centers.tolist() == [[0.0, 0.0, 1.0, 1.0]]


def test_a_run_starts_from_arrays_and_needs_nothing_else_to_go_on(point: TrainingResult, tmp_path: Path) -> None:
    center = point.centers[0, 0] + 1.0
    np.save(tmp_path / "mine.npy", center)
    run = evolve("point", start_from=tmp_path / "mine.npy", seeds=2, output=tmp_path / "run", **STILL)
    np.testing.assert_allclose(run.centers, np.broadcast_to(center, (2, 1, len(center))), atol=1e-6)
    (tmp_path / "mine.npy").unlink()
    assert Run(tmp_path / "run").origin is None
    assert resume(tmp_path / "run", generations=2, progress=False).generations_done == 2
    # It starts, too, from what the folder keeps of the start.
    kept = tmp_path / "run" / "centers" / "000000.safetensors"
    again = evolve("point", start_from=kept, seeds=2, **STILL)
    np.testing.assert_array_equal(again.centers, run.centers)


def test_a_start_from_python_is_pointed_to_where_it_is_kept(point: TrainingResult, tmp_path: Path) -> None:
    run = evolve("point", start_from=layers_of(point), output=tmp_path / "run", **STILL)
    assert run.config.start_from == "python:dict"
    with pytest.raises(ConfigError, match=r"centers/000000\.safetensors in its run folder has them"):
        evolve("point", run.config)
    assert resume(tmp_path / "run", generations=2, progress=False).generations_done == 2


def test_a_policy_brings_its_statistics_along(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    options = {"env": "CartPole-v1", "num_steps": 20, "hidden": 4, "observation_share": 1.0}
    settings: dict[str, Any] = {**STILL, "task_options": options}
    trained = evolve("gymnasium", **settings)
    trained.policy(trained.center).save(tmp_path / "cart.safetensors")
    assert load_policy(tmp_path / "cart.safetensors").memory.count > 0
    run = evolve("gymnasium", start_from=tmp_path / "cart.safetensors", output=tmp_path / "run", **settings)
    start = Run(tmp_path / "run").drawn_around(0)
    np.testing.assert_array_equal(start["memory/mean"][0], trained.parents()[0].memory.mean)
    assert run.parents()[0].memory.count > start["memory/count"][0]
    with pytest.raises(ConfigError, match=r"cart\.safetensors: .* numbers are expected for task .*weights 1 \(4, 8\)"):
        evolve(
            "gymnasium",
            start_from=tmp_path / "cart.safetensors",
            **settings | {"task_options": options | {"hidden": 8}},
        )


def test_what_does_not_fit_is_named_with_what_was_expected(point: TrainingResult) -> None:
    layers = layers_of(point)
    turned = {name: array.T for name, array in layers.items()}
    with pytest.raises(ConfigError, match=r"weights 1 \(4, 16\) is expected, got 0\.weight \(16, 4\).*give array\.T"):
        start_in(turned, point.task)
    with pytest.raises(ConfigError, match=r"biases 3 \(2,\) is expected, got nothing\. Give the task the network"):
        start_in({name: layers[name] for name in list(layers)[:-1]}, point.task)
    with pytest.raises(
        ConfigError, match=r"386 numbers are expected for task 'point', weights 1 \(4, 16\), .*shape \(3,\)"
    ):
        start_in(np.zeros(3), point.task)
    with pytest.raises(ConfigError, match=r"finite numbers are expected"):
        start_in(np.full(386, np.nan), point.task)
    with pytest.raises(ConfigError, match=r"a path or arrays of numbers are expected, got str at a/b"):
        start_in({"a": {"b": "x"}}, point.task)
    with pytest.raises(ConfigError, match=r"a center for all seeds, or one for each of 3, got 2"):
        evolve("point", start_from=np.zeros((2, 386)), seeds=3, **STILL)


def test_a_pickle_is_never_opened(point: TrainingResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ConfigError, match=r"cannot be read: .* Python objects"):
        start_in(tmp_path / "objects.npy", point.task)
    shutil.copy(tmp_path / "objects.npy", tmp_path / "model.pt")
    with pytest.raises(SystemExit):
        main(["train", "point", "--start-from", str(tmp_path / "model.pt"), "--output", str(tmp_path / "run")])
    assert "A pickle could run code: hand its arrays over from Python." in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
