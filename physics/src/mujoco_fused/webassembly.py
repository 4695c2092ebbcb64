"""Programs as WebAssembly, for browsers: a compiler for the small part of C++ that programs are written in.

What it knows: numbers (R, int, bool, unsigned long long), arrays and pointers, blocks, loops, conditions, macros, and
functions written as lambdas. Everything is IEEE arithmetic in the order of the text, and a program brings its own sine
and the like: so a page and a C++ compiler that fuses nothing agree to the last bit.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mujoco_fused import encoding
from mujoco_fused.encoding import FLOAT, INT, LONG, Code, constant, converted, count, operated

TYPES = {"R": FLOAT, "double": FLOAT, "int": INT, "bool": INT, "size_t": INT, "unsigned": LONG}
TOKEN = re.compile(
    r"\s+|//[^\n]*|(?P<token>[A-Za-z_]\w*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:ull)?|\"[^\"]*\""
    r"|\+\+|--|<<|>>|[<>=!+\-*|]=|&&|\|\||\S)"
)
PRECEDENCE = ["||", "&&", "|", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* /"]
BUILT_IN = {"sqrt": 0x9F, "fabs": 0x99, "floor": 0x9C, "rint": 0x9E}


class Array(NamedTuple):
    """Numbers in memory: at an address that is known, or that a pointer holds."""

    kind: int
    address: int | Code
    slot: int = 0
    """Where a pointer is kept in memory too, for functions other than its own."""
    owner: Any = None
    """The function that a pointer belongs to; None for what everybody can read."""


class Program(NamedTuple):
    """A program for browsers."""

    module: bytes
    """WebAssembly, which exports the function ``run`` and its ``memory``."""
    free: int
    """The first address of the memory that the program does not use."""


class Compiler:
    """From a program's text to a module."""

    def __init__(self, text: str) -> None:
        self.macros: dict[str, tuple[list[str], list[str]]] = {}
        """The arguments and the body of every macro, by name."""
        self.tokens = list(self._tokens(text))
        """The program in tokens."""
        self.place = 0
        """The index of the next token."""
        self.functions: list[encoding.Function] = []
        """The functions that are written."""
        self.function = encoding.Function([], [])
        """The function that is written now."""
        self.scopes: list[dict[str, Any]] = [{}]
        """What names mean, in the outermost scope first."""
        self.top = 16
        """The first free address of memory; an address of zero is never used."""

    def _tokens(self, text: str) -> Iterator[str]:
        lines = []
        for line in text.splitlines():
            if found := re.match(r"#define (\w+)(?:\((\w+)\))? (.*)", line):
                name, argument, body = found.groups()
                self.macros[name] = ([argument] if argument else [], _split(body))
            elif not line.startswith(("#", "typedef")):
                lines.append(line)
        return iter(_split("\n".join(lines).replace(".data", "")))

    # Reading tokens.

    def peek(self, ahead: int = 0) -> str:
        """A token that comes."""
        return self.tokens[self.place + ahead] if self.place + ahead < len(self.tokens) else ""

    def next(self, expected: str = "") -> str:
        """The next token, which is gone then."""
        token = self.peek()
        if expected and token != expected:
            near = " ".join(self.tokens[self.place - 12 : self.place + 12])
            raise SyntaxError(f"'{expected}' is expected, got '{token}' in: {near}")
        self.place += 1
        return token

    def taken(self, token: str) -> bool:
        """Whether a token comes next, which is gone then."""
        if self.peek() != token:
            return False
        self.place += 1
        return True

    def find(self, name: str) -> Any:
        """What a name stands for."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        raise NameError(f"The name '{name}' is not known here.")

    # Expressions.

    def expression(self) -> Code:
        """A choice, or anything that binds more tightly."""
        condition = self.binary(0)
        if not self.taken("?"):
            return condition
        chosen = self.expression()
        self.next(":")
        other = self.expression()
        kind = FLOAT if FLOAT in (chosen.kind, other.kind) else chosen.kind
        parts = (converted(chosen, kind), converted(other, kind), converted(condition, INT))
        return Code(kind, b"".join(part.bytes for part in parts) + b"\x1b")

    def binary(self, level: int) -> Code:
        """Operations of one precedence."""
        if level == len(PRECEDENCE):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek() in PRECEDENCE[level].split():
            left = operated(self.next(), left, self.binary(level + 1))
        return left

    def unary(self) -> Code:
        """A sign, a negation, a cast, or what they apply to."""
        if self.taken("!"):
            return Code(INT, self.unary().bytes + b"\x45")
        if self.taken("-"):
            code = self.unary()
            return Code(FLOAT, code.bytes + b"\x9a") if code.kind == FLOAT else operated("-", constant(INT, 0), code)
        if self.peek() == "(" and self.peek(1) in TYPES and self.peek(2) == ")":
            kind = TYPES[self.tokens[self.place + 1]]
            self.place += 3
            return converted(self.unary(), kind)
        return self.primary()

    def primary(self) -> Code:
        """A number, a variable, an element of an array, a call, or parentheses."""
        token = self.next()
        if token == "(":
            code = self.expression()
            self.next(")")
            return code
        if token[0].isdigit() or token[0] == ".":
            return _number(token)
        if token in self.macros:
            self._expand(token)
            return self.unary()
        if token in ("true", "false", "INFINITY"):
            return constant(FLOAT, float("inf")) if token == "INFINITY" else constant(INT, token == "true")
        if self.peek() == "(":
            return self._call(token)
        if self.peek() == "[":
            address, kind, offset = self._element(self.find(token))
            return Code(kind, address + encoding.access(kind, offset, load=True))
        return self._read(token)

    def _read(self, name: str) -> Code:
        found = self.find(name)
        if isinstance(found, Array):  # its address
            address = self._address(found)
            return address if isinstance(address, Code) else constant(INT, address)
        if found.owner is not self.function:
            raise NameError(f"'{name}' belongs to another function.")
        return Code(found.kind, b"\x20" + count(found.number))

    def _expand(self, name: str) -> None:
        """Put a macro's text in its place."""
        start, (parameters, body) = self.place - 1, self.macros[name]
        if parameters:
            self.next("(")
            first, depth = self.place, 1
            while depth:
                depth += {"(": 1, ")": -1}.get(self.next(), 0)
            argument = ["(", *self.tokens[first : self.place - 1], ")"]
            body = [piece for token in body for piece in (argument if token in parameters else [token])]
        is_name = len(body) == 1 and not body[0][0].isdigit()  # of a function, to be called
        self.tokens[start : self.place] = body if is_name else ["(", *body, ")"]
        self.place = start

    def _call(self, name: str) -> Code:
        self.next("(")
        arguments = [self.expression()]
        while self.taken(","):
            arguments.append(self.expression())
        self.next(")")
        if name in TYPES:
            return converted(arguments[0], TYPES[name])
        if name in BUILT_IN:
            return Code(FLOAT, arguments[0].bytes + bytes([BUILT_IN[name]]))
        if name == "ldexp":  # of 1: a power of two, by its bits
            exponent = operated(
                "<<", operated("+", converted(arguments[1], LONG), constant(LONG, 1023)), constant(LONG, 52)
            )
            return operated("*", arguments[0], Code(FLOAT, exponent.bytes + b"\xbf"))
        index, function = self.find(name)
        pairs = zip(arguments, function.parameters, strict=True)
        code = b"".join(converted(argument, kind).bytes for argument, kind in pairs)
        return Code(function.result[0], code + b"\x10" + count(index))

    def _address(self, array: Array) -> int | Code:
        """Where an array begins: a time step is a function of its own, and reads pointers that were set around it."""
        if array.owner in (None, self.function):
            return array.address
        return Code(INT, constant(INT, 0).bytes + encoding.access(INT, array.slot, load=True))

    def _element(self, array: Array) -> tuple[bytes, int, int]:
        """The instructions for an element's address, its kind, and what is added to the address."""
        self.next("[")
        index = self.expression()
        self.next("]")
        shift = encoding.SIZES[array.kind]
        address = self._address(array)
        base, offset = (address, 0) if isinstance(address, Code) else (None, address)
        if index.value is not None:
            offset += index.value << shift
            return (base or constant(INT, 0)).bytes, array.kind, offset
        scaled = operated("<<", index, constant(INT, shift))
        return (operated("+", base, scaled) if base else scaled).bytes, array.kind, offset

    # Statements.

    def statement(self) -> None:
        """Any statement."""
        token = self.peek()
        if token == "_Pragma":
            self.place += 4
            self.statement()
        elif token == "{":
            self.block()
        elif token in ("for", "if", "while", "return", "break"):
            self.next()
            getattr(self, f"_{token}")()
        elif self.taken(";"):
            pass
        elif token in ("const", "auto", *TYPES):
            self._declaration()
        else:
            self._assignment()
            self.next(";")

    def block(self) -> None:
        """Statements in braces, whose names end with them."""
        self.next("{")
        self.scopes.append({})
        while not self.taken("}"):
            self.statement()
        self._leave()

    def _leave(self) -> None:
        for found in self.scopes.pop().values():
            if isinstance(found, encoding.Local):
                self.function.free[found.kind].append(found.number)

    def _declaration(self) -> None:
        self.taken("const")
        word = self.next()
        if word == "auto":
            return self._lambda()
        if word == "unsigned":
            self.place += 2  # long long
        kind = TYPES[word]
        while True:
            is_pointer = self.taken("*")
            while self.peek() in ("const", "__restrict__"):
                self.next()
            name = self.next()
            if self.taken("["):
                self.scopes[-1][name] = Array(kind, self.top)
                size = self.expression().value
                self.next("]")
                self.top += (size or 0) << encoding.SIZES[kind]
                self.top += -self.top % 8
            elif is_pointer:
                self._pointer(name, kind)
            else:
                local = self.function.local(kind)
                if self.taken("="):
                    self.function.body += converted(self.expression(), kind).bytes + b"\x21" + count(local.number)
                self.scopes[-1][name] = local
            if not self.taken(","):
                self.next(";")
                return None

    def _pointer(self, name: str, kind: int) -> None:
        """``base + elements``, counted in bytes here."""
        self.next("=")
        base = self._address(self.find(self.next()))
        local = self.function.local(INT)
        code = base if isinstance(base, Code) else constant(INT, base)
        while self.taken("+"):
            elements = self.binary(PRECEDENCE.index("* /"))
            code = operated("+", code, operated("<<", elements, constant(INT, encoding.SIZES[kind])))
        self.scopes[-1][f"{name} "] = local  # so that it is freed
        self._keep(name, kind, local.number, code.bytes + b"\x22")

    def _keep(self, name: str, kind: int, number: int, code: bytes) -> None:
        """A pointer that a local variable has after some instructions, and memory too."""
        slot, self.top = self.top, self.top + 8
        self.function.body += constant(INT, 0).bytes + code + count(number) + encoding.access(INT, slot, load=False)
        self.scopes[-1][name] = Array(kind, Code(INT, b"\x20" + count(number)), slot, self.function)

    def _assignment(self) -> None:
        """``x = ...``, also ``+=`` and the like, ``x++`` and ``x--``, of a variable or an element."""
        name = self.next()
        found = self.find(name)
        if isinstance(found, Array):
            address, kind, offset = self._element(found)
            old = Code(kind, address + encoding.access(kind, offset, load=True))
            before, after = address, encoding.access(kind, offset, load=False)
        else:
            old, kind = self._read(name), found.kind
            before, after = b"", b"\x21" + count(found.number)
        operation = self.next()
        if operation in ("++", "--"):
            value = operated(operation[0], old, constant(INT, 1))
        else:
            value = self.expression()
            if operation != "=":
                value = operated(operation[0], old, value)
        self.function.body += before + converted(value, kind).bytes + after

    def _for(self) -> None:
        self.next("(")
        self.scopes.append({})
        name = self.peek(1)
        self._declaration() if self.peek() != ";" else self.next()
        condition = None if self.peek() == ";" else self.expression()
        self.next(";")
        # What is done after each turn is read now and written later.
        length = len(self.function.body)
        while self.peek() != ")":
            self._assignment()
            self.taken(",")
        step, self.function.body[length:] = bytes(self.function.body[length:]), b""
        self.next(")")
        self._repeat(condition, step, is_apart=name == "substep")
        self._leave()

    def _while(self) -> None:
        self.next("(")
        condition = self.expression()
        self.next(")")
        self._repeat(condition)

    def _repeat(self, condition: Code | None, step: bytes = b"", is_apart: bool = False) -> None:
        function = self.function
        function.body += bytes([encoding.BLOCK, encoding.EMPTY, encoding.LOOP, encoding.EMPTY])
        function.depth += 2
        function.exits.append(function.depth - 1)
        if condition:
            function.body += condition.bytes + bytes([0x45, encoding.BRANCH_IF, 1])
        if is_apart:  # browsers optimize functions, and a time step is what is called most
            index = self._written([], [], [], self.statement)
            function.body += b"\x10" + count(index)
        else:
            self.statement()
        function.body += step + bytes([encoding.BRANCH, 0, encoding.END, encoding.END])
        function.exits.pop()
        function.depth -= 2

    def _break(self) -> None:
        self.next(";")
        function = self.function
        function.body += bytes([encoding.BRANCH]) + count(function.depth - function.exits[-1])

    def _if(self) -> None:
        self.next("(")
        condition = converted(self.expression(), INT)
        self.next(")")
        self.function.body += condition.bytes + bytes([encoding.IF, encoding.EMPTY])
        self.function.depth += 1
        self.statement()
        if self.taken("else"):
            self.function.body.append(encoding.ELSE)
            self.statement()
        self.function.body.append(encoding.END)
        self.function.depth -= 1

    def _return(self) -> None:
        self.function.body += self.expression().bytes
        self.next(";")

    def _lambda(self) -> None:
        """``auto name = [](double x) {...};``"""
        name = self.next()
        for token in ("=", "[", "&", "]", "("):
            self.next(token)
        kinds, names = [], []
        while not self.taken(")"):
            kinds.append(TYPES[self.next()])
            names.append(self.next())
            self.taken(",")
        index = self._written(kinds, names, [FLOAT], self.block)
        self.next(";")
        self.scopes[-1][name] = (index, self.functions[index])

    def _written(self, kinds: list[int], names: list[str], result: list[int], write: Any) -> int:
        """Write a function, and return its number."""
        function, outer = encoding.Function(kinds, result), self.function
        self.functions.append(function)
        self.function = function
        self.scopes.append({name: encoding.Local(kinds[k], k, function) for k, name in enumerate(names)})
        write()
        self.scopes.pop()
        self.function = outer
        return self.functions.index(function)

    def module(self, arguments: Mapping[str, str]) -> Program:
        """The whole text as a function ``run`` of pointers (``R*``, ``int*``) and integers."""

        def write() -> None:
            for k, (name, kind) in enumerate(arguments.items()):
                if kind.endswith("*"):
                    self._keep(name, TYPES[kind.rstrip("*")], k, b"\x20")
            while self.peek():
                self.statement()

        names = list(arguments)
        main = self._written([INT] * len(names), names, [], write)
        return Program(encoding.module(self.functions, main), self.top)


def to_webassembly(text: str, arguments: Mapping[str, str]) -> Program:
    """A program for browsers.

    Args:
        text: of a program in `DOUBLE` precision: its prelude and statements.
        arguments: of the function that it becomes, by name: a type, with an asterisk for each axis of an array.
    """
    return Compiler(text).module(arguments)


def _split(text: str) -> list[str]:
    return [found["token"] for found in TOKEN.finditer(text) if found["token"]]


def _number(token: str) -> Code:
    if token.endswith("ull"):
        return constant(LONG, int(token[:-3]))
    return constant(INT, int(token)) if token.isdigit() else constant(FLOAT, float(token))
