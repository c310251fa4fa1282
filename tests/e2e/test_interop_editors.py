"""The section about editors of docs/interop.md: its commands are run, each setting is started."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from acp import text_block

from tests.driver.editor import editor
from tests.e2e.interop_reader import Reader, blocks
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("acp.documented")

TITLE = "Editors: ACP"


def settings() -> dict[str, list[str]]:
    """Return the command that each setting of the page starts."""
    found = {}
    for name, text in zip(("zed", "jetbrains"), blocks("Settings", "json")[:2], strict=True):
        entry = json.loads(text)["agent_servers"]["kaged"]
        assert entry["env"] == {}
        found[name] = [entry["command"], *entry["args"]]
    companion, avante = blocks("Settings", "lua")
    listed = re.search(r"default = \{([^}]*)\}", companion)
    command = re.search(r'command = "(\w+)", args = \{([^}]*)\}', avante)
    assert listed and command
    found["codecompanion"] = re.findall(r'"(\w+)"', listed[1])
    found["avante"] = [command[1], *re.findall(r'"(\w+)"', command[2])]
    return found


@pytest.mark.parametrize("name", ["zed", "jetbrains", "codecompanion", "avante"])
async def test_a_session_by_the_setting_of_an_editor(name: str, model: FakeProvider, tmp_path: Path) -> None:
    reader = Reader(tmp_path, model_port=model.port)
    [prepare] = blocks(TITLE, "sh")
    await reader.paste(prepare)
    command = settings()[name]
    program = (await reader.paste("command -v kaged")).strip()
    # The page says to give the whole path where an editor does not know the `PATH` of the shell.
    assert Path(command[0]).name == "kaged"
    command[0] = program
    model.script(
        Reply((ToolCall("file_read", {"path": "README.md"}, id="c1"),)), text_reply("It sells things.")
    )
    async with editor(reader, command=command) as one:
        await one.start()
        session = await one.new(reader.project)
        ended = await one.connection.prompt(session_id=session, prompt=[text_block("What is this project?")])
        assert (ended.stop_reason, one.said()) == ("end_turn", "It sells things.")
        assert one.of_kind("tool_call")[0]["kind"] == "read"
