"""Write the generated parts of the documentation, or check that they are fresh.

python tools/reference.py            write docs/operators/config.md, docs/vendors/hooks.md, and the code of
                                     the examples into the blocks of docs/vendors that name it
python tools/reference.py --check    exit 1 if one of them would change
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rayhist import config, describe, hookspecs, kinds
from rayhist.plugins import Plugins

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"^(```\w+ title=\"(examples/[^\"]+)\"\n).*?^```$", re.MULTILINE | re.DOTALL)

_CONFIG_HEAD = """\
# Configuration reference

One TOML file (YAML or JSON by suffix), given by `--config` or `$RAYHIST_CONFIG`, serves every command; each
reads the sections it needs. Without a file the defaults below apply. `RAYHIST__SERVER__PORT=9000` in the
environment overrides `port` in `[server]`. An unknown field is an error that gives its path.
`rayhist config check` loads the file with every plugin it names, `rayhist config show` prints what came out,
`rayhist config schema` is a JSON Schema.

A secret is never in the file: `{ env = "NAME" }` or `{ file = "/path" }`. Sizes take units: `"20GiB"`.

This page is generated from the code.
"""

_HOOKS_HEAD = """\
# Hooks and kinds

A plugin is an entry point in the group of its role (`rayhist.storage`, `rayhist.source`, `rayhist.sink`,
`rayhist.auth`, `rayhist.command`) whose name is the word used in the configuration. It points to a module,
or any object, with one function marked `@hookimpl` (from `rayhist.hookspecs`) that returns the role's
descriptor. Nothing is imported before it is chosen; `open` is the place to import an SDK.

This page is generated from the code.
"""


def config_page(plugins: Plugins) -> str:
    parts = [_CONFIG_HEAD]
    for section in describe.fields(config.Config):
        parts.append(
            f"\n## `[{section.name}]`\n\n{describe.summary(type(getattr(config.Config(), section.name)))}\n"
        )
        parts.append(_table(type(getattr(config.Config(), section.name))))
    examples = {
        tomllib.loads(path.read_text())["project"]["name"] for path in ROOT.glob("examples/*/pyproject.toml")
    }
    for role in ("storage", "auth", "source", "sink"):
        for found in plugins.found(role):
            if found.distribution in examples:
                continue
            kind = getattr(plugins, role)(found.name)
            parts.append(f"\n## Options of {role} `{found.name}` ({found.distribution})\n\n")
            parts.append(f"{describe.summary(kind.options)}\n")
            parts.append(_table(kind.options))
    return "".join(parts)


def hooks_page() -> str:
    parts = [_HOOKS_HEAD]
    for name, hook in _functions():
        annotation = inspect.signature(hook).return_annotation
        parts.append(f"\n## `{name}() -> {annotation}`\n\n{inspect.getdoc(hook)}\n")
        kind = getattr(kinds, str(annotation).split(" ", maxsplit=1)[0])
        parts.append(f"\n{describe.summary(kind)}\n")
        parts.append(_table(kind))
    return "".join(parts)


def with_examples(page: str) -> str:
    """The page, with what the named files of examples hold in its blocks."""
    return _BLOCK.sub(lambda match: f"{match[1]}{(ROOT / match[2]).read_text()}```", page)


def _functions() -> Iterator[tuple[str, object]]:
    for name, member in vars(hookspecs).items():
        if name.startswith("rayhist_"):
            yield name, member


def _table(struct: type[msgspec.Struct]) -> str:
    rows = _rows(struct)
    return f"\n| field | type | default | |\n|---|---|---|---|\n{rows}" if rows else ""


def _rows(struct: type[msgspec.Struct]) -> str:
    rows = ""
    for field in describe.fields(struct):
        default = "required" if field.default is None else f"`{field.default}`"
        kind = field.type.replace("|", "\\|")
        rows += f"| `{field.name}` | `{kind}` | {default} | {field.text} |\n"
    return rows


def main() -> int:
    pages = {
        DOCS / "operators" / "config.md": config_page(Plugins.discover()),
        DOCS / "vendors" / "hooks.md": hooks_page(),
    }
    for path in sorted(DOCS.glob("vendors/*.md")):
        pages.setdefault(path, with_examples(path.read_text()))
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale; run: make docs")
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pages[path])
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
