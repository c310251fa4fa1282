"""A scratch file belongs to the agent that made it and to its ancestors; the folder itself to nobody."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.tools.authorisation.guard import built_in
from app.tools.contract.output import write_sidecar

pytestmark = pytest.mark.requirement("security.scratch")
CHILD, GRANDCHILD, SIBLING = (
    f"primary.subagents.{name}" for name in ("worker", "worker.subagents.hand", "workers")
)


def sidecar(desk, agent_path: str) -> Path:
    context = replace(desk.context, agent_path=agent_path, call_id=f"call-{agent_path}")
    return write_sidecar(context, "shell.bash", f"output of {agent_path}\n".encode(), "txt")


@pytest.mark.parametrize(
    ("reader", "owner", "sees"),
    [
        ("primary", "primary", True),
        ("primary", GRANDCHILD, True),
        (CHILD, CHILD, True),
        (CHILD, GRANDCHILD, True),
        (CHILD, "primary", False),
        (CHILD, SIBLING, False),
        (SIBLING, CHILD, False),
        (GRANDCHILD, CHILD, False),
    ],
)
@pytest.mark.parametrize("tool", ["file.read", "read", "search.grep", "search.glob"])
async def test_a_sidecar_is_read_by_its_agent_and_those_above(desk, tool, reader, owner, sees):
    path = sidecar(desk, owner)
    params = {"file.read": {"path": str(path)}, "read": {"path": str(path)}}.get(tool, {"path": str(path)})
    if tool.startswith("search"):
        params |= {"pattern": "output" if tool == "search.grep" else "*"}
    answer = await desk.as_agent(reader).call(tool, **params)
    if sees:
        assert not answer.is_error, answer
    else:
        assert (answer.code, f"output of {owner}" in str(answer)) == ("file_not_found", False)


@pytest.mark.parametrize("tool", ["file.read", "read", "search.grep", "search.glob"])
@pytest.mark.parametrize("reader", ["primary", CHILD])
@pytest.mark.parametrize("own", [True, False], ids=["its own folder", "the whole folder"])
async def test_no_tool_reads_or_lists_a_scratch_folder(desk, tool, reader, own):
    path = sidecar(desk, CHILD)
    folder = path.parent if own else desk.context.scratch_dir
    more = {"search.grep": {"pattern": "output"}, "search.glob": {"pattern": "**"}}.get(tool, {})
    answer = await desk.as_agent(reader).call(tool, path=str(folder), **more)
    assert (answer.code, path.name in str(answer)) == ("file_not_found", False)


async def test_a_link_in_the_scratch_folder_leads_to_no_other_agents_file(desk):
    path, own = sidecar(desk, "primary"), sidecar(desk, CHILD)
    (own.parent / "link.txt").symlink_to(path)
    answer = await desk.as_agent(CHILD).call("file.read", path=str(own.parent / "link.txt"))
    assert answer.is_error


@pytest.mark.parametrize(("reader", "refused"), [(CHILD, True), ("primary", False)])
async def test_a_command_that_names_anothers_sidecar_is_refused(desk, reader, refused):
    path = sidecar(desk, "primary")
    desk.context.scratch_dir.mkdir(exist_ok=True)
    watchdog = built_in(desk.context.scratch_dir.parent, home=Path("/home/nobody"))[1]
    definition = desk.service.registry.get("shell.bash")
    params = definition.parameters.model_validate({"command": f"cat {path}"})
    verdict = await watchdog.judge(definition, params, desk.as_agent(reader).context)
    assert (verdict.action == "deny") is refused
