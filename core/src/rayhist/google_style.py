"""Keys spelt as the dashboard's pages read them: `object_store_memory` becomes `objectStoreMemory`."""

from __future__ import annotations

from typing import Any


def google_style(value: Any) -> Any:
    """A copy of plain JSON data with the keys of all objects in it in camelCase.

    `to_google_style` in `ray.dashboard.utils` of Ray 2.60, with its effect on the users' own names.
    """
    if isinstance(value, dict):
        return {camel_case(name): google_style(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [google_style(inner) if isinstance(inner, dict) else inner for inner in value]
    return value


def camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.title() for part in others)
