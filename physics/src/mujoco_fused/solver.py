r"""The constrained accelerations: MuJoCo's Newton solver, as C++.

The cost of accelerations $a$ is $\frac12 (a - a_s)^T M (a - a_s) + \frac12 \sum_i D_i \min(J_i a - r_i, 0)^2$, over
the edges of friction pyramids and the limits of joints. A contact acts on its body alone, so its part of the Hessian
is summed up the tree like an inertia: the Hessian has the mass matrix's sparsity, and no Jacobian is written out.
"""

import itertools
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mujoco_fused.between import Between
from mujoco_fused.constraints import Contact, Limit, Rubbing
from mujoco_fused.expressions import Scalar, Tape, Value, Vector, is_zero, literal, select
from mujoco_fused.kinematics import Motion
from mujoco_fused.sparse import block, factor, multiply, products, rows, solve
from mujoco_fused.touch import Touch
from mujoco_fused.tree import Tree, disabled

FEW = 8
"""With fewer iterations than this it matters where the solver begins."""


class Scope(NamedTuple):
    """The names that a text shares with the program around it, each with what it is; all others are its own."""

    reads: dict[str, str]
    writes: dict[str, str]


SCOPE = Scope(
    reads={
        "v": "(nv) velocities",
        "w": "(nv) the last accelerations, where the solver begins",
        "M": "the mass matrix's entries, in the order of `Tree.entries`",
        "force": "(nv) all forces but those of constraints",
        "SQRT FABS RECIPROCAL TOLERANCE SLOPE_TOLERANCE STEP_TOLERANCE": "macros of a prelude",
        "t0, t1 ...": "what is computed of a model's state: the values that `Solver.kept` lists",
    },
    writes={
        "w": "(nv) accelerations",
        "Ma": "(nv) the forces that cause them",
        "H Di": "entries and the inverse diagonal of a matrix, free for use afterwards",
    },
)
"""The scope of `Solver.declarations`, `Solver.detection` and `Solver.code`, taken together."""


class Constraints(NamedTuple):
    """All that may push."""

    contacts: list[Contact]
    limits: list[Limit]
    rubbing: list[Rubbing]
    between: Between


class Solver:
    """The text of a solver for one model; `SCOPE` has the names that it reads and writes.

    Args:
        tree: the model's joints.
        motion: its bodies, as the values that are in scope.
        constraints: points that may touch (``c_NAME`` are the arrays of those that do), joints that may be at a limit,
            and dry friction.
        number: numbers for new names.
        felt: touch sensors that are watched, by their place in what is told.
    """

    def __init__(
        self, tree: Tree, motion: Motion, constraints: Constraints, number: Any, felt: dict[int, Touch]
    ) -> None:
        self.tree, self.motion, self.number, self.felt = tree, motion, number, felt
        self.contacts, self.limits, self.rubbing, self.between = constraints
        # Bodies that may touch something, each with a slot in the arrays of motions and forces.
        bodies = sorted({tree.weld(contact.body)[0] for contact in self.contacts})
        self.slots = {body: slot for slot, body in enumerate(bodies)}
        axes = [motion.axes[dof] for body in bodies for dof in tree.chain(body)]
        # Of a motion's six components, those that ever are not zero: three for a robot in a plane.
        self.components = [k for k in range(6) if any(not is_zero(axis[k]) for axis in axes)]
        self.pairs = list(itertools.combinations_with_replacement(range(len(self.components)), 2))

    @cached_property
    def common(self) -> dict[str, float]:
        """The fields of contacts that are the same number for all of them."""
        names = self.contacts[0].fields if self.contacts else {}
        values = {name: [contact.fields[name] for contact in self.contacts] for name in names}
        known = {name: own for name, own in values.items() if not any(isinstance(value, Scalar) for value in own)}
        return {name: own[0] for name, own in known.items() if len(set(own)) == 1}

    @cached_property
    def rows(self) -> list[str]:
        """The rows of a contact: along the normal, and the directions of friction in which anything moves."""
        motion = zip("n12", self._point_motion(Tape(self.number)), strict=True)
        return [row for row, value in motion if row == "n" or not is_zero(value)] if self.contacts else []

    @cached_property
    def edges(self) -> list[tuple[dict[str, float], float]]:
        """A friction pyramid's edges: the factor of each row, and how many edges are the same."""
        edges = [({"n": 1.0, row: sign}, 1.0) for row in self.rows[1:] for sign in (1.0, -1.0)]
        missing = 4.0 - len(edges)  # of a robot in a plane, two of the four say nothing of friction
        return [*edges, ({"n": 1.0}, missing)] if missing else edges

    def limit_words(self, text: str, sign: str = ", ") -> str:
        """A text per number that has 64 limits as bits, with what is at the end of its name."""
        return sign.join(text.format(first // 64 or "") for first in range(0, max(len(self.limits), 1), 64))

    def _field(self, tape: Tape, name: str) -> Value:
        return self.common.get(name, Scalar(tape, f"c_{name}[c]"))

    def _vector(self, tape: Tape, name: str) -> Vector:
        return np.array([self._field(tape, f"{name}_{axis}") for axis in "xyz"], object)

    def _frame(self, tape: Tape) -> list[Vector]:
        """A contact's rows as vectors: the normal, and two directions of friction as steep as the pyramid."""
        normal, first = self._vector(tape, "normal"), self._field(tape, "friction") * self._vector(tape, "first")
        return [normal, first, np.cross(normal, first)]

    def _point_motion(self, tape: Tape) -> list[Value]:
        """How a contact's point moves, by row, if its body moves by ``X``."""
        motion = np.zeros(6).astype(object)
        for n, k in enumerate(self.components):
            motion[k] = Scalar(tape, f"X[b * {len(self.components)} + {n}]")
        point = motion[3:] + np.cross(motion[:3], self._vector(tape, "point"))
        return [vector @ point for vector in self._frame(tape)]

    def declarations(self) -> str:
        """Arrays: per contact, per body that touches, per limit."""
        size, num_limits = max(len(self.contacts), 1), max(len(self.limits), 1)
        fields = [f"c_{name}" for name in (self.contacts[0].fields if self.contacts else {}) if name not in self.common]
        per_row = [f"{name}_{row}" for row in self.rows for name in ("error", "change")]
        arrays = ", ".join(f"{name}[{size}]" for name in (*fields, *per_row)) or "unused"
        num_slots, num_components = max(len(self.slots), 1), max(len(self.components), 1)
        nv, num_entries = self.tree.num_dofs, len(self.tree.entries)
        return f"""
int num_contacts = 0, c_slot[{size}], c_active[{size}]{f", c_body[{size}]" if self.felt else ""};
R {arrays};
R X[{num_slots * num_components}], W[{num_slots * num_components}], C[{num_slots * max(len(self.pairs), 1)}];
R l_error[{num_limits}], l_change[{num_limits}];{self._rubbing_arrays()}
R M[{num_entries}], H[{num_entries}], Di[{nv}], force[{nv}], a[{nv}], Ma[{nv}];
{self._loop_arrays()}{self.between.declarations()}"""

    def _loop_arrays(self) -> str:
        """What loops over degrees of freedom need; nothing where there are none."""
        if not (self.tree.is_long or self.between.pairs):
            return ""
        pushes = f", pushes[{self.tree.num_dofs * 6}]" if self.tree.is_long else ""
        return f"R axes[{self.tree.num_dofs * 6}]{pushes};\n{rows(self.tree)}"

    def _rubbing_arrays(self) -> str:
        size = len(self.rubbing)
        return f"\nR f_error[{size}], f_change[{size}]; int f_active[{size}];" if size else ""

    def detection(self) -> str:
        """Collect the contacts that are there."""
        lines = []
        for contact in self.contacts:
            slot = self.slots[self.tree.weld(contact.body)[0]]
            sets = [f"c_slot[num_contacts] = {slot};"]
            sets += [f"c_body[num_contacts] = {contact.body};"] if self.felt else []
            for name, value in contact.fields.items():
                if name not in self.common:
                    sets.append(f"c_{name}[num_contacts] = {literal(value)};")
            lines.append(f"if ({literal(contact.present)}) {{ {' '.join(sets)} num_contacts++; }}")
        return "\n".join(lines) + "\n" + self.between.detection()

    def body_motion(self, vector: str) -> str:
        """``X``: the motion of every body that may touch, if joints move by ``vector``."""
        tape = Tape(self.number)
        motion: dict[int, Vector] = {0: np.zeros(6).astype(object)}
        for body in self.tree.rigid:
            motion[body] = motion[self.tree.weld(self.tree.parent[body])[0]]
            for dof in self.tree.dofs(body):
                motion[body] = motion[body] + Scalar(tape, f"{vector}[{dof}]") * tape.here(self.motion.axes[dof])
        places = [(body, n, k) for body in self.slots for n, k in enumerate(self.components)]
        width = len(self.components)
        return block(tape.code((f"X[{self.slots[body] * width + n}]", motion[body][k]) for body, n, k in places))

    def point_motion(self, result: str) -> str:
        """Of contact ``c``: arrays named ``result`` and a row, from ``X``."""
        tape = Tape(self.number)
        values = dict(zip("n12", self._point_motion(tape), strict=True))
        moved = tape.code((f"{result}_{row}[c]", values[row]) for row in self.rows)
        return "{ const int b = c_slot[c];\n" + moved + "}\n"

    def _edge_values(self, tape: Tape, name: str) -> list[Value]:
        """An array's values on a contact's edges."""
        return [
            sum((factor * Scalar(tape, f"{name}_{row}[c]") for row, factor in edge.items()), 0.0)
            for edge, _ in self.edges
        ]

    def slope(self) -> str:
        """Of contact ``c`` along the search direction at ``step``, added to ``slope`` and ``curve``."""
        tape = Tape(self.number)
        step, first, second = Scalar(tape, "step"), [], []
        values = zip(self._edge_values(tape, "error"), self._edge_values(tape, "change"), self.edges, strict=True)
        for error, change, (_, number) in values:
            there = error + step * change
            first.append(select(there < 0.0, number * there * change, 0.0))
            second.append(select(there < 0.0, number * change * change, 0.0))
        strength = self._field(tape, "strength")
        sums = [strength * sum(terms, 0.0) for terms in (first, second)]
        places = ("slope", "curve")
        return tape.code((name, Scalar(tape, name) + value) for name, value in zip(places, sums, strict=True))

    def cost(self) -> str:
        """Of contact ``c`` after a full step, added to ``cost``."""
        tape = Tape(self.number)
        pairs = zip(self._edge_values(tape, "error"), self._edge_values(tape, "change"), self.edges, strict=True)
        there = [(error + change, number) for error, change, (_, number) in pairs]
        terms = [select(value < 0.0, 0.5 * number * value * value, 0.0) for value, number in there]
        return tape.code([("cost", Scalar(tape, "cost") + self._field(tape, "strength") * sum(terms, 0.0))])

    def moved(self) -> str:
        """Of contact ``c``, after a ``step``: its errors, and whether other edges push now."""
        tape = Tape(self.number)
        active = [error < 0.0 for error in self._edge_values(tape, "error")]
        bits = " + ".join(f"({literal(edge)} ? {2**k} : 0)" for k, edge in enumerate(active))
        errors = "".join(f"error_{row}[c] += step * change_{row}[c]; " for row in self.rows)
        told = f"const int now = {bits}; changed |= now != c_active[c]; c_active[c] = now;\n"
        return errors + tape.code(keep=active) + told

    def reaction(self) -> str:
        """Of contact ``c``: its force and stiffness, added to its body's ``W`` and ``C``."""
        tape = Tape(self.number)
        strength = self._field(tape, "strength")
        force: dict[str, Value] = dict.fromkeys("n12", 0.0)
        stiffness: dict[tuple[str, str], Value] = {}
        for error, (edge, number) in zip(self._edge_values(tape, "error"), self.edges, strict=True):
            firm = select(error < 0.0, number * strength, 0.0)
            for row, factor_of_row in edge.items():
                force[row] = force[row] - factor_of_row * firm * error
                for other, factor_of_other in edge.items():
                    product = factor_of_row * factor_of_other * firm
                    stiffness[row, other] = stiffness.get((row, other), 0.0) + product
        frame = np.stack(self._frame(tape))
        matrix = np.array([[stiffness.get((row, other), 0.0) for other in "n12"] for row in "n12"], object)
        world_force, linear = np.array(list(force.values()), object) @ frame, frame.T @ (matrix @ frame)
        for i, j in ((1, 0), (2, 0), (2, 1)):  # it is symmetric, which the record does not see
            linear[i, j] = linear[j, i]
        x, y, z = self._vector(tape, "point")
        # How a point moves if its body turns. Moments are its transpose times forces.
        lever = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]], object)
        mixed = lever.T @ linear
        wrench = np.concatenate([lever.T @ world_force, world_force])
        spatial = np.block([[mixed @ lever, mixed], [mixed.T, linear]])
        outputs = [(f"W[b * {len(self.components)} + {n}]", wrench[k]) for n, k in enumerate(self.components)]
        for n, (i, j) in enumerate(self.pairs):
            outputs.append((f"C[b * {len(self.pairs)} + {n}]", spatial[self.components[i], self.components[j]]))
        sums = [(place, Scalar(tape, place) + value) for place, value in outputs if not is_zero(value)]
        return "const int b = c_slot[c];\n" + tape.code(sums)

    def _up_the_tree(self, tape: Tape, name: str, width: int) -> dict[int, Vector]:
        """Arrays per body that touches, each summed with those of the bodies that ride on it."""
        total: dict[int, Vector] = {body: np.zeros(width).astype(object) for body in self.tree.rigid}
        for body, slot in self.slots.items():
            total[body] = np.array([Scalar(tape, f"{name}[{slot * width + n}]") for n in range(width)], object)
        for body in reversed(self.tree.rigid):
            parent = self.tree.weld(self.tree.parent[body])[0]
            if parent:
                total[parent] = total[parent] + total[body]
        return total

    def joint_push(self) -> str:
        """``s``: the contacts' forces on joints, from ``W``."""
        tape = Tape(self.number)
        wrench = self._up_the_tree(tape, "W", len(self.components))
        owners = self.tree.model.dof_bodyid
        axes = [tape.here(self.motion.axes[dof])[self.components] for dof in range(self.tree.num_dofs)]
        return block(tape.code((f"s[{dof}]", axis @ wrench[int(owners[dof])]) for dof, axis in enumerate(axes)))

    def hessian(self) -> str:
        """``H``, from the mass matrix and ``C``."""
        tape = Tape(self.number)
        parts, outputs = self._up_the_tree(tape, "C", len(self.pairs)), []
        axes = [tape.here(self.motion.axes[dof])[self.components] for dof in range(self.tree.num_dofs)]
        for dof, chain in enumerate(self.tree.chains):
            stiffness = np.zeros((len(self.components),) * 2).astype(object)
            for value, (i, j) in zip(parts[int(self.tree.model.dof_bodyid[dof])], self.pairs, strict=True):
                stiffness[i, j] = stiffness[j, i] = value
            force = stiffness @ axes[dof]
            if self.tree.is_long:
                whole = dict(zip(self.components, force, strict=True))
                outputs += [(f"pushes[{dof * 6 + k}]", whole.get(k, 0.0)) for k in range(6)]
                continue
            for other in chain:
                entry = self.tree.entries[dof, other]
                outputs.append((f"H[{entry}]", Scalar(tape, f"M[{entry}]") + axes[other] @ force))
        return block(tape.code(outputs) + (products(self.tree, "H", "M[e]") if self.tree.is_long else ""))

    def each_contact(self, text: str) -> str:
        """Statements for every contact ``c`` that is there."""
        # Not unrolled: a GPU's compiler would, and the text would no longer fit its cache.
        return f'_Pragma("unroll 1") for (int c = 0; c < num_contacts; c++) {{ {text} }}' if self.contacts else ""

    def each_limit(self, text: str) -> str:
        """Statements per limit, with its index, degree of freedom and fields filled in."""
        return self._each_dof(self.limits, text) + "\n"

    def each_rubbing(self, text: str) -> str:
        """Statements per degree of freedom with dry friction, filled in likewise."""
        return self._each_dof(self.rubbing, text)

    def _each_dof(self, items: Sequence[Limit | Rubbing], text: str) -> str:
        lines = []
        for k, item in enumerate(items):
            words: dict[str, Any] = {name: literal(value) for name, value in item._asdict().items()}
            words |= {"k": k, "dof": item.dof, "diagonal": self.tree.entries[item.dof, item.dof]}
            words |= {"word": k // 64 or "", "bit": k % 64}
            lines.append(text.format(**words))
        return "\n".join(lines)

    def kept(self) -> Iterable[Value]:
        """Values that this text uses by name."""
        for contact in self.contacts:
            yield from (contact.present, *contact.fields.values())
        for limit in self.limits:
            yield from limit[1:]
        for axis in self.motion.axes.values():
            yield from axis
        for touch in self.felt.values():
            yield from touch.kept()
        yield from self.between.kept()

    def code(self) -> str:
        """From ``M``, ``force`` and the last accelerations ``w``: new ``w``, and ``Ma``, the forces that cause them."""
        option, nv = self.tree.model.opt, self.tree.num_dofs
        # MuJoCo's own measure of what is small.
        small = literal(float(self.tree.model.stat.meaninertia) * max(nv, 1))
        at_limit = "l_error[{k}] += step * l_change[{k}]; if (l_error[{k}] < R(0)) at_limit{word} |= 1ull << {bit};"
        rubbed = "f_change[{k}] = s[{dof}];"
        before, same = self.limit_words("last_limits{0} = 0"), self.limit_words("at_limit{0} == last_limits{0}", " && ")
        slips = (
            "{{ f_error[{k}] += step * f_change[{k}]; const R pull = {strength} * f_error[{k}];"
            " const int now = (pull > {most} ? 1 : 0) - (pull < -{most} ? 1 : 0);"
            " changed |= now != f_active[{k}]; f_active[{k}] = now; }}"
        )
        # The first step leads from zero to the last accelerations, the others are Newton's. So every part is written
        # once, also for worlds that touch nothing: on a GPU those wait for their neighbors anyway.
        return f"""
{self._targets()}
R s[{nv}], step = R(1), decrease = R(0); unsigned long long {before};{self._second_start()}
for (int i = 0; i < {nv}; i++) {{ a[i] = R(0); Ma[i] = R(0); s[i] = w[i]; }}
for (int iteration = 0; ; iteration++) {{
  R Ms[{nv}];
  {multiply(self.tree, Tape(self.number), "M", "s", "Ms")}
  {self.body_motion("s")}
  {self.each_contact(self.point_motion("change"))}
  {self.each_limit("l_change[{k}] = {sign} * s[{dof}];")}{self.each_rubbing(rubbed)}{self.between.change("change", "s")}
  if (iteration > 0) {{ {self._line_search()} }}
  unsigned long long {self.limit_words("at_limit{0} = 0")}; int changed = 0;
  for (int i = 0; i < {nv}; i++) {{ a[i] += step * s[i]; Ma[i] += step * Ms[i]; }}
  {self.each_contact(self.moved())}
  {self.each_limit(at_limit)}{self.each_rubbing(slips)}{self.between.moved()}
  if (iteration >= {option.iterations}) break;
  // A full step that changed no constraint has solved a linear system: there is nothing left to do.
  if (iteration > 0 && !changed && {same} && FABS(step - R(1)) < STEP_TOLERANCE) break;
  {self.limit_words("last_limits{0} = at_limit{0}", "; ")};
  {self._direction()}
  if (SQRT(square) < TOLERANCE * {small} || (iteration > 0 && R(0.5) * decrease < TOLERANCE * {small})) break;
}}
for (int i = 0; i < {nv}; i++) w[i] = a[i];
{self.between.told()}"""

    def readings(self, array: str) -> str:
        """Touch sensors, after the accelerations are known."""
        text = ""
        for place, touch in self.felt.items():
            where, tape = f"{array}[{place}]", Tape(self.number)
            edges = zip(self._edge_values(tape, "error"), self.edges, strict=True)
            firm = [select(error < 0.0, -number * error, 0.0) for error, (_, number) in edges]
            force = self._field(tape, "strength") * sum(firm, 0.0)
            # A plane pushes along its normal, and the ray goes the other way: to the plane.
            ray = self._vector(tape, "point"), -self._vector(tape, "normal")
            added = touch.added(tape, where, force, ray) if self.contacts else ""
            text += f"{where} = R(0);\n{self.each_contact(f'if (c_body[c] == {touch.body}) {added}')}"
            text += self.between.felt(touch, where, Tape(self.number)) + touch.limited(where)
        return text

    def _second_start(self) -> str:
        """``w``, or the accelerations without constraints where their cost is less: with few iterations it decides."""
        option, nv = self.tree.model.opt, self.tree.num_dofs
        is_cold = disabled(self.tree.model, "WARMSTART")
        if option.iterations >= FEW and not is_cold:
            return ""
        smooth = f"""
R smooth[{nv}], costs[2];
for (int i = 0; i < {nv}; i++) smooth[i] = force[i];
for (int i = 0; i < {len(self.tree.entries)}; i++) H[i] = M[i];
{factor(self.tree, "H")}{solve(self.tree, "H", "smooth")}"""
        chosen = f"for (int i = 0; i < {nv}; i++) w[i] = smooth[i];"
        if is_cold:
            return f"\n{{ {smooth} {chosen} }}"
        limit = "{{ const R e = l_error[{k}] + {sign} * s[{dof}]; if (e < R(0)) cost += R(0.5) * {strength} * e * e; }}"
        rubbing = (
            "{{ const R e = f_error[{k}] + s[{dof}]; cost += FABS({strength} * e) <= {most}"
            " ? R(0.5) * {strength} * e * e : {most} * (FABS(e) - R(0.5) * {most} / {strength}); }}"
        )
        return f"""
{{ {smooth}
for (int which = 0; which < 2; which++) {{
  R Ms[{nv}], cost = R(0);
  for (int i = 0; i < {nv}; i++) s[i] = which > 0 ? smooth[i] : w[i];
  {multiply(self.tree, Tape(self.number), "M", "s", "Ms")}
  {self.body_motion("s")}
  {self.each_contact(self.point_motion("change") + self.cost())}
  {self.each_limit(limit)}{self.each_rubbing(rubbing)}{self.between.change("change", "s")}{self.between.cost()}
  for (int i = 0; i < {nv}; i++) cost += R(0.5) * (Ms[i] - force[i]) * (s[i] - smooth[i]);
  costs[which] = cost;
}}
if (!(costs[0] <= costs[1])) {chosen} }}"""

    def _targets(self) -> str:
        """What every row of a contact and every limit should do, as errors of accelerations that are zero."""
        tape = Tape(self.number)
        damped = {row: self._field(tape, "damping") * Scalar(tape, f"error_{row}[c]") for row in self.rows}
        if self.rows:
            damped["n"] = damped["n"] + self._field(tape, "pull")
        text = tape.code((f"error_{row}[c]", value) for row, value in damped.items())
        begun = "f_active[{k}] = -2; f_error[{k}] = {damping} * v[{dof}];"
        return f"""{self.body_motion("v")}
{self.each_contact("c_active[c] = -1;" + self.point_motion("error") + text)}
{self.each_limit("l_error[{k}] = {target};")}{self.each_rubbing(begun)}{self.between.targets()}"""

    def _direction(self) -> str:
        """``s``, Newton's direction; the gradient's ``square``, and ``decrease``, how steeply the cost falls."""
        nv = self.tree.num_dofs
        stopped = "if (at_limit{word} >> {bit} & 1) s[{dof}] -= {sign} * {strength} * l_error[{k}];"
        held = "s[{dof}] -= f_active[{k}] == 0 ? {strength} * f_error[{k}] : f_active[{k}] * {most};"
        solved = f"{factor(self.tree, 'H')}\n  {solve(self.tree, 'H', 's')}"
        stiff = "if (f_active[{k}] == 0) H[{diagonal}] += {strength};"
        return f"""
  R gradient[{nv}], square = R(0);
  for (int i = 0; i < {len(self.slots) * len(self.components)}; i++) W[i] = R(0);
  for (int i = 0; i < {len(self.slots) * len(self.pairs)}; i++) C[i] = R(0);
  {self.each_contact(self.reaction())}
  {self.joint_push()}
  {self.each_limit(stopped)}{self.each_rubbing(held)}{self.between.push()}
  for (int i = 0; i < {nv}; i++) {{ s[i] += force[i] - Ma[i]; gradient[i] = -s[i]; square += s[i] * s[i]; }}
  {self.hessian()}
  {self.each_limit("if (at_limit{word} >> {bit} & 1) H[{diagonal}] += {strength};")}{self.each_rubbing(stiff)}
  {self.between.solved(solved)}
  decrease = R(0);
  for (int i = 0; i < {nv}; i++) decrease -= gradient[i] * s[i];
"""

    def _line_search(self) -> str:
        """``step`` along ``s``: Newton's method on the derivative, kept between where it falls and where it rises."""
        last, nv = self.tree.model.opt.ls_iterations, self.tree.num_dofs
        limit = self.each_limit(
            "{{ const R there = l_error[{k}] + step * l_change[{k}]; if (there < R(0)) {{"
            " slope += {strength} * there * l_change[{k}]; curve += {strength} * l_change[{k}] * l_change[{k}]; }} }}"
        )
        rubbed = (
            "{{ const R pull = {strength} * (f_error[{k}] + step * f_change[{k}]);"
            " slope += (pull > {most} ? {most} : (pull < -{most} ? -{most} : pull)) * f_change[{k}];"
            " if (FABS(pull) <= {most}) curve += {strength} * f_change[{k}] * f_change[{k}]; }}"
        )
        return f"""
  R slope0 = R(0), curve0 = R(0), low = R(0), high = R(-1);
  for (int i = 0; i < {nv}; i++) {{ slope0 += s[i] * (Ma[i] - force[i]); curve0 += s[i] * Ms[i]; }}
  // At the start the derivative is -decrease and its own derivative decrease: Newton's first step is 1.
  step = R(1);
  _Pragma("unroll 1") for (int trial = 1; ; trial++) {{
    R slope = slope0 + step * curve0, curve = curve0;
    {self.each_contact(self.slope())}
    {limit}{self.each_rubbing(rubbed)}{self.between.slope()}
    if (FABS(slope) < SLOPE_TOLERANCE * decrease || trial >= {last}) break;
    if (slope < R(0)) low = step; else high = step;
    R next = step - slope / curve;
    if (high >= R(0) && !(next > low && next < high)) next = R(0.5) * (low + high);
    if (next == step) break;
    step = next;
  }}
"""
