"""The explorer's page in a real browser: what it shows, and what a click does."""

import json
import shutil
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from evolvability import Run
from evolvability.config.schema import layered
from evolvability.explorer.page import bundle
from evolvability.explorer.service import Explorer
from evolvability.explorer.shapes import robot_table
from evolvability.runs.sealed import to_json
from evolvability.runs.writer import RunWriter
from evolvability.tasks.robots.paper import ant, cheetah
from evolvability.training.driver import resume
from tests.browsing import go_to, open_page, screen_of, until, wait_for_actor
from tests.explorer.serving import arrays, serving
from tests.synthetic import config, made_up


def test_slider_changes_the_cloud(opened: Any, served: str, ant_run: Run) -> None:
    open_page(opened, served)
    for generation in (0, 2):
        go_to(opened, generation)
        shown = opened.evaluate("Array.from(window.explorer.scene.views[0].cloud.behavior.data)")
        np.testing.assert_array_equal(np.float32(shown).reshape(-1, 2), ant_run.behaviors(generation)["behavior"][0])
    assert "generation 2" in opened.inner_text("#now").replace("\n", " ")
    until(opened, "window.explorer.scene.views[0].centers.length === 1")  # once the slider rests
    center = arrays(Explorer([ant_run]), "center?run=0&seed=0&generation=2")["behavior"]
    np.testing.assert_array_equal(np.float32(opened.evaluate("window.explorer.scene.views[0].centers")), center)


def test_the_center_is_marked_however_long_the_task_takes_to_load(
    opened: Any, pattern_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = Explorer.robot

    def slow(explorer: Explorer, asked: Any) -> bytes:
        time.sleep(1)
        return robot(explorer, asked)

    monkeypatch.setattr(Explorer, "robot", slow)
    with serving(pattern_run) as address:
        open_page(opened, address)
        until(opened, "window.explorer.scene.views[0].centers?.length === 1")


def test_click_on_a_point_plays_the_recorded_mutation(opened: Any, served: str, ant_run: Run) -> None:
    open_page(opened, served)
    row = int(np.argmax(ant_run.behaviors(2)["behavior"][0, :, 0]))  # at the rim, with nobody before it
    opened.mouse.click(*screen_of(opened, row))
    actor = wait_for_actor(opened)
    assert actor["what"] == f"member.{row}"
    np.testing.assert_allclose(actor["behavior"], ant_run.behaviors(2)["behavior"][0, row], atol=1e-3)
    assert "as recorded" in opened.inner_text("#actors")
    until(opened, "window.explorer.state.time > 0")  # it plays by itself
    opened.evaluate("window.explorer.state.playing = false; window.explorer.state.time = 99")
    end = opened.evaluate("(e => e.scene.position(e.state.actors[0]))(window.explorer)")
    np.testing.assert_allclose(end, ant_run.behaviors(2)["behavior"][0, row], atol=1e-3)


@pytest.mark.full
def test_a_clicked_member_walks_in_all_of_its_episodes(opened: Any, lucky_run: Run) -> None:
    behavior, episodes = (lucky_run.behaviors()[name][0] for name in ("behavior", "episodes"))
    row = int(np.argmax(behavior[:, 0]))
    apart = f"its 2 episodes end up to {np.linalg.norm(np.diff(episodes[row], axis=0)):.2f} m apart"
    with serving(lucky_run) as address:
        open_page(opened, address)
        opened.mouse.move(*screen_of(opened, row))
        assert apart in opened.evaluate("window.explorer.scene.hover.text")
        opened.mouse.click(*screen_of(opened, row))
        until(opened, "(a => a.length === 2 && a.every(one => !one.waiting))(window.explorer.state.actors)")
        shown = opened.evaluate("window.explorer.state.actors.map(({behavior, color}) => [behavior, color])")
        np.testing.assert_allclose([one for one, _ in shown], episodes[row], atol=1e-3)
        assert shown[0][1] == shown[1][1]  # one mutation, one color
        text = opened.inner_text("#actors")
        assert (text.count("as recorded"), text.count(apart)) == (2, 1)
        assert opened.evaluate("window.explorer.state.actors.map(({what}) => what)") == [
            f"member.{row}.0",
            f"member.{row}.1",
        ]


ROBOTS = f"{bundle('explorer/robots')} const m = modules['explorer/robots'];"


def test_bodies_stand_in_the_browser_where_mujoco_puts_them(opened: Any, served: str) -> None:
    open_page(opened, served)
    for model in (ant().model, cheetah().model, mujoco.MjModel.from_xml_string(SHAPES)):
        state = mujoco.MjData(model)
        mujoco.mj_integratePos(model, state.qpos, np.linspace(-0.4, 0.5, model.nv), 1.0)
        mujoco.mj_kinematics(model, state)
        table, numbers = json.dumps(robot_table(model)), json.dumps(state.qpos.tolist())
        places = f"m.bodies({table}, {numbers}).map(b => [b.m41, b.m42, b.m43])"
        found = opened.evaluate(f"(() => {{ {ROBOTS} return {places}; }})()")
        np.testing.assert_allclose(found, state.xpos, atol=1e-6)


SHAPES = """<mujoco><asset><mesh name="rock" vertex="-.2 -.2 0  .2 -.2 0  0 .2 0  0 0 .3"/></asset><worldbody>
<geom type="plane" size="1 1 1"/><body pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3"/>
<body pos=".3 0 0"><joint type="ball" pos="0 .1 .2"/><geom type="mesh" mesh="rock"/><geom size=".1" group="3"/>
<body pos="0 .3 .1" euler="0 30 0"><joint axis="1 1 0"/><geom type="cylinder" size=".1 .3"/></body></body>
<body pos="0 0 .3"><geom type="ellipsoid" size=".3 .2 .1"/></body></body></worldbody></mujoco>"""


def test_any_shape_is_drawn_at_its_size(opened: Any, served: str) -> None:
    open_page(opened, served)
    model = mujoco.MjModel.from_xml_string(SHAPES)
    table = robot_table(model)
    assert [geom["kind"] for geom in table["geoms"]] == ["box", "mesh", "cylinder", "ellipsoid"]  # one is hidden
    state = mujoco.MjData(model)
    mujoco.mj_kinematics(model, state)
    where = json.dumps({"size": 1, "ground": [0, 0], "aside": 0, "color": [1, 1, 1]})
    drawn = f"m.shapes({json.dumps(table)}, {json.dumps(table['rest'])}, {where})"
    found = opened.evaluate(f"(() => {{ {ROBOTS} return {drawn}; }})()")
    assert len(found["solids"]) == 20  # one ellipsoid
    shown = [geom for geom in range(model.ngeom) if model.geom_type[geom] > 0 and model.geom_group[geom] < 3]
    for geom, one in zip(shown, found["meshes"], strict=False):
        place = np.array(one["row"][:16]).reshape(4, 4).T
        corners = np.array(table["meshes"][one["mesh"]]["vertices"]) @ place[:3, :3].T + place[:3, 3]
        own = (corners - state.geom_xpos[geom]) @ state.geom_xmat[geom].reshape(3, 3)
        middle, half = model.geom_aabb[geom].reshape(2, 3)
        np.testing.assert_allclose([own.min(axis=0), own.max(axis=0)], [middle - half, middle + half], atol=1e-3)


def test_click_on_the_ground_finds_the_nearest_of_k(opened: Any, served: str, ant_run: Run) -> None:
    open_page(opened, served)
    go_to(opened, 1)  # whose center is not there: the newest one's mutations are offered instead
    opened.fill("#k", "12")
    opened.mouse.click(540, 480)
    actor = wait_for_actor(opened)
    pool = arrays(Explorer([ant_run]), "fresh?run=0&seed=0&generation=3&chunk=0")["behavior"][:12]
    distance = np.linalg.norm(pool - np.float32(actor["target"]), axis=1)
    assert actor["what"] == f"fresh.{distance.argmin()}"
    assert actor["distance"] == pytest.approx(distance.min(), abs=1e-4)
    text = opened.inner_text("#message")
    assert all(part in text for part in ("12 fresh", "generation 3", f"number {distance.argmin()} "))
    stage, foot = (opened.locator(name).bounding_box() for name in ("#stage", "#foot"))
    assert foot["y"] >= stage["y"] + stage["height"]  # what is said hides nobody
    assert opened.locator("#foot #message").count() == opened.locator("#foot #player").count() == 1


def test_a_member_that_cannot_be_rebuilt_is_said_and_fresh_ones_are_offered(
    opened: Any, served: str, ant_run: Run
) -> None:
    open_page(opened, served)
    go_to(opened, 1)
    row = int(np.argmax(ant_run.behaviors(1)["behavior"][0, :, 0]))
    opened.mouse.click(*screen_of(opened, row))
    opened.wait_for_selector("#message button")
    assert "generation 1 was not kept" in opened.inner_text("#message")
    assert opened.evaluate("window.explorer.state.actors.length") == 0
    opened.click("#message button")
    assert wait_for_actor(opened)["what"].startswith("fresh.")


def test_what_cannot_be_watched_is_said_before_anybody_clicks(opened: Any, served: str, tmp_path: Path) -> None:
    open_page(opened, served)
    assert opened.inner_text("#remark") == ""
    go_to(opened, 1)
    assert "generation 1 was not kept" in opened.inner_text("#remark")
    assert opened.is_visible("#clicks")  # fresh mutations can be watched
    bare = made_up(tmp_path / "bare", config(), np.array([[[0.0, 1], [1, 0], [2, 2], [-1, 1]]]))
    with serving(bare) as address:
        open_page(opened, address)
        assert "No center of this run was kept" in opened.inner_text("#remark")
        assert opened.is_hidden("#clicks")
        opened.mouse.move(*screen_of(opened, 2))
        assert "cannot be watched" in opened.evaluate("window.explorer.scene.hover.text")
        for place in (screen_of(opened, 2), (300, 500)):  # a point, the ground
            opened.mouse.click(*place)
            assert "No center of this run was kept" in opened.inner_text("#message")


def test_a_click_above_the_horizon_is_answered(opened: Any, served: str) -> None:
    open_page(opened, served)
    opened.evaluate("window.explorer.scene.camera.pitch = 0.06")
    opened.mouse.click(300, 120)
    assert "above the horizon" in opened.inner_text("#message")


def test_members_in_a_rectangle_are_counted_averaged_and_watched(opened: Any, served: str, ant_run: Run) -> None:
    open_page(opened, served)
    behavior, fitness = (ant_run.behaviors(2)[name][0] for name in ("behavior", "fitness"))
    spots = np.array([screen_of(opened, row) for row in range(20)])
    left, top = np.median(spots, axis=0)
    inside = np.flatnonzero((spots > [left, top]).all(axis=1))
    assert 0 < len(inside) < 16
    opened.click("#select")
    opened.mouse.move(left, top)
    opened.mouse.down()
    opened.mouse.move(*(spots.max(axis=0) + 5), steps=3)
    opened.mouse.up()
    assert f"{len(inside)} of 20" in opened.inner_text("#selected")
    x, y = behavior[inside].mean(axis=0)
    assert f"({x:.2f}, {y:.2f}) m" in opened.inner_text("#summary")
    assert f"fitness {fitness[inside].mean():.2f}" in opened.inner_text("#summary")
    chosen = "Array.from(window.explorer.scene.views[0].chosen.rows)"
    np.testing.assert_array_equal(np.sort(opened.evaluate(chosen)), inside)
    opened.click("#watch")
    until(opened, "window.explorer.state.actors.length > 0 && window.explorer.state.actors.every(a => !a.waiting)")
    walking = opened.evaluate("window.explorer.state.actors.map(actor => actor.what)")
    assert sorted(walking) == sorted(f"member.{row}" for row in inside)
    go_to(opened, 0)  # whose members are others
    assert opened.is_hidden("#selection")


def test_a_rectangle_can_be_drawn_by_keys(opened: Any, served: str) -> None:
    open_page(opened, served)
    opened.keyboard.press("s")
    assert opened.get_attribute("#select", "aria-pressed") == "true"
    for key in ("ArrowUp", "ArrowLeft") * 30 + ("Shift+ArrowDown", "Shift+ArrowRight") * 60:
        opened.keyboard.press(key)
    opened.keyboard.press("Enter")
    assert "20 of 20" in opened.inner_text("#selected")
    opened.click("#unselect")
    assert opened.is_hidden("#selection")
    opened.keyboard.press("Escape")


def test_nothing_plays_by_itself_for_who_wants_less_motion(opened: Any, served: str) -> None:
    opened.emulate_media(reduced_motion="reduce")
    open_page(opened, served)
    opened.evaluate("window.explorer.pick(0, 3)")
    wait_for_actor(opened)
    assert opened.evaluate("window.explorer.state.playing") is False
    assert opened.evaluate("window.explorer.state.time === window.explorer.state.actors[0].times.at(-1)")
    # In one breath: an ant that falls at once has ended before the next question.
    assert opened.evaluate("document.getElementById('play').click(), window.explorer.state.playing") is True


def test_a_run_of_another_engine_shows_both_ends(opened: Any, ant_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "gpu"
    shutil.copytree(ant_run.path, path)
    (path / "environment.json").write_text(to_json(ant_run.environment | {"devices": ["gpu: NVIDIA H200"]}))
    arrays = ant_run.behaviors(2)
    recorded = arrays["behavior"] + np.array([0.3, 0.4], np.float32)
    RunWriter(path).record("behaviors", 2, arrays | {"behavior": recorded})
    with serving(Run(path)) as address:
        open_page(opened, address)
        row = int(np.argmax(recorded[0, :, 0]))
        opened.mouse.click(*screen_of(opened, row))
        actor = wait_for_actor(opened)
    np.testing.assert_allclose(actor["behavior"], arrays["behavior"][0, row], atol=1e-3)
    (x, y), (u, v) = arrays["behavior"][0, row], recorded[0, row]
    text = opened.inner_text("#actors")
    assert f"ends at ({x:.2f}, {y:.2f}) m" in text
    assert f"recorded ({u:.2f}, {v:.2f}) m: 0.50 m apart" in text
    assert "recorded by fused on a GPU, watched in fused" in text


def test_views_show_what_they_are_asked_for(opened: Any, served: str, ant_run: Run) -> None:
    open_page(opened, served)
    arrays = ant_run.behaviors(2)
    colors = "Array.from({length: 20}, (_, k) => window.explorer.scene.views[0].shades.of(k))"
    for name, values in (
        ("fitness", arrays["fitness"][0]),
        ("distance", np.linalg.norm(arrays["behavior"][0], axis=1)),
    ):
        opened.select_option("#color", name)
        brightness = np.sum(opened.evaluate(colors), axis=1)  # the map goes from dark to bright
        assert brightness[values.argmax()] == brightness.max() > brightness[values.argmin()] == brightness.min()
    opened.select_option("#color", "component")
    assert len(np.unique(opened.evaluate(colors), axis=0)) == 1  # this population has one
    opened.select_option("#show", "density")
    until(opened, "window.explorer.scene.views[0].heat !== null")
    assert opened.evaluate("window.explorer.scene.memberAt(0, 400, 300)") is None
    opened.set_viewport_size({"width": 400, "height": 800})
    assert opened.evaluate("document.documentElement.scrollWidth") <= 400
    scene, aside = (opened.locator(name).bounding_box() for name in ("#scene", "aside"))
    assert scene["width"] == 400
    assert aside["y"] >= scene["y"] + scene["height"]


def test_the_page_follows_a_run_that_is_training(opened: Any, ant_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "training"
    shutil.copytree(ant_run.path, path)
    config = (path / "config.toml").read_text()
    (path / "config.toml").write_text(config.replace("generations = 3", "generations = 4"))
    with serving(Run(path)) as address:
        open_page(opened, address)
        assert "training: 3 of 4 generations" in opened.inner_text("#status")
        resume(path)
        until(opened, "window.explorer.state.drawn === 3 && window.explorer.state.runs[0].done")
        shown = opened.evaluate("Array.from(window.explorer.scene.views[0].cloud.behavior.data)")
        np.testing.assert_array_equal(np.float32(shown).reshape(-1, 2), Run(path).behaviors(3)["behavior"][0])
        until(opened, "window.explorer.state.runs[0].curves.generation.data.length === 4")
        entropy = opened.evaluate("Array.from(window.explorer.state.runs[0].curves.entropy.data)")
        np.testing.assert_allclose(np.reshape(entropy, (2, 4)), Run(path).metrics["entropy"], rtol=1e-6)


def test_a_task_without_a_robot_shows_its_plots(opened: Any, pattern_run: Run) -> None:
    with serving(pattern_run, pattern_run) as address:
        open_page(opened, address)
        row = int(np.argmax(pattern_run.behaviors()["behavior"][0]))
        for index in (0, 1):  # one above the other
            opened.mouse.click(*screen_of(opened, row, index))
            until(opened, f"window.explorer.state.actors.length === {index + 1}")
            actor = wait_for_actor(opened)
            assert actor["run"] == index
            np.testing.assert_allclose(actor["behavior"], actor["recorded"], atol=1e-3)
        assert opened.is_hidden("#player")


def test_the_code_of_the_page_fits_into_120_columns() -> None:
    folder = files("evolvability.explorer") / "page"
    parts = [*folder.iterdir(), *(folder / "playground").iterdir()]
    scripts = [part for part in parts if part.name.endswith(".js")]
    assert len(scripts) > 20
    wide = [f"{part.name}: {line}" for part in scripts for line in part.read_text().splitlines() if len(line) > 120]
    assert wide == []


def of_four_behaviors(path: Path) -> Run:
    behavior = np.array([[[0.0, 1, 305, 0.1], [1, 0, 306, 0.2], [2, 2, 307, -0.1], [-1, 1, 309, 0.0]]])
    run = made_up(path, layered("somebodys:task", values={"population_size": 4}), behavior)
    RunWriter(run.path).write_table("behavior.json", {"names": ["x (m)", "y (m)", "heat (K)", "tilt (rad)"]})
    return run


def open_cloud(page: Any, address: str) -> None:
    """A page of a run whose task is not trusted."""
    page.goto(address)
    until(page, "window.explorer?.frames > 0 && window.explorer.state.runs[0].playable === false")


def test_a_third_behavior_can_be_the_color(opened: Any, tmp_path: Path) -> None:
    with serving(of_four_behaviors(tmp_path / "run")) as address:
        open_cloud(opened, address)
        opened.select_option("#color", label="heat (K)")
        shades = opened.evaluate("(({ low, high }) => [low, high])(window.explorer.scene.views[0].shades)")
    assert shades == [305, 307]  # of four members, the highest is beyond 99 of 100


def test_any_behaviors_can_be_axes_and_a_third_goes_upwards(opened: Any, tmp_path: Path) -> None:
    run = of_four_behaviors(tmp_path / "run")
    behavior = run.behaviors()["behavior"][0]
    places = "Array.from(window.explorer.scene.views[0].places)"
    with serving(run) as address:
        open_cloud(opened, address)
        np.testing.assert_allclose(np.reshape(opened.evaluate(places), (4, 3))[:, :2], behavior[:, :2])
        opened.select_option("#above", label="heat (K)")
        until(opened, "window.explorer.scene.lift > 0 && window.explorer.state.dirty === false")
        x, y, heat = np.transpose(np.reshape(opened.evaluate(places), (4, 3)))
        np.testing.assert_allclose(np.stack([x, y], axis=1), behavior[:, :2])
        assert (heat.argsort() == behavior[:, 2].argsort()).all()
        assert heat.min() == pytest.approx(0, abs=0.05 * heat.max())
        high, low = (screen_of(opened, row)[1] for row in (3, 0))  # both at y = 1
        assert high < low - 20
        opened.select_option("#along", label="heat (K)")  # of another unit and size: the axes change places
        assert [opened.input_value(f"#{axis}") for axis in ("across", "along", "above")] == ["0", "2", "1"]
        until(opened, "window.explorer.scene.chosen[1] === 2 && window.explorer.state.dirty === false")
        assert opened.evaluate("window.explorer.scene.isOwn") is False  # 4 K on the ground are not much more than 3 m
        opened.select_option("#across", label="tilt (rad)")
        across, along = np.transpose(np.reshape(opened.evaluate(places), (4, 3)))[:2]
        assert opened.evaluate("window.explorer.scene.isOwn") is True
        assert np.abs([across, along]).max() < 1.1  # each on its own scale
        np.testing.assert_array_equal(across.argsort(), behavior[:, 3].argsort())


def test_three_behaviors_open_above_the_ground(opened: Any, tmp_path: Path) -> None:
    with serving(Run(of_four_behaviors(tmp_path / "run").path, [0, 1, 2])) as address:
        open_cloud(opened, address)
        assert opened.evaluate("window.explorer.scene.chosen") == [0, 1, 2]
        assert opened.is_visible("#axes")
