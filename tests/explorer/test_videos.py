"""Videos of robots: who is in them, where, and in what format."""

import subprocess
import sys
import warnings
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest

from evolvability import evolve
from evolvability.config.schema import layered
from evolvability.core.errors import ConfigError
from evolvability.explorer.videos import (
    ELEVATION,
    FIELD_OF_VIEW,
    SIZE,
    camera_for,
    draw_without_window,
    make_video,
    robot_colors,
    scenes,
)
from evolvability.tasks.replay import Recording, Stage
from tests.browsing import draws_here

draw_without_window()


@pytest.fixture(scope="module")
def renderer() -> None:
    """Skips where MuJoCo cannot draw."""
    if not draws_here():
        pytest.skip("MuJoCo cannot draw: install Debian's libegl1 and libgl1-mesa-dri, or libosmesa6")


def test_the_camera_sees_whole_paths() -> None:
    for reach in (1.0, 60.0):
        path = np.array([[0.0, 0.0], [reach, 0.3 * reach], [-0.5 * reach, -0.8 * reach]])
        middle, distance = camera_for([path])
        right, forward = np.eye(3)[0], np.array([0, np.cos(np.radians(ELEVATION)), -np.sin(np.radians(ELEVATION))])
        points = np.column_stack([path, np.zeros(3)]) - (middle - distance * forward)
        half = np.tan(np.radians(FIELD_OF_VIEW / 2)) * (points @ forward)
        assert np.all(abs(points @ right) < half * SIZE[1] / SIZE[0])
        assert np.all(abs(points @ np.cross(right, forward)) < half)


def test_robots_have_colors_of_their_own() -> None:
    colors = robot_colors(16)[:, :3]
    apart = np.linalg.norm(colors[:, None] - colors, axis=-1) + np.eye(16)
    assert apart.min() > 0.05


@pytest.mark.full
def test_every_robot_is_filmed_in_its_color(renderer: None, tmp_path: Path) -> None:
    path = tmp_path / "ant"
    options = {"num_steps": 30, "hidden": 8, "early_termination": False}
    evolve("ant", layered("ant", values={"generations": 1, "population_size": 6, "task_options": options}), output=path)
    command = [sys.executable, "-m", "evolvability", "video", str(path), "--members", "0,3", "--output"]
    for name, rate in (("ring.mp4", 30), ("ring.gif", 15)):
        done = subprocess.run([*command, str(tmp_path / name)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of JAX, of any process started beside it
            pictures = imageio.imread(tmp_path / name)
        assert len(pictures) == pytest.approx(30 * 0.0165 * rate, abs=2)
        hues = (pictures[-1].astype(int) - pictures[-1].mean(axis=-1, keepdims=True)).reshape(-1, 3)
        for color in robot_colors(2)[:, :3]:
            wanted = color - color.mean()
            alike = hues @ wanted / (np.linalg.norm(hues, axis=1) * np.linalg.norm(wanted) + 1e-9)
            assert np.sum((alike > 0.9) & (np.linalg.norm(hues, axis=1) > 40)) > 30


BALL = """<mujoco><asset><mesh name="rock" vertex="-.2 -.2 0  .2 -.2 0  0 .2 0  0 0 .3"/>{asset}</asset>
<worldbody>{floor}<body pos="0 0 .1"><freejoint/><geom type="{shape}"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("floor", "asset"),
    [
        ("", ""),
        ('<geom type="plane" size="1 1 1"/>', ""),
        ('<geom type="plane" size="1 1 1" material="m"/>', '<material name="m"/>'),
    ],
    ids=["no floor", "no material", "no texture"],
)
@pytest.mark.parametrize(
    "shape", ['sphere" size=".1', 'box" size=".1 .1 .1', 'mesh" mesh="rock'], ids=["sphere", "box", "mesh"]
)
def test_any_shape_on_any_floor_is_filmed(renderer: None, floor: str, asset: str, shape: str) -> None:
    import mujoco

    model = mujoco.MjModel.from_xml_string(BALL.format(floor=floor, asset=asset, shape=shape))
    poses = np.tile(model.qpos0, (2, 3, 1))
    poses[:, :, 0] += np.linspace(0, 1, 3) * np.array([[1], [-1]])
    motion = Recording(np.zeros((2, 2)), np.ones(2, bool), np.full(2, 3), poses[:, :, :2], poses)
    first, last = (picture.astype(int) for picture in scenes(model, [motion], np.array([0, 2]), (90, 160)))
    for color, half in zip(robot_colors(2)[:, :3], (np.s_[:, 80:], np.s_[:, :80]), strict=True):
        away = np.abs(last[half] - 255 * color).max(axis=-1)
        assert np.sum(away < 80) > 20  # it is there, in its color, on its own side
    assert np.abs(first - last).max() > 50


def test_progress_is_told_picture_by_picture(renderer: None) -> None:
    from evolvability.tasks.rendering import to_jpeg

    reel = tuple(to_jpeg(np.full((24, 32, 3), shade, np.uint8)) for shade in (0, 90, 180))
    still = Recording(np.zeros((1, 2)), np.ones(1, bool), np.full(1, 3), np.zeros((1, 3, 2)), pictures=(reel,))
    told: list[tuple[int, int]] = []
    stage = Stage(lambda key, sample, memory: still, 1 / 15)
    make_video(stage, [still], "gif", progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_what_cannot_be_filmed_is_refused() -> None:
    still = Recording(np.zeros((1, 2)), np.ones(1, bool), np.ones(1, int), np.zeros((1, 1, 2)))
    stage = Stage(lambda key, sample, memory: still, 0.1)
    with pytest.raises(ConfigError, match="'avi'"):
        make_video(stage, [still], "avi")
    with pytest.raises(ConfigError, match="no robot to show in a video"):
        make_video(stage, [still], "mp4")
    with pytest.raises(ConfigError, match=r"speed.*0"):
        make_video(stage, [still], "mp4", speed=0)
    endless = still._replace(num_frames=np.full_like(still.num_frames, 10**6))
    with pytest.raises(ConfigError, match="pictures is too long"):
        make_video(stage, [endless], "mp4")
