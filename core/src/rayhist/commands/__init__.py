"""The core's own sub-commands."""
