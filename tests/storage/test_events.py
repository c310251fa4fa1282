"""Queries about events: replay and trimming; the audit trail; blobs; access."""

from __future__ import annotations

import secrets
import time
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from sqlalchemy import text

from app.errors import Conflict
from app.storage.models import AccessToken, IdempotencyKey
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows


async def test_events_are_replayed_between_two_marks(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.events.add_many(rows.event(seq) for seq in (1, 2, 4, 7, 9))

    await storage.write(fill)

    def look(unit: UnitOfWork) -> tuple[list[int], list[int], int, int]:
        return (
            [e.seq for e in unit.events.after("ses_00001", 1, 7, 10)],
            [e.seq for e in unit.events.after("ses_00001", 0, 99, 2)],
            unit.events.last_seq("ses_00001"),
            unit.events.last_seq("ses_none"),
        )

    assert await storage.read(look) == ([2, 4, 7], [1, 2], 9, 0)
    frames = await storage.read(lambda unit: unit.events.after("ses_00001", 8, 9, 1))
    assert frames[0].frame == b'{"seq":9}'


async def test_an_event_is_never_stored_twice(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.events.add_many([rows.event(1)])

    await storage.write(fill)
    with pytest.raises(Conflict):
        await storage.write(lambda unit: unit.events.add_many([rows.event(2), rows.event(1)]))
    assert await storage.read(lambda unit: unit.events.last_seq("ses_00001")) == 1


async def test_trimming_takes_old_events_in_slices_and_notes_how_far(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.sessions.add(rows.session(2))
        unit.sessions.add(rows.session(3))
        unit.events.add_many(rows.event(seq) for seq in range(1, 11))
        unit.events.add_many(
            rows.event(seq, session_id="ses_00002", created_at=seq + 5) for seq in range(1, 4)
        )

    await storage.write(fill)
    slices = [await storage.write(lambda unit: unit.events.trim_older_than(8, limit=4)) for _ in range(4)]
    assert slices == [4, 4, 1, 0]

    def look(unit: UnitOfWork) -> list[tuple[int, int]]:
        sessions = unit.sessions.in_states(["idle"])
        return [
            (session.trimmed_through_seq, len(unit.events.after(session.id, 0, 99, 99)))
            for session in sessions
        ]

    assert await storage.read(look) == [(7, 3), (2, 1), (0, 0)]


async def test_a_size_says_since_when_events_fit_and_the_newest_minute_always_does(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        for minute in range(1, 6):
            at = minute * 60_000 + minute
            frames = [secrets.token_bytes(50_000) for _ in range(2)]
            unit.events.add_many(
                rows.event(minute * 10 + number, created_at=at, frame=frame)
                for number, frame in enumerate(frames)
            )

    await storage.write(fill)

    async def since(max_bytes: int) -> int | None:
        return await storage.read(lambda unit: unit.events.fitting_since(max_bytes))

    assert await since(50_000_000) is None
    assert await since(499_999) == 2 * 60_000
    assert await since(250_000) == 4 * 60_000
    assert await since(200_000) == 4 * 60_000
    assert await since(1) == 5 * 60_000


async def test_the_audit_is_listed_by_every_filter_newest_first(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.runs.add(rows.run(1))
        unit.audit.add_many(
            [
                rows.audit(1, event="tool.call", session_id="ses_00001", run_id="run_00001"),
                rows.audit(2, event="tool.denied", session_id="ses_00001", data={"n": [1, "ü"]}),
                rows.audit(3, event="auth.failed", project_id="prj_00001"),
                rows.audit(3, event="tool.call", session_id="ses_none"),
            ]
        )

    await storage.write(fill)

    async def listed(**filters: object) -> list[int | None]:
        page = await storage.read(lambda unit: unit.audit.list(**filters))  # type: ignore[arg-type]
        assert page.total == len(page.items)
        return [row.id for row in page.items]

    assert await listed() == [4, 3, 2, 1]
    assert await listed(event="tool.call") == [4, 1]
    assert await listed(event="tool.*") == [4, 2, 1]
    assert await listed(event="*.failed") == [3]
    assert await listed(event="*") == [4, 3, 2, 1]
    assert await listed(event="tool.c") == []
    assert await listed(session_id="ses_00001") == [2, 1]
    assert await listed(run_id="run_00001") == [1]
    assert await listed(project_id="prj_00001") == [3]
    assert await listed(since=2, until=3) == [2]
    second = await storage.read(lambda unit: unit.audit.list(event="tool.denied"))
    assert second.items[0].data == {"n": [1, "ü"]}


async def test_stars_in_an_event_stand_for_anything_and_cost_nothing(storage: Storage) -> None:
    names = ("a", "aa", "ab", "aba", "abba", "bab", "a.b.c", "tool.call_" + "a" * 60)
    await storage.write(lambda unit: unit.audit.add_many(rows.audit(n, event=e) for n, e in enumerate(names)))

    async def found(pattern: str) -> set[str]:
        page = await storage.read(lambda unit: unit.audit.list(event=pattern))
        return {row.event for row in page.items}

    for pattern in ("*", "a*", "*a", "a*a", "a*b*a", "*b*", "**b**", "a.*.c", "*a*a*a", "b*b", "a*aa", "x*"):
        assert await found(pattern) == {name for name in names if fnmatchcase(name, pattern)}, pattern
    began = time.monotonic()
    for pattern in ("*" * 63 + "Z", "*a" * 31 + "*Z"):
        assert await found(pattern) == set()
    assert time.monotonic() - began < 20  # as a regular expression: for ever


async def test_old_audit_rows_are_trimmed(storage: Storage) -> None:
    await storage.write(lambda unit: unit.audit.add_many(rows.audit(n) for n in range(1, 8)))
    deleted = [await storage.write(lambda unit: unit.audit.trim_older_than(6, limit=3)) for _ in range(3)]
    assert deleted == [3, 2, 0]
    assert [row.id for row in (await storage.read(lambda unit: unit.audit.list())).items] == [7, 6]


async def test_a_blob_is_kept_once(storage: Storage) -> None:
    def put_twice(unit: UnitOfWork) -> None:
        unit.blobs.put("digest", "text/plain", b"\x00\xff text")
        unit.blobs.put("digest", "text/plain", b"another")

    await storage.write(put_twice)
    blob = await storage.read(lambda unit: unit.blobs.get("digest"))
    assert blob is not None
    assert (blob.content, blob.media_type) == (b"\x00\xff text", "text/plain")
    assert await storage.read(lambda unit: unit.blobs.get("other")) is None


async def test_a_token_is_found_by_its_digest_and_revoked_once(storage: Storage) -> None:
    token = AccessToken(id="tok_1", name="laptop", digest="d1", created_at=1)
    await storage.write(lambda unit: unit.access.add_token(token))
    again = AccessToken(id="tok_2", name="copy", digest="d1", created_at=2)
    with pytest.raises(Conflict):
        await storage.write(lambda unit: unit.access.add_token(again))
    assert await storage.write(lambda unit: unit.access.revoke("tok_1", 9))
    assert not await storage.write(lambda unit: unit.access.revoke("tok_1", 10))
    found = await storage.read(lambda unit: unit.access.token_by_digest("d1"))
    assert found is not None
    assert found.revoked_at == 9
    assert [row.name for row in await storage.read(lambda unit: unit.access.tokens())] == ["laptop"]


async def test_an_idempotency_key_is_claimed_once_answered_and_purged(storage: Storage) -> None:
    def row(**values: object) -> IdempotencyKey:
        return IdempotencyKey(scope="s", key="k", body_digest="b", created_at=1, **values)

    assert await storage.write(lambda unit: unit.access.claim_key(row()))
    assert not await storage.write(lambda unit: unit.access.claim_key(row()))
    await storage.write(lambda unit: unit.access.put_key(row(status=201, response=b"{}")))
    found = await storage.read(lambda unit: unit.access.get_key("s", "k"))
    assert found is not None
    assert (found.status, found.response) == (201, b"{}")
    assert await storage.write(lambda unit: unit.access.purge_keys(1)) == 0
    assert await storage.write(lambda unit: unit.access.purge_keys(2)) == 1


async def test_the_file_shrinks_after_events_were_trimmed(sqlite_storage: Storage, tmp_path: Path) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.events.add_many(rows.event(seq, frame=b"x" * 900) for seq in range(1, 2001))

    def pages(unit: UnitOfWork) -> int:
        return int(unit.connection.execute(text("PRAGMA page_count")).scalar_one())

    await sqlite_storage.write(fill)
    before = await sqlite_storage.read(pages)
    assert await sqlite_storage.write(lambda unit: unit.events.trim_older_than(1990)) == 1989
    assert await sqlite_storage.write(lambda unit: unit.release_space(50)) == 50
    assert await sqlite_storage.read(pages) == before - 50
    await sqlite_storage.write(lambda unit: unit.release_space())
    assert await sqlite_storage.read(pages) < before / 3
    await sqlite_storage.close()
    assert (tmp_path / "kaged.db").stat().st_size < before * 4096 / 3


async def test_giving_space_back_is_no_error_on_postgresql(storage: Storage) -> None:
    assert await storage.write(lambda unit: unit.release_space()) == 0
