"""Contacts between bodies, spheres and capsules, as C++: found by a loop, each with its own row of the Jacobian.

They leave the tree's sparsity: where bodies touch each other the solver's Hessian is dense, elsewhere it is not.
"""

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from mujoco_fused.constraints import parameters_of
from mujoco_fused.expressions import Scalar, Tape, Value, literal
from mujoco_fused.kinematics import Motion
from mujoco_fused.pairs import CAPSULE, PLANE, Pair, pairs
from mujoco_fused.touch import Touch
from mujoco_fused.tree import Tree, clean, rotation

MOST = 24
"""Contacts between bodies at a time. A world that has more becomes nan: nothing is left out in silence."""
PARALLEL = "R(1e-8)"
"""The squared sine below which MuJoCo takes two capsules as parallel."""


class Between:
    """The text for contacts between bodies; all of it is empty for a model that has none.

    Args:
        tree: the model's joints.
        motion: its bodies, as the values that are in scope.
    """

    def __init__(self, tree: Tree, motion: Motion) -> None:
        self.tree, self.motion, self.nv = tree, motion, tree.num_dofs
        kinds = tree.model.geom_type

        def in_order(pair: Pair) -> Pair:  # a sphere comes before a capsule, as in MuJoCo's own functions
            one, other = sorted((pair.geom, pair.plane), key=lambda geom: (kinds[geom], geom))
            return pair._replace(geom=one, plane=other)

        self.pairs = [in_order(pair) for pair in pairs(tree.model) if kinds[pair.plane] != PLANE]
        geoms = sorted({geom for pair in self.pairs for geom in (pair.geom, pair.plane)})
        self.places = {geom: place for place, geom in enumerate(geoms)}
        self.most = min(MOST, 2 * len(self.pairs))

    @cached_property
    def softness(self) -> dict[tuple[object, ...], Pair]:
        """Pairs that stand for all with the same softness."""
        return {_softness_of(pair): pair for pair in self.pairs}

    @cached_property
    def geometry(self) -> dict[str, Value]:
        """What the text reads: geoms' centers, half axes, origins of trees, radii and weights; all joints' axes."""
        values: dict[str, Value] = {}
        model, motion = self.tree.model, self.motion
        for geom, place in self.places.items():
            body, size = int(model.geom_bodyid[geom]), model.geom_size[geom]
            turn = motion.rotation[body]
            half = float(size[1]) if model.geom_type[geom] == CAPSULE else 0.0
            center = motion.place[body] + turn @ clean(model.geom_pos[geom])
            axis = turn @ clean(half * rotation(model.geom_quat[geom])[:, 2])
            numbers = [*center, *axis, *motion.origin[body], float(size[0]), float(model.body_invweight0[body, 0])]
            values |= {f"g_at[{place * 11 + k}]": value for k, value in enumerate(numbers)}
        for dof, axis in {} if self.tree.is_long else motion.axes.items():
            values |= {f"axes[{dof * 6 + k}]": value for k, value in enumerate(axis)}
        return values

    def kept(self) -> Iterable[Value]:
        """Values that this text uses by name."""
        if self.pairs:
            yield from self.geometry.values()
            for pair in self.pairs:
                yield parameters_of(self.tree, pair).friction

    def declarations(self) -> str:
        """Arrays: per geom, per pair that is near, per contact, and a dense matrix."""
        if not self.pairs:
            return ""
        num, most, nv = len(self.pairs), self.most, self.nv
        return f"""
R g_at[{len(self.places) * 11}], n_friction[{num}]; int g_last[{len(self.places)}], g_body[{len(self.places)}];
int num_near = 0, n_one[{num}], n_two[{num}], n_kind[{num}], num_between = 0, crowded = 0, b_active[{most}];
R n_margin[{num}], b_strength[{most}], b_pull[{most}], b_damping[{most}], b_error[{most * 3}], b_change[{most * 3}];
R J[{most * 3 * nv}], G[{nv * nv}], b_normal[{most * 3}], b_point[{most * 6}]; int b_body[{most * 2}];
"""

    def detection(self) -> str:
        """Find the pairs that are near, and of these all contacts, with their Jacobians in ``J``."""
        if not self.pairs:
            return ""
        model, lines = self.tree.model, [f"{place} = {literal(value)};" for place, value in self.geometry.items()]
        for geom, place in self.places.items():
            body = int(model.geom_bodyid[geom])
            lines.append(f"g_last[{place}] = {(self.tree.chain(body) or [-1])[-1]}; g_body[{place}] = {body};")
        kinds = {key: number for number, key in enumerate(self.softness)}
        for pair in self.pairs:
            one, two, friction = pair.geom, pair.plane, parameters_of(self.tree, pair).friction
            reach = pair.margin + sum(float(model.geom_size[g, 0] + self._half(g)) for g in (one, two))
            sets = f"n_one[num_near] = {self.places[one]}; n_two[num_near] = {self.places[two]};"
            sets += f" n_friction[num_near] = {literal(friction)}; n_kind[num_near] = {kinds[_softness_of(pair)]};"
            sets += f" n_margin[num_near] = {literal(pair.margin)};"
            near = f"apart({self.places[one]}, {self.places[two]}) < {literal(reach * reach)}"
            lines.append(f"if ({near}) {{ {sets} num_near++; }}")
        return f"""
auto apart = [&](int a, int b) {{
  const R x = g_at[a * 11] + g_at[a * 11 + 6] - g_at[b * 11] - g_at[b * 11 + 6];
  const R y = g_at[a * 11 + 1] + g_at[a * 11 + 7] - g_at[b * 11 + 1] - g_at[b * 11 + 7];
  const R z = g_at[a * 11 + 2] + g_at[a * 11 + 8] - g_at[b * 11 + 2] - g_at[b * 11 + 8];
  return x * x + y * y + z * z;
}};
{chr(10).join(lines)}
_Pragma("unroll 1") for (int p = 0; p < num_near; p++) {{ {self._narrow()} }}
"""

    def _half(self, geom: int) -> float:
        is_long = self.tree.model.geom_type[geom] == CAPSULE
        return float(self.tree.model.geom_size[geom, 1]) if is_long else 0.0

    def _narrow(self) -> str:
        """Contacts of pair ``p``: where the axes are nearest to each other, two where they are parallel."""
        axis = "{0}[0] * {1}[0] + {0}[1] * {1}[1] + {0}[2] * {1}[2]"
        one = "".join(f"one[{k}] = g_at[a * 11 + {3 + k}]; two[{k}] = g_at[b * 11 + {3 + k}];" for k in range(3))
        away = "".join(
            f"shift[{k}] = g_at[b * 11 + {6 + k}] - g_at[a * 11 + {6 + k}];"
            f" dif[{k}] = g_at[a * 11 + {k}] - g_at[b * 11 + {k}] - shift[{k}];"
            for k in range(3)
        )
        return f"""
  const int a = n_one[p], b = n_two[p];
  R one[3], two[3], dif[3], shift[3], x1[2], x2[2]; int tries = 1;
  {one} {away}
  const R ma = {axis.format("one", "one")}, mb = -({axis.format("one", "two")}), mc = {axis.format("two", "two")};
  const R u = -({axis.format("one", "dif")}), v2 = {axis.format("two", "dif")};
  const R across0 = one[1] * two[2] - one[2] * two[1], across1 = one[2] * two[0] - one[0] * two[2];
  const R across2 = one[0] * two[1] - one[1] * two[0], det = across0 * across0 + across1 * across1 + across2 * across2;
  const R wide = mc > R(0) ? mc : R(1), broad = ma > R(0) ? ma : R(1);
  x1[0] = R(0); x2[0] = v2 / wide;
  if (ma > R(0) && mc > R(0)) {{
    const R low = (u + mb) / broad, high = (u - mb) / broad;
    if (det >= {PARALLEL} * ma * mc) {{
      x1[0] = (mc * u - mb * v2) / det; x2[0] = (ma * v2 - mb * u) / det;
      if (x1[0] > R(1)) {{ x1[0] = R(1); x2[0] = (v2 - mb) / wide; }}
      else if (x1[0] < R(-1)) {{ x1[0] = R(-1); x2[0] = (v2 + mb) / wide; }}
      if (x2[0] > R(1)) x1[0] = high; else if (x2[0] < R(-1)) x1[0] = low;
    }} else {{
      tries = 2; x1[0] = low < high ? low : high; x1[1] = low < high ? high : low;
      for (int t = 0; t < 2; t++) {{
        x1[t] = x1[t] < R(-1) ? R(-1) : (x1[t] > R(1) ? R(1) : x1[t]); x2[t] = (v2 - mb * x1[t]) / wide; }}
    }}
  }}
  for (int t = 0; t < tries; t++) {{
    const R s1 = x1[t] < R(-1) ? R(-1) : (x1[t] > R(1) ? R(1) : x1[t]);
    const R s2 = x2[t] < R(-1) ? R(-1) : (x2[t] > R(1) ? R(1) : x2[t]);
    R way[3], square = R(0);
    for (int k = 0; k < 3; k++) {{ way[k] = s2 * two[k] - dif[k] - s1 * one[k]; square += way[k] * way[k]; }}
    const R far = SQRT(square), distance = far - g_at[a * 11 + 9] - g_at[b * 11 + 9];
    if (distance < n_margin[p]) {{
      if (num_between >= {self.most}) crowded = 1; else {{ {self._noted()} num_between++; }} }}
  }}
"""

    def _noted(self) -> str:
        """Contact number ``num_between``: how it pushes, and its rows of the Jacobian."""
        nv, lines = self.nv, []
        for number, pair in enumerate(self.softness.values()):
            tape = Tape()
            weight, friction = Scalar(tape, "weight"), Scalar(tape, "n_friction[p]")
            own = parameters_of(self.tree, pair, friction, weight).fields(Scalar(tape, "distance"))
            places = [(f"b_{name}[num_between]", own[name]) for name in ("strength", "pull", "damping")]
            lines.append(f"if (n_kind[p] == {number}) {{ {tape.code(places)} }}")
        rows = " ".join(
            f"J[(num_between * 3 + {row}) * {nv} + i] += side * (m[0] * {d}[0] + m[1] * {d}[1] + m[2] * {d}[2]);"
            for row, d in enumerate(("normal", "first", "second"))
        )
        return f"""
    const R weight = g_at[a * 11 + 10] + g_at[b * 11 + 10], scale = R(1) / (far > NEAREST ? far : R(1));
    {"".join(lines)}
    R normal[3], first[3], second[3], m[3], point[3], size = R(0);
    for (int k = 0; k < 3; k++) normal[k] = scale * way[k];
    if (!(far > NEAREST)) {{ // axes that meet: across both
      const R over = det > R(0) ? R(1) / SQRT(det) : R(0);
      normal[0] = det > R(0) ? over * across0 : R(1); normal[1] = over * across1; normal[2] = over * across2; }}
    const int level = FABS(normal[1]) < R(0.5) ? 1 : 2;
    for (int k = 0; k < 3; k++) {{ first[k] = (k == level ? R(1) : R(0)) - normal[level] * normal[k]; }}
    for (int k = 0; k < 3; k++) size += first[k] * first[k];
    for (int k = 0; k < 3; k++) first[k] = first[k] * n_friction[p] / SQRT(size);
    for (int k = 0; k < 3; k++) b_normal[num_between * 3 + k] = normal[k];
    second[0] = normal[1] * first[2] - normal[2] * first[1];
    second[1] = normal[2] * first[0] - normal[0] * first[2];
    second[2] = normal[0] * first[1] - normal[1] * first[0];
    for (int i = 0; i < {3 * nv}; i++) J[num_between * {3 * nv} + i] = R(0);
    for (int end = 0; end < 2; end++) {{
      const R side = end > 0 ? R(1) : R(-1);
      for (int k = 0; k < 3; k++) {{
        point[k] = g_at[a * 11 + k] + s1 * one[k] + (g_at[a * 11 + 9] + R(0.5) * distance) * normal[k];
        point[k] = end > 0 ? point[k] - shift[k] : point[k]; }}
      for (int k = 0; k < 3; k++) b_point[num_between * 6 + end * 3 + k] = point[k];
      b_body[num_between * 2 + end] = end > 0 ? g_body[b] : g_body[a];
      int i = end > 0 ? g_last[b] : g_last[a];
      while (i >= 0) {{
        m[0] = axes[i * 6 + 3] + axes[i * 6 + 1] * point[2] - axes[i * 6 + 2] * point[1];
        m[1] = axes[i * 6 + 4] + axes[i * 6 + 2] * point[0] - axes[i * 6] * point[2];
        m[2] = axes[i * 6 + 5] + axes[i * 6] * point[1] - axes[i * 6 + 1] * point[0];
        {rows}
        i = d_parent[i];
      }}
    }}
"""

    def each(self, text: str) -> str:
        """Statements for every contact ``c`` between bodies."""
        return f'\n_Pragma("unroll 1") for (int c = 0; c < num_between; c++) {{ {text} }}' if self.pairs else ""

    def change(self, result: str, vector: str) -> str:
        """``b_RESULT``: the motion along all rows, if joints move by ``vector``."""
        return self.each(
            f"for (int r = 0; r < 3; r++) {{ R sum = R(0); for (int i = 0; i < {self.nv}; i++) "
            f"sum += J[(c * 3 + r) * {self.nv} + i] * {vector}[i]; b_{result}[c * 3 + r] = sum; }}"
        )

    def targets(self) -> str:
        """``b_error`` of accelerations that are zero."""
        begun = "b_active[c] = -1; for (int r = 0; r < 3; r++) b_error[c * 3 + r] *= b_damping[c];"
        return self.change("error", "v") + self.each(f"{begun} b_error[c * 3] += b_pull[c];")

    def each_edge(self, text: str, before: str = "", after: str = "") -> str:
        """Statements for every edge ``e`` of every contact ``c``: of its row ``r`` of friction, with a ``sign``."""
        edge = "const int r = c * 3 + (e < 2 ? 1 : 2); const R sign = e == 0 || e == 2 ? R(1) : R(-1);"
        return self.each(f"{before} for (int e = 0; e < 4; e++) {{ {edge} {text} }} {after}")

    def slope(self) -> str:
        """Along the search direction at ``step``, added to ``slope`` and ``curve``."""
        return self.each_edge(
            "const R change = b_change[c * 3] + sign * b_change[r];"
            " const R there = b_error[c * 3] + sign * b_error[r] + step * change;"
            " const R firm = there < R(0) ? b_strength[c] : R(0);"
            " slope += firm * there * change; curve += firm * change * change;"
        )

    def cost(self) -> str:
        """After a full step, added to ``cost``."""
        return self.each_edge(
            "const R there = b_error[c * 3] + b_change[c * 3] + sign * (b_error[r] + b_change[r]);"
            " if (there < R(0)) cost += R(0.5) * b_strength[c] * there * there;"
        )

    def moved(self) -> str:
        """After a ``step``: errors, and whether other edges push now."""
        step = "int now = 0; for (int r = 0; r < 3; r++) b_error[c * 3 + r] += step * b_change[c * 3 + r];"
        told = "changed |= now != b_active[c]; b_active[c] = now;"
        return self.each_edge("if (b_error[c * 3] + sign * b_error[r] < R(0)) now |= 1 << e;", step, told)

    def push(self) -> str:
        """Forces on joints, added to ``s``."""
        row = f"J[c * {3 * self.nv} + i] + sign * J[r * {self.nv} + i]"
        return self.each_edge(
            "if (b_active[c] >> e & 1) { const R f = -b_strength[c] * (b_error[c * 3] + sign * b_error[r]);"
            f" for (int i = 0; i < {self.nv}; i++) s[i] += f * ({row}); }}"
        )

    def solved(self, sparse: str) -> str:
        """``s``, solved with the Hessian: by a sparse factorization, or a dense one where bodies touch each other."""
        if not self.pairs:
            return sparse
        nv = self.nv
        each_entry = "for (int e = d_last[i], j = i; e >= d_first[i]; e--, j = d_parent[j])"
        filled = f"for (int i = 0; i < {nv}; i++) {each_entry} G[i * {nv} + j] = H[e];"
        active = " ".join(f"const R a{e} = b_active[c] >> {e} & 1 ? b_strength[c] : R(0);" for e in range(4))
        rows = " ".join(f"const R j{r} = J[(c * 3 + {r}) * {nv} + i];" for r in range(3))
        added = self.each(f"""{active}
  if (b_active[c] > 0) for (int i = 0; i < {nv}; i++) {{ {rows}
    const R k0 = (a0 + a1 + a2 + a3) * j0 + (a0 - a1) * j1 + (a2 - a3) * j2;
    const R k1 = (a0 - a1) * j0 + (a0 + a1) * j1, k2 = (a2 - a3) * j0 + (a2 + a3) * j2;
    for (int j = 0; j < i + 1; j++) G[i * {nv} + j] += k0 * J[c * {3 * nv} + j] + k1 * J[c * {3 * nv} + {nv} + j]
      + k2 * J[c * {3 * nv} + {2 * nv} + j]; }}""")
        return f"""
if (num_between > 0) {{
  for (int i = 0; i < {nv * nv}; i++) G[i] = R(0);
  {filled}{added}
  for (int j = 0; j < {nv}; j++) {{
    R d = G[j * {nv} + j];
    for (int k = 0; k < j; k++) d -= G[j * {nv} + k] * G[j * {nv} + k];
    G[j * {nv} + j] = SQRT(d); const R over = R(1) / G[j * {nv} + j];
    for (int i = j + 1; i < {nv}; i++) {{
      R t = G[i * {nv} + j];
      for (int k = 0; k < j; k++) t -= G[i * {nv} + k] * G[j * {nv} + k];
      G[i * {nv} + j] = t * over; }} }}
  for (int i = 0; i < {nv}; i++) {{
    for (int k = 0; k < i; k++) s[i] -= G[i * {nv} + k] * s[k];
    s[i] = s[i] / G[i * {nv} + i]; }}
  for (int back = 0; back < {nv}; back++) {{
    const int i = {nv - 1} - back;
    for (int k = i + 1; k < {nv}; k++) s[i] -= G[k * {nv} + i] * s[k];
    s[i] = s[i] / G[i * {nv} + i]; }}
}} else {{ {sparse} }}
"""

    def felt(self, touch: Touch, place: str, tape: Tape) -> str:
        """Forces of contacts at either end, added to what a touch sensor reads."""
        normal, points = (
            np.array([Scalar(tape, f"b_{name}[{index} + {k}]") for k in range(3)], object)
            for name, index in (("normal", "c * 3"), ("point", "c * 6 + end * 3"))
        )
        ray = points, Scalar(tape, "side") * normal
        added = touch.added(tape, place, Scalar(tape, "pressed"), ray)
        ends = f"if (b_body[c * 2 + end] == {touch.body}) {{ const R side = end > 0 ? R(-1) : R(1); {added} }}"
        return self.each_edge(
            "const R there = b_error[c * 3] + sign * b_error[r]; if (there < R(0)) pressed -= b_strength[c] * there;",
            "R pressed = R(0);",
            f"for (int end = 0; end < 2; end++) {ends}",
        )

    def told(self) -> str:
        """Accelerations that are not numbers, in a world with more contacts than there is room for."""
        nan = f"if (crowded) for (int i = 0; i < {self.nv}; i++) w[i] = R(INFINITY) - R(INFINITY);\n"
        return nan if self.pairs else ""


def _softness_of(pair: Pair) -> tuple[object, ...]:
    return (pair.dimension, pair.margin, *np.ravel(pair.solref).tolist(), *np.ravel(pair.solimp).tolist())
