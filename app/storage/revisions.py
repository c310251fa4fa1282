"""The revisions of the schema, without the database code that would slow a short command down.

Owns: their names, and which of them a daemon of this version can use. Never: what a revision changes
(`migrations/`).
"""

from __future__ import annotations

import re

# Every revision there ever was, the oldest first; a test compares it with the migrations.
REVISIONS = (
    "0001",
    "0002",
    "0003",
    "0004",
    "0005",
    "0006",
    "0007",
    "0008",
    "0009",
    "0010",
    "0011",
    "0012",
    "0013",
    "0014",
    "0015a",
)
HEAD = REVISIONS[-1]

_NAME = re.compile(r"(\d{4})(a?)")
"""The name of a revision that only adds ends with `a`: tables, indexes, and columns that may be left out."""


def only_adds(revision: str) -> bool:
    """Tell whether what an earlier version reads and writes is as before in this revision."""
    named = _NAME.fullmatch(revision)
    return named is not None and named[2] == "a"


def is_next_that_adds(revision: str | None, own: str) -> bool:
    """Tell whether a revision is the one after `own` and only adds: a daemon of `own` can use it until it is
    updated as well."""
    before = _NAME.fullmatch(own)
    if revision is None or before is None or not only_adds(revision):
        return False
    return int(revision[:4]) == int(before[1]) + 1
