"""Backup, restore and check."""

from __future__ import annotations

import asyncio
import gzip
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from sqlalchemy import text

from app.errors import Conflict, StorageError
from app.storage.backup import backup, check, restore, upgrade
from app.storage.lock import DataFolderLock
from app.storage.models import AccessToken, IdempotencyKey, ProjectTrust
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows


def fill(unit: UnitOfWork) -> None:
    """Rows of every table, with values that are easily bent."""
    unit.projects.add(rows.project(diagnostics=[{"text": "nul \0 and ü"}]))
    unit.trust.put(ProjectTrust(root="/ü", digest="d", always=True, trusted_by="operator", trusted_at=1))
    unit.sessions.add(
        rows.session(title='quote " line\n emoji 😀', cost_primary_usd=0.1 + 0.2, headless=True)
    )
    unit.runs.add(rows.run(1, cost_usd=1e-300))
    unit.runs.insert_steps([rows.step("run_00001", 1, stats={"b": 1, "a": 2}).model_dump()])
    unit.messages.add_many(rows.message(n, content="x" * n) for n in range(1, 1200))
    unit.tool_calls.add(rows.tool_call(1, run_id="run_00001"))
    unit.checkpoints.add(rows.checkpoint(1))
    unit.compactions.add(rows.compaction(1, plugins_fired=[{"name": "ü"}], plugin_cost={"cost_usd": 0.1}))
    unit.rollbacks.add(rows.rollback(1, details={"restored": ["msg_00001"]}))
    unit.reverts.add(rows.revert(1, details={"path": "ü"}))
    unit.prompt_edits.add(rows.prompt_edit(1, new_content="line\n\0 ü"))
    unit.worktrees.add(rows.worktree(1, tree="4b825dc"))
    unit.plugin_values.put(**rows.plugin_value("k", value={"ü": [1, None]}))
    unit.interactions.add(rows.interaction(1, request={"subjects": ["rm -r \0 ü"]}))
    unit.permissions.add_many([rows.permission(1), rows.permission(2, session_id="ses_00001")])
    unit.todos.put(session_id="ses_00001", items=[{"content": "ü"}], updated_by="primary", updated_at=1)
    unit.issues.add(rows.issue(1, body="nul \0 and ü"))
    unit.issue_updates.add(rows.issue_update(1, details={"old_status": "open"}))
    unit.issue_links.add(rows.issue_link(1))
    unit.issue_todos.add(rows.issue_todo(1, notes=[{"text": "ü"}]))
    unit.todo_proposals.add(rows.todo_proposal(1))
    unit.uploads.add(rows.upload(1, used_by="iss_00001"))
    unit.workflow_runs.add(rows.workflow_run(1, inputs={"branch": "ü"}, slot=2**41))
    unit.leases.add(rows.lease(1, marker="ü"))
    unit.workspaces.add(rows.workspace(1, journal={"step": "merge", "paths": ["ü"]}, merged={"tree": "t"}))
    unit.attempt_groups.add(rows.attempt_group(1, asked_check={"command": "ü"}, budget={"tokens": 1}))
    unit.attempts.add(rows.attempt(1, checked={"output": "ü"}))
    unit.notifications.add(rows.notification(1, about={"code": "ü"}))
    unit.events.add_many([rows.event(2**40, frame=bytes(range(256)))])
    unit.audit.add_many([rows.audit(1), rows.audit(2)])
    unit.logs.add_many([rows.log_entry(1, fields={"text": "nul \0 and ü"})])
    unit.blobs.put("d", "application/octet-stream", b"")
    unit.access.add_token(AccessToken(id="tok_1", name="n", digest="d", created_at=1))
    unit.access.put_key(IdempotencyKey(scope="s", key="k", body_digest="b", created_at=1, response=b"\xff"))


async def filled(url: str | None, folder: Path) -> None:
    storage = await Storage.open(url, folder)
    await storage.write(fill)
    await storage.close()


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def test_a_backup_comes_back_bit_for_bit(storage_url: str | None, tmp_path: Path) -> None:
    await filled(storage_url, tmp_path)
    first = await backup(storage_url, tmp_path, tmp_path / "first.gz")
    assert first.rows["messages"] == 1199
    assert min(first.rows.values()) >= 1
    storage = await Storage.open(storage_url, tmp_path)
    await storage.write(lambda unit: unit.sessions.delete("ses_00001"))
    await storage.write(lambda unit: unit.projects.add(rows.project(2)))
    await storage.close()
    restored = await restore(storage_url, tmp_path, tmp_path / "first.gz")
    assert restored.rows == first.rows
    await backup(storage_url, tmp_path, tmp_path / "second.gz")
    assert (tmp_path / "first.gz").read_bytes() == (tmp_path / "second.gz").read_bytes()
    report = await check(storage_url, tmp_path)
    assert (report.ok, report.rows) == (True, first.rows)
    # Generated keys go on after the restored ones.
    storage = await Storage.open(storage_url, tmp_path)
    await storage.write(lambda unit: unit.audit.add_many([rows.audit(3)]))
    assert [row.id for row in (await storage.read(lambda unit: unit.audit.list())).items] == [3, 2, 1]
    await storage.close()


async def test_a_backup_moves_from_one_database_to_the_other_and_back(
    postgres_url: str, tmp_path: Path
) -> None:
    await filled(None, tmp_path)
    await backup(None, tmp_path, tmp_path / "sqlite.gz")
    await restore(postgres_url, tmp_path, tmp_path / "sqlite.gz")
    await backup(postgres_url, tmp_path, tmp_path / "postgresql.gz")
    await restore(None, tmp_path, tmp_path / "postgresql.gz")
    await backup(None, tmp_path, tmp_path / "again.gz")
    contents = {(tmp_path / name).read_bytes() for name in ("sqlite.gz", "postgresql.gz", "again.gz")}
    assert len(contents) == 1


async def test_what_others_keep_in_the_same_database_is_neither_backed_up_nor_dropped(
    storage_url: str | None, tmp_path: Path
) -> None:
    await filled(storage_url, tmp_path)
    storage = await Storage.open(storage_url, tmp_path)
    await storage.write(
        lambda unit: unit.connection.execute(text("CREATE TABLE of_the_operator (note TEXT)"))
    )
    added = text("INSERT INTO of_the_operator VALUES ('mine')")
    await storage.write(lambda unit: unit.connection.execute(added).rowcount)
    await storage.close()
    report = await backup(storage_url, tmp_path, tmp_path / "b.gz")
    assert "of_the_operator" not in report.rows
    assert (await restore(storage_url, tmp_path, tmp_path / "b.gz")).rows == report.rows
    assert (await check(storage_url, tmp_path)).rows == report.rows
    if storage_url is not None:  # an embedded file is kept as it was, with all that is in it
        storage = await Storage.open(storage_url, tmp_path)
        query = text("SELECT note FROM of_the_operator")
        assert await storage.read(lambda unit: unit.connection.execute(query).scalars().all()) == ["mine"]
        await storage.close()


async def test_a_backup_beside_a_running_daemon_has_whole_units_only(
    storage_url: str | None, tmp_path: Path
) -> None:
    storage = await Storage.open(storage_url, tmp_path)
    await storage.write(rows.family)

    def pair(unit: UnitOfWork, number: int) -> None:
        unit.messages.add(rows.message(number))
        unit.events.add_many([rows.event(number)])

    writes = [storage.submit(lambda unit, n=n: pair(unit, n)) for n in range(1, 300)]
    report = await backup(storage_url, tmp_path, tmp_path / "live.gz")
    await asyncio.gather(*writes)
    await storage.close()
    assert report.rows["messages"] == report.rows["events"]


async def test_restore_and_upgrade_refuse_while_a_daemon_holds_the_folder(
    storage_url: str | None, tmp_path: Path
) -> None:
    await filled(storage_url, tmp_path)
    await backup(storage_url, tmp_path, tmp_path / "b.gz")
    with DataFolderLock(tmp_path) as lock:
        lock.announce("http://127.0.0.1:7777")
        with pytest.raises(Conflict, match="at http://127"):
            await restore(storage_url, tmp_path, tmp_path / "b.gz")
        with pytest.raises(Conflict):
            await upgrade(storage_url, tmp_path)


async def test_a_backup_never_overwrites_a_file(tmp_path: Path) -> None:
    await filled(None, tmp_path)
    (tmp_path / "b.gz").write_text("mine")
    with pytest.raises(StorageError, match="exists already"):
        await backup(None, tmp_path, tmp_path / "b.gz")
    assert (tmp_path / "b.gz").read_text() == "mine"


async def test_without_a_database_there_is_nothing_to_back_up_or_check(tmp_path: Path) -> None:
    for attempt in (backup(None, tmp_path, tmp_path / "b.gz"), check(None, tmp_path)):
        with pytest.raises(StorageError, match="no database"):
            await attempt
    assert files(tmp_path) == set()


def cut_short(whole: bytes) -> bytes:
    return gzip.compress(b"\n".join(gzip.decompress(whole).split(b"\n")[:-300]))


def cut_bytes(whole: bytes) -> bytes:
    return whole[: len(whole) // 2]


def bent_at_the_beginning(whole: bytes) -> bytes:
    return whole[:10] + bytes(byte ^ 0x5A for byte in whole[10:60]) + whole[60:]


def without_a_schema(whole: bytes) -> bytes:
    lines = gzip.decompress(whole).split(b"\n")
    return gzip.compress(b"\n".join([b'{"format":"kaged-dump-1"}', *lines[1:]]))


def of_a_newer_release(whole: bytes) -> bytes:
    lines = gzip.decompress(whole).split(b"\n")
    lines[0] = orjson.dumps({**orjson.loads(lines[0]), "schema": "9999"})
    return gzip.compress(b"\n".join(lines))


def breaks_a_key(whole: bytes) -> bytes:
    return gzip.compress(gzip.decompress(whole).replace(b'"ses_00001","primary"', b'"ses_none","primary"'))


@pytest.mark.parametrize(
    "damage",
    [
        cut_short,
        cut_bytes,
        bent_at_the_beginning,
        without_a_schema,
        of_a_newer_release,
        breaks_a_key,
        lambda _: b"text",
        lambda _: b"",
    ],
)
async def test_a_damaged_backup_is_refused_and_changes_nothing(
    storage_url: str | None, tmp_path: Path, damage: object
) -> None:
    await filled(storage_url, tmp_path)
    await backup(storage_url, tmp_path, tmp_path / "good.gz")
    assert callable(damage)
    (tmp_path / "bad.gz").write_bytes(damage((tmp_path / "good.gz").read_bytes()))
    before = files(tmp_path)
    with pytest.raises(StorageError):
        await restore(storage_url, tmp_path, tmp_path / "bad.gz")
    assert files(tmp_path) - {"daemon.lock"} == before - {"daemon.lock"}
    await backup(storage_url, tmp_path, tmp_path / "after.gz")
    assert (tmp_path / "after.gz").read_bytes() == (tmp_path / "good.gz").read_bytes()


async def test_restore_keeps_the_file_that_it_replaces_even_a_damaged_one(tmp_path: Path) -> None:
    await filled(None, tmp_path)
    await backup(None, tmp_path, tmp_path / "b.gz")
    (tmp_path / "kaged.db").write_bytes(b"damaged" * 1000)
    await restore(None, tmp_path, tmp_path / "b.gz")
    [kept] = [name for name in files(tmp_path) if name.startswith("kaged.db.backup-before-restore-")]
    assert (tmp_path / kept).read_bytes() == b"damaged" * 1000
    assert (await check(None, tmp_path)).ok


async def test_check_finds_rows_that_belong_to_nothing_and_a_damaged_file(tmp_path: Path) -> None:
    await filled(None, tmp_path)
    assert (await check(None, tmp_path)).problems == ()
    with closing(sqlite3.connect(tmp_path / "kaged.db")) as raw:
        raw.execute("DELETE FROM projects")
        raw.commit()
    problems = (await check(None, tmp_path)).problems
    assert problems
    assert all("refers to a row of projects that does not exist" in problem for problem in problems)


@pytest.mark.parametrize("table", ["messages", "projects"])
async def test_check_says_what_is_damaged_also_where_nothing_can_be_read(tmp_path: Path, table: str) -> None:
    await filled(None, tmp_path)
    with closing(sqlite3.connect(tmp_path / "kaged.db")) as raw:
        root = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
        size = raw.execute("PRAGMA page_size").fetchone()[0]
    with (tmp_path / "kaged.db").open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    report = await check(None, tmp_path)
    assert not report.ok
    assert all(problem.startswith("the file is damaged: ") for problem in report.problems)


async def test_check_says_when_the_schema_is_not_the_one_needed(
    storage_url: str | None, tmp_path: Path
) -> None:
    storage = await Storage.open(storage_url, tmp_path)
    change = text("UPDATE alembic_version SET version_num = '0000'")
    await storage.write(lambda unit: unit.connection.execute(change).rowcount)
    await storage.close()
    report = await check(storage_url, tmp_path)
    assert report.schema == "0000"
    assert "the schema is 0000" in report.problems[0]


# Prints by how many bytes the process grew for a backup and for a restore of its rows.
_GROWTH = """
import asyncio, resource, sys
from pathlib import Path
from app.storage.backup import backup, restore

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

small, large = map(Path, sys.argv[1:])
for folder in (small, large):
    before = peak()
    asyncio.run(backup(None, folder, folder / "b.gz"))
    between = peak()
    asyncio.run(restore(None, folder, folder / "b.gz"))
print(between - before, peak() - between)
"""


@pytest.mark.timeout(300)
async def test_rows_of_many_megabytes_are_not_all_held_at_once(tmp_path: Path) -> None:
    for name, count in (("small", 1), ("large", 100)):
        storage = await Storage.open(None, tmp_path / name)
        await storage.write(rows.family)
        for number in range(1, count + 1):
            row = rows.message(number, content="x" * 3_000_000)
            await storage.write(lambda unit, row=row: unit.messages.add(row))  # type: ignore[misc]
        await storage.close()
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", _GROWTH, str(tmp_path / "small"), str(tmp_path / "large")],
        check=True,
        capture_output=True,
        text=True,
        timeout=240,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": "."},
    )
    backing_up, restoring = map(int, done.stdout.split())
    assert backing_up < 150_000_000
    assert restoring < 150_000_000
