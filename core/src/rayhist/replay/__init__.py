"""Replay: from a session's events, files and dashboard answers to its index."""

from rayhist.replay.build import Progress, replay

__all__ = ["Progress", "replay"]
