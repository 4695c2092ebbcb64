"""Programs as WebAssembly, run by Node where it is installed; tests of the playground run them in a browser."""

import base64
import json
import shutil
import subprocess
from typing import Any

import mujoco
import numpy as np
import pytest
from models import each_quickly, model, states

pytest.importorskip("warp", reason="Warp is not installed")

from mujoco_fused import DOUBLE, Program, emit, prelude, to_webassembly

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no Node: install it to run WebAssembly without a browser")
RUN = """
const { code, free, arrays } = JSON.parse(require("fs").readFileSync(0));
const { run, memory } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(code, "base64"))).exports;
let top = free;
const views = arrays.map((array) => {
  const place = (top + 7) & ~7;
  top = place + 8 * array.length;
  return { place, array };
});
memory.grow(Math.ceil(top / 65536));
for (const { place, array } of views) new Float64Array(memory.buffer, place, array.length).set(array);
run(...views.map((view) => view.place));
const read = ({ place, array }) => Array.from(new Float64Array(memory.buffer, place, array.length));
console.log(JSON.stringify(views.map(read)));
"""


def ran(program: Program, *arrays: Any) -> list[Any]:
    """Arrays of doubles after a program of pointers to them."""
    assert NODE is not None
    given = {"code": base64.b64encode(program.module).decode(), "free": program.free}
    given |= {"arrays": [np.ravel(array).tolist() for array in arrays]}
    done = subprocess.run([NODE, "-e", RUN], input=json.dumps(given), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [
        np.array(array).reshape(np.shape(given)) for array, given in zip(json.loads(done.stdout), arrays, strict=True)
    ]


@needs_node
def test_loops_conditions_and_pointers_do_what_they_say() -> None:
    text = """
    auto half = [&](double x) { return x * 0.5; };
    R total = R(0), kept[4]; int found = 0; unsigned long long seen = 0;
    const R* from = a.data + 2 * 1;
    for (int i = 0; i < 4; i++) { kept[i] = half(from[i]); if (kept[i] > R(1)) { found++; seen |= 1ull << i; } }
    for (int i = 0; ; i++) { if (i >= 3 && !(kept[i] < R(0))) break; total += kept[i]; }
    b[0] = total; b[1] = found > 2 || false ? R(-INFINITY) : -total; b[2] = (int)R(2.9) + found;
    { const R b0 = b[0]; b[3] = b0 - 1; }
    if (seen >> 1 & 1) b[4] = R(7); else b[4] = R(8);
    for (int i = 3, j = 1; i >= 0; i--, j = 2 * j) b[5] += j * kept[i];
    """
    program = to_webassembly(text, {"a": "R*", "b": "R*"})
    _, numbers = ran(program, np.array([9.0, 9, 1, 4, 6, 0]), np.zeros(6))
    np.testing.assert_array_equal(numbers, [5.5, -5.5, 4, 4.5, 7, 18])


@needs_node
def test_a_time_step_reads_pointers_that_were_set_around_it() -> None:
    text = "R sum[1]; sum[0] = R(0); const R* from = a.data + 1;"
    text += "for (int substep = 0; substep < 3; substep++) { sum[0] += from[1]; b.data[0] = sum[0]; }"
    _, numbers = ran(to_webassembly(text, {"a": "R*", "b": "R*"}), np.array([1.0, 2, 4]), np.zeros(1))
    np.testing.assert_array_equal(numbers, [12])


@needs_node
def test_functions_are_exact_to_the_last_digits() -> None:
    text = prelude(DOUBLE)
    text += "for (int i = 0; i < 999; i++) { s[i] = SIN(x[i]); c[i] = COS(x[i]); t[i] = squash(x[i]); "
    text += "a[i] = ATAN2(x[i], x[998 - i]); n[i] = ASIN(s[i]); }"
    x = np.concatenate([np.linspace(-30, 30, 996), [0, 1e-9, -0.7]])
    blank = np.zeros(999)
    program = to_webassembly(text, dict.fromkeys("xsctan", "R*"))
    _, sine, cosine, tanh, angle, arcsine = ran(program, x, *[blank] * 5)
    for found, expected in (
        (sine, np.sin(x)),
        (cosine, np.cos(x)),
        (tanh, np.tanh(x)),
        (angle, np.arctan2(x, x[::-1])),
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(np.sin(arcsine), sine, rtol=0, atol=1e-15)


@needs_node
@each_quickly
def test_one_step_is_mujocos(name: str) -> None:
    robot = model(name)
    given = states(robot, 8, seed=1)
    loop = "for (int world = 0; world < 8; world++) {{ {load} {step} {store} }}"
    sizes = {"q": robot.nq, "v": robot.nv, "w": robot.nv, "u": robot.nu}
    declared = "".join(f"R {key}[{size}];" for key, size in sizes.items())
    moved = "for (int i = 0; i < {n}; i++) {left} = {right};"
    load = "".join(moved.format(n=n, left=f"{key}[i]", right=f"{key}s[world * {n} + i]") for key, n in sizes.items())
    store = "".join(moved.format(n=n, left=f"{key}s[world * {n} + i]", right=f"{key}[i]") for key, n in sizes.items())
    text = prelude(DOUBLE) + declared + loop.format(load=load, step=emit(robot), store=store)
    after = ran(to_webassembly(text, {f"{key}s": "R*" for key in sizes}), *(given[key] for key in sizes))
    for world in range(8):
        data = mujoco.MjData(robot)
        data.qpos[:], data.qvel[:], data.qacc_warmstart[:], data.ctrl[:] = (given[key][world] for key in sizes)
        mujoco.mj_step(robot, data)
        for found, expected in zip(after, (data.qpos, data.qvel, data.qacc), strict=False):
            assert np.max(np.abs(found[world] - expected)) < 1e-11 * (1 + np.abs(expected).max()), name


@needs_node
def test_one_step_by_loops_is_mujocos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mujoco_fused.tree.LONG", 0)
    test_one_step_is_mujocos("mixed")


def test_what_is_not_known_is_named() -> None:
    with pytest.raises(NameError, match="'y'"):
        to_webassembly("x[0] = y;", {"x": "R*"})
    with pytest.raises(SyntaxError, match="';' is expected, got 'x'"):
        to_webassembly("x[0] = 1.0 x[1] = 2.0;", {"x": "R*"})
