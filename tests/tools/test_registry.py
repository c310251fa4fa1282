"""The catalogue: names, globs, groups, wire names, schemas, effects."""

from __future__ import annotations

import pytest

from app.tools.contract.definition import Effects, ToolDefinition, ToolParams, ToolResult
from app.tools.contract.schema import result_schema
from app.tools.dispatch.registry import ToolRegistry
from tests.tools.test_dispatch import make

pytestmark = pytest.mark.requirement("tools.dispatch")
KEYWORDS = {
    "additionalProperties", "anyOf", "const", "default", "description", "enum", "items", "maxItems",
    "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum",
    "properties", "required", "type",
}  # fmt: skip
"""Those of JSON Schema that the tools need. Some providers refuse a schema with any other word."""


def _issue(**more) -> ToolDefinition:
    return make(name="probe.issue", actions=("look", "touch"), principal_scope="root-only", **more)


def test_names_list_tools_and_their_actions():
    registry = ToolRegistry([make(), _issue(root_default=True)])
    assert registry.names() == ("probe.echo", "probe.issue", "probe.issue.look", "probe.issue.touch")
    assert registry.principal_scope("probe.issue.touch") == "root-only"
    assert registry.root_default("probe.issue.look")
    assert not registry.root_default("probe.echo")
    assert registry.principal_scope("unknown") is None
    assert registry.get("probe.issue.look") is None


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("file.read", ["file.read"]),
        ("file.*", ["file.read", "file.write", "file.create"]),
        ("file.cr*", ["file.create"]),
        ("@files", ["file.read", "file.write", "file.create", "edit.text", "edit.ast"]),
        ("@locked", ["read", "write"]),
        ("edit.*", ["edit.text", "edit.ast"]),
        ("@unknown", []),
        ("probe.issue.*", ["probe.issue", "probe.issue.look", "probe.issue.touch"]),
        ("probe.*", ["probe.issue", "probe.issue.look", "probe.issue.touch"]),
        ("probe.issue.look", ["probe.issue.look"]),
        ("lsp.*", []),
        ("FILE.*", []),
    ],
)
def test_patterns_match_tools_and_actions(desk, pattern, found):
    registry = ToolRegistry(
        [*desk.service.registry.definitions(), _issue()],
        {"@files": ("file.*", "edit.*"), "@locked": ("read", "write")},
    )
    assert registry.match(pattern) == found


def test_the_built_in_groups_are_known(desk):
    groups = desk.service.registry.groups()
    assert groups["@files"] == ("file.read", "file.write", "file.create", "edit.text", "edit.ast")
    names = ("read", "write", "edit", "glob", "grep", "bash", "todo", "task", "question", "skill")
    assert groups["@locked"] == (*names, "web_search", "web_fetch", "tool_search")


@pytest.mark.parametrize(
    "names", [("web.search", "web_search"), ("a.b", "a.b"), ("Upper.case",), ("a..b",), ("a b",), ("x" * 65,)]
)
def test_names_that_clash_or_are_malformed_are_refused_at_registration(names):
    with pytest.raises(ValueError, match="tool"):
        ToolRegistry([make(name=name) for name in names])


def test_wire_names_lead_back_to_their_tools(desk):
    registry = desk.service.registry
    for definition in registry.definitions():
        spec = registry.spec(definition.name)
        assert "." not in spec.wire_name
        assert registry.by_wire_name(spec.wire_name) is definition
    assert registry.by_wire_name("nothing") is None


def test_every_tool_is_described_for_a_model_in_plain_json_schema(desk):
    registry = desk.service.registry
    for definition in registry.definitions():
        spec = registry.spec(definition.name)
        assert len(spec.description) > 100
        assert definition.title
        assert definition.version
        for schema in (spec.parameters, result_schema(definition.result)):
            assert not _keys(schema) & {"$ref", "$defs", "title"}
            assert _keys(schema) <= KEYWORDS, definition.name
        assert spec.parameters["additionalProperties"] is False
        assert all("description" in field for field in spec.parameters["properties"].values())
    assert registry.spec("file.read", description="mine").description == "mine"


def _keys(schema, *, names: bool = False) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(_keys, schema))
    if not isinstance(schema, dict):
        return set()
    below = [_keys(value, names=not names and key == "properties") for key, value in schema.items()]
    return set().union(set() if names else set(schema), *below)


class Inner(ToolParams):
    title: str
    properties: int = 1


class Outer(ToolParams):
    inner: Inner
    maybe: Inner | None = None
    title: str = "kept"


def test_references_are_inlined_and_fields_called_title_stay():
    schema = ToolRegistry([make(parameters=Outer)]).spec("probe.echo").parameters
    assert schema["properties"]["inner"]["properties"]["title"] == {"type": "string"}
    assert schema["properties"]["maybe"]["type"] == "object"
    assert schema["properties"]["title"] == {"type": "string", "default": "kept"}
    assert "properties" in schema["properties"]["inner"]["properties"]


def test_a_disabled_action_is_not_shown_to_the_model():
    registry = ToolRegistry([_issue()])
    spec = registry.spec("probe.issue", allowed={"probe.issue", "probe.issue.look"})
    assert spec.parameters["properties"]["action"]["enum"] == ["look"]
    assert registry.spec("probe.issue").parameters["properties"]["action"]["enum"] == ["look", "touch"]


def test_effects_hints_and_kinds_of_the_file_tools(desk):
    read, write, create, edit = (
        desk.service.registry.get(n) for n in ("file.read", "file.write", "file.create", "edit.text")
    )
    assert read.effects(read.parameters(path="a")) == Effects(reads=("a",))
    assert write.effects(write.parameters(path="a", content="")) == Effects(writes=("a",))
    assert create.effects(create.parameters(path="a", content="")) == Effects(writes=("a",))
    assert edit.effects(edit.parameters(path="a", old_string="x", new_string="y")) == Effects(writes=("a",))
    assert [t.acp_kind for t in (read, write, create, edit)] == ["read", "edit", "edit", "edit"]
    assert [t.read_only for t in (read, write, create, edit)] == [True, False, False, False]
    assert [t.destructive for t in (read, write, create, edit)] == [False, True, False, True]
    assert [t.requires[0].mode for t in (read, write, create, edit)] == ["ro", "rw", "rw", "rw"]


def test_results_leave_out_what_does_not_apply():
    class Sparse(ToolResult):
        here: int = 1
        not_here: int | None = None

    assert result_schema(Sparse)["properties"]["not_here"] == {"type": "integer"}
