"""A child is a tool of its parent: called by the model, run with everything of its own, answered once."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.driver.family import Cast, agent, calling, enabled
from tests.driver.sessions import check_stream
from tests.fakes.provider_script import Document, Hold, Reply, Text, text_reply
from tests.harness.delegation.conftest import Drive

FAMILY = agent("primary", subagents={"coder": agent("coder")})
CODER = "primary.subagents.coder"


@pytest.mark.requirement("delegation.result", "delegation.own", "delegation.stream")
async def test_child_agent_delegation(drive: Drive, cast: Cast) -> None:
    cast.script(
        "primary", calling(("agent-coder", {"task": "Write it."}), text="On it."), text_reply("Done.")
    )
    cast.script("coder", text_reply("Written."))
    async with drive(FAMILY) as driver:
        watch = await driver.run("Please write it")
        runs = (await driver.session_call("GET", "/runs?all=true"))["items"]
        own = (await driver.session_call("GET", f"/messages?agent_path={CODER}"))["items"]
        root = (await driver.session_call("GET", "/messages?agent_path=primary"))["items"]
        detail = await driver.session_call("GET")

    check_stream(watch.frames)
    forwarded, asked = (message["content"] for message in cast.messages("coder")[:2])
    assert "Please write it" in forwarded and "On it." in forwarded and "agent-coder" not in forwarded
    assert asked == "Write it."
    result = cast.messages("primary")[-1]
    assert result["role"] == "tool" and result["content"].endswith("\nWritten.")
    assert {run["agent_path"]: run["state"] for run in runs} == {"primary": "succeeded", CODER: "succeeded"}
    child, parent = sorted(runs, key=lambda run: run["agent_path"] == "primary")
    assert (child["parent_run_id"], child["parent_call_id"]) == (parent["id"], "call_1")
    assert [(m["role"], m["details"].get("kind"), m["content"]) for m in own[1:]] == [
        ("system", "delegation", "Write it."),
        ("primary", None, "Written."),
    ]
    assert {m["run_id"] for m in own} == {child["id"]}
    assert [m["role"] for m in root] == ["operator", "primary", "tool", "primary"]
    frames = [
        f for f in watch.of("message.start", "message.delta", "message.end") if f.get("agent_path") == CODER
    ]
    assert frames and all(frame["parent_tool_call_id"] == "call_1" for frame in frames)
    assert {use["agent_path"] for use in detail["context"]} == {"primary", CODER}
    assert detail["tokens"]["total"] == 45 and child["usage"]["output_tokens"] == 5


@pytest.mark.requirement("delegation.tool")
async def test_no_sibling_dispatch(drive: Drive, cast: Cast) -> None:
    family = agent("primary", subagents={"a": agent("a"), "b": agent("b")})
    cast.script("primary", calling(("agent-a", {"task": "x"})), text_reply("Done."))
    cast.script("a", calling(("agent-b", {"task": "y"})), text_reply("No way."))
    async with drive(family) as driver:
        await driver.run("Go")
        listed = await driver.call("GET", f"/projects/{driver.project_id}/agents/primary/tools?limit=100")
        none = await driver.call(
            "GET", f"/projects/{driver.project_id}/agents/primary.subagents.a/tools?limit=100"
        )
        everything = await driver.call("GET", "/tools?limit=100")
        synthesized = await driver.call("GET", f"/projects/{driver.project_id}/dsl/synthesized")

    assert [name for name in cast.tools("primary") if name.startswith("agent-")] == ["agent-a", "agent-b"]
    assert not [name for name in cast.tools("a") if name.startswith("agent-")]
    assert "tool_not_found" in cast.messages("a")[-1]["content"] and not cast.requests["b"]
    own = {tool["name"]: tool for tool in listed["items"] if tool["name"].startswith("agent-")}
    assert own["agent-b"]["enabled"] and own["agent-b"]["description"] == "Knows what b knows."
    assert own["agent-b"]["parameters"]["required"] == ["task"]
    assert not [tool for tool in none["items"] if tool["name"].startswith("agent-")]
    assert not [tool for tool in everything["items"] if tool["name"].startswith("agent-")]
    assert synthesized["primary"]["tools"]["agent-a"]["origin"] == "subagent"
    assert "agent-b" not in synthesized["primary"]["subagents"]["a"]["tools"]


@pytest.mark.requirement("delegation.own")
async def test_per_agent_tool_resolution(drive: Drive, cast: Cast) -> None:
    family = agent("primary", subagents={"coder": agent("coder", tools=enabled("file.*"))})
    cast.script("primary", calling(("agent-coder", {"task": "x"})), text_reply("Done."))
    async with drive(family) as driver:
        await driver.run("Go")
        listed = await driver.call("GET", f"/projects/{driver.project_id}/agents/primary/tools?limit=100")

    roles = {tool["name"] for tool in listed["items"] if tool["origin"] == "role"}
    assert all(name.startswith("kaged.") for name in roles)
    assert set(cast.tools("primary")) == {name.replace(".", "_") for name in roles} | {"agent-coder"}
    assert cast.tools("coder") and all(name.startswith("file_") for name in cast.tools("coder"))


@pytest.mark.requirement("delegation.tool", "delegation.audit")
async def test_recursive_delegation(drive: Drive, cast: Cast) -> None:
    family = agent("primary", subagents={"A": agent("A", subagents={"B": agent("B")})})
    cast.script("primary", calling(("agent-A", {"task": "outer"})), text_reply("Done."))
    cast.script("A", calling(("agent-B", {"task": "inner"})), text_reply("A says yes."))
    cast.script("B", text_reply("B says yes."))
    async with drive(family) as driver:
        await driver.run("Go")
        started = (await driver.call("GET", "/audit?event=delegation.started"))["items"]
        completed = (await driver.call("GET", "/audit?event=delegation.completed"))["items"]

    paths = ["primary.subagents.A", "primary.subagents.A.subagents.B"]
    assert sorted(row["data"]["child"] for row in started) == paths
    assert sorted(row["data"]["child"] for row in completed) == paths
    assert {row["data"]["state"] for row in completed} == {"succeeded"}
    assert {row["agent_path"] for row in started} == {"primary", "primary.subagents.A"}
    assert cast.messages("B")[-1]["content"] == "inner"
    assert cast.messages("A")[-1]["content"].endswith("B says yes.")


def nested(depth: int) -> dict[str, Any]:
    """Return agents one below the other; `depth` of them, the root included."""
    found = agent(f"a{depth}")
    for level in range(depth - 1, 1, -1):
        found = agent(f"a{level}", subagents={f"a{level + 1}": found})
    return agent("primary", subagents={"a2": found})


@pytest.mark.requirement("delegation.depth")
async def test_depth_limit(drive: Drive, cast: Cast) -> None:
    names = ["primary", *(f"a{level}" for level in range(2, 17))]
    for name, below in itertools.pairwise(names):
        cast.script(name, calling((f"agent-{below}", {"task": "deeper"})), text_reply(f"{name} back"))
    async with drive(nested(16)) as driver:
        await driver.run("Go")
        seventeen = await driver.call("POST", "/dsl/validate", as_yaml(nested(17)))

    assert cast.messages("a15")[-1]["content"].endswith("a16 is done.")
    assert cast.messages("primary")[-1]["content"].endswith("a2 back")
    assert any(one["severity"] == "error" for one in seventeen["diagnostics"])


def as_yaml(primary: dict[str, Any]) -> dict[str, Any]:
    return {"yaml": json.dumps({"version": 1, "project": "deep", "primary": primary})}


@pytest.mark.requirement("delegation.parameters")
async def test_the_input_is_checked_against_the_declared_parameters(drive: Drive, cast: Cast) -> None:
    schema = {
        "type": "object",
        "properties": {"file": {"type": "string"}, "lines": {"type": "integer", "minimum": 1}},
        "required": ["file"],
        "additionalProperties": False,
    }
    family = agent("primary", subagents={"coder": agent("coder", parameters=schema)})
    cast.script(
        "primary",
        calling(("agent-coder", {"lines": 0})),
        calling(("agent-coder", {"file": "a.py", "lines": 3})),
        text_reply("Done."),
    )
    async with drive(family) as driver:
        await driver.run("Go")

    refusal = cast.messages("primary", 1)[-1]["content"]
    assert refusal.startswith("Error invalid_params") and "file" in refusal and "lines" in refusal
    assert '"file": "a.py"' in cast.messages("coder")[-1]["content"] and len(cast.requests["coder"]) == 1


@pytest.mark.requirement("delegation.result")
async def test_the_answer_has_proposed_todos_and_the_declared_output(drive: Drive, cast: Cast) -> None:
    output = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    family = agent("primary", subagents={"plan": agent("plan"), "judge": agent("judge", output=output)})
    cast.script(
        "primary",
        calling(*((f"agent-{who}", {"task": "x"}) for who in ("plan", "judge", "judge"))),
        text_reply("Done."),
    )
    cast.script("plan", text_reply("My plan:\n```todos\n- [x] read\n- [ ] write\n```\n"))
    cast.script("judge", text_reply('```json\n{"ok": true}\n```'), text_reply("Fine."))
    async with drive(family) as driver:
        await driver.run("Go")

    plan, *judged = [m["content"] for m in cast.messages("primary") if m["role"] == "tool"]
    assert '"todos":[{"content":"read","status":"completed"},{"content":"write","status":"pending"}]' in plan
    assert len([one for one in judged if '"ok":true' in one]) == 1
    assert len([one for one in judged if "not JSON" in one]) == 1
    assert "JSON Schema" in cast.messages("judge")[-1]["content"]


@pytest.mark.requirement("delegation.result")
async def test_a_child_that_fails_says_what_happened_and_how_far_it_came(drive: Drive, cast: Cast) -> None:
    tools = enabled("file.read")
    children = {
        "broken": agent("broken"),
        "short": agent("short", max_steps=1, tools=tools),
        "stuck": agent("stuck", tools=tools),
    }
    cast.script(
        "primary", calling(*((f"agent-{who}", {"task": "x"}) for who in children)), text_reply("Well.")
    )
    cast.script("broken", Document(400, {"error": {"message": "no such thing"}}))
    cast.script("short", calling(("file_read", {"path": "a.txt"}), text="Let me see."))
    cast.script("stuck", *([calling(("file_read", {"path": "a.txt"}))] * 10))
    async with drive(agent("primary", subagents=children)) as driver:
        await driver.run("Go")
        runs = (await driver.session_call("GET", "/runs?all=true"))["items"]

    broken, short, stuck = [m["content"] for m in cast.messages("primary") if m["role"] == "tool"]
    assert broken.startswith("Error agent_failed") and "no such thing" in broken
    assert short.startswith("Error agent_out_of_budget") and "file.read (1)" in short
    assert "Let me see." in short
    assert stuck.startswith("Error agent_stuck")
    states = {run["agent_path"].rpartition(".")[2]: run["state"] for run in runs}
    assert states["primary"] == "succeeded" and states["broken"] == "failed"


@pytest.mark.requirement("delegation.tool")
async def test_an_operator_learns_how_to_have_a_subagent_called(drive: Drive, cast: Cast) -> None:
    async with drive(FAMILY) as driver:
        answer = await driver.session_call("POST", "/tools/agent-coder", {"params": {"task": "x"}})
    assert answer["code"] == "not_callable_directly" and "Post a message" in answer["error_text"]


@pytest.mark.requirement("delegation.own")
async def test_a_session_with_children_is_exported_and_imported_as_it_was(drive: Drive, cast: Cast) -> None:
    cast.script("primary", calling(("agent-coder", {"task": "Write it."})), text_reply("Done."))
    async with drive(FAMILY) as driver:
        await driver.run("Please write it")
        before = await driver.client.get(f"/api/v1/sessions/{driver.session_id}/export")
        await driver.session_call("DELETE")
        headers = {"content-type": "application/x-ndjson"}
        taken = await driver.client.post("/api/v1/sessions/import", content=before.content, headers=headers)
        assert taken.status_code == 201, taken.text
        after = await driver.client.get(f"/api/v1/sessions/{driver.session_id}/export")
        runs = (await driver.session_call("GET", "/runs?all=true"))["items"]

    assert after.content == before.content
    assert {run["parent_run_id"] for run in runs if run["agent_path"] == CODER} == {runs[-1]["id"]}


@pytest.mark.requirement("delegation.stream")
async def test_who_joins_in_the_middle_sees_whose_message_it_is(drive: Drive, cast: Cast) -> None:
    hold = Hold()
    cast.script("primary", calling(("agent-coder", {"task": "Write it."})), text_reply("Done."))
    cast.script("coder", Reply((Text("Half of it"), hold, Text("."))))
    async with drive(FAMILY) as driver, driver.watching() as first:
        await driver.post("Go")
        await first.until_text("Half of it")
        async with driver.watching() as late:
            snapshot = await late.until_type("message.snapshot")
            hold.gate.set()
            await late.until_state("idle", start=len(late.frames))
    assert (snapshot["agent_path"], snapshot["parent_tool_call_id"]) == (CODER, "call_1")
    assert snapshot["payload"]["text"] == "Half of it"
