"""Queries about messages: history, the queue, the row in flight, superseding."""

from __future__ import annotations

from app.storage.repositories.messages import MessageFilter
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows


async def test_history_is_one_agents_conversation_in_order(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.messages.add(rows.message(3))
        unit.messages.add(rows.message(1))
        unit.messages.add(rows.message(2, agent_path="primary.subagents.tester"))
        unit.messages.add(rows.message(4, superseded=True))
        unit.messages.add(rows.message(5, position=None))

    await storage.write(fill)

    def look(unit: UnitOfWork) -> tuple[list[str], list[str], int, int]:
        return (
            [m.id for m in unit.messages.history("ses_00001", "primary")],
            [m.id for m in unit.messages.history("ses_00001", "primary.subagents.tester")],
            unit.messages.last_position("ses_00001"),
            unit.messages.last_position("ses_none"),
        )

    assert await storage.read(look) == (["msg_00001", "msg_00003"], ["msg_00002"], 4, 0)


async def test_messages_wait_in_the_order_they_came_until_they_get_a_position(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.messages.add(rows.message(2, position=None, created_at=5))
        unit.messages.add(rows.message(1, position=None, created_at=9))
        unit.messages.add(rows.message(3, position=None, created_at=5))

    await storage.write(fill)
    waiting = await storage.read(lambda unit: unit.messages.queued("ses_00001"))
    assert [message.id for message in waiting] == ["msg_00002", "msg_00003", "msg_00001"]
    await storage.write(lambda unit: unit.messages.update("msg_00002", position=1, delivery="queued"))
    waiting = await storage.read(lambda unit: unit.messages.queued("ses_00001"))
    assert [message.id for message in waiting] == ["msg_00003", "msg_00001"]


async def test_the_row_in_flight_is_overwritten_and_found_until_it_is_complete(storage: Storage) -> None:
    await storage.write(rows.family)
    for content in ("a", "ab", "abc"):
        partial = rows.message(1, content=content, complete=False, details={"length": len(content)})
        await storage.write(lambda unit, row=partial: unit.messages.put(row))
    found = await storage.read(lambda unit: unit.messages.incomplete("ses_00001"))
    assert [(m.content, m.details, m.complete) for m in found] == [("abc", {"length": 3}, False)]
    await storage.write(lambda unit: unit.messages.put(rows.message(1, content="abcd")))
    assert await storage.read(lambda unit: unit.messages.incomplete("ses_00001")) == []
    history = await storage.read(lambda unit: unit.messages.history("ses_00001", "primary"))
    assert [(m.content, m.complete) for m in history] == [("abcd", True)]


async def test_superseding_flags_what_comes_after_and_deletes_nothing(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.messages.add_many(rows.message(n) for n in range(1, 6))
        unit.messages.add(rows.message(6, position=None))

    await storage.write(fill)
    assert await storage.write(lambda unit: unit.messages.supersede_after("ses_00001", 3)) == 2
    assert await storage.write(lambda unit: unit.messages.supersede_after("ses_00001", 3)) == 0

    def look(unit: UnitOfWork) -> tuple[int, int, int]:
        return (
            len(unit.messages.history("ses_00001", "primary")),
            unit.messages.page("ses_00001").total,
            unit.messages.page("ses_00001", MessageFilter(include_superseded=True)).total,
        )

    assert await storage.read(look) == (3, 4, 6)


async def test_a_walk_through_the_pages_misses_nothing_that_is_added_meanwhile(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.messages.add_many(rows.message(n) for n in range(1, 6))
        unit.messages.add_many(rows.message(n, position=None) for n in range(10, 13))

    await storage.write(fill)

    async def page(cursor: str | None) -> tuple[list[str], str | None, int]:
        found = await storage.read(lambda unit: unit.messages.page("ses_00001", limit=3, cursor=cursor))
        return [m.id for m in found.items], found.next_cursor, found.total

    first, cursor, total = await page(None)
    assert (first, total) == (["msg_00001", "msg_00002", "msg_00003"], 8)
    await storage.write(lambda unit: unit.messages.add(rows.message(6)))
    second, cursor, _ = await page(cursor)
    assert second == ["msg_00004", "msg_00005", "msg_00006"]
    third, cursor, total = await page(cursor)
    assert (third, cursor, total) == (["msg_00010", "msg_00011", "msg_00012"], None, 9)


async def test_a_message_that_leaves_the_queue_during_a_walk_is_not_missed(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.messages.add(rows.message(1))
        unit.messages.add_many(rows.message(n, position=None) for n in range(10, 14))

    await storage.write(fill)
    first = await storage.read(lambda unit: unit.messages.page("ses_00001", limit=2))
    assert [m.id for m in first.items] == ["msg_00001", "msg_00010"]

    def go_on(unit: UnitOfWork) -> None:
        unit.messages.update("msg_00011", position=2)
        unit.messages.add(rows.message(3))

    await storage.write(go_on)
    second = await storage.read(
        lambda unit: unit.messages.page("ses_00001", limit=9, cursor=first.next_cursor)
    )
    assert [m.id for m in second.items] == ["msg_00011", "msg_00003", "msg_00012", "msg_00013"]
    assert second.next_cursor is None


async def test_a_walk_from_the_newest_on_is_the_other_walk_turned_around(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.messages.add_many(rows.message(n) for n in range(1, 6))
        unit.messages.add_many(rows.message(n, position=None) for n in range(10, 13))

    await storage.write(fill)
    oldest = await storage.read(lambda unit: unit.messages.page("ses_00001", limit=50))
    walked: list[str] = []
    cursor: str | None = None
    for number in range(4):
        found = await storage.read(
            lambda unit, at=cursor: unit.messages.page("ses_00001", newest_first=True, limit=2, cursor=at)
        )
        walked += [message.id for message in found.items]
        cursor = found.next_cursor
        if number == 1:  # It is past those that wait: what comes now is newer than what it has shown.
            await storage.write(lambda unit: unit.messages.add(rows.message(20)))
    assert cursor is None
    assert walked == [message.id for message in reversed(oldest.items)]


async def test_what_was_superseded_is_counted_and_read_by_what_superseded_it(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.messages.add_many(rows.message(n) for n in range(1, 8))
        unit.messages.update("msg_00007", role="tool")
        unit.messages.supersede_ids("ses_00001", ["msg_00001", "msg_00002"], by="cmp_1")
        unit.messages.supersede_after("ses_00001", 4, by="rbk_1")

    await storage.write(fill)
    groups = await storage.read(lambda unit: unit.messages.superseded_groups("ses_00001", "primary"))
    assert [(group.by, group.messages, group.position) for group in groups] == [
        ("cmp_1", 2, 1),
        ("rbk_1", 2, 5),
    ]
    found = await storage.read(
        lambda unit: unit.messages.page("ses_00001", MessageFilter(superseded_by="rbk_1"))
    )
    assert [message.id for message in found.items] == ["msg_00005", "msg_00006", "msg_00007"]
