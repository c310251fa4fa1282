"""The mode of a session binds its subagents."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driver.family import Cast, agent, calling, enabled
from tests.fakes.provider_script import text_reply
from tests.harness.delegation.conftest import Drive

CODER = agent("coder", tools=enabled("file.*", "shell.*"))
FAMILY = agent("primary", tools=enabled("task"), subagents={"coder": CODER})


@pytest.mark.requirement("modes.plan")
@pytest.mark.parametrize("tool", ["agent-coder", "task"])
async def test_a_subagent_in_plan_mode_reads_and_writes_nothing(
    tool: str, drive: Drive, cast: Cast, tmp_path: Path
) -> None:
    given = {"task": "Write it."} if tool == "agent-coder" else {"agent": "coder", "prompt": "Write it."}
    cast.script("primary", calling((tool, given)), text_reply("Planned."))
    cast.script(
        "coder",
        calling(
            ("file_write", {"path": "note.txt", "content": "x"}),
            ("shell_bash", {"command": "touch note.txt"}),
            ("shell_bash", {"command": "ls -a"}),
        ),
        text_reply("I could not."),
    )
    async with drive(FAMILY, session={"mode": "plan"}) as driver:
        await driver.run("Plan it")
    denied, also_denied, listed = (one["content"] for one in cast.messages("coder") if one["role"] == "tool")
    assert "Error permission_denied" in denied and "Error permission_denied" in also_denied
    assert "prompts" in listed
    note = cast.requests["coder"][0].json["messages"][-1]["content"]
    assert "plan mode" in note and "kaged.plan" not in note
    assert not list(tmp_path.rglob("note.txt"))
