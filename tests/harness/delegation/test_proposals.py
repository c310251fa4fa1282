"""What subagents propose for the checklist: kept for a review, or put on the list at once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.driver.family import Cast, agent, calling, enabled
from tests.driver.sessions import Driver
from tests.fakes.provider_script import text_reply
from tests.harness.delegation.conftest import Drive

pytestmark = pytest.mark.requirement("todos.proposals")

PLAN = "My plan:\n```todos\n- [x] Read the code\n- [ ] Write  it\n- [ ] Test it\n```\n"
PLANNER = "primary.subagents.plan"


def family(**values: Any) -> dict[str, Any]:
    return agent("primary", subagents={"plan": agent("plan", **values)})


async def bind(driver: Driver) -> None:
    await driver.call("POST", f"/projects/{driver.project_id}/issues", {"title": "Mend the till"})
    await driver.session_call("PATCH", "", {"issue_number": 1})


async def entries(driver: Driver) -> list[tuple[str, str, str | None]]:
    listed = await driver.call("GET", f"/projects/{driver.project_id}/issues/1/todos")
    return [(one["content"], one["status"], one["origin_agent"]) for one in listed["items"]]


async def proposals(driver: Driver, state: str | None = None) -> list[dict[str, Any]]:
    query = f"?state={state}" if state else ""
    found: list[dict[str, Any]] = (await driver.session_call("GET", f"/todo-proposals{query}"))["items"]
    return list(reversed(found))


async def test_under_review_the_root_takes_up_what_it_adds_with_its_origin(drive: Drive, cast: Cast) -> None:
    add = ("kaged_todo", {"action": "add", "items": ["write it", "Ship it"]})
    cast.script("primary", calling(("agent-plan", {"task": "x"})), calling(add), text_reply("Done."))
    cast.script("plan", text_reply(PLAN))
    async with drive(family()) as driver:
        await bind(driver)
        await driver.run("Go")

        assert await entries(driver) == [("write it", "pending", PLANNER), ("Ship it", "pending", None)]
        kept = await proposals(driver)
        assert [(one["content"], one["state"]) for one in kept] == [
            ("Read the code", "proposed"),
            ("Write it", "accepted"),
            ("Test it", "proposed"),
        ]
        assert {one["agent_path"] for one in kept} == {PLANNER}
        assert (kept[1]["decided_by"], kept[0]["decided_by"]) == ("agent:primary", None)
        assert all(one["run_id"] and one["call_id"] for one in kept)


async def test_an_operator_accepts_and_rejects_what_is_left(drive: Drive, cast: Cast) -> None:
    cast.script("primary", calling(("agent-plan", {"task": "x"})), text_reply("Done."))
    cast.script("plan", text_reply(PLAN))
    async with drive(family()) as driver:
        watch = await driver.run("Go")
        read, write, _ = await proposals(driver)
        (told,) = watch.of("todo.proposed")
        assert (told["agent_path"], told["run_id"]) == (PLANNER, read["run_id"])
        assert told["parent_tool_call_id"] == read["call_id"]
        assert told["payload"] == {"number": None, "project_id": None}
        path = f"/todo-proposals/{read['id']}"
        refused = await driver.session_call("POST", f"{path}/accept", status=409)
        assert refused["error"]["details"]["reason"] == "no_bound_issue"
        await bind(driver)
        accepted = await driver.session_call("POST", f"{path}/accept")
        assert (accepted["state"], accepted["decided_by"]) == ("accepted", "operator:operator")
        async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
            rejected = await driver.session_call("POST", f"/todo-proposals/{write['id']}/reject")
            await watch.until(lambda frame: frame["type"] == "todo.rejected")
        assert rejected["state"] == "rejected"
        named = {"number": 1, "project_id": driver.project_id, "proposal_id": write["id"]}
        assert watch.of("todo.rejected")[0]["payload"] == named
        for verb in ("accept", "reject"):
            refused = await driver.session_call("POST", f"{path}/{verb}", status=409)
            assert refused["error"]["details"]["reason"] == "invalid_transition"
            await driver.session_call("POST", f"/todo-proposals/tpr_none/{verb}", status=404)
        assert await entries(driver) == [("Read the code", "pending", PLANNER)]
        assert [one["content"] for one in await proposals(driver, "proposed")] == ["Test it"]


async def test_without_a_review_they_are_on_the_list_at_once(drive: Drive, cast: Cast) -> None:
    cast.script("primary", calling(("agent-plan", {"task": "x"})), text_reply("Done."))
    cast.script("plan", text_reply(PLAN))
    async with drive(family(todo_review="auto")) as driver:
        await bind(driver)
        path = f"/projects/{driver.project_id}/issues/1/todos"
        await driver.call("POST", path, {"content": "Test it", "kind": "criterion"})
        await driver.run("Go")

        assert await entries(driver) == [
            ("Test it", "pending", None),
            ("Read the code", "completed", PLANNER),
            ("Write it", "pending", PLANNER),
        ]
        kept = {one["content"]: one["state"] for one in await proposals(driver)}
        assert kept == {"Read the code": "accepted", "Write it": "accepted", "Test it": "proposed"}
        reminder = cast.requests["primary"][-1].json["messages"][-1]["content"]
        assert "- [ ] Write it" in reminder
        audit = await driver.call("GET", "/audit?event=kaged.todo.added")
        assert audit["items"][0]["data"]["origin_agent"] == PLANNER


async def test_what_a_task_in_the_background_proposes_is_kept_too(drive: Drive, cast: Cast) -> None:
    task = ("task", {"agent": "plan", "prompt": "x", "background": True})
    cast.script("primary", calling(task), text_reply("Later."), text_reply("I see."))
    cast.script("plan", text_reply(PLAN))
    async with drive(agent("primary", tools=enabled("task"), subagents={"plan": agent("plan")})) as driver:
        async with driver.watching() as watch:
            await driver.post("Go")
            await watch.until(lambda f: f["type"] == "run.ended" and f.get("agent_path") == PLANNER)
        await driver.rename("What was asked before is done")
        assert len(await proposals(driver, "proposed")) == 3


async def test_the_same_proposal_is_kept_once(drive: Drive, cast: Cast) -> None:
    again = [calling(("agent-plan", {"task": f"x{n}"})) for n in range(3)]
    cast.script("primary", *again, text_reply("Done."))
    cast.script("plan", *[text_reply(PLAN)] * 3)
    async with drive(family()) as driver:
        await driver.run("Go")
        assert len(await proposals(driver)) == 3
