"""Three packages with walls, and the rooms of the library: few, in order, and imports go down."""

import ast
import importlib
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from draw_rooms import PACKAGE, imports, levels, rooms

ROOT = PACKAGE.parents[1]
PAPER, PHYSICS = PACKAGE.with_name("evolvability_paper"), ROOT / "physics" / "src" / "mujoco_fused"
OURS = ("evolvability", "evolvability_paper", "mujoco_fused")
LAZY = r"((?:evolvability|evolvability_paper|mujoco_fused)?\.[\w.]+):(\w+)"
"""What an entry names as ``module:name`` is imported, too, if later."""
ROOMS = (
    *("core", "theory", "tasks", "methods", "config", "runs", "workers"),
    *("training", "studies", "figures", "explorer", "cli"),
)
"""From the ground up: a room may import from those before it."""
graph = cache(imports)


def imported(package: Path) -> set[tuple[str, str, str]]:
    """What a package's files import: file, module, and the name of what is imported from it ('' for all of it)."""
    found = set()
    for path in sorted(package.rglob("*.py")):
        name = str(path.relative_to(package.parent))
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {(name, alias.name, "") for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{name}: imports have full names"
                found |= {(name, str(node.module), alias.name) for alias in node.names}
            elif isinstance(node, ast.Constant) and (lazy := re.fullmatch(LAZY, str(node.value))):
                found.add((name, whole(lazy[1]), lazy[2]))
    return found


def documented() -> dict[str, set[str] | None]:
    """What the API pages show: objects and modules by name, with the members that are shown; None for all of them."""
    found: dict[str, set[str] | None] = {}
    for page in sorted((ROOT / "docs").glob("api*.md")):
        for name, members in re.findall(
            r"^::: ([\w.]+)\n(?: +options:\n +members: \[([^\]]*)\])?", page.read_text(), re.M
        ):
            found[name] = {one.strip() for one in members.split(",")} if members else None
    return found


def is_public(module: str, name: str, pages: dict[str, set[str] | None]) -> bool:
    """Whether the API pages show it, or its package names it in `__all__`."""
    whole = f"{module}.{name}"
    if whole in pages or name in getattr(importlib.import_module(module), "__all__", ()):
        return True
    shown = pages.get(module, set())
    return not name.startswith("_") and (shown is None or name in shown)


def test_the_physics_knows_nothing_of_the_library() -> None:
    allowed = {"mujoco_fused", "numpy", "mujoco", "warp", "jax", *sys.stdlib_module_names}
    assert [row for row in imported(PHYSICS) if row[1].split(".")[0] not in allowed] == []


def test_the_library_uses_what_the_physics_offers_and_nothing_below() -> None:
    offered = importlib.import_module("mujoco_fused").__all__
    used = [row for row in imported(PACKAGE) if row[1].split(".")[0] == "mujoco_fused"]
    assert used
    assert [row for row in used if row[1] != "mujoco_fused" or row[2] not in offered] == []


def test_nothing_of_the_library_points_at_the_paper() -> None:
    assert [row for row in imported(PACKAGE) if row[1].split(".")[0] == "evolvability_paper"] == []


def test_the_paper_uses_public_parts_of_the_library() -> None:
    pages = documented()
    used = [row for row in imported(PAPER) if row[1].split(".")[0] == "evolvability"]
    assert len(used) > 20
    assert [row for row in used if not is_public(row[1], row[2], pages)] == []
    assert [row for row in imported(PAPER) if row[1].split(".")[0] == "mujoco_fused"] == []


def test_no_import_is_hidden_in_a_text() -> None:
    """The walls are read off import statements: `import_module` of one of ours would pass them unseen."""
    for package in (PACKAGE, PAPER, PHYSICS):
        for path in package.rglob("*.py"):
            assert not re.search(rf"(import_module|__import__)\(\W*({'|'.join(OURS)})", path.read_text()), path


@pytest.mark.parametrize("package", [PACKAGE, PAPER, PHYSICS], ids=OURS)
def test_no_modules_import_each_other_in_a_circle(package: Path) -> None:
    assert levels(graph(package))  # raises graphlib.CycleError


def test_rooms_import_only_rooms_below_them() -> None:
    assert sorted(ROOMS) == sorted(rooms(graph(PACKAGE)))
    assert upward((room, other) for room, row in rooms(graph(PACKAGE)).items() for other in row) == []
    assert ", ".join(reversed(ROOMS)) in " ".join((ROOT / "CONTRIBUTING.md").read_text().split())


def test_entries_name_what_is_there_and_not_above_them() -> None:
    names = lazily_named()
    named = [row for row in imported(PACKAGE) if row[1:] in names and row[0].count("/") > 1]  # of a room
    assert len(named) > 30  # tasks, objectives, populations, commands
    for file, module, name in named:
        assert hasattr(importlib.import_module(module), name), f"{file}: {module}:{name}"
    assert upward((file.split("/")[1], module.split(".")[1]) for file, module, _ in named) == []


def upward(imports: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those of the imports, from a room and of a room, that go up."""
    return [(room, other) for room, other in imports if ROOMS.index(other) > ROOMS.index(room)]


def lazily_named() -> set[tuple[str, str]]:
    """Every ``module:name`` in a text of the library."""
    texts = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    return {(whole(module), name) for module, name in re.findall(f'"{LAZY}"', texts)}


def whole(module: str) -> str:
    """A module's name, of the library where it begins with a dot."""
    return PACKAGE.name + module if module.startswith(".") else module


def test_the_package_has_few_entries() -> None:
    entries = [path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 16, entries


def test_the_page_on_architecture_names_every_room_and_files_that_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    drawn = (ROOT / "docs" / "assets" / "rooms.svg").read_text()
    assert [room for room in rooms(graph(PACKAGE)) if f">{room}<" not in drawn] == []
    named = re.findall(r"`((?:physics/)?src/[\w/]+\.py)`", page) + [
        f"src/evolvability/{path}" for path in re.findall(r"^\w+/\w+\.py", page, re.M)
    ]
    assert len(named) > 15
    assert [path for path in named if not (ROOT / path).exists()] == []
