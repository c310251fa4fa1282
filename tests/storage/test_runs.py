"""Queries about runs, steps, tool calls and checkpoints."""

from __future__ import annotations

from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows


async def test_a_run_with_its_steps_and_calls_comes_back_as_it_was_stored(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.runs.add(rows.run(1, state="running", error={"code": "network", "n": 1.5}, cost_usd=0.1))
        unit.runs.add(rows.run(2, state="succeeded"))
        unit.runs.insert_steps([rows.step("run_00001", 2).model_dump()])
        unit.runs.insert_steps([rows.step("run_00001", 1).model_dump()])
        unit.tool_calls.add_many(rows.tool_call(n, run_id="run_00001", step=3 - n) for n in (1, 2))
        unit.tool_calls.add_many([])

    await storage.write(fill)
    assert await storage.write(
        lambda unit: unit.runs.update_step("run_00001", 1, stats={"ttft": 3}, ended_at=9)
    )
    assert not await storage.write(lambda unit: unit.runs.update_step("run_00001", 9, ended_at=9))

    def look(unit: UnitOfWork) -> None:
        run = unit.runs.get("run_00001")
        assert run is not None
        assert (run.error, run.cost_usd, run.step_count) == ({"code": "network", "n": 1.5}, 0.1, 0)
        assert [(s.number, s.stats, s.ended_at) for s in unit.runs.steps("run_00001")] == [
            (1, {"ttft": 3}, 9),
            (2, {}, None),
        ]
        assert [r.id for r in unit.runs.in_states(("running", "pending"))] == ["run_00001"]
        assert [r.id for r in unit.runs.list("ses_00001").items] == ["run_00002", "run_00001"]
        assert [c.id for c in unit.tool_calls.for_run("run_00001")] == ["tcl_00002", "tcl_00001"]

    await storage.read(look)


async def test_the_newest_run_of_the_root_agent_is_found_for_each_session(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.sessions.add(rows.session(2))
        unit.sessions.add(rows.session(3))
        unit.runs.add(rows.run(1, state="succeeded"))
        unit.runs.add(rows.run(2, state="failed", reason="network"))
        child = rows.run(3, state="succeeded", agent_path="primary.coder", parent_run_id="run_00002")
        unit.runs.add(child)
        unit.runs.add(rows.run(4, session_id="ses_00003", state="running"))

    await storage.write(fill)
    sessions = ["ses_00001", "ses_00002", "ses_00003"]
    found = await storage.read(lambda unit: unit.runs.newest_roots(sessions))
    assert {session: run.id for session, run in found.items()} == {
        "ses_00001": "run_00002",
        "ses_00003": "run_00004",
    }
    assert await storage.read(lambda unit: unit.runs.newest_roots([])) == {}
    states = await storage.read(lambda unit: unit.sessions.states(["ses_00002", "ses_00009"]))
    assert states == {"ses_00002": "idle"}


async def test_unfinished_calls_are_those_pending_or_running(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        for number, state in enumerate(("pending", "running", "succeeded", "failed"), start=1):
            unit.tool_calls.add(rows.tool_call(number, state=state))

    await storage.write(fill)
    unfinished = await storage.read(lambda unit: unit.tool_calls.unfinished("ses_00001"))
    assert [call.id for call in unfinished] == ["tcl_00001", "tcl_00002"]
    await storage.write(lambda unit: unit.tool_calls.update("tcl_00001", state="failed", error_code="x"))
    unfinished = await storage.read(lambda unit: unit.tool_calls.unfinished("ses_00001"))
    assert [call.id for call in unfinished] == ["tcl_00002"]


async def test_open_checkpoints_are_those_neither_resumed_nor_rolled_back(storage: Storage) -> None:
    def fill(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.checkpoints.add(rows.checkpoint(1))
        unit.checkpoints.add(rows.checkpoint(2, resumed_at=5))
        unit.checkpoints.add(rows.checkpoint(3, rolled_back=True))
        unit.checkpoints.add(rows.checkpoint(4))

    await storage.write(fill)

    def look(unit: UnitOfWork) -> tuple[list[str], int]:
        found = unit.checkpoints.open("ses_00001")
        return [checkpoint.id for checkpoint in found], unit.checkpoints.list("ses_00001").total

    assert await storage.read(look) == (["ckp_00004", "ckp_00001"], 4)
