"""What the API pages show: every public name, and a sentence for each of its fields, properties and methods."""

import importlib
import inspect
import re
import typing
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import griffe
import pytest
from api_defaults import PlainDefaults

import evolvability

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("api*.md"))
OURS = ("evolvability", "evolvability_paper", "mujoco_fused")
PUBLIC = ("evolvability", "evolvability.theory", "mujoco_fused")


@cache
def code() -> griffe.ModulesCollection:
    """All packages, as the pages read them."""
    paths, extensions = [ROOT / "src", ROOT / "physics" / "src"], griffe.load_extensions(PlainDefaults)
    loader = griffe.GriffeLoader(search_paths=paths, extensions=extensions)
    for name in OURS:
        loader.load(name)
    loader.resolve_aliases()
    return loader.modules_collection


def shown(page: Path) -> list[str]:
    """The names on a page, with those of the members that it lists."""
    found = re.findall(r"^::: ([\w.]+)\n(?: +options:\n +members: \[([^\]]*)\])?", page.read_text(), re.M)
    return [name for name, _ in found] + [
        f"{name}.{member.strip()}" for name, members in found for member in members.split(",") if member
    ]


def public_objects() -> dict[str, Any]:
    """What the packages offer, by full name."""
    modules = {name: importlib.import_module(name) for name in PUBLIC}
    return {f"{name}.{one}": getattr(module, one) for name, module in modules.items() for one in module.__all__}


def classes_in(hint: Any) -> set[type]:
    """The classes of ours that a type speaks of."""
    if isinstance(hint, type) and hint.__module__.split(".")[0] in OURS:
        return {hint}
    return set().union(*map(classes_in, typing.get_args(hint)), set())


def hints_of(one: Any) -> list[Any]:
    """The types of a class's fields, properties and methods, or of what a function takes and returns."""
    if isinstance(one, property):
        return hints_of(one.fget)
    if isinstance(one, type):
        bases = [base for base in one.__mro__ if base.__module__.split(".")[0] in OURS]
        own = [hint for base in bases for hint in inspect.get_annotations(base).values()]
        members = [member for base in bases for name, member in vars(base).items() if not name.startswith("_")]
        return own + [hint for member in members for hint in hints_of(member)]
    return [*inspect.get_annotations(one).values()] if isinstance(one, FunctionType) else []


def reachable_classes() -> set[type]:
    """Public classes, and those that their fields and the functions beside them lead to."""
    found: set[type] = set()
    waiting = [*public_objects().values()]
    while waiting:
        one = waiting.pop()
        if isinstance(one, type):
            if one in found:
                continue
            found.add(one)
        waiting += [cls for hint in hints_of(one) for cls in classes_in(hint)]
    return {cls for cls in found if not cls.__name__.startswith("_")}


def undocumented(cls: type) -> list[str]:
    """Public members of a class, the inherited ones too, that its page says nothing about."""
    read = code()[f"{cls.__module__}.{cls.__qualname__}"]
    members = {name: member for name, member in read.all_members.items() if not name.startswith("_")}
    missing = [] if read.has_docstring else [cls.__name__]
    return missing + [f"{cls.__name__}.{name}" for name, member in members.items() if not member.has_docstring]


def test_every_public_field_property_and_method_is_documented() -> None:
    classes = reachable_classes()
    assert len(classes) > 40
    assert [name for cls in classes for name in undocumented(cls)] == []


def test_every_public_function_is_documented() -> None:
    objects = {name: one for name, one in public_objects().items() if callable(one)}
    assert [name for name, one in objects.items() if not inspect.getdoc(one)] == []


def test_every_public_name_is_on_a_page() -> None:
    names = [name for page in PAGES for name in shown(page)]
    assert [name for name in evolvability.__all__ if f"evolvability.{name}" not in shown(ROOT / "docs/api.md")] == []
    # A page shows all that a package names, unless it lists members.
    assert [name for name in public_objects() if name not in names and name.rpartition(".")[0] not in names] == []


def test_the_first_page_has_what_is_imported_from_evolvability_and_nothing_else() -> None:
    assert sorted(shown(ROOT / "docs/api.md")) == sorted(f"evolvability.{name}" for name in evolvability.__all__)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_on_a_page_exists(page: Path) -> None:
    assert shown(page)
    for name in shown(page):
        assert find(name) is not None, name


def find(name: str) -> Any:
    """The object of a full name; None if there is none."""
    module, _, last = name.rpartition(".")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return getattr(find(module), last, None) if module else None


def test_settings_are_shown_by_their_defaults() -> None:
    config = code()["evolvability.config.schema.Config"]
    values = {name: str(member.value) for name, member in config.attributes.items()}
    assert values["population_size"] == "10000"
    assert values["task_options"] == "dict()"
    assert [name for name, value in values.items() if "setting(" in value or "field(" in value] == []
    assert [name for name, member in config.attributes.items() if "Annotated" in str(member.annotation)] == []
