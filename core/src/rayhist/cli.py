"""`rayhist`: finds a sub-command by entry point and loads only that one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rayhist.errors import ConfigError, PluginError, RayhistError
from rayhist.plugins import Plugins

_EPILOG = """\
`rayhist COMMAND --help` explains a command.  One configuration file serves them all: --config FILE, or
$RAYHIST_CONFIG; without one, a local folder and a loopback address are used."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns 0, 1 for a failure, 2 for a mistake in the call, configuration or plugins."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    plugins = Plugins.discover()
    try:
        if not arguments or arguments[0] in {"-h", "--help", "help"}:
            sys.stdout.write(_help(plugins))
            return 0 if arguments else 2
        if arguments[0] == "--version":
            from importlib.metadata import version  # noqa: PLC0415 - not needed to run a command

            sys.stdout.write(f"rayhist {version('rayhist')}\n")
            return 0
        return plugins.command(arguments[0]).run(arguments[1:], plugins)
    except RayhistError as error:
        sys.stderr.write(explain(error))
        return 2 if isinstance(error, ConfigError | PluginError) else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 1


def explain(error: RayhistError) -> str:
    """The error as the user reads it: what is wrong, and what to do about it."""
    remedy = f"  remedy: {error.remedy}\n" if error.remedy else ""
    return f"rayhist: {error}\n{remedy}"


def parser(name: str, description: str) -> argparse.ArgumentParser:
    """A parser for a sub-command, with the `--config` option that all of them share."""
    made = argparse.ArgumentParser(
        prog=f"rayhist {name}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument(
        "--config", metavar="FILE", help="TOML, YAML or JSON (default: $RAYHIST_CONFIG, or none)"
    )
    return made


def _help(plugins: Plugins) -> str:
    lines = ["usage: rayhist COMMAND ...", "", "Record and replay Ray clusters.", "", "commands:"]
    for found in plugins.found("command"):
        try:
            summary = plugins.command(found.name).summary
        except PluginError as error:
            summary = f"(broken: {error})"
        lines.append(f"  {found.name:12} {summary}")
    return "\n".join([*lines, "", _EPILOG, ""])


if __name__ == "__main__":
    raise SystemExit(main())
