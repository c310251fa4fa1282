"""Rows written by any version load for ever.

Under `stored/<schema>/` lies one row of each table as that schema's version wrote it. Never change
one; when the schema changes, add a folder. A row is put into a database of its schema, which is
then migrated, and read by today's code.
"""

from __future__ import annotations

import base64
import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlmodel import SQLModel

import app.storage.models
from app.storage.backup import restore
from app.storage.dump import FORMAT
from app.storage.repositories.rows import table_of
from app.storage.revisions import HEAD, REVISIONS
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

STORED = Path(__file__).parent / "stored"
MODELS: dict[str, type[SQLModel]] = {
    table_of(model).name: model
    for model in (getattr(app.storage.models, name) for name in app.storage.models.__all__)
    if issubclass(model, SQLModel)
}
# Each after those that it belongs to.
ORDER = [table.name for table in SQLModel.metadata.sorted_tables]


def stored_rows(schema: str) -> dict[str, dict[str, Any]]:
    found = {path.stem: orjson.loads(path.read_bytes()) for path in (STORED / schema).glob("*.json")}
    return dict(sorted(found.items(), key=lambda item: ORDER.index(item[0])))


def as_backup(schema: str, rows: dict[str, dict[str, Any]], target: Path) -> None:
    lines: list[Any] = [{"format": FORMAT, "schema": schema}]
    for table, row in rows.items():
        lines += [{"table": table, "columns": list(row)}, list(row.values())]
    lines.append({"end": True, "counts": dict.fromkeys(rows, 1)})
    target.write_bytes(gzip.compress(b"".join(orjson.dumps(line) + b"\n" for line in lines)))


def loaded(unit: UnitOfWork, rows: dict[str, dict[str, Any]]) -> dict[str, SQLModel | None]:
    """Read every row through its repository."""
    reads: dict[str, Any] = {
        "projects": lambda row: unit.projects.get(row["id"]),
        "project_trust": lambda row: unit.trust.of_root(row["root"]),
        "sessions": lambda row: unit.sessions.get(row["id"]),
        "messages": lambda row: unit.messages.get(row["id"]),
        "runs": lambda row: unit.runs.get(row["id"]),
        "steps": lambda row: unit.runs.steps(row["run_id"])[0],
        "tool_calls": lambda row: unit.tool_calls.get(row["id"]),
        "checkpoints": lambda row: unit.checkpoints.get(row["id"]),
        "compactions": lambda row: unit.compactions.get(row["id"]),
        "reverts": lambda row: unit.reverts.get(row["id"]),
        "rollbacks": lambda row: unit.rollbacks.get(row["id"]),
        "prompt_edits": lambda row: unit.prompt_edits.get(row["id"]),
        "worktrees": lambda row: unit.worktrees.get(row["id"]),
        "plugin_storage": lambda row: unit.plugin_values.get(row["project_id"], row["plugin"], row["key"]),
        "interactions": lambda row: unit.interactions.get(row["id"]),
        "permission_rules": lambda row: unit.permissions.get(row["id"]),
        "todo_lists": lambda row: unit.todos.get(row["session_id"]),
        "events": lambda row: unit.events.after(row["session_id"], 0, row["seq"], 1)[0],
        "audit_events": lambda row: unit.audit.list(event=row["event"]).items[0],
        "log_entries": lambda row: unit.logs.list().items[0],
        "access_tokens": lambda row: unit.access.token_by_digest(row["digest"]),
        "idempotency_keys": lambda row: unit.access.get_key(row["scope"], row["key"]),
        "blobs": lambda row: unit.blobs.get(row["digest"]),
        "issues": lambda row: unit.issues.get(row["id"]),
        "issue_updates": lambda row: unit.issue_updates.get(row["id"]),
        "issue_links": lambda row: unit.issue_links.get(row["id"]),
        "issue_todos": lambda row: unit.issue_todos.get(row["id"]),
        "todo_proposals": lambda row: unit.todo_proposals.get(row["id"]),
        "uploads": lambda row: unit.uploads.get(row["id"]),
        "workflow_runs": lambda row: unit.workflow_runs.get(row["id"]),
        "project_leases": lambda row: unit.leases.get(row["project_id"]),
        "workspaces": lambda row: unit.workspaces.get(row["id"]),
        "attempt_groups": lambda row: unit.attempt_groups.get(row["id"]),
        "attempts": lambda row: unit.attempts.get(row["session_id"]),
        "notifications": lambda row: unit.notifications.get(row["id"]),
    }
    return {table: reads[table](row) for table, row in rows.items()}


def plain(table: str, name: str, stored: Any) -> Any:
    """Return what the model should give for a stored value."""
    if isinstance(stored, dict):
        return base64.b64decode(stored["b64"])
    column = table_of(MODELS[table]).c[name]
    is_json = type(column.type).__name__ == "Json"
    return orjson.loads(stored) if is_json and stored is not None else stored


@pytest.mark.parametrize("schema", REVISIONS)
async def test_rows_of_every_schema_load(schema: str, empty_database: str | None, tmp_path: Path) -> None:
    rows = stored_rows(schema)
    as_backup(schema, rows, tmp_path / "stored.gz")
    await restore(empty_database, tmp_path, tmp_path / "stored.gz")
    storage = await Storage.open(empty_database, tmp_path)
    found = await storage.read(lambda unit: loaded(unit, rows))
    await storage.close()
    for table, row in rows.items():
        model = found[table]
        assert model is not None, table
        for name, value in row.items():
            assert getattr(model, name) == plain(table, name, value), (table, name)


def test_every_table_of_the_newest_schema_has_a_stored_row_with_every_column() -> None:
    rows = stored_rows(HEAD)
    assert set(rows) == set(MODELS)
    for table, row in rows.items():
        assert set(row) == set(table_of(MODELS[table]).c.keys())
