"""Every query over a table that grows finds its rows by an index."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import pytest
from sqlalchemy import Connection, event, text

from app.messages import Usage
from app.storage.pages import encode_cursor
from app.storage.repositories.messages import MessageFilter
from app.storage.search_query import Alternative, Scope, SearchQuery, Term
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows

Query = Callable[[UnitOfWork], Any]
Found = TypeVar("Found")

FOUND = SearchQuery((Alternative((Term(("text",)),)),))

QUERIES: dict[str, Query] = {
    "projects.by_root": lambda u: u.projects.by_root("/x"),
    "sessions.get": lambda u: u.sessions.get("ses_00001"),
    "sessions.update": lambda u: u.sessions.update("ses_00001", title="x"),
    "sessions.list": lambda u: u.sessions.list(),
    "sessions.list, second page": lambda u: u.sessions.list(cursor=u.sessions.list(limit=1).next_cursor),
    "sessions.list of a project": lambda u: u.sessions.list(project_id="prj_00001"),
    "sessions.list in a state": lambda u: u.sessions.list(state="running"),
    "sessions.list of an issue": lambda u: u.sessions.list(project_id="prj_00001", issue_number=1),
    "sessions that ask": lambda u: u.sessions.list(only=["asks"]),
    "sessions that failed": lambda u: u.sessions.list(only=["failed"]),
    "sessions.list without the archived": lambda u: u.sessions.list(only=["current"]),
    "sessions.in_states": lambda u: u.sessions.in_states(["running", "queued"]),
    "sessions.count_in_state": lambda u: u.sessions.count_in_state("running", "prj_00001", "ada"),
    "sessions.add_usage": lambda u: u.sessions.add_usage("ses_00001", Usage(), 0.1),
    "sessions.unchanged_since": lambda u: u.sessions.unchanged_since(5),
    "sessions.beyond": lambda u: u.sessions.beyond(2**40),
    "sessions.delete": lambda u: u.sessions.delete("ses_00002"),
    "runs.newest_roots": lambda u: u.runs.newest_roots(["ses_00001", "ses_00002"]),
    "sessions.states": lambda u: u.sessions.states(["ses_00001", "ses_00002"]),
    "runs.active": lambda u: u.runs.active("ses_00001"),
    "runs.newest_finished_step": lambda u: u.runs.newest_finished_step("run_00001"),
    "runs.has_unpriced_steps": lambda u: u.runs.has_unpriced_steps("ses_00001"),
    "runs.totals": lambda u: u.runs.totals(["run_00001"]),
    "messages.get": lambda u: u.messages.get("msg_00001"),
    "messages.update": lambda u: u.messages.update("msg_00001", content="x"),
    "messages.history": lambda u: u.messages.history("ses_00001", "primary"),
    "messages.queued": lambda u: u.messages.queued("ses_00001"),
    "messages.last_position": lambda u: u.messages.last_position("ses_00001"),
    "messages.incomplete": lambda u: u.messages.incomplete("ses_00001"),
    "messages.sessions_with_incomplete": lambda u: u.messages.sessions_with_incomplete(),
    "messages.supersede_after": lambda u: u.messages.supersede_after("ses_00001", 3),
    "messages.supersede_after of an agent": lambda u: u.messages.supersede_after(
        "ses_00001", 3, by="rbk_1", agent_path="primary"
    ),
    "messages.supersede_runs": lambda u: u.messages.supersede_runs("ses_00001", ["run_00001"], by="rbk_1"),
    "messages.supersede_ids": lambda u: u.messages.supersede_ids("ses_00001", ["msg_00001"], by="rbk_1"),
    "messages.restore": lambda u: u.messages.restore("ses_00001", by="rbk_1"),
    "messages.through": lambda u: u.messages.through("ses_00001", 3),
    "messages.following": lambda u: u.messages.following("ses_00001", 3, agent_path="primary"),
    "messages.positions": lambda u: u.messages.positions("ses_00001", ["msg_00001", "msg_00002"]),
    "messages.of_runs": lambda u: u.messages.of_runs("ses_00001", ["run_00001"]),
    "messages.tool_results": lambda u: u.messages.tool_results("ses_00001", 3),
    "messages.last_answer": lambda u: u.messages.last_answer("ses_00001", "primary", 3),
    "messages.page": lambda u: u.messages.page("ses_00001"),
    "messages.page of an agent": lambda u: u.messages.page("ses_00001", MessageFilter(agent_path="primary")),
    "messages.page from the newest": lambda u: u.messages.page("ses_00001", newest_first=True),
    "messages.page of a rollback": lambda u: u.messages.page(
        "ses_00001", MessageFilter(superseded_by="rbk_1")
    ),
    "messages.superseded_groups": lambda u: u.messages.superseded_groups("ses_00001", "primary"),
    "messages.page of a run": lambda u: u.messages.page("ses_00001", MessageFilter(run_id="run_00001")),
    "messages.edit_records": lambda u: u.messages.edit_records("ses_00001", 1),
    "messages.tool_results_since": lambda u: u.messages.tool_results_since("ses_00001", 0),
    "runs.list": lambda u: u.runs.list("ses_00001"),
    "runs.list of roots": lambda u: u.runs.list("ses_00001", roots_only=True),
    "runs.below": lambda u: u.runs.below("run_00001"),
    "runs.in_background": lambda u: u.runs.in_background("ses_00001"),
    "runs.newest_of_each_agent": lambda u: u.runs.newest_of_each_agent("ses_00001"),
    "runs.children": lambda u: u.runs.children("ses_00001"),
    "runs.in_states": lambda u: u.runs.in_states(["running"]),
    "runs.steps": lambda u: u.runs.steps("run_00001"),
    "runs.update_step": lambda u: u.runs.update_step("run_00001", 1, ended_at=1),
    "tool_calls.for_run": lambda u: u.tool_calls.for_run("run_00001"),
    "tool_calls.direct": lambda u: u.tool_calls.direct("ses_00001"),
    "tool_calls.unfinished": lambda u: u.tool_calls.unfinished("ses_00001"),
    "tool_calls.waiting": lambda u: u.tool_calls.waiting("ses_00001"),
    "tool_calls.sessions_with_unfinished": lambda u: u.tool_calls.sessions_with_unfinished(),
    "tool_calls.interrupt_direct": lambda u: u.tool_calls.interrupt_direct(1),
    "checkpoints.list": lambda u: u.checkpoints.list("ses_00001"),
    "checkpoints.open": lambda u: u.checkpoints.open("ses_00001"),
    "checkpoints.of_session": lambda u: u.checkpoints.of_session("ses_00001"),
    "rollbacks.list": lambda u: u.rollbacks.list("ses_00001"),
    "reverts.list": lambda u: u.reverts.list("ses_00001"),
    "reverts.of_session": lambda u: u.reverts.of_session("ses_00001"),
    "reverts.of_project": lambda u: u.reverts.of_project("prj_00001"),
    "reverts.under_way": lambda u: u.reverts.under_way(),
    "reverts.under_way of a project": lambda u: u.reverts.under_way("prj_00001"),
    "reverts.remove": lambda u: u.reverts.remove("rvt_00001"),
    "rollbacks.of_session": lambda u: u.rollbacks.of_session("ses_00001"),
    "prompt_edits.of_session": lambda u: u.prompt_edits.of_session("ses_00001"),
    "prompt_edits.of_checkpoint": lambda u: u.prompt_edits.of_checkpoint("ckp_00001"),
    "prompt_edits.not_applied": lambda u: u.prompt_edits.not_applied("ses_00001"),
    "prompt_edits.apply": lambda u: u.prompt_edits.apply("ses_00001", 1),
    "prompt_edits.remove": lambda u: u.prompt_edits.remove("ses_00001", "primary"),
    "worktrees.of_session": lambda u: u.worktrees.of_session("ses_00001"),
    "worktrees.of_checkpoint": lambda u: u.worktrees.of_checkpoint("ses_00001", "ckp_00001"),
    "worktrees.of_root": lambda u: u.worktrees.of_root("prj_00001", None),
    "interactions.get": lambda u: u.interactions.get("itx_00001"),
    "interactions.list": lambda u: u.interactions.list("ses_00001"),
    "interactions.list in a state": lambda u: u.interactions.list("ses_00001", state="answered"),
    "interactions.pending": lambda u: u.interactions.pending("ses_00001"),
    "inbox.page": lambda u: u.inbox.page(),
    "inbox.page, second page": lambda u: u.inbox.page(cursor=encode_cursor("inbox", (1, "a"))),
    "inbox.page of a project": lambda u: u.inbox.page(project_id="prj_00001"),
    "interactions.pending_anywhere": lambda u: u.interactions.pending_anywhere(),
    "interactions.count_pending": lambda u: u.interactions.count_pending("ses_00001"),
    "interactions.close": lambda u: u.interactions.close("itx_00001", state="expired"),
    "permissions.list": lambda u: u.permissions.list("prj_00001", None),
    "permissions.list of a session": lambda u: u.permissions.list("prj_00001", "ses_00001"),
    "permissions.of_scope": lambda u: u.permissions.of_scope("prj_00001", "ses_00001"),
    "permissions.count": lambda u: u.permissions.count("prj_00001", None),
    "permissions.find": lambda u: u.permissions.find("prj_00001", None, "shell.bash", "git *"),
    "permissions.find of a session": lambda u: u.permissions.find("prj_00001", "ses_00001", "*", "*"),
    "permissions.delete": lambda u: u.permissions.delete("rul_00002"),
    "todos.get": lambda u: u.todos.get("ses_00001"),
    "todos.put": lambda u: u.todos.put(session_id="ses_00001", items=[], updated_by="a", updated_at=1),
    "events.after": lambda u: u.events.after("ses_00001", 1, 9, 9),
    "events.last_seq": lambda u: u.events.last_seq("ses_00001"),
    "audit.list": lambda u: u.audit.list(),
    "audit.list, second page": lambda u: u.audit.list(cursor=u.audit.list(limit=1).next_cursor),
    "audit.list of a session": lambda u: u.audit.list(session_id="ses_00001"),
    "audit.list of a run": lambda u: u.audit.list(run_id="run_00001"),
    "audit.list of a project": lambda u: u.audit.list(project_id="prj_00001"),
    "audit.list of an event": lambda u: u.audit.list(event="tool.call"),
    "audit.list of a pattern": lambda u: u.audit.list(event="tool.*"),
    "audit.list of a time": lambda u: u.audit.list(since=1, until=2),
    "audit.fitting_since": lambda u: u.audit.fitting_since(2**40),
    "audit.trim_older_than": lambda u: u.audit.trim_older_than(1),
    "logs.list": lambda u: u.logs.list(),
    "logs.list, second page": lambda u: u.logs.list(cursor=u.logs.list(limit=1).next_cursor),
    "logs.list of a level": lambda u: u.logs.list(severity=30),
    "logs.list of an event": lambda u: u.logs.list(event="agent.generation"),
    "logs.list of a session": lambda u: u.logs.list(session_id="ses_00001"),
    "logs.list of a run": lambda u: u.logs.list(session_id="ses_00001", run_id="run_00001"),
    "logs.list of a time": lambda u: u.logs.list(since=1, until=2),
    "logs.trim": lambda u: u.logs.trim(1, 1000),
    "access.token_by_digest": lambda u: u.access.token_by_digest("d"),
    "access.get_key": lambda u: u.access.get_key("s", "k"),
    "access.purge_keys": lambda u: u.access.purge_keys(1),
    "blobs.get": lambda u: u.blobs.get("d"),
    "issues.by_number": lambda u: u.issues.by_number("prj_00001", 2),
    "issues.by_ids": lambda u: u.issues.by_ids(["iss_00001", "iss_00002"]),
    "issues.page": lambda u: u.issues.page("prj_00001", limit=2),
    "issues.page, second page": lambda u: u.issues.page("prj_00001", below=3, limit=2),
    "issues.page of a status": lambda u: u.issues.page("prj_00001", statuses=["open"], limit=2),
    "issues.found": lambda u: u.issues.found(FOUND, Scope("prj_00001"), limit=2),
    "issues.found of a status": lambda u: u.issues.found(FOUND, Scope("prj_00001", ["open"]), limit=2),
    "issues.found, second page": lambda u: u.issues.found(FOUND, Scope("prj_00001"), limit=2, after=(1, 2)),
    "issues.add": lambda u: u.issues.add(rows.issue(9)),
    "issues.update": lambda u: u.issues.update("iss_00001", title="x"),
    "issue_updates.of_issue": lambda u: u.issue_updates.of_issue("iss_00001"),
    "issue_updates.list": lambda u: u.issue_updates.list("iss_00001"),
    "issue_updates.list, second page": lambda u: u.issue_updates.list(
        "iss_00001", internal=False, cursor=u.issue_updates.list("iss_00001", limit=1).next_cursor
    ),
    "issue_updates.add": lambda u: u.issue_updates.add(rows.issue_update(9, body="text")),
    "issue_todos.of_issue": lambda u: u.issue_todos.of_issue("iss_00001"),
    "issue_todos.open_of_issue": lambda u: u.issue_todos.open_of_issue("iss_00001"),
    "todo_proposals.of_session": lambda u: u.todo_proposals.of_session("ses_00001", state="proposed"),
    "uploads.of_user": lambda u: u.uploads.of_user("iss_00001"),
    "uploads.remove_unused": lambda u: u.uploads.remove_unused(5),
    "issue_links.of_issue": lambda u: u.issue_links.of_issue("iss_00001"),
    "issue_links.remove": lambda u: u.issue_links.remove("isl_00001"),
    "sessions.bound_to": lambda u: u.sessions.bound_to("prj_00001", 1),
    "issues.assigned_to_sessions": lambda u: u.issues.assigned_to_sessions(
        "prj_00001", ["assigned", "in_progress"]
    ),
    "workflow_runs.list": lambda u: u.workflow_runs.list(),
    "workflow_runs.list, second page": lambda u: u.workflow_runs.list(
        cursor=u.workflow_runs.list(limit=1).next_cursor
    ),
    "workflow_runs.list of a project": lambda u: u.workflow_runs.list(project_id="prj_00001"),
    "workflow_runs.list in a state": lambda u: u.workflow_runs.list(state="queued"),
    "workflow_runs, all of a session": lambda u: u.workflow_runs.list(session_id="ses_00001"),
    "workflow_runs.in_states": lambda u: u.workflow_runs.in_states(["queued"]),
    "workflow_runs.waiting": lambda u: u.workflow_runs.waiting("queued"),
    "workflow_runs.count_by_workflow": lambda u: u.workflow_runs.count_by_workflow("running"),
    "workflow_runs.count_in_state": lambda u: u.workflow_runs.count_in_state("queued", "prj_00001", "repair"),
    "workflow_runs.move": lambda u: u.workflow_runs.move("wfr_00001", "queued", state="running"),
    "workflow_runs.of_session": lambda u: u.workflow_runs.of_session("ses_00001"),
    "workflow_runs.of_slot": lambda u: u.workflow_runs.of_slot("prj_00001", "repair", 1),
    "workspaces.get": lambda u: u.workspaces.get("wks_00001"),
    "workspaces.list": lambda u: u.workspaces.list("prj_00001"),
    "workspaces.list in states": lambda u: u.workspaces.list("prj_00001", states=["ready", "kept"]),
    "workspaces.of_session": lambda u: u.workspaces.of_session("ses_00001"),
    "workspaces.in_states": lambda u: u.workspaces.in_states(["creating", "merging"]),
    "workspaces.with_folder": lambda u: u.workspaces.with_folder(),
    "attempt_groups.get": lambda u: u.attempt_groups.get("att_00001"),
    "attempt_groups.list": lambda u: u.attempt_groups.list("prj_00001"),
    "attempt_groups.in_states": lambda u: u.attempt_groups.in_states(["open"]),
    "attempt_groups.unfinished": lambda u: u.attempt_groups.unfinished(["discarded"]),
    "attempt_groups.forget_project": lambda u: u.attempt_groups.forget_project("prj_00001"),
    "attempts.get": lambda u: u.attempts.get("ses_00001"),
    "attempts.of_groups": lambda u: u.attempts.of_groups(["att_00001", "att_00002"]),
    "attempts.of_workflow_run": lambda u: u.attempts.of_workflow_run("wfr_00001"),
    "attempts.change": lambda u: u.attempts.change("ses_00001", check_state="running"),
    "attempts.used": lambda u: u.attempts.used("att_00001"),
    "attempts.forget": lambda u: u.attempts.forget("ses_00001"),
    "notifications.due": lambda u: u.notifications.due("webhook", 9, projects=None),
    "notifications.due of projects": lambda u: u.notifications.due("webhook", 9, projects=["prj_00001"]),
    "notifications.next_due": lambda u: u.notifications.next_due("webhook", projects=["prj_00001"]),
    "notifications.remove": lambda u: u.notifications.remove("ntf_00001"),
    "notifications.purge": lambda u: u.notifications.purge(9),
    "workspaces.bytes_held": lambda u: u.workspaces.bytes_held(),
}


def statements_of(query: Query, unit: UnitOfWork) -> list[tuple[str, Any]]:
    """Run the query and return what it sent to the database."""
    sent: list[tuple[str, Any]] = []

    def note(_c: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        if not statement.startswith(("SAVEPOINT", "RELEASE", "ROLLBACK")):
            sent.append((statement, parameters))

    event.listen(unit.connection, "before_cursor_execute", note)
    try:
        query(unit)
    finally:
        event.remove(unit.connection, "before_cursor_execute", note)
    return sent


def plan_of(connection: Connection, statement: str, parameters: Any) -> list[str]:
    if connection.dialect.name == "sqlite":
        plan = connection.exec_driver_sql("EXPLAIN QUERY PLAN " + statement, parameters)
        return [str(row[3]) for row in plan]
    return [str(row[0]) for row in connection.exec_driver_sql("EXPLAIN " + statement, parameters)]


def walks_a_table(line: str) -> bool:
    """Tell whether a line of a plan reads a whole table, or sorts a whole result on SQLite."""
    # A list of ids that was given, or what a recursive query has found by then.
    of_values = "VIRTUAL TABLE" in line or line in ("SCAN tree", "SCAN waiting")
    bare_scan = (
        line.startswith("SCAN ") and " USING " not in line and "CONSTANT" not in line and not of_values
    )
    return bare_scan or "Seq Scan on" in line


def fill(unit: UnitOfWork) -> None:
    rows.family(unit)
    unit.sessions.add(rows.session(2))
    unit.runs.add(rows.run(1))
    unit.messages.add_many(rows.message(number) for number in range(1, 5))
    unit.audit.add_many(rows.audit(number) for number in range(1, 5))
    unit.logs.add_many(rows.log_entry(number) for number in range(1, 5))
    unit.interactions.add_many(rows.interaction(number, state="answered") for number in range(1, 5))
    unit.interactions.add(rows.interaction(5))
    for number in range(1, 5):
        unit.issues.add(rows.issue(number))
        unit.issue_updates.add(rows.issue_update(number, body="text"))
    unit.issue_updates.add(rows.issue_update(5, body="text", visibility="operator_only"))
    unit.issue_links.add(rows.issue_link(1, target_id="iss_00002"))
    unit.workflow_runs.add_many(rows.workflow_run(number) for number in range(1, 5))
    unit.permissions.add_many(rows.permission(number) for number in range(1, 5))
    unit.permissions.add(rows.permission(5, session_id="ses_00001"))
    unit.workspaces.add_many(rows.workspace(number) for number in range(1, 5))
    unit.attempt_groups.add_many(rows.attempt_group(number) for number in range(1, 5))
    unit.attempts.add_many(rows.attempt(number) for number in (1, 2))
    unit.notifications.add_many(rows.notification(number) for number in range(1, 5))


def undone(unit: UnitOfWork, look: Callable[[], Found]) -> Found:
    """Return what `look` finds, and take back what it wrote."""
    savepoint = unit.connection.begin_nested()
    try:
        return look()
    finally:
        savepoint.rollback()


async def test_every_query_finds_its_rows_by_an_index(storage: Storage) -> None:
    await storage.write(fill)

    def explain(unit: UnitOfWork, query: Query) -> dict[str, list[str]]:
        sent = statements_of(query, unit)
        return {statement: plan_of(unit.connection, statement, values) for statement, values in sent}

    def explain_all(unit: UnitOfWork) -> dict[str, dict[str, list[str]]]:
        if storage.database.name == "postgresql":
            # So that these few rows are planned for as many would be.
            unit.connection.execute(text("SET LOCAL enable_seqscan = off"))
        return {name: undone(unit, partial(explain, unit, query)) for name, query in QUERIES.items()}

    found = await storage.write(explain_all)
    assert [name for name, plans in found.items() if not plans] == []
    walks = {
        name: plans
        for name, plans in found.items()
        if any(walks_a_table(line) for plan in plans.values() for line in plan)
    }
    assert walks == {}


async def test_every_list_comes_in_order_from_its_index(sqlite_storage: Storage) -> None:
    """Only rows of the same millisecond may be sorted."""
    await sqlite_storage.write(fill)

    def explain(unit: UnitOfWork, query: Query) -> list[str]:
        sent = statements_of(query, unit)
        return [line for statement, values in sent for line in plan_of(unit.connection, statement, values)]

    def sorted_lists(unit: UnitOfWork) -> list[str]:
        lists = {name: query for name, query in QUERIES.items() if ".list" in name or "after" in name}
        return [
            name
            for name, query in lists.items()
            if "USE TEMP B-TREE FOR ORDER BY" in undone(unit, partial(explain, unit, query))
        ]

    assert await sqlite_storage.write(sorted_lists) == []


async def test_this_test_would_see_a_query_without_an_index(storage: Storage) -> None:
    def explain(unit: UnitOfWork) -> list[str]:
        if storage.database.name == "postgresql":
            unit.connection.execute(text("SET LOCAL enable_seqscan = off"))
        return plan_of(unit.connection, "SELECT * FROM messages WHERE content = 'x'", ())

    assert any(walks_a_table(line) for line in await storage.write(explain))


@pytest.mark.requirement("speed.indexes", "speed.session_read")
async def test_each_index_is_one_that_a_query_needs(sqlite_storage: Storage) -> None:
    """Every index is paid for with every row."""
    await sqlite_storage.write(fill)

    def look(unit: UnitOfWork) -> tuple[set[str], set[str]]:
        names = unit.connection.exec_driver_sql(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'ix%'"
        ).scalars()
        used: set[str] = set()
        for query in QUERIES.values():
            for statement, values in statements_of(query, unit):
                for line in plan_of(unit.connection, statement, values):
                    _, indexed, rest = line.partition(" INDEX ")
                    used |= {rest.split(" ")[0]} if indexed else set()
        return set(names), used

    names, used = await sqlite_storage.write(look)
    assert {"ix_audit_created", "ix_tool_calls_open", "ix_steps_unpriced"} <= names
    assert sorted(names - used) == []


@pytest.mark.requirement("speed.indexes")
async def test_a_change_of_a_calls_state_writes_no_index_but_that_of_the_open_ones(
    sqlite_storage: Storage,
) -> None:
    columns = await sqlite_storage.read(
        lambda unit: unit.connection.exec_driver_sql(
            "SELECT i.name FROM sqlite_master AS i, pragma_index_info(i.name) AS c "
            "WHERE i.tbl_name = 'tool_calls' AND i.type = 'index' AND c.name = 'state'"
        ).all()
    )
    assert columns == []
