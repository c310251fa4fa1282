"""The story of an issue, as docs/story.md tells it: filed, assigned, worked on, asked, answered, signed off.

Its commands are run as they are written there, against the demo; then the daemon is asked what it knows of
what happened.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from tests.driver.daemon_process import REPOSITORY
from tests.driver.demo_daemon import Demo
from tests.driver.machine import need
from tests.e2e.pasted_commands import Shell, Step, shows, steps

pytestmark = [pytest.mark.requirement("story"), pytest.mark.timeout(400)]

PAGE = REPOSITORY / "docs" / "story.md"
TERMINAL = "The same from a terminal"
ALL_PASS, PRINTS = "All tests pass", "The till prints 4.86 for twelve rolls"
Row = dict[str, Any]

# Who did what, in order; of a tool call the tool, of all else what it is about.
FILED = f"""
kaged.issue.created operator:operator A dozen rolls cost 5.40
kaged.todo.added operator:operator {ALL_PASS}
kaged.todo.added operator:operator {PRINTS}
kaged.issue.updated operator:operator workflow:fix
kaged.issue.transitioned operator:operator open > assigned
kaged.workflow.triggered operator:operator fix
"""
BEGUN = ("workflow.started daemon fix", "kaged.issue.transitioned daemon assigned > in_progress")
ISSUE_EVENTS = ("issue.changed", "todo.changed")
STREAMED = (
    "workflow.started",
    "workflow.ended",
    "interaction.requested",
    "interaction.answered",
    *ISSUE_EVENTS,
)
TOGETHER = ("tool.called operator/primary edit.text", "tool.called operator/primary file.read")
ASKED = """
tool.called operator/primary kaged.todo view
tool.called operator/primary shell.bash python3 -m unittest
tool.called operator/primary search.grep
tool.called operator/primary kaged.todo set
kaged.todo.set agent:primary/primary 4
tool.called operator/primary kaged.todo start Find the cause
kaged.todo.started agent:primary/primary Find the cause
tool.called operator/primary file.read bakery/basket.py
tool.called operator/primary file.read tests/test_discounts.py
tool.called operator/primary kaged.todo done Find the cause
kaged.todo.completed agent:primary/primary Find the cause
tool.called operator/primary kaged.todo start Ask whether to add a test
kaged.todo.started agent:primary/primary Ask whether to add a test
tool.called operator/primary kaged.ask
interaction.requested operator/primary Shall I add a test for a mixed dozen?
run.ended operator/primary interrupted interaction
interaction.answered operator/primary {answer}
"""
REPAIRED = f"""
tool.called operator/primary kaged.todo done Ask whether to add a test
kaged.todo.completed agent:primary/primary Ask whether to add a test
tool.called operator/primary kaged.todo start Correct the code
kaged.todo.started agent:primary/primary Correct the code
tool.called operator/primary file.read bakery/basket.py
tool.called operator/primary file.read tests/test_discounts.py
tool.called operator/primary edit.text bakery/basket.py
tool.called operator/primary edit.text tests/test_discounts.py
tool.called operator/primary kaged.todo done Correct the code
kaged.todo.completed agent:primary/primary Correct the code
tool.called operator/primary kaged.todo start Run the tests
kaged.todo.started agent:primary/primary Run the tests
tool.called operator/primary shell.bash python3 -m unittest && python3 -m bakery roll=12
tool.called operator/primary kaged.todo done Run the tests
kaged.todo.completed agent:primary/primary Run the tests
tool.called operator/primary kaged.todo done {ALL_PASS}
kaged.todo.completed agent:primary/primary {ALL_PASS}
tool.called operator/primary kaged.todo done {PRINTS}
kaged.todo.completed agent:primary/primary {PRINTS}
tool.called operator/primary kaged.issue transition resolved
tool.completed operator/primary kaged.issue invalid_transition
tool.called operator/primary kaged.issue comment
kaged.issue.commented agent:primary/primary all
run.ended operator/primary succeeded stop
workflow.ended daemon fix succeeded
"""
SIGNED_OFF = f"""
kaged.todo.accepted operator:operator {ALL_PASS}
kaged.todo.accepted operator:operator {PRINTS}
kaged.issue.transitioned operator:operator in_progress > resolved
"""


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[Demo]:
    demo = Demo(tmp_path)
    await demo.start()
    yield demo
    await demo.stop()


async def test_the_page_shows_what_happens_and_the_audit_shows_who_did_it(demo: Demo, tmp_path: Path) -> None:
    need("curl")
    told = [step for step in steps(PAGE) if step.heading != TERMINAL]
    printed = await Shell(demo, tmp_path).follow(told)
    assert len(printed) == len(told) == 8
    stale = [step.heading for step, text in zip(told, printed, strict=True) if not shows(step, text)]
    assert not stale, f"{stale} print something else now: {printed}"

    found = await Found.by(demo)
    assert found.story() == [
        *lines(FILED),
        *lines(ASKED, answer="Add the test"),
        *lines(REPAIRED + SIGNED_OFF),
    ]
    assert found.history() == [
        ("operator:operator", "assignment_change", [None, "workflow:fix"]),
        ("operator:operator", "status_change", ["open", "assigned"]),
        ("daemon", "status_change", ["assigned", "in_progress"]),
        ("agent:primary", "comment", "`Basket.pieces()` counted kinds of products; it counts pieces now."),
        ("operator:operator", "status_change", ["in_progress", "resolved"]),
        ("operator:operator", "comment", "Seen at the till."),
    ]
    found.check_run()
    found.check_issue()
    found.check_sources()
    await found.check_stream(demo)
    code, output = await demo.tests()
    assert (code, "Ran 6 tests" in output) == (0, True), output


async def test_from_a_terminal_the_question_outlives_a_daemon_that_is_killed(
    demo: Demo, tmp_path: Path
) -> None:
    asked, answered = (step for step in steps(PAGE) if step.heading == TERMINAL)
    shell = Shell(demo, tmp_path)
    (printed,) = await shell.follow([asked])
    assert shows(asked, printed), printed

    await until_run_waits(demo)
    assert demo.daemon is not None
    await demo.daemon.kill()
    await demo.start()

    # A new shell, in the same place.
    head = asked.script.partition("N=$(")[0]
    rest = f"{head}\nN=1\n{answered.script}".replace("kaged answer $Q 1", "kaged answer $Q 2")
    (printed,) = await shell.follow([Step(TERMINAL, rest, answered.shown)])
    assert shows(Step(TERMINAL, rest, answered.shown), printed), printed

    found = await Found.by(demo)
    only_code = re.sub(".*tests/test_discounts.py\n", "", REPAIRED)
    assert found.story() == [
        *lines(FILED),
        *lines(ASKED, answer="Only correct the code"),
        *lines(only_code + SIGNED_OFF),
    ]
    found.check_run()
    found.check_issue()
    found.check_sources()
    code, output = await demo.tests()
    assert (code, "Ran 5 tests" in output) == (0, True), output


async def test_a_run_without_an_issue_or_without_a_bug_says_so(demo: Demo) -> None:
    assert demo.daemon is not None
    project = f"/projects/{demo.daemon.project_id}"
    async with demo.daemon.client() as client:
        assert "this run is for none" in await output_of(client, project, {})
        basket = demo.root / "bakery" / "basket.py"
        basket.write_text(basket.read_text().replace("len(self._pieces)", "sum(self._pieces.values())"))
        made = await client.post(f"{project}/issues", json={"title": "Twelve croissants cost too much"})
        said = await output_of(client, project, {"issue_number": made.json()["number"]})
    assert "nothing to repair" in said


async def until_run_waits(demo: Demo) -> None:
    """Wait until the run has been interrupted for its question, which is there a moment before."""
    assert demo.daemon is not None
    path = f"/audit?project_id={demo.daemon.project_id}&event=run.ended"
    async with demo.daemon.client() as client, asyncio.timeout(60):
        while not await everything(client, path):  # noqa: ASYNC110 - the run is in another process
            await asyncio.sleep(0.1)


async def output_of(client: httpx2.AsyncClient, project: str, body: Row) -> str:
    """Start the workflow and return what it says in the end."""
    invoked = await client.post(f"{project}/workflows/fix/invoke", json=body)
    assert invoked.status_code == 201, invoked.text
    async with asyncio.timeout(60):
        while (run := await get(client, f"/workflow-runs/{invoked.json()['id']}"))["state"] != "succeeded":
            assert run["state"] in ("queued", "running"), run
            await asyncio.sleep(0.1)
    return str(run["output"])


class Found:
    """What the daemon knows of the one issue of its project afterwards."""

    def __init__(self, issue: Row, todos: list[Row], run: Row, session: Row, audit: list[Row]) -> None:
        self.issue = issue
        self.todos = todos
        self.run = run
        self.session = session
        self.audit = audit

    @classmethod
    async def by(cls, demo: Demo) -> Found:
        assert demo.daemon is not None
        project = demo.daemon.project_id
        async with demo.daemon.client() as client:
            issue = await get(client, f"/projects/{project}/issues/1")
            todos = await get(client, f"/projects/{project}/issues/1/todos")
            (run,) = (await get(client, f"/workflow-runs?project_id={project}"))["items"]
            return cls(
                issue,
                todos["items"],
                await get(client, f"/workflow-runs/{run['id']}"),
                await get(client, f"/sessions/{run['session_id']}"),
                await everything(client, f"/audit?project_id={project}"),
            )

    def story(self) -> list[str]:
        """Return the trail as lines. That the work has begun is told beside the run's first steps, at no
        certain place among them: it is looked at here. Two edits of one step run side by side, and so do two
        reads."""
        told = [line for row in self.audit if (line := line_of(row)) is not None]
        begin, end = (
            told.index("kaged.workflow.triggered operator:operator fix"),
            told.index(f"kaged.todo.accepted operator:operator {ALL_PASS}"),
        )
        for line in BEGUN:
            assert told.count(line) == 1
            assert begin < told.index(line) < end
        rest = [line for line in told if line not in BEGUN]
        steps = groupby(rest, lambda line: next(filter(line.startswith, TOGETHER), line))
        return [line for _, step in steps for line in sorted(step)]

    def history(self) -> list[tuple[str, str, Any]]:
        """Return author, kind, and text (its first sentence) or old and new value of each entry."""
        return [
            (
                one["author"],
                one["kind"],
                one["body"].partition(" Both")[0] if one["body"] else list(one["metadata"].values()),
            )
            for one in self.issue["updates"]
        ]

    def check_run(self) -> None:
        run = self.run
        assert (run["state"], run["workflow"], run["cause"]) == ("succeeded", "fix", "issue")
        assert (run["issue_number"], run["error"]) == (1, None)
        assert run["invoked_by"] == {"type": "operator", "id": "operator"}
        assert run["output"].startswith("## Repaired")
        assert run["cost_usd"] == pytest.approx(self.session["cost_usd"]["total"])
        assert run["cost_usd"] > 0
        worked = datetime.fromisoformat(run["completed_at"]) - datetime.fromisoformat(run["started_at"])
        assert run["duration_ms"] == pytest.approx(worked.total_seconds() * 1000, abs=2)
        assert 0 < run["elapsed_ms"] <= run["duration_ms"]
        assert (self.session["kind"], self.session["issue_number"]) == ("workflow", 1)
        assert (self.session["state"], self.session["pending_interactions"]) == ("idle", 0)

    def check_issue(self) -> None:
        issue = self.issue
        assert (issue["status"], issue["resolved_by"]) == ("resolved", "operator:operator")
        assert (issue["created_by"], issue["assignment"]) == ("operator:operator", "workflow:fix")
        assert issue["todo_counts"] == {
            "total": 6,
            "completed": 6,
            "in_progress": 0,
            "criteria": 2,
            "criteria_accepted": 2,
        }
        signed = {one["content"]: one for one in self.todos if one["kind"] == "criterion"}
        assert list(signed) == [ALL_PASS, PRINTS]
        for one in signed.values():
            assert (one["created_by"], one["completed_by"]) == ("operator:operator", "agent:primary")
            assert one["accepted_by"] == "operator:operator"
            assert one["completed_at"] < one["accepted_at"] <= issue["resolved_at"]

    def check_sources(self) -> None:
        """Every row of an agent says from which session and run it comes, every one of a person from which
        request."""
        for row in self.audit:
            if row["agent_path"] is not None:
                assert (row["session_id"], row["agent_path"]) == (self.session["id"], "primary"), row
                assert row["run_id"] is not None, row
            elif row["actor"].startswith("operator"):
                assert row["request_id"].startswith("req_"), row
        runs = {row["run_id"] for row in self.audit if row["event"] == "tool.called"}
        assert len(runs) == 2

    async def check_stream(self, demo: Demo) -> None:
        """The session's events tell the same story; neither they nor anything else tells the token that
        it was done with."""
        assert demo.daemon is not None
        async with demo.daemon.client() as client:
            (sync,) = (await get(client, f"/sync?sessions={self.session['id']}:0"))["sessions"]
            messages = await everything(client, f"/sessions/{self.session['id']}/messages")
        told = [frame for frame in sync["frames"] if frame["type"] in STREAMED]
        assert [frame["type"] for frame in told if frame["type"] not in ISSUE_EVENTS] == [
            "workflow.started",
            "interaction.requested",
            "interaction.answered",
            "workflow.ended",
        ]
        changes = [frame["payload"] for frame in told if frame["type"] == "issue.changed"]
        assert [(one["change"], one["status"], one["actor"]) for one in changes] == [
            ("transitioned", "in_progress", "daemon"),
            ("commented", "in_progress", "agent:primary"),
            ("transitioned", "resolved", "operator:operator"),
        ]
        last = [frame["payload"] for frame in told if frame["type"] == "todo.changed"][-1]
        assert last["actor"] == "operator:operator"
        kept = orjson.dumps([self.issue, self.todos, self.run, self.session, self.audit, sync, messages])
        assert demo.daemon.token.encode() not in kept
        assert demo.daemon.launch_url.partition("token=")[2].encode() not in kept


def lines(text: str, **values: str) -> list[str]:
    return [line.format(**values) for line in text.splitlines() if line]


def line_of(row: Row) -> str | None:
    """Return what a row of the audit says, None for what the story leaves out."""
    data, event = row["data"], row["event"]
    match event:
        case "tool.called":
            params = data["params"]
            about = [
                data["tool_name"],
                params.get("action"),
                params.get("content") or params.get("to") or params.get("path") or params.get("command"),
            ]
        case "tool.completed" if not data["success"]:
            about = [data["tool_name"], data["code"]]
        case "run.ended":
            about = [data["state"], data["reason"]]
        case "interaction.requested":
            about = [data["request"]["questions"][0]["title"]]
        case "interaction.answered":
            about = data["answer"]["answers"]["extra_test"]
        case "kaged.issue.transitioned":
            about = [f"{data['from_status']} > {data['to_status']}"]
        case "kaged.issue.updated":
            about = [data["assignment"]]
        case "kaged.issue.created" | "kaged.issue.commented":
            about = [data.get("title") or data["visibility"]]
        case _ if event.startswith("kaged.todo."):
            about = [data.get("content") or str(data["count"])]
        case _ if "workflow." in event:
            about = [data["workflow_name"], data.get("state")]
        case _:
            return None
    who = "/".join(name for name in (row["actor"], row["agent_path"]) if name)
    return " ".join([event, who, *(text for text in about if text)])


async def get(client: httpx2.AsyncClient, path: str) -> Any:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def everything(client: httpx2.AsyncClient, path: str) -> list[Row]:
    """Return all items of a list that begins with the newest, the oldest first."""
    items: list[Row] = []
    cursor = ""
    while True:
        more = "&" if "?" in path else "?"
        page = await get(client, f"{path}{more}limit=50{cursor}")
        items += page["items"]
        if page["next_cursor"] is None:
            return items[::-1]
        cursor = f"&cursor={page['next_cursor']}"
