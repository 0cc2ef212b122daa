"""What only the dashboard's answers tell: placement groups, objects, runtime environments, Serve and more."""

from __future__ import annotations

from rayhist.events import Event
from rayhist.index import IndexWriter
from rayhist.replay import polled, snapshots_datasets, snapshots_ended
from rayhist.replay.context import Context
from rayhist.replay.fold import Fold
from rayhist.resources import OBJECTS, PLACEMENT_GROUPS, RUNTIME_ENVS

LISTING = "listing"
"""Kind of the documents with the `Remarks` of each resource that is polled whole."""

_LISTED = (
    (PLACEMENT_GROUPS, "placement groups"),
    (OBJECTS, "objects"),
    (RUNTIME_ENVS, "runtime environments"),
)
_POLLED = {
    "/logical/actors": "the actors' processes",
    "/api/serve/applications": "Serve",
    "/api/cluster_status?format=1": "the cluster status",
    "/timezone": "the cluster's time zone",
}


class SnapshotFold(Fold):
    """Writes the rows that are polled whole, and every recorded answer as a document.

    A placement group keeps the state it was last seen in: nobody removed it when the cluster ended.
    """

    types = frozenset()

    def add(self, event: Event) -> None:
        """No event is of interest."""

    def write(self, context: Context, writer: IndexWriter) -> None:
        missing = [name for endpoint, name in _POLLED.items() if context.answers.good(endpoint) is None]
        for resource, name in _LISTED:
            listing = polled.listing(context.answers, resource, context.problems)
            writer.rows(resource, listing.rows)
            writer.document(LISTING, resource.name, listing.remarks)
            if not listing.fetched_at:
                missing.append(name)
        if missing:
            context.problems.append(
                f"No answer of the dashboard was recorded about: {', '.join(sorted(missing))}."
            )
        for answer in context.answers.all():
            body = snapshots_ended.concluded(answer, context.end)
            document = {"fetched_at": answer.fetched_at, "status": answer.status, "body": body}
            writer.document("answer", answer.endpoint, document)
        snapshots_datasets.write(context, writer)
