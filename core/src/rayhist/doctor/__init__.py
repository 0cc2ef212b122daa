"""What `rayhist doctor` finds out about an archive, from where it runs."""

from rayhist.doctor.examine import Report, examine
from rayhist.doctor.finding import Finding, Role, State

__all__ = ["Finding", "Report", "Role", "State", "examine"]
