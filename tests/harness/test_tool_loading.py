"""Tools that a search finds: small first requests, one list for a session, the call behind `call_tool`."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.config import ProviderSettings
from app.harness.providers.provider import ModelRequest
from app.harness.providers.router import ProviderRouter
from app.messages import CALL_TOOL, TOOL_SEARCH, ToolSpec
from tests.driver.sessions import (
    DRIVERS,
    FEW_TOOLS_YAML,
    driven,
    provider_settings,
    restarted,
    write_project,
)
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.deferring import EVERYTHING, listed, lists, names, prefixes, starter
from tests.harness.hooks.plugged import TOOL, PluggedProject

pytestmark = pytest.mark.requirement("tools.loading")
NO_ISSUES = '    "kaged.issue": { enabled: false }\n'
COMMON = {"file_read", "file_write", "file_create", "edit_text", "search_grep", "search_glob", "shell_bash"}


def settings(wire: str, fake: FakeProvider, **options: Any) -> dict[str, Any]:
    return {"providers": provider_settings(wire, fake.base_url, options=options)}


def found(query: str, number: int) -> Reply:
    return Reply((ToolCall("tool_search", {"query": query}, id=f"call_{number}"),))


def called(name: str, arguments: dict[str, Any], number: int) -> Reply:
    return Reply((ToolCall("call_tool", {"name": name, "arguments": arguments}, id=f"call_{number}"),))


@pytest.mark.parametrize("tools", ["", EVERYTHING], ids=["starter", "everything"])
@pytest.mark.parametrize("wire", DRIVERS)
async def test_the_first_request_of_a_new_project_is_small_however_many_tools_there_are(
    wire: str, tools: str, fake: FakeProvider, tmp_path: Path
) -> None:
    fake.script(text_reply("Hello."))
    async with driven(tmp_path / "data", starter(tmp_path / "shop", tools), **settings(wire, fake)) as driver:
        await driver.run("Say hello")
    first = fake.requests[0]
    assert len(first.body) <= 16 * 1024
    portable = {"read", "write", "edit", "glob", "grep", "bash", "todo", "file_create"}
    common = portable if tools else COMMON
    assert common | {"kaged_todo", "kaged_plan", "skill", "tool_search", "call_tool"} <= set(
        names(first.json)
    )
    assert "debug" not in names(first.json)


async def test_subagents_without_number_and_long_descriptions_leave_the_first_request_small(
    fake: FakeProvider, tmp_path: Path
) -> None:
    root = starter(tmp_path / "shop", EVERYTHING)
    file = root / ".kaged" / "project.yaml"
    lines = ["  subagents:"]
    for number in range(60):
        lines += [
            f"    helper-{number}:",
            f"      description: {'Helps with much. ' * 100}",
            '      model: "fake:model-a"',
            "      system_prompt: config:/prompts/primary.md",
            "      cage: disabled",
            "      tools: { compute.calc: { enabled: true } }",
        ]
    head, mark, tail = file.read_text().partition("  # Agents that the root agent may call.")
    file.write_text(head + "\n".join(lines) + "\n" + mark + tail)
    fake.script(found("helper 59", 1), text_reply("Hello."))
    async with driven(tmp_path / "data", root, **settings("openai", fake)) as driver:
        await driver.run("Say hello")
    assert len(fake.requests[0].body) <= 16 * 1024
    result = orjson.loads(fake.requests[1].json["messages"][-1]["content"])
    assert result["tools"][0]["name"] == "agent-helper-59"


@pytest.mark.parametrize("wire", DRIVERS)
async def test_each_request_begins_with_the_one_before_it_across_three_searches(
    wire: str, fake: FakeProvider, tmp_path: Path
) -> None:
    root = starter(tmp_path / "shop", EVERYTHING)
    fake.script(
        found("arithmetic", 1),
        called("compute.calc", {"calculations": [{"expression": "6*7"}]}, 2),
        found("debugger breakpoints", 3),
        Reply((ToolCall("project_recipe", {"op": "list"}, id="call_4"),)),
        found("debug.launch code.lsp", 5),
        text_reply("Done."),
        text_reply("Once more."),
    )
    async with driven(tmp_path / "data", root, **settings(wire, fake)) as driver:
        await driver.run("Compute")
        await driver.run("And again")
    sent = prefixes(fake)
    assert len(sent) == 7
    for before, after in pairwise(sent):
        assert after.startswith(before)
    assert len(set(lists(fake))) == 1
    async with restarted(tmp_path / "data", **settings(wire, fake)) as later:
        later.project_id, later.session_id = driver.project_id, driver.session_id
        fake.script(text_reply("After a restart."))
        await later.run("And later")
    assert prefixes(fake)[-1].startswith(sent[-1])


@pytest.mark.requirement("tools.loading.forms")
@pytest.mark.parametrize("wire", DRIVERS)
async def test_events_rows_audit_and_rules_see_the_tool_that_a_model_calls_by_call_tool(
    wire: str, fake: FakeProvider, tmp_path: Path
) -> None:
    root = starter(tmp_path / "shop")
    (root / "a.py").write_text("print(1)\n")
    fake.script(
        found("rewrite code by structure", 1),
        called("edit_ast", {"rewrites": {"print($A)": "show($A)"}, "path": "a.py", "lang": "python"}, 2),
        called("kaged.issue", {"action": "create", "title": "Spend", "body": "More."}, 3),
        Reply((ToolCall("call_tool", {"name": "kaged.issue", "arguments": '{"action": "li'}, id="call_4"),)),
        Reply((ToolCall("call_tool", {"nam": "kaged.issue"}, id="call_5"),)),
        called("web_search", {"query": "x"}, 6),
        text_reply("Done."),
    )
    async with driven(tmp_path / "data", root, **settings(wire, fake)) as driver:
        rule = {"permission": "kaged.issue.create", "pattern": "*", "action": "deny"}
        await driver.session_call("POST", "/permissions", rule)
        watch = await driver.run("Rewrite it")
        detail = await driver.call("GET", f"/runs/{(await driver.last_run())['id']}")
        audit = (await driver.call("GET", "/audit?event=tool.called&limit=50"))["items"]
        results = [m for m in await driver.messages() if m["role"] == "tool"]
    real = ["tool_search", "edit.ast", "kaged.issue", "kaged.issue", "call_tool", "web_search"]
    assert [f["payload"]["name"] for f in watch.of("message.tool_call")] == real
    assert [f["payload"]["name"] for f in watch.of("message.tool_result")] == real
    assert watch.of("message.tool_call")[1]["payload"]["arguments"]["path"] == "a.py"
    assert [call["name"] for call in detail["tool_calls"]] == real
    assert [m["details"]["toolName"] for m in results] == real
    codes = [m["details"].get("code") for m in results]
    assert codes == [None, None, "permission_denied", "invalid_params", "invalid_params", "tool_not_found"]
    assert [row["data"]["tool_name"] for row in reversed(audit)] == [
        name
        for name, code in zip(real, codes, strict=True)
        if name != "kaged.issue" or code != "invalid_params"
    ]
    sent = fake.requests[2].body.decode()
    assert "call_tool" in sent.rpartition("rewrite code by structure")[2]
    assert '"edit_ast"' not in sent.rpartition('"tools"')[0] or wire == "google"


async def test_an_eager_agent_has_everything_at_once_and_the_same_to_the_end(
    fake: FakeProvider, tmp_path: Path
) -> None:
    root = starter(tmp_path / "shop", tools_loading="eager")
    fake.script(Reply((ToolCall("compute_calc", {}, id="call_1"),)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings("openai", fake)) as driver:
        await driver.run("Go")
    assert {"debug", "code_lsp", "kaged_issue"} <= set(names(fake.requests[0].json))
    assert not {"tool_search", "call_tool"} & set(names(fake.requests[0].json))
    assert len(set(lists(fake))) == 1


async def test_without_the_search_nothing_is_deferred(fake: FakeProvider, tmp_path: Path) -> None:
    root = starter(tmp_path / "shop", "    tool_search: { enabled: false }\n")
    fake.script(text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings("openai", fake)) as driver:
        await driver.run("Go")
    assert {"debug", "code_lsp"} <= set(names(fake.requests[0].json))
    assert "tool_search" not in names(fake.requests[0].json)


async def test_an_agent_with_few_tools_has_no_search(fake: FakeProvider, tmp_path: Path) -> None:
    fake.script(text_reply("Done."))
    root = write_project(tmp_path / "shop", FEW_TOOLS_YAML)
    options = {**settings("openai", fake), "models": {"main": ["fake:model-a"]}}
    async with driven(tmp_path / "data", root, **options) as driver:
        await driver.run("Go")
    assert {"edit_ast", "kaged_checkpoint"} <= set(names(fake.requests[0].json))
    assert not {"tool_search", "call_tool"} & set(names(fake.requests[0].json))


async def test_the_list_of_an_agents_tools_says_which_are_found(fake: FakeProvider, tmp_path: Path) -> None:
    async with driven(tmp_path / "data", starter(tmp_path / "shop"), **settings("openai", fake)) as driver:
        path = f"/projects/{driver.project_id}/agents/primary/tools?limit=100"
        tools = {tool["name"]: tool for tool in (await driver.call("GET", path))["items"]}
    loading = {name: tool["loading"] for name, tool in tools.items()}
    assert (loading["file.read"], loading["debug"], loading["web_fetch"]) == ("full", "deferred", None)
    assert loading["tool_search"] == loading["call_tool"] == "full"
    assert "debug (" in tools["tool_search"]["description"]
    assert tools["debug"]["parameters"]["properties"]["action"]["enum"]


async def test_an_operator_finds_tools_too_and_calls_them_by_their_own_names(
    fake: FakeProvider, tmp_path: Path
) -> None:
    async with driven(tmp_path / "data", starter(tmp_path / "shop"), **settings("openai", fake)) as driver:
        answer = await driver.session_call("POST", "/tools/tool_search", {"params": {"query": "debug"}})
        form = await driver.session_call("POST", "/tools/call_tool", {"params": {"name": "debug"}})
    assert answer["data"]["tools"][0]["name"] == "debug"
    assert form["code"] == "tool_not_found"


@pytest.mark.parametrize("wire", DRIVERS)
async def test_a_tool_that_comes_in_the_middle_of_a_session_is_found_and_the_list_stays(
    wire: str, fake: FakeProvider, tmp_path: Path
) -> None:
    plugged = PluggedProject(tmp_path / "shop")
    plugged.primary["plugins"] = {"words": plugged.recording("words", tools="find,say")}
    plugged.primary["tools"] |= {"words.*": {"enabled": True}}
    plugged.edit_manifest("words", tools=[{"name": "find", **TOOL}])
    fake.script(
        text_reply("One."),
        found("say", 1),
        called("words.say", {"word": "x"}, 2),
        text_reply("Two."),
        found("words say find", 3),
        called("words.find", {}, 4),
        text_reply("Three."),
    )
    options = {**settings(wire, fake), "models": {"main": ["fake:model-a"]}}
    async with driven(tmp_path / "data", plugged.write(), **options) as driver:
        await driver.run("Go")
        plugged.edit_manifest("words", tools=[{"name": "find", **TOOL}, {"name": "say", **TOOL}])
        await driver.run("Say it")
        plugged.edit_manifest("words", tools=[])
        await driver.run("Find it")
        results = [m for m in await driver.messages() if m["role"] == "tool"]
    assert "words_find" in names(fake.requests[0].json)
    assert len(set(lists(fake))) == 1
    sent = prefixes(fake)
    for before, after in pairwise(sent):
        assert after.startswith(before)
    assert [tool["name"] for tool in orjson.loads(results[0]["content"])["tools"]] == ["words.say"]
    assert results[1]["details"].get("code") != "tool_not_found"
    assert "words.say" not in results[2]["content"]
    assert results[3]["details"]["code"] == "tool_not_found"


@pytest.mark.requirement("tools.loading.forms")
async def test_anthropic_gets_deferred_definitions_and_references_to_what_is_found(
    fake: FakeProvider, tmp_path: Path
) -> None:
    fake.script(
        found("debug", 1),
        Reply((ToolCall("debug", {"action": "status"}, id="call_2"),)),
        found("code.lsp", 3),
        text_reply("Done."),
    )
    options = settings("anthropic", fake, native_tool_search=True)
    async with driven(tmp_path / "data", starter(tmp_path / "shop"), **options) as driver:
        await driver.run("Debug it")
        steps = [(await driver.last_run())["id"]]
        read_back = await driver.call("GET", f"/runs/{steps[0]}/steps/4/request")
    tools = listed(fake.requests[0].json)
    deferred = [tool["name"] for tool in tools if tool.get("defer_loading")]
    assert {"debug", "code_lsp", "kaged_issue"} <= set(deferred)
    assert not [tool for tool in tools if tool.get("defer_loading") and "cache_control" in tool]
    assert [tool["name"] for tool in tools if "cache_control" in tool] == ["call_tool"]
    read_by_model = orjson.dumps(
        {**fake.requests[0].json, "tools": [tool for tool in tools if not tool.get("defer_loading")]}
    )
    assert len(read_by_model) <= 16 * 1024
    messages = fake.requests[3].json["messages"]
    contents = [block for message in messages for block in message["content"]]
    results = [block["content"] for block in contents if block["type"] == "tool_result"]
    assert {"type": "tool_reference", "tool_name": "debug"} in results[0]
    assert {one["type"] for one in results[0]} == {"tool_reference"}
    assert {"type": "tool_reference", "tool_name": "code_lsp"} in results[2]
    assert [block["name"] for block in contents if block["type"] == "tool_use"] == [
        "tool_search",
        "debug",
        "tool_search",
    ]
    assert len(set(lists(fake))) == 1
    sent = prefixes(fake)
    for before, after in pairwise(sent):
        assert after.startswith(before)
    assert read_back["verified"]


@pytest.mark.requirement("tools.loading.forms")
async def test_the_responses_api_searches_with_its_own_tool_and_gets_the_definitions_as_the_result(
    fake: FakeProvider, tmp_path: Path
) -> None:
    fake.script(
        found("debug", 1),
        Reply((ToolCall("debug", {"action": "status"}, id="call_2"),)),
        found("qqq", 3),
        text_reply("Done."),
    )
    options = settings("openai-responses", fake, native_tool_search=True)
    async with driven(tmp_path / "data", starter(tmp_path / "shop"), **options) as driver:
        watch = await driver.run("Debug it")
    assert [f["payload"]["name"] for f in watch.of("message.tool_call")] == [
        "tool_search",
        "debug",
        "tool_search",
    ]
    first = fake.requests[0]
    assert len(first.body) <= 16 * 1024
    (search,) = [tool for tool in first.json["tools"] if tool["type"] == "tool_search"]
    assert search["execution"] == "client"
    assert search["parameters"]["required"] == ["query"]
    items = fake.requests[3].json["input"]
    (call, output, used, _, _, nothing) = items[1:]
    assert call == {
        "type": "tool_search_call",
        "execution": "client",
        "status": "completed",
        "call_id": "call_1",
        "arguments": {"query": "debug"},
    }
    assert (output["type"], output["call_id"], output["execution"]) == (
        "tool_search_output",
        "call_1",
        "client",
    )
    assert output["tools"][0]["name"] == "debug"
    assert output["tools"][0]["defer_loading"] is True
    assert output["tools"][0]["type"] == "function"
    assert (used["type"], used["name"]) == ("function_call", "debug")
    assert nothing["tools"] == []
    sent = prefixes(fake)
    for before, after in pairwise(sent):
        assert after.startswith(before)


@pytest.mark.requirement("tools.loading.forms")
@pytest.mark.parametrize(
    ("driver_name", "address", "model", "native"),
    [
        ("anthropic", "https://api.anthropic.com", "claude-sonnet-4-5", True),
        ("anthropic", "https://api.anthropic.com", "claude-3-7-sonnet-latest", False),
        ("anthropic", "https://gateway.example.org", "claude-sonnet-4-5", False),
        ("openai-responses", "https://api.openai.com/v1", "gpt-5.4", True),
        ("openai-responses", "https://api.openai.com/v1", "gpt-5.1-codex", False),
        ("openai-responses", "https://gateway.example.org/v1", "gpt-5.4", False),
    ],
)
async def test_the_vendors_form_is_for_the_vendors_server_and_models_that_have_it(
    driver_name: str, address: str, model: str, native: bool
) -> None:
    def spec(name: str, loading: str) -> ToolSpec:
        said = {"name": name, "wire_name": name, "description": "x", "parameters": {"type": "object"}}
        return ToolSpec.model_validate({**said, "loading": loading})

    kept = ProviderSettings.model_validate({"driver": driver_name, "base_url": address, "api_key": "k"})
    router = ProviderRouter({}, {"p": kept}, {})
    tools = (spec(TOOL_SEARCH, "full"), spec(CALL_TOOL, "full"), spec("other", "deferred"))
    wire = router.provider("p").encode(ModelRequest(model=model, system=(), messages=[], tools=tools))
    await router.aclose()
    assert (b"defer_loading" in wire.body or b'"client"' in wire.body) is native
