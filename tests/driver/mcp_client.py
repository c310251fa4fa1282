"""A client of the daemon's `/mcp`, by the official library.

Owns: connecting, in either era of the protocol, and reading results. Never: the protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.driver.daemon import Daemon
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.kaged import DaemonProcess, Home

ERAS = ("legacy", "2026-07-28")
"""By the words of the library: the handshake of 2025-11-25, and the stateless protocol."""

PROJECT_YAML = """\
version: 1
project: shop
primary:
  model: main
  system_prompt: project:/prompts/primary.md
  cage: disabled
  tools:
    "file.*": { enabled: true }
    "edit.*": { enabled: true }
    "search.*": { enabled: true }
    "shell.*": { enabled: true }
    project.recipe: { enabled: true }
  permissions:
    - { permission: file.create, pattern: "asked/**", action: ask }
  subagents:
    reader:
      model: main
      system_prompt: project:/prompts/primary.md
      description: Reads the sources
      cage: { fs: [{ mode: ro, path: ./src }] }
      tools:
        file.read: { enabled: true }
        file.write: { enabled: true }
        shell.bash: { enabled: true }
"""


def write_shop(root: Path, yaml: str = PROJECT_YAML) -> Path:
    """Write a project with a root agent and a caged subagent into `root` and return it."""
    for folder in (".kaged", "prompts", "src", "asked"):
        (root / folder).mkdir(parents=True)
    (root / ".kaged" / "project.yaml").write_text(yaml)
    (root / "prompts" / "primary.md").write_text("You keep the shop.\n")
    (root / "README.md").write_text("# Shop\n\nIt sells things.\n")
    (root / "src" / "total.py").write_text("def total(prices):\n    return sum(prices)\n")
    return root


def library(folder: Path, settings: str = "") -> DaemonProcess:
    """Start a daemon of its own process with further `settings`, whose project has the same agents. A daemon
    in this process would refuse the clients that this process starts."""
    home = Home(folder)
    home.config.write_text(home.config.read_text() + settings)
    yaml = PROJECT_YAML.replace("model: main", "model: demo").replace("project: shop", "project: library")
    (home.project / ".kaged" / "project.yaml").write_text(yaml)
    for name in ("src", "asked"):
        (home.project / name).mkdir()
    (home.project / "src" / "total.py").write_text("def total(prices):\n    return sum(prices)\n")
    return DaemonProcess(home, ("--project", str(home.project))).start()


class User:
    """The person before a client, who answers each question in the same way; None never answers."""

    def __init__(self, decision: str | None) -> None:
        self.decision = decision
        self.asked: list[str] = []
        self.was_asked = asyncio.Event()

    async def __call__(self, _context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked.append(params.message)
        self.was_asked.set()
        if self.decision is None:
            await asyncio.Event().wait()
        if self.decision == "dismiss":
            return types.ElicitResult(action="cancel")
        return types.ElicitResult(action="accept", content={"decision": self.decision})


@asynccontextmanager
async def mcp_client(
    daemon: Daemon, era: str, *, token: str | None = None, query: str = "", user: User | None = None
) -> AsyncIterator[Client]:
    """Connect with the operator's token, or with `token`. Without a `user` the client cannot ask anybody."""
    http = daemon.client(token, timeout=60)
    async with http:
        transport = streamable_http_client(f"{daemon.url}/mcp{query}", http_client=http)
        async with Client(transport, mode=era, elicitation_callback=user) as client:
            yield client


async def open_session(client: Client) -> str:
    """Return the handle of a new session."""
    return str((await client.call_tool("open_session", {})).structured_content["session"])


def text_of(result: types.CallToolResult) -> str:
    """Return the text of a result."""
    return "".join(block.text for block in result.content if isinstance(block, types.TextContent))


async def until(condition: Callable[[], bool], seconds: float = WAIT_SECONDS) -> None:
    """Wait until a condition holds that no event tells of."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
