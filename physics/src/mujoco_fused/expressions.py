"""Symbolic scalars: run an algorithm once over them, and what remains is the arithmetic that it does.

Arrays of them are NumPy's, of type ``object``, so that ``rotation @ point`` and ``np.cross`` work as ever. Constants
are folded on the way and an expression that was met before is not computed again: of a planar robot's spatial algebra
only planar arithmetic is left. The record, a `Tape`, becomes C++.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

Value = Any
"""A symbolic scalar or a number that is known already."""
Vector = Any
"""A NumPy array of values."""


OPERATIONS = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "negative": "-{}",
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "logical_and": "{} && {}",
    "logical_or": "{} || {}",
    "logical_not": "!{}",
    "where": "{} ? {} : {}",
    "absolute": "FABS({})",
    "sin": "SIN({})",
    "cos": "COS({})",
    "sqrt": "SQRT({})",
    "power": "POW({}, {})",
    "floor": "FLOOR({})",
    "arctan2": "ATAN2({}, {})",
    "arcsin": "ASIN({})",
    "isfinite": "ISFINITE({})",
}
"""How an operation is written in C++, by the name of NumPy's function that does it to numbers."""
COMMUTATIVE = {"add", "multiply", "logical_and", "logical_or"}
CONDITIONS = {"less", "less_equal", "logical_and", "logical_or", "logical_not", "isfinite"}


def operator(method: Callable[["Scalar", Value], Value]) -> Callable[["Scalar", Value], Value]:
    """An operator of scalars, which leaves arrays to NumPy: that comes back with their elements."""
    return lambda self, other: NotImplemented if isinstance(other, np.ndarray) else method(self, other)


class Scalar:
    """A number that is not known yet: the name of a variable on a tape."""

    __slots__ = ("name", "tape")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tape: "Tape", name: str) -> None:
        self.tape, self.name = tape, name

    def __repr__(self) -> str:
        return self.name

    def __bool__(self) -> bool:
        raise TypeError("A symbolic scalar is neither true nor false: use `select`.")

    @operator
    def __add__(self, other: Value) -> Value:
        return self if is_zero(other) else self.tape.record("add", self, other)

    @operator
    def __sub__(self, other: Value) -> Value:
        if is_number(other):
            return self + -other
        return 0.0 if other.name == self.name else self.tape.record("subtract", self, other)

    @operator
    def __rsub__(self, other: Value) -> Value:
        return -self if other == 0 else self.tape.record("subtract", other, self)

    @operator
    def __mul__(self, other: Value) -> Value:
        if is_number(other):
            if other == 0:
                return 0.0
            if abs(other) == 1:
                return self if other == 1 else -self
        return self.tape.record("multiply", self, other)

    @operator
    def __truediv__(self, other: Value) -> Value:
        return self * (1 / other) if is_number(other) else self.tape.record("divide", self, other)

    @operator
    def __rtruediv__(self, other: Value) -> Value:
        return 0.0 if other == 0 else self.tape.record("divide", other, self)

    @operator
    def __pow__(self, other: Value) -> Value:
        if is_number(other) and other in (1, 2, 3):
            return math.prod([self] * int(other), start=1.0)
        return self.tape.record("power", self, other)

    def __neg__(self) -> Value:
        return self.tape.record("negative", self)

    def __abs__(self) -> Value:
        return self.tape.record("absolute", self)

    @operator
    def __lt__(self, other: Value) -> Value:
        return self.tape.record("less", self, other)

    @operator
    def __gt__(self, other: Value) -> Value:
        return self.tape.record("less", other, self)

    @operator
    def __le__(self, other: Value) -> Value:
        return self.tape.record("less_equal", self, other)

    @operator
    def __ge__(self, other: Value) -> Value:
        return self.tape.record("less_equal", other, self)

    @operator
    def __and__(self, other: Value) -> Value:
        return self.tape.record("logical_and", self, other) if isinstance(other, Scalar) else self if other else False

    @operator
    def __or__(self, other: Value) -> Value:
        return self.tape.record("logical_or", self, other) if isinstance(other, Scalar) else True if other else self

    def __invert__(self) -> Value:
        return self.tape.record("logical_not", self)

    __radd__, __rmul__, __rand__, __ror__ = __add__, __mul__, __and__, __or__


def is_number(value: Value) -> bool:
    """Whether a value is known already."""
    return not isinstance(value, Scalar)


def is_zero(value: Value) -> bool:
    """Whether a value is known to be zero."""
    return is_number(value) and bool(value == 0)


def function(name: str) -> Callable[..., Value]:
    """A function of values: of numbers a number, otherwise recorded."""

    def apply(*values: Value) -> Value:
        tape = next((value.tape for value in values if isinstance(value, Scalar)), None)
        return tape.record(name, *values) if tape else getattr(np, name)(*values).item()

    return apply


sin, cos, sqrt, floor, raised = (function(name) for name in ("sin", "cos", "sqrt", "floor", "power"))
arctan2, arcsin, isfinite = (function(name) for name in ("arctan2", "arcsin", "isfinite"))


def select(condition: Value, chosen: Value, other: Value) -> Value:
    """``chosen`` where the condition holds, else ``other``."""
    if is_number(chosen) and is_number(other) and chosen == other:
        return chosen
    if isinstance(condition, Scalar):
        return condition.tape.record("where", condition, chosen, other)
    return chosen if condition else other


def within(value: Value, low: float, high: float) -> Value:
    """A value, or the limit that it is beyond."""
    return select(value < float(low), float(low), select(value > float(high), float(high), value))


class Tape:
    """Operations in the order in which they were met.

    Args:
        number: numbers for new names; blocks of one function share it, so that no name is used twice.
    """

    def __init__(self, number: Iterator[int] | None = None) -> None:
        self.number = number or itertools.count()
        """Numbers for new names."""
        self.steps: dict[str, tuple[str, tuple[Value, ...]]] = {}
        """Operation and operands of every result, by the result's name."""
        self._names: dict[tuple[Any, ...], str] = {}

    def inputs(self, name: str, size: int) -> Vector:
        """A vector that is known when the program runs: the elements of its array ``name``."""
        return np.array([Scalar(self, f"{name}[{k}]") for k in range(size)] + [None], object)[:-1]

    def here(self, values: Any) -> Any:
        """Values of an outer block, as inputs of this one: their names are in scope."""
        rename = np.frompyfunc(lambda value: value if is_number(value) else Scalar(self, value.name), 1, 1)
        return rename(values)

    def record(self, operation: str, *values: Value) -> Scalar:
        """The result of an operation, computed once however often it is asked for."""
        keys = [value.name if isinstance(value, Scalar) else repr(value) for value in values]
        key = (operation, *(sorted(keys) if operation in COMMUTATIVE else keys))
        if key not in self._names:
            name = f"t{next(self.number)}"
            self._names[key], self.steps[name] = name, (operation, values)
        return Scalar(self, self._names[key])

    def evaluated(self, value: Value, known: dict[str, Any], apply: Callable[..., Any]) -> Any:
        """What a value is: ``known`` has what inputs are by name, and gains all that is computed on the way.

        ``apply`` is called with an operation's name, that of NumPy's function, and what its operands are.
        """
        stack = [value.name] if isinstance(value, Scalar) else []
        while stack:  # not recursion: expressions may be thousands of operations deep
            operation, operands = self.steps.get(stack[-1], ("", ()))
            missing = [one.name for one in operands if isinstance(one, Scalar) and one.name not in known]
            if stack[-1] not in known and not missing:
                own = (known[one.name] if isinstance(one, Scalar) else one for one in operands)
                known[stack[-1]] = apply(operation, *own)
            stack.extend(missing) if missing else stack.pop()
        return known[value.name] if isinstance(value, Scalar) else value

    def code(self, outputs: Iterable[tuple[str, Value]] = (), keep: Iterable[Value] = ()) -> str:
        """C++ that assigns ``outputs``, (left-hand side, value); ``keep``: values that later blocks use by name."""
        outputs = list(outputs)
        needed = {value.name for _, value in outputs if isinstance(value, Scalar)}
        needed |= {value.name for value in keep if isinstance(value, Scalar)}
        lines = []
        for name, (operation, values) in reversed(self.steps.items()):
            if name in needed:
                needed |= {value.name for value in values if isinstance(value, Scalar)}
                kind = "bool" if operation in CONDITIONS else "R"
                lines.append(f"const {kind} {name} = {OPERATIONS[operation].format(*map(literal, values))};")
        return "\n".join([*reversed(lines), *(f"{place} = {literal(value)};" for place, value in outputs)]) + "\n"


def literal(value: Value) -> str:
    """A value in C++."""
    if isinstance(value, Scalar):
        return value.name
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if not math.isfinite(value):
        return "R(INFINITY)" if value > 0 else "R(-INFINITY)"
    return f"R({float(value)!r})"
