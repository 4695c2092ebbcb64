"""Videos of mutations: several robots in one scene, drawn by MuJoCo, or an environment's pictures side by side."""

import colorsys
import copy
import ctypes.util
import io
import itertools
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from evolvability.core.errors import ConfigError, missing_extra
from evolvability.explorer.shapes import extent_of
from evolvability.tasks.rendering import from_jpeg
from evolvability.tasks.replay import HostArray, Recording, Stage

RATES = {"mp4": 30, "gif": 15}  # frames per second
SLOWEST, FASTEST = 0.05, 100.0  # times the simulation's own speed
MAX_FRAMES = 1800  # a minute: all of them are in memory, a gigabyte for 400
SIZES = {"mp4": (720, 1280), "gif": (360, 640)}
SIZE = SIZES["mp4"]
TRACK_POINTS = 120
MAX_GEOMS = 6000
FLOOR = np.array([52, 60, 78]) / 255  # dark: colors stand out on it
LINES = np.array([80, 90, 114, 255]) / 255
GRID_LINES = 60  # in each direction: motion is seen by them
LEVEL = 0.01  # of a floor's quaternion
FIELD_OF_VIEW = 45.0
ELEVATION = 48.0
ROOM = 0.85  # the part of the picture that paths fill: robots are wider than their paths
FRAME = 3
BACKGROUND = (11, 14, 21)
NO_GL = (
    "MuJoCo cannot draw here without a window: {error}. Install EGL (Debian: libegl1 libgl1-mesa-dri) or OSMesa "
    "(libosmesa6), and choose it with the environment variable MUJOCO_GL=egl or MUJOCO_GL=osmesa."
)


def draw_without_window() -> None:
    """Let MuJoCo draw where there is no window. To be called before MuJoCo is imported: it chooses only once."""
    if sys.platform != "linux" or os.environ.get("DISPLAY") or "MUJOCO_GL" in os.environ:
        return
    library = next((name for name in ("EGL", "OSMesa") if ctypes.util.find_library(name)), None)
    if library is not None:
        os.environ["MUJOCO_GL"] = library.lower()


def make_video(
    stage: Stage,
    motions: Sequence[Recording],
    kind: str,
    *,
    speed: float = 1.0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> bytes:
    """Episodes of several members at once, which start together, as the bytes of a video, ``mp4`` or ``gif``.

    The stage has a MuJoCo model, or the motions have pictures. With a speed of 2 it plays twice as
    fast as the simulation. ``progress`` is called with how many pictures of how many are drawn.
    """
    if kind not in RATES:
        raise ConfigError(f"A video is written as .mp4 or .gif, got '{kind}'.")
    if not SLOWEST <= speed <= FASTEST:  # slower, a video would be drawn for hours
        raise ConfigError(f"speed must be between {SLOWEST} and {FASTEST}, got {speed}.")
    longest = max(int(motion.num_frames.max()) for motion in motions)
    # A little beyond the last moment, so that it is included, and a single moment is a video too.
    moments = np.arange(0, longest - 1 + 1e-9, speed / (RATES[kind] * stage.time_step)).astype(int)
    if len(moments) > MAX_FRAMES:
        raise ConfigError(f"A video of {len(moments):,} pictures is too long, {MAX_FRAMES:,} at most: raise the speed.")
    reels = [reel for motion in motions for reel in motion.pictures or ()]
    if stage.model is not None and motions[0].poses is not None:
        pictures = scenes(stage.model, motions, moments, SIZES[kind])
    elif reels:
        pictures = tiled(reels, moments, SIZES[kind])
    else:
        raise ConfigError(f"There is no robot to show in a video{': ' if motions[0].note else '.'}{motions[0].note}")
    shown = []
    for picture in pictures:
        shown.append(picture)
        progress(len(shown), len(moments))
    return _encoded(shown, kind)


def tiled(reels: Sequence[Sequence[bytes]], moments: HostArray, size: tuple[int, int]) -> Iterator[HostArray]:
    """Reels of JPEG files beside each other, each framed in its color, at every moment: (height, width, 3) at most.

    Who is done stays as it was.
    """
    from PIL import Image, ImageOps

    columns = math.ceil(math.sqrt(len(reels)))
    rows = math.ceil(len(reels) / columns)
    room = (size[1] // columns - 2 * FRAME, size[0] // rows - 2 * FRAME)
    shape = ImageOps.contain(Image.fromarray(from_jpeg(reels[0][0])), room).size
    wide, high = (side + 2 * FRAME for side in shape)
    whole = ((columns * wide + 7) // 8 * 8, (rows * high + 7) // 8 * 8)  # encoders ask for multiples of 8
    colors = [tuple(int(255 * part) for part in color[:3]) for color in robot_colors(len(reels))]
    for moment in moments:
        picture = Image.new("RGB", whole, BACKGROUND)
        for number, (reel, color) in enumerate(zip(reels, colors, strict=True)):
            drawn = Image.fromarray(from_jpeg(reel[min(int(moment), len(reel) - 1)])).resize(shape)
            row, column = divmod(number, columns)
            picture.paste(ImageOps.expand(drawn, FRAME, color), (column * wide, row * high))
        yield np.asarray(picture)


def robot_colors(number: int) -> HostArray:
    """(number, 4) colors, each far from the one before it."""
    # Hues go on by the golden angle, 0.381966 of a turn: however many there are, none repeats soon.
    return np.array([[*colorsys.hls_to_rgb((0.05 + 0.381966 * k) % 1, 0.5, 0.75), 1.0] for k in range(number)])


def camera_for(paths: Sequence[HostArray], extent: float = 1.0) -> tuple[HostArray, float]:
    """Where to look, and from how far, to have whole paths in the picture: the middle of them, and a distance.

    A robot of an extent, see `extent_of`, has room around its path.
    """
    points = np.concatenate(paths)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    across, along = (points - middle).T
    # Seen from above at an angle, a point ahead is farther away than the middle, and higher in the picture.
    ahead, up = along * np.cos(np.radians(ELEVATION)), along * np.sin(np.radians(ELEVATION))
    tan = ROOM * np.tan(np.radians(FIELD_OF_VIEW / 2))
    needed = np.maximum(np.abs(across) / (tan * SIZE[1] / SIZE[0]), np.abs(up) / tan) - ahead
    return np.append(middle, 0.3 * extent), float(max(needed.max(), 3.0 * extent) + 1.5 * extent)


def scenes(model: Any, motions: Sequence[Recording], moments: HostArray, size: tuple[int, int]) -> Iterator[HostArray]:
    """All robots in one scene, (height, width, 3) at every moment."""
    import mujoco

    episodes = [
        (motion.poses[k], np.asarray(motion.path[k], float), int(length))
        for motion in motions
        if motion.poses is not None
        for k, length in enumerate(motion.num_frames)
    ]
    extent = extent_of(model)
    middle, distance = camera_for([path[:length] for _, path, length in episodes], extent)
    scale = max(1.0, distance / (18 * extent))  # a robot far away would be too small to see
    drawn = _for_drawing(model, distance, scale)
    try:
        renderer = mujoco.Renderer(drawn, *size, max_geom=MAX_GEOMS)
    except Exception as error:  # of whatever library draws
        raise ConfigError(NO_GL.format(error=error)) from None
    camera = mujoco.MjvCamera()
    camera.lookat[:] = middle
    camera.distance, camera.azimuth, camera.elevation = distance, 90.0, -ELEVATION
    data, scene = mujoco.MjData(drawn), renderer.scene
    option, perturb = mujoco.MjvOption(), mujoco.MjvPerturb()
    moving, fixed = int(mujoco.mjtCatBit.mjCAT_DYNAMIC), int(mujoco.mjtCatBit.mjCAT_STATIC)
    mujoco.mj_kinematics(drawn, data)  # without it the floor has no place
    with renderer:
        for moment in moments:
            mujoco.mjv_updateScene(drawn, data, option, perturb, camera, fixed, scene)  # robots follow, one by one
            _draw_grid(mujoco, scene, middle, distance)
            for (poses, path, length), color in zip(episodes, robot_colors(len(episodes)), strict=True):
                now, first = min(int(moment), length - 1), scene.ngeom
                data.qpos[:] = poses[now]
                mujoco.mj_kinematics(drawn, data)
                mujoco.mjv_addGeoms(drawn, data, option, perturb, moving, scene)
                _stand_out(scene.geoms[first : scene.ngeom], path[now], scale, color)
                _draw_track(mujoco, scene, path[: now + 1], scale * extent, color)
            yield renderer.render()


def _stand_out(geoms: Sequence[Any], place: HostArray, scale: float, color: HostArray) -> None:
    """Color a robot's shapes, and enlarge them about its place on the ground."""
    ground = np.append(place, 0.0)
    for geom in geoms:
        geom.rgba[:] = color
        geom.matid = -1  # without its material, whose texture would cover the color
        geom.size[:] = geom.size * scale
        geom.pos[:] = ground + (geom.pos - ground) * scale


def _draw_track(mujoco: Any, scene: Any, path: HostArray, scale: float, color: HostArray) -> None:
    """The way so far, on the ground."""
    marks = path[np.linspace(0, len(path) - 1, min(TRACK_POINTS, len(path))).astype(int)]
    for start, end in itertools.pairwise(marks):
        _draw_stripe(mujoco, scene, (start, end), 0.05 * scale, 0.02 * scale, color)


def _draw_grid(mujoco: Any, scene: Any, middle: HostArray, distance: float) -> None:
    """Lines on the ground, to tell motion by."""
    side = distance / 12
    far = GRID_LINES / 2 * side
    center = np.round(middle[:2] / side) * side
    for offset in np.linspace(-far, far, GRID_LINES + 1):
        for axis in (0, 1):
            along, aside = far * np.eye(2)[axis], offset * np.eye(2)[1 - axis]
            ends = center + aside - along, center + aside + along
            _draw_stripe(mujoco, scene, ends, 0.03 * side, 0.0, LINES)


def _draw_stripe(
    mujoco: Any, scene: Any, ends: tuple[HostArray, HostArray], width: float, height: float, color: HostArray
) -> None:
    """A flat box between two places: it has far fewer corners than a capsule, and there are many."""
    length = float(np.hypot(*(ends[1] - ends[0])))
    if scene.ngeom >= scene.maxgeom or not length:
        return
    cos, sin = (ends[1] - ends[0]) / length
    size, place = np.array([length / 2 + width, width, 0.002 * width]), np.append((ends[0] + ends[1]) / 2, height)
    turn = np.array([cos, -sin, 0, sin, cos, 0, 0, 0, 1])
    box = mujoco.mjtGeom.mjGEOM_BOX
    mujoco.mjv_initGeom(scene.geoms[scene.ngeom], box, size, place, turn, color.astype(np.float32))
    scene.ngeom += 1


def _for_drawing(model: Any, distance: float, scale: float) -> Any:
    """A copy of the model with a plain floor, which reaches as far as the robots go, and so does the light."""
    import mujoco

    drawn = copy.copy(model)
    drawn.mesh_vert[:] *= scale  # other shapes are enlarged by their sizes
    is_plane = (drawn.geom_type == mujoco.mjtGeom.mjGEOM_PLANE) & (drawn.geom_bodyid == 0)
    floors = is_plane & (abs(drawn.geom_quat[:, 1:3]).max(axis=1) < LEVEL)
    drawn.geom_size[floors] = [0, 0, 1]  # without end
    drawn.geom_matid[floors], drawn.geom_rgba[floors, :3] = -1, FLOOR
    # Round shapes of half as many corners as by default look the same, and take half of the time.
    drawn.vis.quality.numslices, drawn.vis.quality.numstacks, drawn.vis.quality.numquads = 16, 8, 1
    drawn.vis.global_.offheight, drawn.vis.global_.offwidth = SIZE
    drawn.vis.global_.fovy = FIELD_OF_VIEW
    # MuJoCo takes both in units of the model's extent.
    drawn.vis.map.zfar = 20 * distance / drawn.stat.extent
    drawn.vis.map.znear = 0.01 * distance / drawn.stat.extent
    drawn.vis.headlight.ambient[:] = 0.45
    drawn.vis.headlight.diffuse[:] = 0.55
    drawn.light_castshadow[:] = 0
    drawn.mat_reflectance[:] = 0
    return drawn


def _encoded(pictures: Sequence[HostArray], kind: str) -> bytes:
    try:
        import imageio.v3 as imageio
    except ModuleNotFoundError as error:
        raise missing_extra("A video", error.name, "explore") from None
    # Sides are multiples of 8: by its default, 16, the encoder would scale pictures.
    how: dict[str, Any] = {"plugin": "FFMPEG", "fps": RATES["mp4"], "macro_block_size": 8}
    if kind == "gif":
        how = {"duration": 1000 / RATES["gif"], "loop": 0}  # milliseconds per frame; without end
    file = io.BytesIO()
    with warnings.catch_warnings():
        # JAX warns of processes that fork; the one that encodes does nothing but become ffmpeg.
        warnings.simplefilter("ignore", RuntimeWarning)
        imageio.imwrite(file, np.stack(pictures), extension=f".{kind}", **how)
    return file.getvalue()
