"""The revisions of the schema, without the database code that would slow a short command down.

Owns: their names. Never: what a revision changes (`migrations/`).
"""

from __future__ import annotations

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
)
HEAD = REVISIONS[-1]
