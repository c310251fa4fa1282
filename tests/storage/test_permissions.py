"""Permission rules by scope: one for each permission and pattern, gone with their session."""

from __future__ import annotations

import pytest

from app.errors import Conflict
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows

LONGEST = "🙂" * 1000


def fill(unit: UnitOfWork) -> None:
    rows.family(unit)
    unit.sessions.add(rows.session(2))
    unit.permissions.add_many([rows.permission(1), rows.permission(2, pattern=LONGEST)])
    for number, session in ((3, "ses_00001"), (4, "ses_00001"), (5, "ses_00002")):
        unit.permissions.add(rows.permission(number, session_id=session))


async def test_each_scope_has_its_own_rules_and_lists_the_newest_first(storage: Storage) -> None:
    await storage.write(fill)

    def ids(unit: UnitOfWork) -> list[list[str]]:
        scopes = (None, "ses_00001", "ses_00002")
        return [[row.id for row in unit.permissions.list("prj_00001", scope).items] for scope in scopes]

    assert await storage.read(ids) == [["rul_00002", "rul_00001"], ["rul_00004", "rul_00003"], ["rul_00005"]]
    in_order = await storage.read(lambda unit: unit.permissions.of_scope("prj_00001", "ses_00001"))
    assert [row.id for row in in_order] == ["rul_00003", "rul_00004"]


async def test_a_page_goes_on_where_the_one_before_ended(storage: Storage) -> None:
    await storage.write(fill)
    first = await storage.read(lambda unit: unit.permissions.list("prj_00001", None, limit=1))
    rest = await storage.read(
        lambda unit: unit.permissions.list("prj_00001", None, limit=1, cursor=first.next_cursor)
    )
    assert ([row.id for row in first.items], first.total) == (["rul_00002"], 2)
    assert ([row.id for row in rest.items], rest.next_cursor) == (["rul_00001"], None)


@pytest.mark.parametrize("session", [None, "ses_00001"])
async def test_a_scope_has_one_rule_for_a_permission_and_pattern(
    storage: Storage, session: str | None
) -> None:
    await storage.write(rows.family)
    twin = {"pattern": "git *", "session_id": session}
    await storage.write(lambda unit: unit.permissions.add(rows.permission(1, **twin)))
    found = await storage.read(lambda u: u.permissions.find("prj_00001", session, "shell.bash", "git *"))
    assert found is not None
    assert found.id == "rul_00001"
    with pytest.raises(Conflict):
        await storage.write(lambda unit: unit.permissions.add(rows.permission(2, action="deny", **twin)))


async def test_the_longest_pattern_is_found_by_its_text(storage: Storage) -> None:
    await storage.write(fill)
    found = await storage.read(lambda u: u.permissions.find("prj_00001", None, "shell.bash", LONGEST))
    assert found is not None
    assert found.pattern == LONGEST


async def test_deleting_a_session_takes_its_rules_and_interactions_and_no_others(storage: Storage) -> None:
    def more(unit: UnitOfWork) -> None:
        fill(unit)
        unit.interactions.add_many([rows.interaction(1), rows.interaction(2, session_id="ses_00002")])

    await storage.write(more)
    await storage.write(lambda unit: unit.sessions.delete("ses_00001"))

    def left(unit: UnitOfWork) -> list[int]:
        rules = [unit.permissions.count("prj_00001", scope) for scope in (None, "ses_00001", "ses_00002")]
        return [*rules, len(unit.interactions.pending_anywhere())]

    assert await storage.read(left) == [2, 0, 1, 1]


async def test_an_interaction_is_closed_once(storage: Storage) -> None:
    def ask(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.interactions.add_many(rows.interaction(number, request={"n": number}) for number in (1, 2))

    await storage.write(ask)
    answer = {"state": "answered", "answer": {"answer": "once"}, "answered_by": "anna", "closed_at": 5}
    assert await storage.write(lambda unit: unit.interactions.close("itx_00001", **answer))
    assert not await storage.write(lambda unit: unit.interactions.close("itx_00001", state="expired"))

    def look(unit: UnitOfWork) -> tuple[list[str], int, list[str], object]:
        pending = [row.id for row in unit.interactions.pending("ses_00001")]
        listed = [row.id for row in unit.interactions.list("ses_00001", state="answered").items]
        first = unit.interactions.get("itx_00001")
        assert first is not None
        return pending, unit.interactions.count_pending("ses_00001"), listed, first.answer

    assert await storage.read(look) == (["itx_00002"], 1, ["itx_00001"], {"answer": "once"})
