"""WebAssembly's binary form: numbers, operations, functions and the sections of a module."""

import itertools
import struct
from typing import Any, NamedTuple

FLOAT, INT, LONG = 0x7C, 0x7F, 0x7E
"""WebAssembly's numbers: f64, i32 and i64."""
SIZES = {FLOAT: 3, INT: 2}  # of elements of arrays, as a power of two
OPERATIONS = {
    FLOAT: {"+": 0xA0, "-": 0xA1, "*": 0xA2, "/": 0xA3, "==": 0x61, "!=": 0x62, "<": 0x63, ">": 0x64, "<=": 0x65},
    INT: {"+": 0x6A, "-": 0x6B, "*": 0x6C, "&": 0x71, "|": 0x72, "<<": 0x74, ">>": 0x76, "==": 0x46, "!=": 0x47},
    LONG: {"+": 0x7C, "&": 0x83, "|": 0x84, "<<": 0x86, ">>": 0x88, "==": 0x51, "!=": 0x52},
}
OPERATIONS[FLOAT][">="] = 0x66
OPERATIONS[INT] |= {"<": 0x48, ">": 0x4A, "<=": 0x4C, ">=": 0x4E, "&&": 0x71, "||": 0x72}
COMPARISONS = {"==", "!=", "<", ">", "<=", ">="}
CONVERSIONS = {(INT, FLOAT): b"\xb7", (FLOAT, INT): b"\xaa", (INT, LONG): b"\xac", (LONG, INT): b"\xa7"}
BLOCK, LOOP, IF, ELSE, END, BRANCH, BRANCH_IF, EMPTY = 0x02, 0x03, 0x04, 0x05, 0x0B, 0x0C, 0x0D, 0x40


class Code(NamedTuple):
    """Instructions that leave a number, and the number where it is known already."""

    kind: int
    """The type of the number."""
    bytes: bytes
    """The instructions."""
    value: int | None = None
    """The number, where it is known."""


class Local(NamedTuple):
    """A variable of a function."""

    kind: int
    number: int
    owner: Any


def leb(value: int) -> bytes:
    r"""A number, signed.

    >>> leb(-1), leb(64), leb(5)
    (b'\x7f', b'\xc0\x00', b'\x05')
    """
    result = bytearray()
    while True:
        low, value = value & 0x7F, value >> 7
        if (value == 0 and not low & 0x40) or (value == -1 and low & 0x40):
            return bytes([*result, low])
        result.append(low | 0x80)


def count(value: int) -> bytes:
    """A number without a sign."""
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*result, value])


def constant(kind: int, value: Any) -> Code:
    """A known number."""
    if kind == FLOAT:
        return Code(FLOAT, b"\x44" + struct.pack("<d", float(value)))
    return Code(kind, bytes([0x41 if kind == INT else 0x42]) + leb(int(value)), int(value))


def converted(code: Code, kind: int) -> Code:
    """A number as one of another kind."""
    if code.kind == kind:
        return code
    if code.value is not None:
        return constant(kind, code.value)
    return Code(kind, code.bytes + CONVERSIONS[code.kind, kind])


def operated(operation: str, left: Code, right: Code) -> Code:
    """An operation on two numbers, of the wider kind."""
    kind = next(kind for kind in (FLOAT, LONG, INT) if kind in (left.kind, right.kind))
    if kind == INT and left.value is not None and right.value is not None and operation in ("+", "-", "*"):
        sums = {"+": left.value + right.value, "-": left.value - right.value, "*": left.value * right.value}
        return constant(INT, sums[operation])
    left, right = converted(left, kind), converted(right, kind)
    result = INT if operation in COMPARISONS else kind
    return Code(result, left.bytes + right.bytes + bytes([OPERATIONS[kind][operation]]))


class Function:
    """A function that is being written."""

    def __init__(self, parameters: list[int], result: list[int]) -> None:
        self.parameters, self.result = parameters, result
        self.locals: list[int] = []
        self.free: dict[int, list[int]] = {FLOAT: [], INT: [], LONG: []}
        self.depth, self.exits = 0, [0]
        self.body = bytearray()

    def local(self, kind: int) -> Local:
        """A variable, in the place of one that is no longer needed where there is one."""
        if self.free[kind]:
            return Local(kind, self.free[kind].pop(), self)
        self.locals.append(kind)
        return Local(kind, len(self.parameters) + len(self.locals) - 1, self)

    def encoded(self) -> bytes:
        """The function's entry in a module."""
        runs = [count(len(list(group))) + bytes([kind]) for kind, group in itertools.groupby(self.locals)]
        text = count(len(runs)) + b"".join(runs) + bytes(self.body) + bytes([END])
        return count(len(text)) + text


def module(functions: list[Function], main: int) -> bytes:
    """The sections of a module: types, functions, memory, exports and code."""

    def section(number: int, entries: list[bytes]) -> bytes:
        text = count(len(entries)) + b"".join(entries)
        return bytes([number]) + count(len(text)) + text

    def signature(function: Function) -> bytes:
        kinds = [bytes([len(part), *part]) for part in (function.parameters, function.result)]
        return b"\x60" + b"".join(kinds)

    def export(name: str, kind: int, index: int) -> bytes:
        return bytes([len(name)]) + name.encode() + bytes([kind]) + count(index)

    return b"\0asm\1\0\0\0" + b"".join(
        [
            section(1, [signature(function) for function in functions]),
            section(3, [count(index) for index in range(len(functions))]),
            section(5, [b"\0\1"]),
            section(7, [export("run", 0, main), export("memory", 2, 0)]),
            section(10, [function.encoded() for function in functions]),
        ]
    )


def access(kind: int, offset: int, *, load: bool) -> bytes:
    """Reading or writing a number in memory."""
    operations = {FLOAT: (0x2B, 0x39), INT: (0x28, 0x36)}[kind]
    return bytes([operations[not load], SIZES[kind]]) + count(offset)
