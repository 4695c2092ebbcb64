"""A run folder holds its robot: resumed, read and judged without the file, and nothing of it leads elsewhere."""

import io
import zipfile
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from evolvability import Circumstances, ConfigError, Run, RunFolderError, evolve, gru, resume, robot_task
from evolvability.cli import main
from evolvability.runs.export import export
from evolvability.tasks.robots import archives
from evolvability.tasks.robots.mjcf import XML, packed, unpacked

CART = """
<mujoco model="cart">
  <include file="looks.xml"/>
  <compiler meshdir="meshes"/>
  <worldbody>
    <body name="cart">
      <joint name="slide" type="slide" axis="1 0 0"/><geom type="mesh" mesh="box" mass="1"/>
      <body name="pole">
        <joint name="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 0.5" size="0.02"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="slide" gear="10" ctrlrange="-1 1"/></actuator>
</mujoco>
"""
BOX = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
SMALL = ["--num-steps", "5", "--hidden", "4", "--engine", "mujoco", "--objective", "max_variance", "--quiet"]
SMALL += ["--population-size", "8"]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A robot of three files, in a folder of its own, and a process that has not seen it yet."""
    monkeypatch.setattr(archives, "_offered", {})
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "desk"
    (folder / "meshes").mkdir(parents=True)
    (folder / "meshes" / "box.obj").write_text(BOX)
    (folder / "looks.xml").write_text('<mujoco><asset><mesh file="box.obj"/></asset></mujoco>')
    (folder / "cart.xml").write_text(CART)
    return folder / "cart.xml"


def trained(file: Path, generations: int = 2) -> Path:
    output = file.parents[1] / "run"
    main(["train", str(file), *SMALL, "--generations", str(generations), "--output", str(output)])
    return output


def forget(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on another machine: without the robot's files, in another process."""
    for path in sorted(file.parent.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    monkeypatch.setattr(archives, "_offered", {})


def test_a_run_goes_on_without_the_robots_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = evolve(
        str(file), objective="max_variance", generations=3, population_size=8,
        task_options={"num_steps": 5, "hidden": 4, "engine": "mujoco"},
    )  # fmt: skip
    output = trained(file)
    copied = export(Run(output), file.parents[1] / "copy")
    forget(file, monkeypatch)
    longer = resume(output, generations=3, progress=False)
    np.testing.assert_array_equal(longer.centers, whole.centers)
    assert Run(output).config.task_title == "robot cart"
    assert Run(output).behavior_names == ["pole x (m)", "pole y (m)", "pole z (m)"]
    monkeypatch.setattr(archives, "_offered", {})
    stage = Run(copied).task.stage
    assert stage
    assert stage.model.nmesh == 1
    picked = Run(copied).pick("point:1,0,0", mutations=4, repeats=1)
    assert np.isfinite(picked.performance)


def test_a_configuration_repeats_a_run_by_the_robot_beside_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output, again = trained(file, 1), file.parents[1] / "again"
    forget(file, monkeypatch)
    main(["train", "--config", str(output / "config.toml"), "--output", str(again), "--quiet"])
    np.testing.assert_array_equal(Run(again).centers, Run(output).centers)
    assert (again / "robot.zip").read_bytes() == (output / "robot.zip").read_bytes()


def test_a_robot_a_policy_and_circumstances_go_together(file: Path) -> None:
    output = file.parents[1] / "run"
    options: dict[str, Any] = {"circumstances": Circumstances(start_noise=0.3), "num_steps": 5, "engine": "mujoco"}
    task = robot_task(file, policy=gru(4), **options)
    evolve(task, objective="max_covariance", episodes=2, generations=1, population_size=8, output=output)
    assert Run(output).behaviors()["episodes"].shape == (1, 8, 2, 3)
    assert Run(output).task.shapes == task.shapes


def test_a_task_from_python_is_recorded_by_its_robot(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = robot_task(mujoco.MjSpec.from_file(str(file)), num_steps=5, hidden=4, engine="mujoco")
    output = file.parents[1] / "run"
    evolve(task, objective="max_variance", generations=1, population_size=8, output=output)
    forget(file, monkeypatch)
    assert Run(output).config.task == "robot"
    assert Run(output).task.behavior == task.behavior


def test_a_damaged_or_missing_robot_is_said(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = trained(file, 1)
    monkeypatch.setattr(archives, "_offered", {})
    content = (output / "robot.zip").read_bytes()
    (output / "robot.zip").write_bytes(content[:-1] + b"?")
    with pytest.raises(RunFolderError, match=r"robot.zip is damaged: its checksum does not fit"):
        _ = Run(output).task
    (output / "robot.zip").unlink()
    assert Run(output).metrics["variance"].shape == (1, 1)  # what needs no robot is there
    with pytest.raises(RunFolderError, match=r"robot.zip cannot be read"):
        _ = Run(output).task
    text = (output / "config.toml").read_text()
    (output / "config.toml").write_text("\n".join(line for line in text.splitlines() if not line.startswith("digest")))
    with (
        pytest.warns(UserWarning, match="not as the run wrote it"),
        pytest.raises(RunFolderError, match="without its ch"),
    ):
        Run(output)


def archive(text: str, **files: bytes) -> bytes:
    packing = io.BytesIO()
    with zipfile.ZipFile(packing, "w") as found:
        for name, content in {XML: text.encode(), **files}.items():
            found.writestr(name, content)
    return packing.getvalue()


MESH = "<mujoco><asset><mesh name='m' file='{}'/></asset></mujoco>"
TEXTURE = "<mujoco><asset><texture name='t' type='2d' builtin='flat' width='{0}' height='{0}'/></asset></mujoco>"
MANY = "<mujoco><worldbody><replicate count='{}'><geom size='1'/></replicate></worldbody></mujoco>"
WORLD, MOTOR = "<mujoco><worldbody>{}</worldbody></mujoco>", "<actuator><general body='a'/></actuator>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MESH.format("/etc/passwd"), "names the file '/etc/passwd', which is not in its archive"),
        (MESH.format("../other.obj"), "names the file '../other.obj'"),
        (MESH.format("&#47;etc/passwd"), "names the file '&#47;etc/passwd'"),
        ("<mujoco><compiler meshdir='/etc'/></mujoco>", "meshdir, which leads out"),
        ("<mujoco><include file='/etc/passwd'/></mujoco>", "<include>, which is not accepted"),
        ("<mujoco><extension><plugin plugin='mujoco.elasticity.cable'/></extension></mujoco>", "no plugins"),
        (MANY.format(10**9), "replicate"),
        ("<mujoco><size memory='900G'/></mujoco>", "more memory than a robot needs"),
        (TEXTURE.format(99999), "more memory than a robot needs"),
        ("what?", "is not a robot"),
    ],
)
def test_a_foreign_robot_leads_nowhere_and_is_bounded(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        unpacked(archive(text), "theirs")


def test_a_giant_archive_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evolvability.tasks.robots.mjcf.MAX_BYTES", 1000)
    with pytest.raises(ConfigError, match="at most"):
        unpacked(archive("<mujoco/>", big=b"0" * 2000), "theirs")


def test_what_is_packed_is_the_same_model(file: Path) -> None:
    name, content = packed(file)
    own, theirs = mujoco.MjModel.from_xml_path(str(file)), unpacked(content, name)
    for field in ("body_mass", "geom_size", "mesh_vert", "actuator_gear", "body_inertia"):
        np.testing.assert_array_equal(getattr(own, field), getattr(theirs, field))


BODY = "<body name='{}'><freejoint/><geom size='1'/></body>"
TWO = f"<mujoco><worldbody>{BODY.format('a')}{BODY.format('b')}</worldbody>{MOTOR}</mujoco>"
BAD: dict[str, tuple[str, str]] = {
    "text": ("hello", "is not a robot: it is not XML"),
    "stiff": (WORLD.format("<body><geom size='1'/></body>"), "has no joint, so nothing"),
    "idle": (WORLD.format(BODY.format("a")), "has no actuator"),
    "meshless": (MESH.format("gone.obj"), "the file 'gone.obj' of its <mesh> is missing"),
    "nan": (WORLD.format("<body><geom size='1' mass='nan'/></body>"), "mass='nan' of <geom> is not a number"),
    "two": (TWO, "has 2 free bodies (a, b): say which of them is the robot's root, e.g. --root a"),
    "wrong": (WORLD.format("<bodi/>"), "is not a robot"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_get_one_clear_sentence(case: str, tmp_path: Path, capsys: Any) -> None:
    text, message = BAD[case]
    (tmp_path / "bad.xml").write_text(text)
    with pytest.raises(SystemExit) as stop:
        main(["train", str(tmp_path / "bad.xml")])
    said = " ".join(capsys.readouterr().err.split())
    assert stop.value.code == 2
    assert message in said
    assert said.startswith("error: ")
    assert "Traceback" not in said


def test_files_and_models_that_are_not_there_are_said() -> None:
    with pytest.raises(ConfigError, match=r"nowhere.xml cannot be read: No such file"):
        robot_task("nowhere.xml")
    with pytest.raises(ConfigError, match=r"No such file or directory. Did you mean the model hopper, without .xml"):
        robot_task("hopper.xml")
    with pytest.raises(ConfigError, match=r"Unknown model 'hoper'. Did you mean .*hopper"):
        robot_task("hoper")
    with pytest.raises(ConfigError, match="Unknown option of a robot 'steps'"):
        robot_task("hopper", steps=5)
