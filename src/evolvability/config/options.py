"""Options of objectives and populations: which of them a run has, and in which table each is kept.

Alone, an objective's options stand in the table ``objective_options`` by their names; in a sum, every term has a table
of its own inside of it. Those of the population stand in ``population_options``.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from evolvability.config.objective_text import names_in
from evolvability.config.tables import from_table, merged
from evolvability.core.entries import POPULATIONS, option_names, population_entry
from evolvability.core.errors import ConfigError
from evolvability.methods.registry import OBJECTIVES, objective_entry

OF_OBJECTIVES, OF_POPULATIONS = "objective_options", "population_options"
OWNERS: dict[str, list[str]] = {}
"""By an option's name, the objectives and populations that have it."""
for _name, _entry in (OBJECTIVES | POPULATIONS).items():
    for _option in option_names(_entry.options):
        OWNERS.setdefault(_option, []).append(_name)


def is_sum(objective: str) -> bool:
    """Whether an objective has several terms, each with options of its own."""
    return len(names_in(objective)) > 1


def place_options(
    values: Mapping[str, Any], objective: str, population: str, *, offered: bool = False
) -> dict[str, Any]:
    """Settings with every option in its table, from options by their names and tables of them.

    Args:
        values: the settings.
        objective: the run's.
        population: the run's.
        offered: whether they come from defaults, a preset or another run: then options count as far as the objective
            (every term of a sum) and the population have them. Otherwise those that neither has are refused.
    """
    placed = {key: value for key, value in values.items() if key not in OWNERS}
    plain = {key: value for key, value in values.items() if key in OWNERS}
    tables = {key: _table(placed.pop(key, {})) for key in (OF_OBJECTIVES, OF_POPULATIONS)}
    if not offered:
        for key in plain:
            check_option(key, objective, population)
    else:  # all by their names: what they belonged to may have others
        for key, value in [*tables[OF_OBJECTIVES].items(), *tables[OF_POPULATIONS].items()]:
            plain |= {} if isinstance(value, dict) else {key: value}
    placed[OF_POPULATIONS] = _own(plain, population_entry(population).options)
    of_terms: dict[str, Any] = {}
    for name in names_in(objective):
        table = tables[OF_OBJECTIVES].get(name, {}) if offered else {}
        of_terms[name] = _own(plain | table, objective_entry(name).options)
    placed[OF_OBJECTIVES] = of_terms if is_sum(objective) else next(iter(of_terms.values()))
    return placed if offered else merged(placed, tables)


def check_option(name: str, objective: str, population: str) -> None:
    """Refuse an option, by its name alone, that neither the objective nor the population has."""
    if name in option_names(population_entry(population).options):
        return
    terms = [term for term in names_in(objective) if name in option_names(objective_entry(term).options)]
    if terms and is_sum(objective):
        given = f"--{terms[0].replace('_', '-')}.{name.replace('_', '-')} on the command line"
        table = f"{OF_OBJECTIVES}={{'{terms[0]}': {{'{name}': ...}}}} elsewhere"
        raise ConfigError(f"{name}: of which term of {objective}? Give {given}, {table}.")
    if not terms:
        owners = ", ".join(OWNERS[name])
        raise ConfigError(
            f"{name} is an option of {owners}. This run has the objective {objective} and the population {population}."
        )


def build_options(given: Any, kind: type, where: str) -> Any:
    """A dataclass of options, from a table or as it is."""
    if isinstance(given, Mapping):
        return from_table(given, kind, f"{where}.")
    if type(given) is not kind:
        raise ConfigError(f"{where}: a table or a {kind.__name__} is expected, got {given!r}.")
    return given


def objective_options(given: Any, objective: str) -> Any:
    """The options of an objective; of a sum, those of its terms by name."""
    if not is_sum(objective):
        return build_options(given, objective_entry(names_in(objective)[0]).options, OF_OBJECTIVES)
    names = names_in(objective)
    if not isinstance(given, Mapping) or set(given) - set(names):
        raise ConfigError(f"{OF_OBJECTIVES}: a table per term of {objective} is expected, got {given!r}.")
    kinds = {name: objective_entry(name).options for name in names}
    return {name: build_options(given.get(name, {}), kind, f"{OF_OBJECTIVES}.{name}") for name, kind in kinds.items()}


def no_object(name: str, recorded: str) -> ConfigError:
    """The error where a piece would have to be built from its record."""
    if name == "start_from":
        kept = "centers/000000.safetensors in its run folder has them"
        return ConfigError(f"This run started from arrays that were given from Python; {kept}: start from that file.")
    return ConfigError(
        f"This run's {name}, {recorded}, was given from Python as an object, which no folder holds. Give it again from "
        f"Python: evolvability.resume(path, {name}=...)" + " or Run(path, population=...)" * (name == "population")
    )


def _own(values: Mapping[str, Any], options: type) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key in option_names(options)}


def _table(options: Any) -> dict[str, Any]:
    """Options as a table, also where they are a dataclass."""
    options = dataclasses.asdict(options) if dataclasses.is_dataclass(options) else options  # type: ignore[arg-type]
    if not isinstance(options, Mapping):
        raise ConfigError(f"A table of options is expected, got {options!r}.")
    return dict(options)
