"""What a configuration struct's fields are: name, type, default, and the text below each in the source."""

from __future__ import annotations

import ast
import inspect
import textwrap

import msgspec


class Field(msgspec.Struct, frozen=True):
    """One field as documentation shows it; `default` is `None` for a required field."""

    name: str
    type: str
    default: str | None
    text: str


def fields(struct: type[msgspec.Struct]) -> list[Field]:
    """The struct's own fields in order, then those it inherits; the text is empty where there is none."""
    found = _own(struct)
    for base in struct.__bases__:
        if base is not msgspec.Struct and issubclass(base, msgspec.Struct):
            found += [field for field in fields(base) if field.name not in {one.name for one in found}]
    return found


def _own(struct: type[msgspec.Struct]) -> list[Field]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(struct)))
    except OSError:  # installed without its source
        return [Field(name, "", "", "") for name in struct.__struct_fields__]
    [definition] = tree.body
    assert isinstance(definition, ast.ClassDef)
    found = []
    for statement, following in zip(definition.body, [*definition.body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            default = None if statement.value is None else ast.unparse(statement.value)
            found.append(
                Field(statement.target.id, ast.unparse(statement.annotation), default, _text(following))
            )
    return found


def summary(struct: type[msgspec.Struct]) -> str:
    """The struct's own docstring."""
    return inspect.getdoc(struct) or ""


def _text(statement: ast.stmt | None) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        if isinstance(value, str):
            return inspect.cleandoc(value).replace("\n", " ")
    return ""
