"""C++ for matrices with a tree's sparsity: they are factored without fill-in, leaves first, as MuJoCo factors them."""

from mujoco_fused.expressions import Scalar, Tape
from mujoco_fused.tree import Tree


def factor(tree: Tree, matrix: str) -> str:
    """$L^T D L$ in place, with the inverse of the diagonal in ``Di``."""
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
    rows: list[list[Scalar]] = [[] for _ in range(tree.num_dofs)]
    for (row, column), entry in tree.entries.items():
        element = Scalar(tape, f"{matrix}[{entry}]")
        rows[row].append(element * Scalar(tape, f"{vector}[{column}]"))
        if row != column:
            rows[column].append(element * Scalar(tape, f"{vector}[{row}]"))
    return block(tape.code((f"{result}[{row}]", sum(terms, 0.0)) for row, terms in enumerate(rows)))


def block(text: str) -> str:
    """Statements whose names end with them."""
    return "{\n" + text + "}\n"
