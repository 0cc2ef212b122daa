"""The JSON Schema of a configuration struct, with the text and the default of each field.

msgspec makes the schema of the types.  It cannot print a default of a type of ours, and knows no texts, so
both are added here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from rayhist import describe


def schema_of(
    struct: type[msgspec.Struct], *, types: Callable[[type], dict[str, Any]], plain: Callable[[Any], Any]
) -> dict[str, Any]:
    """`types` gives the schema of a type that msgspec does not know, `plain` the plain form of a default."""
    originals: dict[str, type[msgspec.Struct]] = {}
    schema = msgspec.json.schema(_bare(struct, originals), schema_hook=types)
    for name, original in originals.items():
        properties = schema["$defs"][name]["properties"]
        for field in describe.fields(original):
            if field.text:
                properties[field.name]["description"] = field.text
        for info in msgspec.structs.fields(original):
            if info.default is not msgspec.NODEFAULT:
                properties[info.encode_name]["default"] = plain(info.default)
    return schema


def _bare(struct: type[msgspec.Struct], originals: dict[str, type[msgspec.Struct]]) -> type[msgspec.Struct]:
    """A copy of the struct, and of those in its fields, without defaults that would have to be printed."""
    originals[struct.__name__] = struct
    fields: list[Any] = []
    for info in msgspec.structs.fields(struct):
        kind = info.type
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            kind = _bare(kind, originals)
        optional = () if info.required else (msgspec.field(default_factory=object),)
        fields.append((info.encode_name, kind, *optional))
    settings = struct.__struct_config__
    return msgspec.defstruct(
        struct.__name__,
        fields,
        namespace={"__doc__": struct.__doc__},
        kw_only=True,
        forbid_unknown_fields=settings.forbid_unknown_fields,
    )
