"""Many hands on one checklist at once, on SQLite and on PostgreSQL: no update is lost, and never are two
entries in progress."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.errors import Conflict
from app.harness.issues.todos import TodoEdit
from app.storage.storage import Storage
from app.tools.planning.todo import TodoKind
from tests.driver.checklist_desk import OPERATOR, PROJECT, ChecklistDesk, checklist_desk

pytestmark = pytest.mark.requirement("todos.tool", "todos.bound")

NAMES = [f"Task {chr(ord('a') + number)}" for number in range(20)]


@pytest.fixture
async def desk(storage: Storage, tmp_path: Path) -> AsyncIterator[ChecklistDesk]:
    async with checklist_desk(storage, tmp_path) as made:
        yield made


async def test_two_sessions_add_start_and_note_at_once(desk: ChecklistDesk) -> None:
    other = await desk.open_session(2, 1)
    desks = (desk, other)
    await asyncio.gather(*(desks[n % 2].ok("add", items=[name]) for n, name in enumerate(NAMES)))
    rows = await desk.rows_of()
    assert sorted(row.content for row in rows) == NAMES
    assert [row.position for row in rows] == list(range(len(NAMES)))

    await asyncio.gather(*(desks[n % 2].ok("start", content=name) for n, name in enumerate(NAMES)))
    assert [row.status for row in await desk.rows_of()].count("in_progress") == 1

    await asyncio.gather(*(desks[n % 2].ok("note", content=NAMES[0], text=f"note {n}") for n in range(20)))
    notes = (await desk.entry(NAMES[0])).notes
    assert sorted(note["text"] for note in notes) == sorted(f"note {n}" for n in range(20))


async def test_an_agent_and_operators_change_it_at_once(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=NAMES)
    await desk.ok("add", items=["It works"], kind="criterion")
    criterion = await desk.entry("It works")
    rows = {row.content: row for row in await desk.rows_of()}

    async def operate(name: str, edit: TodoEdit) -> None:
        await desk.todos.edit(PROJECT, 1, rows[name].id, edit, OPERATOR)

    await asyncio.gather(
        *(desk.ok("done", content=name) for name in NAMES[:10]),
        *(operate(name, TodoEdit(status="in_progress")) for name in NAMES[10:]),
        *(operate(name, TodoEdit(position=0)) for name in NAMES[5:15]),
        desk.ok("done", content="It works"),
        operate("It works", TodoEdit(accept=True)),
        desk.call("drop", content="It works"),
    )
    after = await desk.rows_of()
    statuses = {row.content: row.status for row in after}
    assert [statuses[name] for name in NAMES[:10]] == ["completed"] * 10
    assert sorted(statuses[name] for name in NAMES[10:]) == ["in_progress", *["pending"] * 9]
    assert [row.position for row in after] == list(range(len(after)))
    accepted = await desk.entry("It works")
    assert (accepted.id, accepted.accepted_by) == (criterion.id, OPERATOR.name)
    events = [event for event in await desk.told() if event.type == "todo.changed"]
    numbers = [event.seq for event in events]
    assert numbers == sorted(set(numbers))
    changes = await desk.audited()
    assert len(events) == len(changes)


@pytest.mark.parametrize(
    ("kind", "ended", "again"),
    [
        ("step", TodoEdit(status="abandoned"), TodoEdit(status="pending")),
        ("step", TodoEdit(status="completed"), TodoEdit(status="in_progress")),
        ("criterion", TodoEdit(status="completed"), TodoEdit(reject="not so")),
    ],
)
async def test_no_entry_is_opened_again_beside_an_open_one_of_the_same_text(
    desk: ChecklistDesk, kind: TodoKind, ended: TodoEdit, again: TodoEdit
) -> None:
    first = await desk.todos.add(PROJECT, 1, "Mend it", OPERATOR, kind=kind)
    await desk.todos.edit(PROJECT, 1, first.id, ended, OPERATOR)
    second = await desk.todos.add(PROJECT, 1, "mend  IT", OPERATOR, kind=kind)
    with pytest.raises(Conflict) as refused:
        await desk.todos.edit(PROJECT, 1, first.id, again, OPERATOR)
    assert refused.value.details["reason"] == "todo_exists"
    await desk.ok("start", content="Mend it")
    assert (await desk.entry("mend IT")).status == "in_progress"
    await desk.todos.edit(PROJECT, 1, second.id, TodoEdit(content="Mend that"), OPERATOR)
    await desk.todos.edit(PROJECT, 1, first.id, again, OPERATOR)
