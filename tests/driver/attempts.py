"""Attempts of a daemon, as a client sees them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.driver.daemon_process import WAIT_SECONDS

DONE = ("done", "picked")


@dataclass
class Attempted:
    """One group of attempts."""

    client: httpx2.AsyncClient
    group: dict[str, Any] = field(default_factory=dict)

    @property
    def items(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.group["attempts"]
        return found

    @property
    def ids(self) -> list[str]:
        return [one["session_id"] for one in self.items]

    @property
    def states(self) -> list[str]:
        return [one["state"] for one in self.items]

    async def call(self, method: str, path: str, status: int = 200, **body: Any) -> Any:
        answer = await self.client.request(method, f"/api/v1{path}", json=body or None)
        assert answer.status_code == status, (answer.status_code, answer.text)
        return answer.json()

    async def start(self, project_id: str, content: str, status: int = 201, **attempts: Any) -> Any:
        """Start attempts with a message; return the answer."""
        body = {"content": content, "attempts": attempts}
        said = await self.call("POST", f"/projects/{project_id}/attempts", status, **body)
        if status == 201:
            self.group = said
        return said

    async def look(self) -> dict[str, Any]:
        self.group = await self.call("GET", f"/attempts/{self.group['id']}")
        return self.group

    async def until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until the group is as the condition says."""
        try:
            async with asyncio.timeout(WAIT_SECONDS * 2):
                while not condition(await self.look()):  # noqa: ASYNC110 - a client has to ask
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(self.group) from None
        return self.group

    async def until_done(self) -> dict[str, Any]:
        return await self.until(lambda group: group["state"] in DONE)

    async def pick(self, session_id: str, status: int = 200, **options: Any) -> Any:
        path = f"/attempts/{self.group['id']}/pick"
        return await self.call("POST", path, status, session_id=session_id, **options)

    async def cancel(self) -> dict[str, Any]:
        self.group = await self.call("POST", f"/attempts/{self.group['id']}/cancel")
        return self.group

    async def root(self, session_id: str) -> Path:
        """Return where an attempt works."""
        return Path((await self.call("GET", f"/sessions/{session_id}/workspace"))["root"])

    async def workspaces(self) -> list[str]:
        """Return the states of the workspaces, in the order of the attempts."""
        return [(await self.call("GET", f"/sessions/{one}/workspace"))["state"] for one in self.ids]
