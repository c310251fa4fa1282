"""An editor that speaks the Agent Client Protocol, by the official Python library, to a real `kaged acp`.

Owns: the process, what it writes beside the protocol, the updates that arrive. Never: calling into `app`.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, connect_to_agent
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    ReadTextFileResponse,
    RequestPermissionResponse,
)

from tests.driver.kaged import COMMAND, Home

LINE_BYTES = 64 * 1024 * 1024
WAIT_SECONDS = 60.0
Choose = Callable[[dict[str, Any]], Awaitable[str | None]]


@dataclass
class Editor:
    """The client's side. `choose` is called with each permission request and returns an option's kind, or
    None for a request that the editor gives up; `open_files` are the texts of open files."""

    process: asyncio.subprocess.Process
    updates: list[dict[str, Any]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    withdrawn: int = 0
    open_files: dict[str, str] = field(default_factory=dict)
    choose: Choose | None = None
    connection: ClientSideConnection = field(init=False)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def kinds(self) -> list[str]:
        return [one["sessionUpdate"] for one in self.updates]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [one for one in self.updates if one["sessionUpdate"] == kind]

    def said(self, kind: str = "agent_message_chunk") -> str:
        """Return the text of all chunks of a kind."""
        return "".join(one["content"].get("text", "") for one in self.of_kind(kind))

    async def until(self, holds: Callable[[], Any]) -> None:
        """Wait until something holds of what has arrived."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not holds():
                self.changed.clear()
                await self.changed.wait()

    def on_connect(self, conn: Any) -> None:
        """The library calls it."""

    async def session_update(self, session_id: str, update: Any) -> None:
        self.updates.append(update.model_dump(mode="json", by_alias=True, exclude_none=True))
        self.changed.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any
    ) -> RequestPermissionResponse:
        asked = {
            "tool_call": tool_call.model_dump(mode="json", by_alias=True, exclude_none=True),
            "options": [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in options],
        }
        self.asked.append(asked)
        self.changed.set()
        kind = None if self.choose is None else await self.choose(asked)
        chosen = [one["optionId"] for one in asked["options"] if one["kind"] == kind]
        if not chosen:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen[0]))

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None
    ) -> ReadTextFileResponse:
        if path not in self.open_files:
            raise RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=self.open_files[path])

    async def new(self, folder: Path) -> str:
        """Return the id of a new session."""
        return (await self.connection.new_session(cwd=str(folder), mcp_servers=[])).session_id

    async def start(self) -> Any:
        """Send `initialize` and return its answer."""
        files = FileSystemCapabilities(read_text_file=True, write_text_file=True)
        return await self.connection.initialize(
            protocol_version=PROTOCOL_VERSION, client_capabilities=ClientCapabilities(fs=files)
        )


@asynccontextmanager
async def editor(
    home: Home, *arguments: str, log: Path | None = None, command: Sequence[str] = (*COMMAND, "acp")
) -> AsyncIterator[Editor]:
    """Start `kaged acp` as an editor does, and end it by closing its standard input. It must have written
    nothing else than messages, and must end by itself."""
    with (log or home.folder / "editor.log").open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *command,
            *arguments,
            cwd=home.folder,
            env=home.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            limit=LINE_BYTES,
        )
    assert process.stdin is not None and process.stdout is not None
    one = Editor(process)

    def observe(event: Any) -> None:
        one.withdrawn += event.message.get("method") == "$/cancel_request"

    one.connection = connect_to_agent(one, process.stdin, process.stdout, observers=[observe])  # type: ignore[arg-type]
    try:
        yield one
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), WAIT_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise
        finally:
            await one.connection.close()
