"""Which database software this process has; nothing is opened.

Owns: one fact for `kaged doctor`. Never: the database of a daemon.
"""

from __future__ import annotations

import sqlite3


def sqlite_version() -> str:
    """Return the version of the SQLite library, such as `3.40.1`."""
    return sqlite3.sqlite_version
