"""The call inside a `call_tool`: read as models write it, and sent back as they are to write it."""

from __future__ import annotations

from typing import Any

import pytest

from app.harness.providers.called_tool import called_tool, found_tools
from app.harness.providers.wire_json import ToolNames
from app.messages import CALL_TOOL, TOOL_SEARCH, ToolCallBlock, ToolResult, ToolSpec

pytestmark = pytest.mark.requirement("tools.loading.forms")


def spec(name: str, loading: str) -> ToolSpec:
    wire = name.replace(".", "_")
    said = {"name": name, "wire_name": wire, "description": "", "parameters": {}, "loading": loading}
    return ToolSpec.model_validate(said)


TOOLS = [spec("file.read", "full"), spec(TOOL_SEARCH, "full"), spec(CALL_TOOL, "full")]
TOOLS += [spec("code.lsp", "deferred"), spec("words.say", "late")]
NAMES = ToolNames(TOOLS)


def call(arguments: dict[str, Any], name: str = CALL_TOOL) -> ToolCallBlock:
    return ToolCallBlock(id="c", name=name, arguments=arguments, signature="kept")


@pytest.mark.parametrize(
    ("arguments", "name", "inside"),
    [
        ({"name": "code.lsp", "arguments": {"action": "status"}}, "code.lsp", {"action": "status"}),
        ({"name": "code_lsp", "arguments": {"action": "status"}}, "code.lsp", {"action": "status"}),
        ({"name": " words_say ", "arguments": {}}, "words.say", {}),
        ({"name": "code.lsp", "arguments": '{"action": "status"}'}, "code.lsp", {"action": "status"}),
        ({"name": "code.lsp", "arguments": None}, "code.lsp", {}),
        ({"name": "code.lsp"}, "code.lsp", {}),
        ({"name": "code.lsp", "action": "status"}, "code.lsp", {"action": "status"}),
        ({"name": "file.read", "arguments": {"path": "a"}}, "file.read", {"path": "a"}),
        ({"name": "no.such", "arguments": {"name": "x"}}, "no.such", {"name": "x"}),
        ({"name": CALL_TOOL, "arguments": {"name": "code.lsp"}}, CALL_TOOL, {"name": "code.lsp"}),
    ],
)
def test_the_call_is_that_of_the_tool(arguments: dict[str, Any], name: str, inside: dict[str, Any]) -> None:
    real = called_tool(call(arguments), NAMES)
    assert (real.name, real.arguments, real.argument_error) == (name, inside, None)
    assert (real.id, real.signature) == ("c", "kept")


@pytest.mark.parametrize("inside", ['{"action": "sta', "[1]", [1], 5, True])
def test_arguments_that_are_no_object_are_described_and_go_back_as_they_came(inside: Any) -> None:
    real = called_tool(call({"name": "code.lsp", "arguments": inside}), NAMES)
    assert (real.name, real.arguments) == ("code.lsp", {})
    assert real.argument_error
    name, sent = NAMES.call(real)
    assert name == CALL_TOOL
    assert sent == {"name": "code.lsp", "arguments": {"INVALID_JSON": str(inside)}}


@pytest.mark.parametrize("arguments", [{}, {"name": ""}, {"name": 5}, {"arguments": {"name": "x"}}])
def test_a_form_without_a_name_stays_as_it_is(arguments: dict[str, Any]) -> None:
    block = call(arguments)
    assert called_tool(block, NAMES) is block
    assert NAMES.call(block) == (CALL_TOOL, arguments)


def test_other_calls_and_agents_without_the_form_are_left_alone() -> None:
    block = call({"name": "code.lsp"}, "file.read")
    assert called_tool(block, NAMES) is block
    form = call({"name": "file.read"})
    assert called_tool(form, ToolNames([spec("file.read", "full")])) is form


def test_calls_go_back_by_the_names_that_the_provider_knows() -> None:
    known = {
        name: NAMES.call(call({"a": 1}, name)) for name in ("file.read", "code.lsp", "words.say", "gone")
    }
    assert known["file.read"] == ("file_read", {"a": 1})
    assert known["code.lsp"] == (CALL_TOOL, {"name": "code.lsp", "arguments": {"a": 1}})
    assert known["words.say"][0] == known["gone"][0] == NAMES.result("gone") == CALL_TOOL
    native = ToolNames(TOOLS, ("full", "deferred"))
    assert native.call(call({}, "code.lsp"))[0] == native.result("code.lsp") == "code_lsp"
    assert native.call(call({}, "words.say"))[0] == CALL_TOOL
    learns = ToolNames(TOOLS, None)
    assert [learns.call(call({}, name))[0] for name in ("code.lsp", "words.say", "gone")] == [
        "code_lsp",
        "words_say",
        "gone",
    ]


@pytest.mark.parametrize(
    "result",
    [
        ToolResult(tool_call_id="c", name="file.read", content='{"tools":[{"name":"x"}]}'),
        ToolResult(tool_call_id="c", name=TOOL_SEARCH, content='{"tools":[{"name":"x"}]}', is_error=True),
        ToolResult(tool_call_id="c", name=TOOL_SEARCH, content="[The result was left out.]"),
        ToolResult(tool_call_id="c", name=TOOL_SEARCH, content='{"tools":[{"name":5},7]}'),
        ToolResult(tool_call_id="c", name=TOOL_SEARCH, content="[" * 100_000),
    ],
)
def test_only_a_whole_result_of_a_search_has_tools(result: ToolResult) -> None:
    assert found_tools(result) == []


def test_notes_below_a_result_are_not_a_part_of_it() -> None:
    content = '{"tools":[{"name":"x"}]}\nNote: removed'
    assert [
        one["name"] for one in found_tools(ToolResult(tool_call_id="c", name=TOOL_SEARCH, content=content))
    ]
