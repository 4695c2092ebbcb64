"""For the API pages: a field of a dataclass shows its type and its default, not how they are checked and parsed.

An extension of Griffe, which reads the code for the pages; `zensical.toml` names this file. ``setting(1.0, POSITIVE)``
becomes ``1.0``, ``field(default_factory=dict)`` becomes ``dict()``, and ``Annotated[str, ...]`` becomes ``str``.
"""

from typing import Any

from griffe import Attribute, Expr, ExprCall, ExprKeyword, ExprSubscript, ExprTuple, Extension


class PlainDefaults(Extension):
    """Fields as a reader needs them."""

    def on_attribute_instance(self, *, attr: Attribute, **_: Any) -> None:
        """Called with every field, before the signature of its class is made of them."""
        attr.value, attr.annotation = plain_value(attr.value), plain_type(attr.annotation)


def plain_value(value: Any) -> Any:
    """The default that a field's value stands for."""
    if isinstance(value, ExprCall) and str(value.function) == "setting":
        return value.arguments[0]
    if isinstance(value, ExprCall) and str(value.function) == "field":
        for argument in value.arguments:
            if isinstance(argument, ExprKeyword) and argument.name == "default_factory":
                return f"{argument.value}()" if str(argument.value).isidentifier() else argument.value
    return value


def plain_type(annotation: str | Expr | None) -> str | Expr | None:
    """A type without what the command line is to know of it."""
    if isinstance(annotation, ExprSubscript) and str(annotation.left) == "Annotated":
        assert isinstance(annotation.slice, ExprTuple)
        return annotation.slice.elements[0]
    return annotation
