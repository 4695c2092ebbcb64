"""C++ for matrices with a tree's sparsity: they are factored without fill-in, leaves first, as MuJoCo factors them.

A row has an entry for each degree of freedom that its own rides on, from the root, itself last. What two rows share is
the beginning of both. So loops need only know where rows begin, and each one's parent; they serve long chains.
"""

from mujoco_fused.expressions import Scalar, Tape
from mujoco_fused.tree import Tree


def rows(tree: Tree) -> str:
    """Arrays for loops: each degree of freedom's parent, where its row begins, and where its diagonal is."""
    nv, lines = tree.num_dofs, []
    for dof, parent in enumerate(tree.model.dof_parentid):
        last = tree.entries[dof, dof]
        first = last + 1 - len(tree.chains[dof])
        lines.append(f"d_parent[{dof}] = {parent}; d_first[{dof}] = {first}; d_last[{dof}] = {last};")
    return f"int d_parent[{nv}], d_first[{nv}], d_last[{nv}];\n" + "\n".join(lines) + "\n"


def products(tree: Tree, matrix: str, added: str = "R(0)") -> str:
    """Entries of a symmetric matrix from ``axes`` and ``pushes``, six numbers each per degree of freedom, by loops."""
    terms = " + ".join(f"axes[j * 6 + {k}] * pushes[i * 6 + {k}]" for k in range(6))
    return f"""for (int i = 0; i < {tree.num_dofs}; i++)
  for (int e = d_last[i], j = i; e >= d_first[i]; e--, j = d_parent[j]) {matrix}[e] = {added} + ({terms});
"""


def factor(tree: Tree, matrix: str) -> str:
    """$L^T D L$ in place, with the inverse of the diagonal in ``Di``."""
    if tree.is_long:
        return f"""for (int i = {tree.num_dofs - 1}; i >= 0; i--) {{
  Di[i] = RECIPROCAL({matrix}[d_last[i]]);
  for (int e = d_last[i] - 1, row = d_parent[i]; e >= d_first[i]; e--, row = d_parent[row]) {{
    const R f = {matrix}[e] * Di[i];
    const R* __restrict__ from = {matrix} + d_first[i]; R* __restrict__ to = {matrix} + d_first[row];
    for (int k = 0; k <= e - d_first[i]; k++) to[k] -= f * from[k];
    {matrix}[e] = f; }} }}
"""
    lines = []
    for dof in reversed(range(tree.num_dofs)):
        lines.append(f"Di[{dof}] = RECIPROCAL({matrix}[{tree.entries[dof, dof]}]);")
        for row in reversed(tree.chains[dof][:-1]):
            place = f"{matrix}[{tree.entries[dof, row]}]"
            lines.append(f"{{ const R f = {place} * Di[{dof}];")
            for column in tree.chains[row]:
                other = f"{matrix}[{tree.entries[dof, column]}]"
                lines.append(f"  {matrix}[{tree.entries[row, column]}] -= f * {other};")
            lines.append(f"  {place} = f; }}")
    return "\n".join(lines) + "\n"


def solve(tree: Tree, matrix: str, vector: str) -> str:
    """Solve in place, with a matrix that is factored."""
    if tree.is_long:
        up = "for (int e = d_last[i] - 1, row = d_parent[i]; e >= d_first[i]; e--, row = d_parent[row])"
        return f"""for (int i = {tree.num_dofs - 1}; i >= 0; i--) {up} {vector}[row] -= {matrix}[e] * {vector}[i];
for (int i = 0; i < {tree.num_dofs}; i++) {{
  R sum = {vector}[i] * Di[i];
  {up} sum -= {matrix}[e] * {vector}[row];
  {vector}[i] = sum; }}
"""
    lines = []
    for dof in reversed(range(tree.num_dofs)):
        below = tree.chains[dof][:-1]
        lines += [f"{vector}[{row}] -= {matrix}[{tree.entries[dof, row]}] * {vector}[{dof}];" for row in below]
    for dof in range(tree.num_dofs):
        lines.append(f"{vector}[{dof}] *= Di[{dof}];")
        below = tree.chains[dof][:-1]
        lines += [f"{vector}[{dof}] -= {matrix}[{tree.entries[dof, row]}] * {vector}[{row}];" for row in below]
    return "\n".join(lines) + "\n"


def multiply(tree: Tree, tape: Tape, matrix: str, vector: str, result: str) -> str:
    """``result = matrix @ vector``, with a symmetric matrix that is not factored."""
    if tree.is_long:
        return f"""for (int i = 0; i < {tree.num_dofs}; i++) {{
  R sum = {matrix}[d_last[i]] * {vector}[i];
  for (int e = d_last[i] - 1, row = d_parent[i]; e >= d_first[i]; e--, row = d_parent[row]) {{
    sum += {matrix}[e] * {vector}[row]; {result}[row] += {matrix}[e] * {vector}[i]; }}
  {result}[i] = sum; }}
"""
    terms: list[list[Scalar]] = [[] for _ in range(tree.num_dofs)]
    for (row, column), entry in tree.entries.items():
        element = Scalar(tape, f"{matrix}[{entry}]")
        terms[row].append(element * Scalar(tape, f"{vector}[{column}]"))
        if row != column:
            terms[column].append(element * Scalar(tape, f"{vector}[{row}]"))
    return block(tape.code((f"{result}[{row}]", sum(own, 0.0)) for row, own in enumerate(terms)))


def block(text: str) -> str:
    """Statements whose names end with them."""
    return "{\n" + text + "}\n"
