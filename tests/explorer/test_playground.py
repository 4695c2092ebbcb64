"""The playground in a browser: its mutations are the library's, and clicks lead where the library says."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import playground
import pytest

from evolvability import Run, evolve, robot_task
from evolvability.config.schema import layered
from evolvability.core.errors import ConfigError
from evolvability.core.objectives import max_entropy, max_variance, mean_fitness
from evolvability.core.types import make_outcome
from evolvability.explorer.page import bundle
from evolvability.explorer.playground import export_playground, make_tab, why_not
from evolvability.studies.rebuild import evaluate, fresh_one, parent_of, watchable_task
from tests.browsing import until
from tests.conftest import compiled_weights
from tests.explorer.in_double import Changes, replay_in_double

RESULTS = Path(__file__).parents[2] / "results" / "paper-h200"
UNCHANGED = Changes(push=(0.0, 0.0))
SETTLED = "window.playground.state.tab?.ready || window.playground.state.tab?.evolution"


def open_playground(page: Any, path: Path) -> list[str]:
    """Open a page from the disk, without a network; what it asks for is returned."""
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: requests.append(message.text) if "GPU stall" not in message.text else None)
    page.context.set_offline(True)
    page.goto(path.as_uri())
    until(page, SETTLED)
    return requests


def tried(page: Any, changes: Changes = UNCHANGED, **who: int) -> dict[str, Any]:
    """What a mutation does in the page."""
    task = json.dumps({"of": 0, "who": who, "factor": 1, "changes": changes._asdict()})
    keep = "({ behavior, valid, path, times }) => ({ behavior, valid, path: Array.from(path), last: times.at(-1) })"
    return dict(page.evaluate(f"window.playground.crew.attempt({task}).then({keep})"))


def in_module(page: Any, module: str, expression: str) -> Any:
    """A value of a page's module, alone."""
    page.goto("about:blank")
    return page.evaluate(f"(() => {{ {bundle(module)} return {expression}; }})()")


def test_random_numbers_have_jaxs_bits(opened: Any) -> None:
    random = "modules['playground/random']"
    for seed in (0, 7):
        key = jax.random.fold_in(jax.random.key(seed), 3)
        found = in_module(
            opened, "playground/random", f"Array.from({random}.normals({random}.fold([0, {seed}], 3), 50000))"
        )
        # Their counters are the same bits. The last step, an approximation of the inverse of erf, is not: JAX itself
        # differs in the last digits between kinds of CPU.
        np.testing.assert_array_max_ulp(np.float32(found), np.asarray(jax.random.normal(key, (50000,))), 4)
        drawn = in_module(opened, "playground/random", f"{random}.integer([0, {seed}], 3)")
        assert drawn == jax.random.randint(jax.random.key(seed), (), 0, 3)


@pytest.mark.parametrize(
    ("name", "objective"),
    [("max_entropy", max_entropy), ("max_variance", max_variance), ("mean_fitness", mean_fitness)],
)
def test_the_pages_weights_are_the_librarys(opened: Any, name: str, objective: Any) -> None:
    behavior = np.random.default_rng(0).normal(size=(30, 2)) @ np.array([[2.0, 1.0], [0.0, 0.5]])
    call = f"modules['playground/evolution'].OBJECTIVES.{name}({json.dumps(behavior.tolist())})"
    weights = np.array(in_module(opened, "playground/evolution", call))
    expected = np.asarray(
        compiled_weights(objective(), make_outcome(jnp.asarray(behavior), jnp.asarray(behavior[:, 0])))[0]
    )
    np.testing.assert_allclose(weights - weights.mean(), expected - expected.mean(), atol=1e-4)


def test_a_few_generations_in_the_page_are_the_librarys(opened: Any, tmp_path: Path) -> None:
    values = {"generations": 3, "population_size": 40, "seed": 5, "task_options": {"num_steps": 20}}
    config = layered("point", values=values)
    evolve("point", config, output=tmp_path / "run")
    run = Run(tmp_path / "run")
    start = parent_of(run, watchable_task(run), 0)
    settings: dict[str, Any] = {
        "size": 40,
        "sigma": config.population_options.sigma,
        "rate": config.learning_rate,
        "l2": config.l2,
        "mirrored": True,
    }
    settings |= {"optimizer": config.optimizer, "objective": config.objective}
    key = np.asarray(jax.random.key_data(start.key)).tolist()
    setup = json.dumps({"task": "point", "shapes": start.task.shapes, "num_steps": 20, "time_step": 0.1})
    given = f"{np.asarray(start.parameters.center[0]).tolist()}, {key}, {json.dumps(settings)}"
    code = bundle("playground/evolution", "playground/worlds")
    opened.goto("about:blank")
    center = opened.evaluate(
        f"(() => {{ {code} const world = new modules['playground/worlds'].World({setup});"
        f" const evolution = new modules['playground/evolution'].Evolution({given});"
        " for (let k = 0; k < 3; k++) evolution.step((one) => world.episode(one).behavior);"
        " return Array.from(evolution.center); })()"
    )
    np.testing.assert_allclose(center, run.centers[0, 0], atol=2e-4)


@pytest.mark.parametrize("task", ["point", "maze", "navigation", "interference"])
def test_toy_mutations_end_where_the_library_says(opened: Any, task: str, tmp_path: Path) -> None:
    evolve(task, layered(task, values={"generations": 2, "population_size": 16}), output=tmp_path / "run")
    run = Run(tmp_path / "run")
    open_playground(opened, export_playground(run, tmp_path / "page.html"))
    toy = watchable_task(run)
    parent = parent_of(run, toy, run.rebuildable[-1])
    for number in (3, 23):
        expected = np.asarray(evaluate(toy, parent, fresh_one(parent, number)).behavior)[0]
        np.testing.assert_allclose(tried(opened, fresh=number)["behavior"], expected, rtol=1e-3, atol=1e-3)


def drawn_in_page(page: Any, run: Run, parent: Any, number: int) -> list[float]:
    """A mutation's parameters, as a page draws them."""
    (center,) = make_tab("", [run])["centers"]
    scale = np.asarray(parent.drawn_by().scale(parent.parameters, parent.generation)).ravel().tolist()
    drawn = json.dumps(center["population"] | {"scale": scale})
    values = np.asarray(parent.parameters.center).ravel().tolist()
    call = f"found.parametersAt({drawn}, {values}, found.addressOf({drawn}, {{ fresh: {number} }}))"
    parameters = in_module(
        page, "playground/members", f"((found) => Array.from({call}))(modules['playground/members'])"
    )
    return list(parameters)


@pytest.mark.parametrize("population", ["normal", "low_rank", "diagonal_normal", "mixture"])
def test_a_number_names_the_same_parameters_in_every_population(opened: Any, population: str, tmp_path: Path) -> None:
    short = {"noise_dtype": "bfloat16", "rank": 2, "components": 3, "task_options": {"num_steps": 5}}
    values = {"generations": 2, "population_size": 16, "population": population, "objective": "max_variance", **short}
    evolve("point", layered("point", offers=values), output=tmp_path / "run")
    run = Run(tmp_path / "run")
    parent = parent_of(run, watchable_task(run), run.rebuildable[-1])
    for number in (3, 23):
        brood = fresh_one(parent, number)
        parameters = drawn_in_page(opened, run, parent, number)
        expected = np.asarray(brood.sample.members())[brood.wanted[0]]
        np.testing.assert_allclose(parameters, expected, rtol=0, atol=2e-6)


def same_walk(
    page: Any, run: Run, brood: Any, parent: Any, changes: Changes = UNCHANGED, apart: float = 1e-6, **who: int
) -> Any:
    """The page's mutation and the library's walk alike, to a millionth of a meter, from the start to the end."""
    found = tried(page, changes, **who)
    motion = replay_in_double(run, changes)(brood.key, brood.sample, parent.memory).of_members(brood.wanted)
    np.testing.assert_allclose(found["behavior"], motion.behavior[0], rtol=0, atol=apart)
    last = int(motion.num_frames[0]) - 1
    shown = np.append(np.arange(0, last, 2), last)
    path = np.array(found["path"]).reshape(-1, 2)
    np.testing.assert_allclose(path, motion.path[0, shown], rtol=0, atol=1e-5)  # kept as float32, of 100 m
    assert found["valid"] == motion.valid[0]
    return found["behavior"]


def test_a_robots_mutations_walk_as_the_library_says(opened: Any, ant_run: Run, tmp_path: Path) -> None:
    pytest.importorskip("warp", reason="Warp is not installed")
    open_playground(opened, export_playground(ant_run, tmp_path / "page.html"))
    parent = parent_of(ant_run, watchable_task(ant_run), ant_run.rebuildable[-1])
    for number in (0, 3, 41):
        same_walk(opened, ant_run, fresh_one(parent, number), parent, fresh=number)


def test_in_a_changed_world_mutations_walk_as_the_library_says(opened: Any, ant_run: Run, tmp_path: Path) -> None:
    pytest.importorskip("warp", reason="Warp is not installed")
    open_playground(opened, export_playground(ant_run, tmp_path / "page.html"))
    parent = parent_of(ant_run, watchable_task(ant_run), ant_run.rebuildable[-1])
    brood = fresh_one(parent, 3)
    changes = [
        UNCHANGED,
        UNCHANGED._replace(friction=0.3),
        Changes(push=(1.5, -2.0)),
        UNCHANGED._replace(broken=(1, 4)),
    ]
    ends = [same_walk(opened, ant_run, brood, parent, one, fresh=3) for one in changes]
    assert len(np.unique(np.round(ends, 6), axis=0)) == len(changes)  # each of them changes something


ROBOTS: dict[str, dict[str, Any]] = {
    "quadruped": {},
    "arm": {"behavior": "site:hand.xyz"},
    "hopper": {"policy": "gru"},
    "walker2d": {"activation": "relu", "average": True},
    "humanoid": {"hidden": (8,), "activation": "silu"},
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.full] if name != "arm" else []) for name in ROBOTS]
)
def test_any_robot_that_is_compiled_moves_as_the_library_says(opened: Any, name: str, tmp_path: Path) -> None:
    pytest.importorskip("warp", reason="Warp is not installed")
    options: dict[str, Any] = {"num_steps": 40, "hidden": (8, 8), "engine": "mujoco"}
    task = robot_task(name, **options | ROBOTS[name])
    evolve(task, generations=1, population_size=8, sigma=0.5, objective="max_variance", output=tmp_path / "run")
    run = Run(tmp_path / "run")
    parent = parent_of(run, run.task, run.rebuildable[-1])
    brood = fresh_one(parent, 3)
    # The last digits of noise depend on the kind of CPU, and contacts make much of them: both get the page's.
    found = jnp.array([drawn_in_page(opened, run, parent, 3)])
    blank = jax.tree.map(jnp.zeros_like, brood.sample.noise)
    brood = replace(brood, sample=brood.sample._replace(center=found, noise=blank))
    open_playground(opened, export_playground(run, tmp_path / "page.html"))
    changed = Changes(0.5, (0.5, 0.0), (2,))
    ends = [same_walk(opened, run, brood, parent, one, 0.0, fresh=3) for one in (UNCHANGED, changed)]
    assert np.abs(np.subtract(*ends)).max() > 1e-4


def test_a_robot_that_is_not_compiled_is_refused_in_a_sentence(tmp_path: Path) -> None:
    options: dict[str, Any] = {"num_steps": 3, "hidden": (4,), "engine": "mujoco"}
    evolve(robot_task("swimmer", **options), generations=1, population_size=4, output=tmp_path / "run")
    run = Run(tmp_path / "run")
    reason = why_not(run)
    assert reason.startswith("a page simulates robots that are compiled, and the swimmer is not. It is in a ")
    with pytest.raises(ConfigError, match="the swimmer is not"):
        export_playground(run, tmp_path / "page.html")


def test_a_broken_motor_is_told_and_fresh_mutations_can_be_picked(opened: Any, ant_run: Run, tmp_path: Path) -> None:
    pytest.importorskip("warp", reason="Warp is not installed")
    open_playground(opened, export_playground(ant_run, tmp_path / "page.html"))
    opened.evaluate("document.getElementById('k').value = 4")
    opened.mouse.click(400, 300)
    batch = "window.playground.state.tab.batch"
    until(opened, f"!!{batch}?.best")
    opened.click("#motors button:nth-child(2)")
    until(opened, f"{batch}.now !== {batch}.tried")
    until(opened, "window.playground.state.actors.length === 2")  # the picked one, and how it walked before
    said = opened.inner_text("#message")
    best = opened.evaluate(f"{batch}.best.fresh")
    assert said.startswith(f"Ankle_4 broken: number {best} now ends at (")
    before, now = opened.evaluate(f"[{batch}.tried, {batch}.now].map((all) => all.map((one) => one.behavior))")
    near = 0.1 * opened.evaluate("window.playground.state.tab.reach")
    still = (np.linalg.norm(np.subtract(before, now), axis=1) <= near).sum()
    assert f"Of the 4 mutations {still} still end" in said
    opened.click("#message button")
    until(opened, f"{batch}.numbers[0] === 4 && !!{batch}.best")
    assert opened.inner_text("#message").startswith("Ankle_4 broken: of the 4 fresh mutations 4 to 7, number ")
    opened.click("#mend")
    until(opened, f"{batch}.now !== {batch}.tried")
    until(opened, "document.getElementById('message').textContent.startsWith('As in training: number ')")


@pytest.mark.parametrize("name", ["ant-max_entropy", "cheetah-max_entropy", "cheetah-mean_fitness"])
def test_a_trained_robot_walks_alike_for_a_whole_episode(opened: Any, name: str, tmp_path: Path) -> None:
    # A thousand steps of chaos: what differs by a bit at the start ends meters away.
    pytest.importorskip("warp", reason="Warp is not installed")
    run = Run(RESULTS / name)
    output = export_playground(run, tmp_path / "page.html")
    assert output.stat().st_size < 3e6
    open_playground(opened, output)
    parent = parent_of(run, watchable_task(run), run.rebuildable[-1])
    same_walk(opened, run, fresh_one(parent, 1), parent, fresh=1)


def test_a_click_sends_the_nearest_mutation_there(opened: Any, ant_run: Run, tmp_path: Path) -> None:
    pytest.importorskip("warp", reason="Warp is not installed")
    requests = open_playground(opened, export_playground(ant_run, tmp_path / "page.html"))
    opened.evaluate("document.getElementById('k').value = 6")
    opened.mouse.click(400, 300)
    until(opened, "!!window.playground.state.tab.batch?.best")
    batch = opened.evaluate(
        "(({ target, best, tried }) => ({ target, best: best.fresh, tried: tried.map(t => [t.fresh, ...t.behavior]) }))"
        "(window.playground.state.tab.batch)"
    )
    ends = np.array(batch["tried"])
    nearest = ends[np.linalg.norm(ends[:, 1:] - batch["target"], axis=1).argmin(), 0]
    assert batch["best"] == nearest
    assert f"number {int(nearest)} comes nearest" in opened.inner_text("#message")
    stage, foot = (opened.locator(name).bounding_box() for name in ("#stage", "#foot"))
    assert foot["y"] >= stage["y"] + stage["height"]  # what is said hides nobody
    assert opened.locator("#foot #message").count() == opened.locator("#foot #player").count() == 1
    parent = parent_of(ant_run, watchable_task(ant_run), ant_run.rebuildable[-1])
    brood = fresh_one(parent, int(nearest))
    motion = replay_in_double(ant_run)(brood.key, brood.sample, parent.memory)
    np.testing.assert_allclose(ends[ends[:, 0] == nearest, 1:], motion.behavior, rtol=0, atol=1e-6)
    until(opened, "window.playground.state.time > 0")
    opened.check("#all")
    until(opened, "window.playground.state.actors.length === 6")
    assert [url[:60] for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.full  # as all tests in a browser
def test_what_a_worker_could_not_set_up_is_said_at_once_and_again_at_every_click(browser: Any, tmp_path: Path) -> None:
    evolve("point", layered("point", values={"generations": 1, "population_size": 8}), output=tmp_path / "run")
    opened = browser.new_page()  # in the fixture of that name nothing may go wrong
    open_playground(opened, export_playground(Run(tmp_path / "run"), tmp_path / "page.html"))
    broken = "{ program: { code: new Uint8Array(3) } }"  # not WebAssembly
    opened.evaluate(f"window.playground.crew.tell({{ of: 0, setup: {broken} }})")
    until(opened, "document.getElementById('message').textContent.includes('WebAssembly.Module')")
    for _ in range(2):
        opened.evaluate("void document.getElementById('message').replaceChildren()")
        opened.evaluate("void window.playground.state.tab.send([1, 1])")
        until(opened, "document.getElementById('message').textContent.startsWith('CompileError: WebAssembly.Module')")
    opened.close()


def test_a_mutation_that_fails_is_answered_with_the_reason_and_costs_no_worker(opened: Any, tmp_path: Path) -> None:
    evolve("point", layered("point", values={"generations": 1, "population_size": 8}), output=tmp_path / "run")
    open_playground(opened, export_playground(Run(tmp_path / "run"), tmp_path / "page.html"))
    crew, tab = "window.playground.crew", "window.playground.state.tab"
    opened.evaluate("void (window.reasons = [])")
    failing = f"{crew}.attempt({{ of: 99, who: {{ fresh: 0 }} }})"  # a tab of which nothing is known
    kept = f"void {failing}.catch(({{ message }}) => window.reasons.push(message))"
    opened.evaluate(f"(() => {{ for (let k = 0; k < 2 * {crew}.workers.length; k++) {kept}; }})()")
    until(opened, f"window.reasons.length === 2 * {crew}.workers.length")
    reasons = opened.evaluate("window.reasons")
    assert all(reason.startswith("TypeError: Cannot destructure") for reason in reasons), reasons
    assert opened.evaluate(f"{crew}.idle.length === {crew}.workers.length")
    opened.evaluate("(({ tab }) => { tab.index = 99; void tab.send([1, 1]); })(window.playground.state)")
    until(opened, f"{crew}.idle.length === {crew}.workers.length && !{tab}.wanted")
    assert opened.inner_text("#message").startswith("TypeError: Cannot destructure")
    opened.evaluate("(({ tab }) => { tab.index = 0; void tab.send([1, 1]); })(window.playground.state)")
    until(opened, f"!!{tab}.batch?.best")
    assert "comes nearest" in opened.inner_text("#message")


def test_memory_does_not_grow_over_two_hundred_clicks(opened: Any, tmp_path: Path) -> None:
    evolve("point", layered("point", values={"generations": 1, "population_size": 8}), output=tmp_path / "run")
    open_playground(opened, export_playground(Run(tmp_path / "run"), tmp_path / "page.html"))
    opened.set_viewport_size({"width": 320, "height": 240})  # drawn by software, most of the time goes into pixels
    opened.evaluate("document.getElementById('k').value = 4")
    devtools = opened.context.new_cdp_session(opened)

    def used_after(clicks: int) -> float:
        opened.evaluate(
            f"(async () => {{ for (let k = 0; k < {clicks}; k++)"
            " await window.playground.state.tab.send([Math.cos(k), Math.sin(k)]); })()"
        )
        devtools.send("HeapProfiler.collectGarbage")
        return float(devtools.send("Runtime.getHeapUsage")["usedSize"])

    first = used_after(20)
    assert used_after(200) < first + 1e6
    assert opened.evaluate("window.playground.state.actors.length") <= 8


def test_the_page_allows_nothing_from_elsewhere_and_names_are_text(browser: Any, opened: Any, tmp_path: Path) -> None:
    hostile = tmp_path / "</script><img src=x onerror=alert(1)>"
    evolve("point", layered("point", values={"generations": 1, "population_size": 8}), output=hostile)
    output = export_playground(Run(hostile), tmp_path / "page.html")
    html = output.read_text()
    assert "<img" not in html
    policy = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)[0]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy
    assert "http" not in policy
    open_playground(opened, output)
    assert "<img src=x onerror=alert(1)>" in opened.inner_text("#about")
    other = browser.new_page()  # in which a refusal may be logged
    other.goto(output.as_uri())
    assert other.evaluate("fetch('data:,').then(() => 'fetched', () => 'refused')") == "refused"
    other.close()


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("warp", reason="Warp is not installed")
    output = tmp_path_factory.mktemp("demonstration") / "page.html"
    output.write_text(playground.page())
    assert output.stat().st_size < 3e6
    return output


def choose(page: Any, tab: str) -> None:
    page.get_by_role("tab", name=tab).click()
    until(page, f"window.playground.state.tab?.title === '{tab}'")


def test_every_tab_opens_without_a_word_on_the_console(opened: Any, demonstration: Path) -> None:
    messages = open_playground(opened, demonstration)
    for tab in ("Ant", "Interference", "Evolve here", "Cheetah"):
        choose(opened, tab)
        until(
            opened,
            "window.playground.frames > 0 && !window.playground.state.dirty || window.playground.tabs[2].members",
        )
        assert opened.inner_text("#about")
    assert [text[:90] for text in messages if not text.startswith(("file:", "data:", "blob:"))] == []


def test_keys_aim_and_send_and_the_same_mutations_go_elsewhere_from_another_center(
    opened: Any, demonstration: Path
) -> None:
    open_playground(opened, demonstration)
    opened.evaluate("document.getElementById('k').value = 2")
    opened.focus("#scene")
    for key in ("ArrowLeft", "ArrowLeft", "Enter"):
        opened.keyboard.press(key)
    numbers = "window.playground.state.tab.batch?.numbers"
    until(opened, f"({numbers} ?? []).length === 2")
    ends = "window.playground.state.tab.batch.tried.map((one) => one.behavior[0])"
    evolvable = opened.evaluate(ends)
    assert opened.evaluate("window.playground.state.tab.batch.target[0]") < 0
    opened.evaluate("(() => { window.playground.state.tab.batch.tried = null; })()")
    opened.fill("#share", "0")
    opened.dispatch_event("#share", "change")
    until(opened, "window.playground.state.tab.batch.tried !== null")
    assert opened.evaluate(numbers) == [0, 1]
    # The paper's standard ES runs right, and so do its mutations; Evolvability ES's run both ways, or far.
    assert min(opened.evaluate(ends)) > 100
    assert min(evolvable) < 100


def test_with_small_mutations_the_center_stays_on_its_wave(opened: Any, demonstration: Path) -> None:
    open_playground(opened, demonstration)
    choose(opened, "Interference")
    center = "window.playground.state.tab.evolution.center[0]"
    opened.evaluate("(({ tab }) => { tab.evolving = false; tab.climb(1500); })(window.playground.state)")
    assert abs(opened.evaluate(center) - 7.854) < 0.3
    opened.evaluate(
        "(({ tab }) => { tab.factor = 0.04; tab.place(0.25); tab.climb(1500); tab.draw(); })(window.playground.state)"
    )
    assert abs(opened.evaluate(center) - 4) < 0.3
    assert "center is at x = " in str(opened.get_attribute("#waves", "aria-label"))


def test_what_evolves_in_the_page_spreads_out_and_can_be_sent(opened: Any, demonstration: Path) -> None:
    open_playground(opened, demonstration)
    choose(opened, "Evolve here")
    tab = "window.playground.state.tab"
    opened.evaluate(f"(() => {{ for (let k = 1; k < 31; k++) {{ {tab}.evolving = true; {tab}.pass(1e6 * k); }} }})()")
    spread = f"Math.max(...{tab}.behaviors.map(([x, y]) => Math.hypot(x, y)))"
    assert opened.evaluate(spread) > 3  # it began within 1
    opened.evaluate(f"void {tab}.send([2, 1])")
    until(opened, f"!!{tab}.batch?.best")
    assert not opened.evaluate(f"{tab}.evolving")


@pytest.mark.full
def test_where_motion_is_not_wanted_walks_are_shown_at_their_end(browser: Any, ant_run: Run, tmp_path: Path) -> None:
    page = browser.new_page(reduced_motion="reduce")
    open_playground(page, export_playground(ant_run, tmp_path / "page.html"))
    page.evaluate("document.getElementById('k').value = 1")
    page.mouse.click(400, 300)
    until(page, "window.playground.state.actors.length === 1")
    assert not page.evaluate("window.playground.state.playing")
    assert page.evaluate("window.playground.state.time") > 0
    page.close()
