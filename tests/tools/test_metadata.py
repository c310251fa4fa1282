"""What every tool must say about itself: enough for a model, a user interface and the authorisation."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from app.tools.contract.definition import AcpKind, CapabilityRequirement, FsRequirement, ToolDefinition
from app.tools.contract.schema import result_schema

RUNS_NOTHING_ITSELF = {"project.recipe", "shell.background"}
"""Tools of the capability `shell` that name no command: one leaves it to `shell.bash`, the other only
looks after commands that were judged when they were started."""


@pytest.fixture
def definitions(desk) -> tuple[ToolDefinition, ...]:
    found = desk.service.registry.definitions()
    assert len(found) >= 12
    return found


@pytest.mark.requirement("tools.meta.schemas")
def test_every_tool_has_schemas_a_description_a_title_a_kind_and_a_version(desk, definitions):
    for one in definitions:
        schema = desk.service.registry.spec(one.name).parameters
        for each in (schema, result_schema(one.result)):
            assert each["type"] == "object" and isinstance(each["properties"], dict), one.name
            assert set(each.get("required", ())) <= each["properties"].keys(), one.name
        assert schema["additionalProperties"] is False, one.name
        assert all(field.get("description") for field in schema["properties"].values()), one.name
        assert len(one.description.split()) > 15 and one.description.isprintable() is False, one.name
        assert re.fullmatch(r"[A-Z].{2,39}", one.title), one.name
        assert one.acp_kind in get_args(AcpKind), one.name
        assert re.fullmatch(r"\d+(\.\d+)*", one.version), one.name
        assert one.namespace and one.source == "builtin"


@pytest.mark.requirement("tools.meta.schemas")
def test_hints_fit_what_a_tool_requires(definitions):
    for one in definitions:
        writes = FsRequirement("rw") in one.requires
        runs = CapabilityRequirement("shell") in one.requires
        assert not (one.read_only and (one.destructive or writes)), one.name
        if one.acp_kind in {"read", "search"}:
            assert one.read_only, one.name
        if one.acp_kind in {"edit", "delete", "move"}:
            assert writes and not one.read_only, one.name
        if runs:
            assert one.acp_kind == "execute", one.name


@pytest.mark.requirement("tools.meta.effects")
def test_what_a_tool_requires_of_files_shows_in_its_effects(desk, definitions):
    """Rules and cages judge by effects: a tool of files that named none would escape them."""
    samples = {
        "file.read": {"path": "a"}, "file.write": {"path": "a", "content": ""},
        "file.create": {"path": "a", "content": ""},
        "edit.text": {"path": "a", "old_string": "x", "new_string": "y"},
        "search.grep": {"pattern": "x"}, "search.glob": {"pattern": "*"},
        "search.ast": {"pattern": "x", "lang": "python"},
        "edit.ast": {"rewrites": {"a": "b"}, "lang": "python"},
        "shell.bash": {"command": "ls"}, "project.recipe": {"op": "test"},
        "read": {"path": "a"}, "write": {"path": "a", "content": ""},
        "edit": {"path": "a", "old_string": "x", "new_string": "y"}, "glob": {"pattern": "*"},
        "grep": {"pattern": "x"}, "bash": {"command": "ls"},
        "code.lsp": {"action": "rename", "path": "a", "line": 1, "symbol": "x", "new_name": "y"},
        "debug": {"action": "set_breakpoint", "path": "a", "line": 1},
    }  # fmt: skip
    for one in definitions:
        wants = [requirement.mode for requirement in one.requires if isinstance(requirement, FsRequirement)]
        if not wants:
            continue
        sample = dict(samples[one.name])
        effects = one.effects(one.parameters.model_validate(sample))
        assert effects.reads or effects.writes, one.name
        if "rw" in wants and one.name != "edit.ast":
            assert effects.writes, one.name
        if CapabilityRequirement("shell") in one.requires and one.name not in RUNS_NOTHING_ITSELF:
            assert effects.commands == ("ls",) and effects.exclusive, one.name
    runs = {one.name for one in definitions if CapabilityRequirement("shell") in one.requires}
    assert runs == RUNS_NOTHING_ITSELF | {"shell.bash", "bash"}


@pytest.mark.requirement("tools.meta.envelope", "tools.meta.unknown")
async def test_every_tool_answers_bad_arguments_with_the_same_envelope(desk, definitions):
    for one in definitions:
        for arguments in ('{"', "[]", {"no_such_field": 1}, {"action": 7}):
            envelope = (await desk.call(one.name, arguments)).as_json()
            assert (envelope["type"], envelope["code"]) == ("error", "invalid_params"), one.name
            assert envelope["detail"]["rpc_code"] == -32602
            assert envelope["metadata"].keys() == {"duration_ms"}
    unknown = (await desk.call("no.such", {})).as_json()
    assert (unknown["code"], unknown["detail"]["rpc_code"]) == ("tool_not_found", -32601)
