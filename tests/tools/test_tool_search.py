"""`tool_search`: what a query finds, and tools that strangers describe."""

from __future__ import annotations

import time
from typing import Any

import pytest

from app.messages import ToolSpec
from app.tools.discovery.finding import ANSWER_BYTES, found
from app.tools.discovery.ranking import Document, ranked, words
from tests.tools.conftest import Desk

pytestmark = pytest.mark.requirement("locked.tool_search")


def spec(name: str, description: str = "", **properties: Any) -> ToolSpec:
    parameters = {"type": "object", "properties": properties}
    return ToolSpec(
        name=name, wire_name=name.replace(".", "_"), description=description, parameters=parameters
    )


def catalogue(desk: Desk) -> tuple[ToolSpec, ...]:
    registry = desk.service.registry
    return tuple(registry.spec(definition.name) for definition in registry.definitions())


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("breakpoint", "debug"),
        ("why does this program fail", "debug"),
        ("find references of a symbol", "code.lsp"),
        ("type_hierarchy", "code.lsp"),
        ("renaming", "code.lsp"),
        ("run the tests of package.json", "project.recipe"),
        ("exact arithmetic", "compute.calc"),
        ("file an issue", "kaged.issue"),
        ("kaged.issue.transition", "kaged.issue"),
        ("kaged_workflow_trigger", "kaged.workflow.trigger"),
        ("search the web", "web_search"),
        ("ask the operator to choose between options", "kaged.ask"),
        ("replace code by structure in many files", "edit.ast"),
        ("meta_variables", "search.ast"),
        ("max_replacements", "edit.ast"),
    ],
)
def test_words_for_a_purpose_and_names_of_tools_actions_and_parameters_find_the_tool(
    desk: Desk, query: str, name: str
) -> None:
    hidden = [one for one in catalogue(desk) if not one.name.startswith(("tool_search", "call_tool"))]
    assert name in [one.name for one in found(hidden, query, 3)[0]]


def test_names_that_are_asked_for_come_first_in_any_case_and_beside_other_words(desk: Desk) -> None:
    best, _ = found(catalogue(desk), "`Debug`, code_lsp and kaged.issue.create please", 3)
    assert [one.name for one in best] == ["code.lsp", "debug", "kaged.issue"]


def test_words_of_camel_case_snake_case_and_other_alphabets_are_found() -> None:
    assert words("getUserName get_user_name") == ["get", "user", "name"] * 2
    assert words("Größe 日本 #1") == ["grösse", "日本", "1"]
    documents = [Document.of([(text, 1.0)]) for text in ("getUserName", "set_size", "Größe")]
    assert ranked(documents, "user") == [0]
    assert ranked(documents, "größe") == [2]
    assert ranked(documents, "") == ranked([], "user") == []


async def test_a_search_returns_schemas_and_the_names_of_further_matches(desk: Desk) -> None:
    desk.ports.hidden_tools = tuple(one for one in catalogue(desk) if one.name.startswith("kaged."))
    answer = await desk.ok("tool_search", query="workflow", max_results=1)
    (tool,) = answer["tools"]
    assert tool["name"].startswith("kaged.workflow.")
    assert tool["parameters"]["type"] == "object"
    assert {"kaged.workflow.list", "kaged.workflow.trigger", "kaged.workflow.status"} <= {
        tool["name"],
        *answer["more"],
    }


async def test_a_search_without_a_match_names_what_there_is(desk: Desk) -> None:
    desk.ports.hidden_tools = tuple(one for one in catalogue(desk) if one.name.startswith("kaged."))
    answer = await desk.ok("tool_search", query="zzz")
    assert answer["tools"] == []
    assert "kaged.issue" in answer["more"]
    desk.ports.hidden_tools = ()
    assert "more" not in await desk.ok("tool_search", query="zzz")


@pytest.mark.parametrize("query", ["", "x" * 501])
async def test_a_query_has_bounds(desk: Desk, query: str) -> None:
    assert await desk.code("tool_search", query=query) == "invalid_params"


def test_an_answer_is_bounded_and_the_best_match_is_always_there() -> None:
    long = spec("big.one", "alpha " + "beta " * 10_000)
    others = [spec(f"other.n{number}", "alpha " + "gamma " * 1_500) for number in range(10)]
    best, more = found([*others, long], "big.one", 10)
    assert [one.name for one in best] == ["big.one"]
    best, more = found(others, "alpha", 10)
    assert len(best) * 9_000 <= ANSWER_BYTES < (len(best) + 1) * 9_010
    assert len(best) + len(more) == 10


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {
            "type": "object",
            "properties": {"p": schema, "q": {"items": schema, "anyOf": [schema] * 3}},
        }
    return schema


def test_hostile_schemas_and_descriptions_take_no_time_and_break_nothing() -> None:
    odd: dict[str, Any] = {"properties": ["no", "map"], "anyOf": "x", "items": [1], "description": 5}
    specs = [
        spec("a.deep", p=nested(60)),
        spec("a.wide", **{f"p{number}": {"description": "x" * 100} for number in range(20_000)}),
        spec("a.long", "word " * 200_000),
        spec("a.same", "a" * 1_000_000),
        spec("a.action", action={"enum": [1, None, {"x": 1}, "go"]}),
        ToolSpec(name="a.odd", wire_name="a_odd", description="\udcff odd", parameters=odd),
    ]
    began = time.process_time()
    best, _ = found(specs, "go word " * 60, 5)
    assert time.process_time() - began < 5
    assert best[0].name in {"a.action", "a.long"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [({}, "invalid_params"), ({"name": 5}, "invalid_params"), ({"name": "call_tool"}, "tool_not_found")],
)
async def test_what_call_tool_itself_is_asked_for_is_an_error(
    desk: Desk, arguments: dict[str, Any], code: str
) -> None:
    assert (await desk.call("call_tool", arguments)).code == code
