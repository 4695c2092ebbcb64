"""The rooms of the package: few, in order, and imports go down."""

import re
from functools import cache

from draw_rooms import PACKAGE, imports, levels, rooms

graph = cache(imports)


def test_rooms_import_downwards_only_through_at_most_twelve_levels() -> None:
    height = levels({room: set(row) for room, row in rooms(graph()).items()})  # raises for a circle of rooms
    assert max(height.values()) <= 12
    assert min(height, key=lambda room: height[room]) == "core"


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert levels(graph())  # raises graphlib.CycleError


def test_the_package_has_few_entries() -> None:
    entries = [path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 16, entries


def test_the_page_on_architecture_names_every_room_and_files_that_exist() -> None:
    root = PACKAGE.parents[1]
    page = (root / "docs" / "architecture.md").read_text()
    drawn = (root / "docs" / "assets" / "rooms.svg").read_text()
    assert [room for room in rooms(graph()) if f">{room}<" not in drawn] == []
    named = re.findall(r"`(src/[\w/]+\.py)`", page) + [
        f"src/evolvability/{path}" for path in re.findall(r"^\w+/\w+\.py", page, re.M)
    ]
    assert len(named) > 15
    assert [path for path in named if not (root / path).exists()] == []
