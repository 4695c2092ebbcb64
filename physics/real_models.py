"""Which of many real models are compiled as they are, how near to native MuJoCo, and what the others lack.

    python physics/real_models.py NAME=FOLDER ... > physics/COVERAGE.md

Each folder is a package with models, unpacked; those that coverage.txt names are tried. Meshes and pictures that a
package does not bring are replaced by a small tetrahedron and one pixel.
"""

import argparse
import base64
import collections
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import mujoco_fused
import numpy as np
import warp as wp

TETRAHEDRON = b"v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


class Row(NamedTuple):
    """One model."""

    name: str
    """Of its package and file."""
    num_dofs: int
    """Degrees of freedom."""
    reasons: list[str]
    """Why it is refused; none if it is compiled."""
    error: str
    """The largest of 1,000 states after one step in double, relative; both solvers go on until they are done."""


def loaded(path: Path) -> mujoco.MjModel | None:
    """A model with joints, or None; what a package does not bring is replaced."""
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        model = _repaired(path)
    return model if model is not None and model.njnt else None


def _repaired(path: Path) -> mujoco.MjModel | None:
    text = re.sub(r'(<mesh[^>]*file="[^"]*)\.\w+"', r'\1.obj"', _with_includes(path))
    text = re.sub(r"(meshdir|texturedir|assetdir)=\"[^\"]*\"", "", text)
    names = {Path(name).name for name in re.findall(r'file="([^"]+)"', text)}
    text = re.sub(r'file="([^"]+)"', lambda found: f'file="{Path(found[1]).name}"', text)
    assets = {name: TETRAHEDRON if name.endswith(".obj") else PIXEL for name in names}
    try:
        return mujoco.MjModel.from_xml_string(text, assets)
    except ValueError as error:
        print(path, error, file=sys.stderr)
        return None


def _with_includes(path: Path) -> str:
    def inner(found: re.Match[str]) -> str:
        text = _with_includes(path.parent / found[1]) if (path.parent / found[1]).exists() else ""
        return re.sub(r"<\?xml.*?\?>|</?mujoco[^>]*>|</?mujocoinclude[^>]*>", "", text)

    return re.sub(r'<include\s+file="([^"]+)"\s*/>', inner, path.read_text(errors="replace"))


def row(name: str, model: mujoco.MjModel) -> Row:
    """A model, tried."""
    reasons = mujoco_fused.unsupported(model)
    print(name, reasons[:1], file=sys.stderr, flush=True)
    exact = mujoco.MjModel.__copy__(model)
    exact.opt.tolerance, exact.opt.ls_tolerance = 1e-15, 1e-12
    exact.opt.solver, exact.opt.iterations = int(mujoco.mjtSolver.mjSOL_NEWTON), max(100, model.opt.iterations)
    exact.opt.ls_iterations = max(50, model.opt.ls_iterations)
    error = "" if reasons else _error(mujoco_fused.verify(exact, num_worlds=1000).errors)
    return Row(name, model.nv, [re.sub(r" [A-Z][a-z]+: .*|: \d+", "", reason) for reason in reasons], error)


def _error(errors: Any) -> str:
    """The largest error, and how many worlds had more contacts between bodies than there is room for."""
    crowded = int(np.isnan(errors).sum())
    return f"{np.nanmax(errors):.0e}" + (f"; {crowded} of {len(errors)} worlds were too crowded" if crowded else "")


def page(rows: list[Row]) -> str:
    """All rows, and what is missing, by how many models lack it and how many lack nothing else."""
    compiled = [one for one in rows if not one.reasons]
    lacking = collections.Counter(reason for one in rows for reason in dict.fromkeys(one.reasons))
    alone = collections.Counter(one.reasons[0] for one in rows if len(one.reasons) == 1)
    lines = ["# Coverage", "", "Made by `physics/real_models.py`. Every model is taken as its file has it.", ""]
    lines += [
        f"**{len(compiled)} of {len(rows)}** models are compiled.",
        "",
        "| what is missing | lacked by | lacked alone by |",
    ]
    lines += ["|---|---|---|", *(f"| {text} | {count} | {alone[text]} |" for text, count in lacking.most_common()), ""]
    lines += ["| model | degrees of freedom | largest error, or reasons |", "|---|---|---|"]
    lines += [f"| {one.name} | {one.num_dofs} | {' '.join(one.reasons) or one.error} |" for one in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Try all models of some folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="NAME=FOLDER")
    options = parser.parse_args()
    wp.config.optimization_level = 0  # they are compiled to be compared
    rows, names = [], set(Path(__file__).with_suffix(".txt").read_text().split())
    for given in options.folders:
        package, folder = given.split("=", 1)
        for path in sorted(Path(folder).rglob("*.xml")):
            name = f"{package}:{path.relative_to(folder)}"
            if name in names and (model := loaded(path)) is not None:
                rows.append(row(name, model))
    print(page(rows), end="")


if __name__ == "__main__":
    main()
