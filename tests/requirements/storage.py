"""The database."""

from __future__ import annotations

STORAGE: dict[str, str] = {
    "storage.migrations": "every table of this issue is made by alembic, and models and migrations agree",
    "storage.sqlite": "SQLite embedded by default",
    "storage.postgresql": "PostgreSQL by URL, against a real server",
    "storage.writer": "one writer with group commit",
    "storage.backup": "a backup is made before a migration; a newer schema is refused",
}
