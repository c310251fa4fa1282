"""Pages: stable under inserts, counted, and strict about cursors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import ValidationFailed
from app.storage.pages import decode_cursor, encode_cursor
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows


async def test_a_walk_gives_every_session_once_while_new_ones_are_made(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        unit.projects.add(rows.project())
        for number in range(1, 8):
            unit.sessions.add(rows.session(number, created_at=number // 3))

    await storage.write(fill)
    seen: list[str] = []
    cursor = None
    for turn in range(10):
        page = await storage.read(lambda unit, c=cursor: unit.sessions.list(limit=2, cursor=c))
        seen += [session.id for session in page.items]
        assert page.total == 7 + turn
        await storage.write(lambda unit, n=turn: unit.sessions.add(rows.session(100 + n)))
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [f"ses_0000{number}" for number in range(7, 0, -1)]


async def test_the_last_page_has_no_cursor_even_when_it_is_full(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        for number in range(1, 5):
            unit.projects.add(rows.project(number))

    await storage.write(fill)
    first = await storage.read(lambda unit: unit.projects.list(limit=2))
    last = await storage.read(lambda unit: unit.projects.list(limit=2, cursor=first.next_cursor))
    assert [p.id[-1] for p in first.items + last.items] == ["4", "3", "2", "1"]
    assert last.next_cursor is None


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "!!!",
        "ü",
        "AAAA",
        encode_cursor("projects", (1, "a")),
        encode_cursor("sessions", (1,)),
        encode_cursor("sessions", ("1", "a")),
        encode_cursor("sessions", (True, "a")),
        encode_cursor("sessions", (2**63, "a")),
    ],
)
async def test_a_cursor_of_something_else_is_refused(sqlite_storage: Storage, cursor: str) -> None:
    with pytest.raises(ValidationFailed) as caught:
        await sqlite_storage.read(lambda unit: unit.sessions.list(cursor=cursor))
    assert "cursor" in caught.value.details["fields"]


@given(st.text())
def test_no_text_makes_the_cursor_fail_in_another_way(cursor: str) -> None:
    with pytest.raises(ValidationFailed):
        decode_cursor(cursor, "sessions", (int, str))


@given(st.integers(-(2**63) + 1, 2**63 - 1), st.text(st.characters(codec="utf-8")))
def test_a_cursor_comes_back_as_it_was(number: int, text: str) -> None:
    assert decode_cursor(encode_cursor("k", (number, text)), "k", (int, str)) == [number, text]
