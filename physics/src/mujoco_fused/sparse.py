"""C++ for matrices with a tree's sparsity: they are factored without fill-in, leaves first, as MuJoCo factors them.

A row has an entry for each degree of freedom that its own rides on, from the root, itself last. What two rows share is
the beginning of both. So loops need only know where rows begin, and each one's parent; they serve long chains.
"""

from mujoco_fused.expressions import Scalar, Tape
from mujoco_fused.tree import Tree

BLOCK = 4
"""Rows of a long chain that are eliminated at once."""
APART = '_Pragma("clang loop vectorize(assume_safety) vectorize_width(4) interleave(disable)")'
"""A loop whose arrays are apart, which a compiler cannot know: several elements at once."""
ANY_ORDER = '_Pragma("clang fp reassociate(on)")'
"""Sums of a block may be added up in any order, so that several are at once."""


def rows(tree: Tree) -> str:
    """Arrays for loops: each degree of freedom's parent, its row's ends, and where its run of numbers begins.

    In a run each degree of freedom rides on the one before.
    """
    nv, lines = tree.num_dofs, []
    for dof, parent in enumerate(tree.model.dof_parentid):
        last = tree.entries[dof, dof]
        first = last + 1 - len(tree.chains[dof])
        run = next(one for one in range(dof, -1, -1) if not one or tree.model.dof_parentid[one] != one - 1)
        places = {"parent": parent, "first": first, "last": last, "run": run}
        lines.append(" ".join(f"d_{name}[{dof}] = {place};" for name, place in places.items()))
    return f"int d_parent[{nv}], d_first[{nv}], d_last[{nv}], d_run[{nv}];\n" + "\n".join(lines) + "\n"


def products(tree: Tree, matrix: str, added: str = "R(0)") -> str:
    """Entries of a symmetric matrix from ``axes`` and ``pushes``, six numbers each per degree of freedom, by loops."""
    terms = " + ".join(f"axes[j * 6 + {k}] * pushes[i * 6 + {k}]" for k in range(6))
    return f"""for (int i = 0; i < {tree.num_dofs}; i++)
  for (int e = d_last[i], j = i; e >= d_first[i]; e--, j = d_parent[j]) {matrix}[e] = {added} + ({terms});
"""


def factor(tree: Tree, matrix: str) -> str:
    """$L^T D L$ in place, with the inverse of the diagonal in ``Di``."""
    if tree.is_long:
        return _factor_by_blocks(tree, matrix)
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


def _factor_by_blocks(tree: Tree, matrix: str) -> str:
    """By loops, up to four rows of a chain at once: each entry above them is read and written once for all four."""
    rows = range(BLOCK)
    pointers = "".join(f" const R* from{p} = {matrix} + d_first[{p} < n ? i - {p} : i];" for p in rows)
    factors = "".join(f" const R f{p} = {p} < n ? from{p}[e] * Di[i - {p}] : R(0);" for p in rows)
    kept = "".join(f" if ({p} < n) {matrix}[d_first[i - {p}] + e] = f{p};" for p in rows)
    return f"""for (int i = {tree.num_dofs - 1}, n; i >= 0; i -= n) {{
  n = i - d_run[i] + 1 < {BLOCK} ? i - d_run[i] + 1 : {BLOCK};{pointers}
  for (int one = i; one > i - n; one--) {{
    R* from = {matrix} + d_first[one]; Di[one] = RECIPROCAL({matrix}[d_last[one]]);
    for (int other = one - 1; other > i - n; other--) {{
      const int e = d_last[other] - d_first[other]; R* to = {matrix} + d_first[other];
      const R f = from[e] * Di[one];
      {_less("to", "0", "e", [("f", "from")])}from[e] = f; }} }}
  const int end = i - n + 1;
  for (int e = d_last[end] - d_first[end] - 1, row = d_parent[end]; e >= 0; e--, row = d_parent[row]) {{
   {factors}
    R* to = {matrix} + d_first[row];
    {_less("to", "0", "e", [(f"f{p}", f"from{p}") for p in rows])}{kept} }} }}
"""


def _less(array: str, first: str, last: str, terms: list[tuple[str, str]]) -> str:
    """Take products of a factor and an array each from an array's elements, ``first`` to ``last``."""
    less = "".join(f" - {factor} * {own}[k]" for factor, own in terms)
    return f"{APART} for (int k = {first}; k <= {last}; k++) {array}[k] = {array}[k]{less};\n"


def _each_run(matrix: str, text: str) -> str:
    """Statements for what ``i`` rides on, by runs of numbers that follow each other, with their entries in ``own``."""
    return f"""for (int row = d_parent[i], e = d_last[i] - 1; row >= 0;) {{
    const int first = d_run[row]; const R* own = {matrix} + (e - row);
    {text} e -= row - first + 1; row = d_parent[first]; }}"""


def solve(tree: Tree, matrix: str, vector: str) -> str:
    """Solve in place, with a matrix that is factored."""
    if tree.is_long:
        taken = _less(vector, "first", "row", [("x", "own")])
        summed = f"{APART} for (int k = first; k <= row; k++) sum += own[k] * {vector}[k];"
        return f"""for (int i = {tree.num_dofs - 1}; i >= 0; i--) {{
  const R x = {vector}[i]; {_each_run(matrix, taken)} }}
for (int i = 0; i < {tree.num_dofs}; i++) {{ {ANY_ORDER} R sum = R(0);
  {_each_run(matrix, summed)} {vector}[i] = {vector}[i] * Di[i] - sum; }}
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
        summed = f"{result}[k] += own[k] * x; sum += own[k] * {vector}[k];"
        both = f"{APART} for (int k = first; k <= row; k++) {{ {summed} }}"
        return f"""for (int i = 0; i < {tree.num_dofs}; i++) {{ {ANY_ORDER} const R x = {vector}[i];
  R sum = {matrix}[d_last[i]] * x; {_each_run(matrix, both)} {result}[i] = sum; }}
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
