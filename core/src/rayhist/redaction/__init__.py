"""Runtime environments without their secrets: when they are recorded, and as browsers see them."""

from rayhist.redaction.plain import redact_everything, redacted
from rayhist.redaction.raw import Redactor
from rayhist.redaction.rules import PLACEHOLDER, Rules, rules

__all__ = ["PLACEHOLDER", "Redactor", "Rules", "redact_everything", "redacted", "rules"]
