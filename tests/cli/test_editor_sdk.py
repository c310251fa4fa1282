"""`kaged acp` with a client of the official TypeScript library, at protocol version 1."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.driver.editor_project import editing_home
from tests.driver.kaged import COMMAND, WAIT_SECONDS, DaemonProcess
from tests.driver.npm_packages import INSTALL_SECONDS, install

pytestmark = [
    pytest.mark.requirement("acp.session", "acp.permission"),
    pytest.mark.timeout(INSTALL_SECONDS + 180),
]

HERE = Path(__file__).parent / "editor_sdk"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library, installed from its lock file into a folder of the tests; a skip where that fails."""
    folder = install(HERE, tmp_path_factory.mktemp("sdk"), locked=True)
    return folder / "node_modules" / "@agentclientprotocol" / "sdk"


@pytest.fixture(scope="module")
def told(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[dict[str, Any]]]:
    """What the editor in `client.mjs` tells of its session."""
    home = editing_home(tmp_path_factory.mktemp("home"))
    daemon = DaemonProcess(home).start()
    try:
        done = subprocess.run(
            ["node", str(HERE / "client.mjs"), str(library), str(home.project), *COMMAND, "acp"],
            cwd=home.folder,
            env=home.environment(),
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS * 2,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        yield [orjson.loads(line) for line in done.stdout.splitlines()]
    finally:
        daemon.stop()


def test_a_session_from_start_to_end(told: list[dict[str, Any]]) -> None:
    values = {one["what"]: one["value"] for one in told}
    assert values["ready"]["protocolVersion"] == 1
    assert [one["value"]["stopReason"] for one in told if one["what"] == "ended"] == ["cancelled", "end_turn"]
    chosen = {option["id"]: option["currentValue"] for option in values["options"]["configOptions"]}
    assert chosen == {"mode": "ask", "model": "other"}
    assert len(values["listed"]["sessions"]) == 1
    assert values["exit"] == 0


def test_an_edit_asks_for_permission(told: list[dict[str, Any]]) -> None:
    asked = [one["value"] for one in told if one["what"] == "asked"]
    assert len(asked) == 2
    assert asked[1]["toolCall"]["content"][0]["newText"] == "lends books and maps"
    kinds = {one["kind"] for one in asked[1]["options"]}
    assert kinds == {"allow_once", "allow_always", "reject_once", "reject_always"}


def test_a_load_replays_what_was_shown(told: list[dict[str, Any]]) -> None:
    loading = [one["what"] for one in told].index("loading")
    shown = [one["value"] for one in told[loading:] if one["what"] == "update"]
    texts = [one["content"]["text"] for one in shown if one["sessionUpdate"] == "user_message_chunk"]
    assert texts == ["edit it", "edit it"]
    assert [one["status"] for one in shown if one["sessionUpdate"] == "tool_call_update"][-1] == "completed"
