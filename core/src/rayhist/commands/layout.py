"""`rayhist layout KEY`: what a key of the archive means."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence

from rayhist import layout
from rayhist.cli import parser
from rayhist.hookspecs import hookimpl
from rayhist.ids import Session
from rayhist.kinds import Command
from rayhist.plugins import Plugins


def run(argv: Sequence[str], plugins: Plugins) -> int:  # noqa: ARG001 - every command has this form
    arguments = parser("layout", f"Say what a key means.\n\n{layout.__doc__}")
    arguments.add_argument("key", help="a key, relative to the archive's root")
    reference = layout.parse(arguments.parse_args(argv).key)
    sys.stdout.write(f"{type(reference).__name__}\n")
    for field in dataclasses.fields(reference):
        value = getattr(reference, field.name)
        sys.stdout.write(f"  {field.name:10} {value.path if isinstance(value, Session) else value}\n")
    return 0


@hookimpl
def rayhist_command() -> Command:
    return Command(api=1, name="layout", summary="say what a key of the archive means", run=run)
