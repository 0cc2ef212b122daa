"""In what the replay of the recorded cluster may differ from what its live dashboard answered, and why.

The recording is replayed as it was while the answers were taken, so whatever ends with a session does not
come into it.  Every entry must be needed: one that explains nothing any more fails the test.
"""

from __future__ import annotations

import re
from functools import cached_property

import msgspec

from rayhist_testkit.fidelity.compare import Difference, Kind


class Allowed(msgspec.Struct, frozen=True, dict=True):
    """Which questions (a pattern of path and query), which fields (a pattern), and the reason."""

    questions: str
    fields: str
    reason: str
    kinds: tuple[Kind, ...] = (Kind.VALUE,)

    @cached_property
    def _question(self) -> re.Pattern[str]:
        return re.compile(self.questions)

    @cached_property
    def _field(self) -> re.Pattern[str]:
        return re.compile(self.fields)

    def explains(self, question: str, difference: Difference) -> bool:
        return (
            difference.kind in self.kinds
            and self._question.fullmatch(question) is not None
            and self._field.fullmatch(difference.field) is not None
        )


ANY = (Kind.VALUE, Kind.ABSENT, Kind.EXTRA, Kind.ORDER)

BY_NATURE = (
    Allowed(r"/", "body|content-type", "Which frontend it is, is no part of the recording."),
    Allowed("/api/grafana_health", "status", "There is no Grafana; saying DISABLED hides the charts."),
    Allowed("/api/prometheus_health", "status", "To the frontend any status but 200 is a failed request."),
    Allowed("/api/component_activities", r"\.driver\..*", "No driver is active any more."),
    Allowed("/api/prometheus/sd", r"\[\]", "There is nothing left to scrape.", (Kind.ABSENT,)),
    Allowed(
        "/usage_stats_enabled",
        r"\.data\.usageStatsPromptEnabled",
        "No collector asks for it; a recording reports no usage.",
    ),
)

BETTER = (
    Allowed(
        r"/api/v0/jobs\?.*",
        "status",
        "Ray has no text for a bad query of jobs and answers 500; the other resources answer 400 with one.",
    ),
    Allowed("/api/jobs", "status", "Ray wants a slash at the end; without it the list is as useful."),
    Allowed(r"/api/v0/cluster_events.*", "status", "This route is broken in Ray 2.60; the events are known."),
    Allowed(
        r"/(nodes/.*|logical/actors.*)",
        r".*\.actorId",
        "The dashboard overwrites the id of an actor whose process does not know it.",
    ),
    Allowed(
        r"/api/v0/workers.*",
        r".*\[\]\.(pid|start_time_ms|worker_launch_time_ms|worker_launched_time_ms)",
        "Ray had forgotten when two drivers began; their events had not.",
    ),
    Allowed(
        r"/api/v0/tasks/summarize\?summary_by=bogus",
        "status",
        "Ray has no text for an unknown kind of summary and answers 500.",
    ),
    Allowed(
        r"/api/v0/logs\?.*glob=\.\./.*",
        "status",
        "Ray has no text for a glob that leaves the folder and answers 500.",
    ),
    Allowed(
        r"/api/v0/logs\?node_id=f+",
        "content-type|body",
        "Ray has no text for the logs of an unknown node.",
    ),
    Allowed(
        r"/api/v0/logs/file\?.*&download_filename=x%22y\.txt",
        "content-disposition",
        "In Ray's header a quote in the name ends the name.",
    ),
    Allowed(
        r"/api/v0/logs/file\?submission_id=.*",
        "status",
        "This way of asking for a log is broken in Ray 2.60; the log is known.",
    ),
)

IN_BETWEEN = (
    Allowed(
        r"/api/serve/applications/.*",
        r"\.controller_health_metrics\..*",
        "The controller's own clock and load, at the moment of the poll.",
    ),
    Allowed(
        r"/events.*", r"\.data\.events.*\[\]", "The autoscaler reported once more meanwhile.", (Kind.EXTRA,)
    ),
    Allowed(
        r"/api/v0/tasks(\?.*)?",
        r"\.data\.result\.result\[\](\..*)?",
        "Two calls to the state actor of Ray Train and the driver's last profile came meanwhile.",
        (Kind.EXTRA, Kind.VALUE),
    ),
    Allowed(
        r"/api/v0/tasks/timeline\?.*download=1.*",
        "content-disposition",
        "The file's name has the time of the answer; ours has the session's end.",
    ),
)

UNKNOWABLE = (
    Allowed(
        r"/api/v0/tasks(/summarize)?(\?.*)?",
        r"\.data\.result\.(result(\[\])?|total|num_filtered|num_after_truncation"
        r"|result\.node_id_to_summary\.cluster\..*)",
        "The driver of job 0d000000 ran without Ray's switches for events, so its five tasks have no"
        " definition.",
        (Kind.VALUE, Kind.ABSENT, Kind.ORDER),
    ),
    Allowed(
        r"/api/v0/tasks/timeline(\?.*)?",
        r".*",
        "The same five tasks; and a trace's processes and threads are numbered as they appear.",
        ANY,
    ),
)

TEXTS = (
    Allowed(
        r"/api/v0/\w+\?filter_keys=.*",
        r"\.msg",
        "Ray prints the columns as a set, in another order each time, and pydantic's account of a predicate.",
    ),
)

LOGS = (
    Allowed(
        r"/api/v0/logs\?.*",
        r"\.data\.result\..*",
        "Ray lists in the order of the file system.",
        (Kind.ORDER,),
    ),
    Allowed(
        r"/api/v0/logs(/file)?\?.*",
        r"status|\.data\.result\.\w+(\[\])?",
        "Empty files are not recorded, nor are empty folders, sockets and links.",
        (Kind.VALUE, Kind.ABSENT),
    ),
    Allowed(r"/api/v0/logs/file\?.*", "body", "The file grew after the answer was taken."),
)

TABLE = (*BY_NATURE, *BETTER, *IN_BETWEEN, *UNKNOWABLE, *TEXTS, *LOGS)
