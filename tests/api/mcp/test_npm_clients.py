"""The official clients for JavaScript, 1.x and 2.x, in a real project, with and without a cage."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.driver.kaged import COMMAND, DaemonProcess
from tests.driver.mcp_client import library
from tests.driver.npm_packages import install

pytestmark = pytest.mark.requirement("mcp.server.sdks")
FOLDER = Path(__file__).parent / "npm"
CLIENTS = ("sdk", "legacy", "auto")
"""The client of 1.x, and that of 2.x in the older era and in the newer one."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the clients, installed for these tests without running a script of theirs."""
    return install(FOLDER, tmp_path_factory.mktemp("npm"))


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    running = library(tmp_path_factory.mktemp("home"))
    yield running
    running.stop()


def round_of(folder: Path, daemon: DaemonProcess, client: str, way: str, agent: str | None = None) -> Any:
    """Let a client make its calls, and return what it saw."""
    if way == "http":
        query = f"?project=library&agent={agent}" if agent else ""
        arguments = [f"{daemon.ready['url']}/mcp{query}", daemon.token]
    else:
        project = ["--project", str(daemon.home.project)]
        arguments = [*COMMAND, "mcp", *project, *(["--agent", agent] if agent else [])]
    done = subprocess.run(
        ["node", "round.mjs", client, way, *arguments],
        cwd=folder,
        env=daemon.home.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return orjson.loads(done.stdout)


@pytest.mark.parametrize("way", ["http", "stdio"])
@pytest.mark.parametrize("client", CLIENTS)
def test_the_root_agents_tools_work(daemon: DaemonProcess, installed: Path, client: str, way: str) -> None:
    made = daemon.home.project / "asked" / "new.txt"
    made.unlink(missing_ok=True)
    seen = round_of(installed, daemon, client, way)
    assert {"open_session", "file_read", "shell_bash"} <= set(seen["tools"])
    results = seen["results"]
    assert not any(one["error"] for one in results.values()), results
    assert "It lends books." in results["file_read README.md"]["text"]
    assert len(seen["asked"]) == 1 and "asked/new.txt" in seen["asked"][0]
    assert made.read_text() == "hello\n"
    assert "begun" in "".join(seen["progress"])


@pytest.mark.parametrize("way", ["http", "stdio"])
@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_outside_the_cage_is_denied(
    daemon: DaemonProcess, installed: Path, client: str, way: str
) -> None:
    made = daemon.home.project / "asked" / "new.txt"
    made.unlink(missing_ok=True)
    results = round_of(installed, daemon, client, way, "primary.subagents.reader")["results"]
    assert "sum(prices)" in results["file_read src/total.py"]["text"]
    for name in ("file_read README.md", "file_create asked/new.txt", "shell_bash"):
        assert results[name]["error"], results
    assert not made.exists()
