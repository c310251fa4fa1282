"""Queries about projects and sessions."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from app.errors import Conflict
from app.messages import Usage
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows


async def test_a_project_is_found_by_its_root_and_a_second_one_is_refused(storage: Storage) -> None:
    await storage.write(lambda unit: unit.projects.add(rows.project(diagnostics=[{"code": "x"}])))
    found = await storage.read(lambda unit: unit.projects.by_root("/projects/1"))
    assert found is not None
    assert found.diagnostics == [{"code": "x"}]
    assert await storage.read(lambda unit: unit.projects.by_root("/projects/none")) is None
    with pytest.raises(Conflict):
        await storage.write(lambda unit: unit.projects.add(rows.project(2, root="/projects/1")))


async def test_updates_touch_the_columns_given_and_say_whether_the_row_is_there(storage: Storage) -> None:
    await storage.write(rows.family)
    assert await storage.write(
        lambda unit: unit.sessions.update("ses_00001", title="new", overrides={"a": [1]}, archived_at=7)
    )
    session = await storage.read(lambda unit: unit.sessions.get("ses_00001"))
    assert session is not None
    assert (session.title, session.overrides, session.archived_at) == ("new", {"a": [1]}, 7)
    assert (session.state, session.kind) == ("idle", "chat")
    assert not await storage.write(lambda unit: unit.sessions.update("ses_none", title="x"))
    assert await storage.write(lambda unit: unit.sessions.update("ses_00001"))
    with pytest.raises(TypeError, match="no_such_column"):
        await storage.write(lambda unit: unit.sessions.update("ses_00001", title="x", no_such_column=1))


async def test_sessions_are_listed_by_every_filter_newest_first(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        unit.projects.add(rows.project(1))
        unit.projects.add(rows.project(2))
        unit.sessions.add(rows.session(1, title="Fix the PARSER"))
        unit.sessions.add(rows.session(2, state="running", created_by="ada"))
        unit.sessions.add(rows.session(3, project_id="prj_00002", issue_number=7))
        unit.sessions.add(rows.session(4, kind="workflow", title="100%_done", created_at=3))

    await storage.write(fill)

    async def listed(**filters: object) -> list[str]:
        page = await storage.read(lambda unit: unit.sessions.list(**filters))  # type: ignore[arg-type]
        assert page.total == len(page.items)
        return [session.id[-1] for session in page.items]

    assert await listed() == ["4", "3", "2", "1"]
    assert await listed(project_id="prj_00001") == ["4", "2", "1"]
    assert await listed(state="running") == ["2"]
    assert await listed(kind="workflow") == ["4"]
    assert await listed(issue_number=7) == ["3"]
    assert await listed(text="parser") == ["1"]
    assert await listed(text="%_d") == ["4"]
    assert await listed(text="%") == ["4"]
    assert await listed(project_id="prj_00001", state="idle", text="fix") == ["1"]


async def test_sessions_are_counted_in_a_state(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        unit.projects.add(rows.project(1))
        unit.projects.add(rows.project(2))
        for number, who in enumerate(("ada", "ada", "bob"), start=1):
            unit.sessions.add(rows.session(number, state="running", created_by=who))
        unit.sessions.add(rows.session(4, state="running", project_id="prj_00002", created_by="ada"))
        unit.sessions.add(rows.session(5))

    await storage.write(fill)

    def count(unit: UnitOfWork) -> tuple[int, int, int, list[str]]:
        return (
            unit.sessions.count_in_state("running"),
            unit.sessions.count_in_state("running", project_id="prj_00001"),
            unit.sessions.count_in_state("running", created_by="ada"),
            [session.id for session in unit.sessions.in_states(["idle", "paused"])],
        )

    assert await storage.read(count) == (4, 3, 3, ["ses_00005"])


async def test_usage_and_cost_add_up_and_an_unknown_cost_stays_unknown(storage: Storage) -> None:
    await storage.write(rows.family)
    usage = Usage(
        input_tokens=10, output_tokens=5, reasoning_tokens=2, cache_read_tokens=3, cache_write_tokens=1
    )

    def spend(unit: UnitOfWork) -> bool:
        unit.sessions.add_usage("ses_00001", usage, None)
        unit.sessions.add_usage("ses_00001", usage, 0.25, "subagents")
        unit.sessions.add_usage("ses_00001", usage, 0.5, "subagents")
        return unit.sessions.add_usage("ses_none", usage, 1.0)

    assert not await storage.write(spend)
    session = await storage.read(lambda unit: unit.sessions.get("ses_00001"))
    assert session is not None
    assert (session.input_tokens, session.output_tokens, session.reasoning_tokens) == (30, 15, 6)
    assert (session.cache_read_tokens, session.cache_write_tokens) == (9, 3)
    assert (session.cost_primary_usd, session.cost_subagents_usd) == (None, 0.75)
    assert session.cost_compactor_usd is None


async def test_deleting_a_session_takes_everything_below_it_and_nothing_else(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        unit.projects.add(rows.project())
        for number in (1, 2):
            owner = {"session_id": f"ses_0000{number}"}
            unit.sessions.add(rows.session(number))
            unit.messages.add(rows.message(number, **owner))
            unit.runs.add(rows.run(number, **owner))
            unit.runs.insert_steps([rows.step(f"run_0000{number}", 1).model_dump()])
            unit.tool_calls.add(rows.tool_call(number, run_id=f"run_0000{number}", **owner))
            unit.checkpoints.add(rows.checkpoint(number, **owner))
            unit.events.add_many([rows.event(1, **owner)])
            unit.audit.add_many([rows.audit(number, **owner)])

    await storage.write(fill)
    assert await storage.write(lambda unit: unit.sessions.delete("ses_00001"))
    assert not await storage.write(lambda unit: unit.sessions.delete("ses_00001"))

    def left(unit: UnitOfWork, number: int) -> list[bool]:
        session_id, run_id = f"ses_0000{number}", f"run_0000{number}"
        return [
            unit.sessions.get(session_id) is not None,
            bool(unit.messages.history(session_id, "primary")),
            unit.runs.get(run_id) is not None,
            bool(unit.runs.steps(run_id)),
            bool(unit.tool_calls.for_run(run_id)),
            bool(unit.checkpoints.open(session_id)),
            unit.events.last_seq(session_id) == 1,
        ]

    assert await storage.read(lambda unit: left(unit, 1)) == [False] * 7
    assert await storage.read(lambda unit: left(unit, 2)) == [True] * 7
    assert (await storage.read(lambda unit: unit.audit.list(session_id="ses_00001"))).total == 1


async def test_what_no_database_takes_is_replaced_in_texts(storage: Storage) -> None:
    await storage.write(rows.family)
    odd = "nul \0 lone \ud800 pair \ud83d\ude00 end"
    await storage.write(lambda unit: unit.messages.add(rows.message(1, content=odd, details={"t": odd})))
    await storage.write(lambda unit: unit.sessions.update("ses_00001", title=odd))
    message = await storage.read(lambda unit: unit.messages.get("msg_00001"))
    assert message is not None
    assert (
        message.content == "nul \N{REPLACEMENT CHARACTER} lone \N{REPLACEMENT CHARACTER} pair \U0001f600 end"
    )
    # JSON has a way to write NUL.
    assert message.details == {"t": message.content.replace("\N{REPLACEMENT CHARACTER}", "\0", 1)}
    found = await storage.read(lambda unit: unit.sessions.list(text="nul \0"))
    assert found.total == 1
    assert await storage.read(lambda unit: unit.sessions.get("ses_\0\ud800")) is None


async def test_attempts_go_with_sessions_that_an_earlier_daemon_deletes(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        unit.projects.add(rows.project(1))
        unit.sessions.add_many(rows.session(number) for number in (1, 2, 3))
        unit.attempt_groups.add_many(rows.attempt_group(number) for number in (1, 2))
        unit.attempts.add_many(rows.attempt(number) for number in (1, 2))
        unit.attempts.add(rows.attempt(3, group_id="att_00002"))

    def delete_as_before(unit: UnitOfWork) -> None:
        unit.connection.execute(text("DELETE FROM sessions WHERE id IN ('ses_00002', 'ses_00003')"))

    await storage.write(fill)
    await storage.write(delete_as_before)
    left = await storage.read(lambda unit: unit.attempts.of_groups(["att_00001", "att_00002"]))
    assert [one.session_id for one in left] == ["ses_00001"]
    await storage.write(lambda unit: unit.attempt_groups.forget_project("prj_00001"))
    page = await storage.read(lambda unit: unit.attempt_groups.list("prj_00001"))
    assert [one.id for one in page.items] == ["att_00001"]
