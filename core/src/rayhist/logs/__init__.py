"""A session's log files as Ray's dashboard shows them: which there are, which one is meant, what is in it.

What only asks the index (`list_files`, `resolve`) is synchronous; what reads the archive (`read`) is an
asynchronous iterator.  Every failure is a `LogError`, except those of the store.
"""

from rayhist.logs.error import LogError
from rayhist.logs.listing import list_files
from rayhist.logs.reading import ALL_LINES, read
from rayhist.logs.request import LogRequest, parse_request
from rayhist.logs.resolve import LogSlice, resolve

__all__ = [
    "ALL_LINES",
    "LogError",
    "LogRequest",
    "LogSlice",
    "list_files",
    "parse_request",
    "read",
    "resolve",
]
