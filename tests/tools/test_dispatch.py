"""The dispatch of calls: the order of its steps, its errors, its envelope, its audit trail."""

from __future__ import annotations

import asyncio
import logging
from typing import Literal

import orjson
import pytest
from pydantic import BaseModel

from app.errors import ToolError
from app.tools.authorisation.watchdog import ALLOW, Verdict
from app.tools.contract.call import ToolEnvelope
from app.tools.contract.definition import ToolDefinition, ToolParams, ToolResult

pytestmark = pytest.mark.requirement("tools.dispatch")


class Params(ToolParams):
    action: Literal["look", "touch"] = "look"
    text: str = ""
    api_key: str = ""


class Result(ToolResult):
    text: str
    missing: str | None = None


def make(run=None, **more) -> ToolDefinition:
    async def echo(params, _context):
        return Result(text=params.text)

    fields = {
        "name": "probe.echo", "title": "Echo", "description": "d", "parameters": Params,
        "result": Result, "run": run or echo, "acp_kind": "other",
    }  # fmt: skip
    return ToolDefinition(**{**fields, **more})


class Judge:
    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.seen: list[tuple[str, BaseModel]] = []

    async def judge(self, definition, params, context):
        self.seen.append((definition.name, params))
        return self.verdict


@pytest.mark.requirement("tools.meta.unknown")
async def test_an_unknown_tool_is_named_with_the_closest_known_ones(desk):
    envelope = await desk.call("file.raed", path="x")
    assert (envelope.code, envelope.detail["rpc_code"]) == ("tool_not_found", -32601)
    assert envelope.detail["closest"][0] == "file.read"
    assert "file.read" in envelope.model_text()


async def test_a_tool_that_is_not_enabled_is_not_found_and_not_suggested(desk):
    file = desk.put("a.txt", "x")
    envelope = await desk.call("file.write", path="a.txt", content="y", allowed={"file.read"})
    assert envelope.code == "tool_not_found"
    assert "not enabled for this agent" in envelope.error_text
    assert envelope.detail["closest"] == ["file.read"]
    assert file.read_text() == "x"


@pytest.mark.requirement("tools.meta.unknown", "tools.meta.envelope")
async def test_wrong_parameters_are_explained_field_by_field(desk):
    envelope = await desk.call("file.read", pth="a", limit=0)
    assert (envelope.code, envelope.detail["rpc_code"]) == ("invalid_params", -32602)
    assert set(envelope.detail["fields"]) == {"path", "pth", "limit"}
    assert "did you mean path?" in envelope.detail["fields"]["pth"]
    assert "known: path, offset, limit" in envelope.error_text


@pytest.mark.requirement("tools.meta.envelope")
@pytest.mark.parametrize(
    ("name", "arguments", "explained"),
    [
        ("shell.bash", {"command": " "}, "shell.bash: command: command is required"),
        ("compute.calc", {"calculations": ["1"]}, "calculations.0: must be a JSON object"),
        ("compute.calc", {"calculations": "1"}, "calculations: must be a JSON array"),
        ("edit.ast", {"rewrites": []}, "edit.ast: rewrites: must be a JSON object"),
        ("file.read", {}, "file.read: path: is required"),
        (
            "todo",
            {"todos": [{"content": "a", "state": "pending"}]},
            "todos.0.state: unknown parameter (known: content, status); did you mean status?",
        ),
    ],
)
async def test_wrong_parameters_are_explained_in_the_words_of_json(desk, name, arguments, explained):
    envelope = await desk.call(name, arguments)
    assert envelope.code == "invalid_params"
    assert explained in envelope.error_text


@pytest.mark.requirement("tools.meta.schemas")
async def test_numbers_and_truth_values_are_understood_as_models_write_them(desk):
    desk.put("a.txt", "one\ntwo\nthree\n")
    for two in (2, "2", 2.0, " 2 "):
        read = await desk.call("file.read", path="a.txt", offset=two, limit=1, pages=None, raw="false")
        assert read.data["content"] == "2: two"
    left_out = await desk.call("file.read", path="a.txt", offset=None, limit=None, raw=None)
    assert left_out.data["content"] == "1: one\n2: two\n3: three"
    found = await desk.call("search.grep", pattern="ONE", ignore_case="True", head_limit=None)
    assert found.data["total_matches"] == 1
    for wrong in ({"offset": 2.5}, {"offset": "2.0"}, {"offset": True}, {"raw": "yes"}, {"raw": 1}):
        assert (await desk.call("file.read", path="a.txt", **wrong)).code == "invalid_params"
    assert (await desk.call("file.read", path=None)).code == "invalid_params"


@pytest.mark.parametrize(
    "arguments",
    ['{"path": "a.txt"', "[1]", '"x"', "null", "{'path': 'a'}", '{"path": 1e999}', "\ud800", "nan"],
)
async def test_arguments_that_are_no_json_object_are_invalid_params(desk, arguments):
    assert (await desk.call("file.read", arguments)).code == "invalid_params"


async def test_arguments_may_come_as_json_text(desk):
    desk.put("a.txt", "x")
    assert (await desk.call("file.read", '{"path": "a.txt"}')).data["content"] == "1: x"
    assert (await desk.with_tools(make()).call("probe.echo", "")).type == "output"


@pytest.mark.requirement("authorisation.scope")
async def test_a_root_only_tool_is_refused_to_every_other_agent(desk):
    rooted = desk.with_tools(make(principal_scope="root-only"))
    assert (await rooted.call("probe.echo", text="hi")).data == {"text": "hi"}
    envelope = await rooted.as_agent("primary.subagents.x").call("probe.echo", allowed=set())
    assert envelope.code == "principal_scope_violation"
    assert "tool.denied" in desk.ports.names()


async def test_one_action_can_be_enabled_without_the_others(desk):
    acting = desk.with_tools(make(actions=("look", "touch")))
    granted = {"probe.echo", "probe.echo.look"}
    assert (await acting.call("probe.echo", action="look", allowed=granted)).type == "output"
    envelope = await acting.call("probe.echo", action="touch", allowed=granted)
    assert envelope.code == "tool_not_found"
    assert "probe.echo.touch is not enabled" in envelope.error_text


async def test_a_tool_that_raises_becomes_an_error_without_inner_details(desk, caplog):
    async def run(_params, _context):
        raise RuntimeError("password=hunter2")

    with caplog.at_level(logging.ERROR):
        envelope = await desk.with_tools(make(run)).call("probe.echo")
    assert envelope.code == "internal_error"
    assert "hunter2" not in orjson.dumps(envelope.as_json()).decode()
    assert "hunter2" in caplog.text


async def test_the_watchdog_judges_valid_calls_before_they_run(desk):
    judge = Judge(Verdict("deny", "it looks like exfiltration"))
    guarded = desk.with_tools(watchdog=judge)
    assert await guarded.code("file.create", path=1, content="x") == "invalid_params"
    assert judge.seen == []
    envelope = await guarded.call("file.create", path="a.txt", content="x")
    assert envelope.code == "watchdog_denied"
    assert "it looks like exfiltration" in envelope.model_text()
    assert not (desk.root / "a.txt").exists()
    judge.verdict = Verdict("ask", "unusual")
    assert await guarded.code("file.create", path="a.txt", content="x") == "watchdog_denied"
    judge.verdict = ALLOW
    await guarded.ok("file.create", path="a.txt", content="x")


async def test_the_watchdog_cannot_permit_what_the_cage_refuses(desk):
    judge = Judge(ALLOW)
    caged = desk.with_tools(watchdog=judge).caged(("ro", "."))
    assert await caged.code("file.create", path="a.txt", content="x") == "capability_denied"
    assert judge.seen == []


@pytest.mark.requirement("audit.called")
async def test_every_call_is_audited_with_small_and_redacted_parameters(desk):
    await desk.with_tools(make()).call("probe.echo", text="x" * 10_000, api_key="sk-123")
    called = desk.ports.of("tool.called")
    assert called["tool_name"] == "probe.echo"
    assert (called["caller"], called["session_id"], called["run_id"]) == ("primary", "ses_1", "run_1")
    assert called["request_id"] == "req_1"
    assert called["params"]["text"]["characters"] == 10_000
    assert called["params"]["api_key"] == "[redacted]"
    assert len(orjson.dumps(called)) < 1_000
    completed = desk.ports.of("tool.completed")
    assert (completed["success"], completed["request_id"]) == (True, "req_1")
    assert isinstance(completed["duration_ms"], int)


@pytest.mark.requirement("audit.called")
async def test_what_a_name_calls_a_secret_is_not_audited(desk):
    secret = {"DB_PASS", "MYSQL_PWD", "GITHUB_PAT", "AWS_ACCESS_KEY_ID", "SIGNING_KEY", "NPM_AUTH"}
    secret |= {"accessToken", "COOKIE", "PRIVATE_KEY", "SENTRY_DSN", "GH_TOKEN_2"}
    plain = {"PWD", "PATH", "KEYBOARD", "MAX_TOKENS", "public_key", "AUTHOR", "COMPAT"}
    await desk.call("shell.bash", command="", env=dict.fromkeys(secret | plain, "a value"))
    shown = desk.ports.of("tool.called")["params"]["env"]
    assert {name for name, value in shown.items() if value == "[redacted]"} == secret


async def test_a_failed_call_is_audited_with_its_code(desk):
    await desk.call("file.read", path="missing")
    assert desk.ports.of("tool.completed")["code"] == "file_not_found"
    await desk.call(
        "nothing.such\ud800", {"a\ud800": "\ud800" * 500, "deep": [[[[[[[[1]]]]]]]], "n": 1 << 80}
    )
    orjson.dumps(desk.ports.events)


@pytest.mark.requirement("tools.meta.envelope")
async def test_the_envelope_has_the_same_shape_for_every_tool(desk):
    good = await desk.with_tools(make()).call("probe.echo", text="hi")
    assert good.as_json() == {
        "type": "output",
        "data": {"text": "hi"},
        "metadata": {"duration_ms": good.metadata.duration_ms},
    }
    bad = (await desk.call("file.read", path="missing")).as_json()
    assert set(bad) == {"type", "error_text", "code", "detail", "metadata"}
    assert ToolEnvelope.model_validate(bad).code == "file_not_found"


async def test_a_large_answer_is_cut_and_kept_whole_in_a_file_that_can_be_read(desk):
    text = "".join(f"line {n}\n" for n in range(10_000))
    wide = desk.with_tools(make(body_field="text", max_output_bytes=10_000))
    envelope = await wide.call("probe.echo", text=text)
    assert envelope.metadata.truncated is True
    assert text.startswith(envelope.data["text"])
    assert envelope.data["text"].endswith("\n")
    assert len(envelope.data["text"]) <= 10_000
    assert envelope.metadata.output_path in envelope.model_text()
    read = await wide.ok("file.read", path=envelope.metadata.output_path, offset=10_000)
    assert read["content"] == "10000: line 9999"
    again = await wide.call("probe.echo", text=text)
    assert again.metadata.output_path != envelope.metadata.output_path


async def test_a_large_answer_without_a_text_body_is_cut_as_json(desk):
    wide = desk.with_tools(make(max_output_bytes=1_000))
    envelope = await wide.call("probe.echo", text="é" * 5_000)
    assert set(envelope.data) == {"head"}
    (whole,) = desk.context.scratch_dir.glob("*/*")
    assert str(whole) == envelope.metadata.output_path
    assert orjson.loads(whole.read_bytes()) == {"text": "é" * 5_000}


@pytest.mark.requirement("tools.meta.abort")
async def test_a_cancelled_call_ends_cancelled_and_is_audited(desk):
    started = asyncio.Event()

    async def run(_params, _context):
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(desk.with_tools(make(run)).call("probe.echo"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert desk.ports.of("tool.completed") | {"duration_ms": 0} == {
        "tool_name": "probe.echo", "request_id": "req_1", "call_id": "call_1",
        "duration_ms": 0, "success": False, "code": "aborted",
    }  # fmt: skip


async def test_errors_of_tools_keep_their_code_and_detail(desk):
    async def run(_params, _context):
        raise ToolError("no_bound_issue", "bind one", detail={"x": 1}, rpc_code=-32000)

    envelope = await desk.with_tools(make(run)).call("probe.echo")
    assert (envelope.code, envelope.error_text) == ("no_bound_issue", "bind one")
    assert envelope.detail == {"x": 1, "rpc_code": -32000}
