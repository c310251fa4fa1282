"""A client of the chat-completions protocol, by its official SDK, and what the daemon says of its sessions.

Owns: making the SDK's client. Never: retrying, which would hide the first answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from openai import AsyncOpenAI

from tests.driver.daemon import Daemon
from tests.driver.daemon_process import ANSWER_SECONDS
from tests.driver.family import Cast
from tests.fakes.provider_server import FakeProvider

SESSION = "X-Kaged-Session"


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def sdk(url: str, token: str, *, retries: int = 0) -> AsyncOpenAI:
    """Return the official client for a daemon."""
    return AsyncOpenAI(base_url=f"{url}/v1", api_key=token, max_retries=retries, timeout=ANSWER_SECONDS)


@dataclass
class ChatDesk:
    """A daemon with a project of agents, the model behind them, and an operator's client."""

    daemon: Daemon
    client: httpx2.AsyncClient
    cast: Cast
    model: FakeProvider
    root: Path
    project_id: str

    def sdk(self, token: str | None = None, *, retries: int = 0) -> AsyncOpenAI:
        return sdk(self.daemon.url, self.daemon.token if token is None else token, retries=retries)

    async def get(self, path: str, **query: Any) -> dict[str, Any]:
        answer = await self.client.get(f"/api/v1{path}", params=query)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def token(self, scope: str, **bound: Any) -> str:
        """Return a new token."""
        made = await self.client.post("/api/v1/tokens", json={"name": scope, "scope": scope, **bound})
        assert made.status_code == 201, made.text
        return str(made.json()["token"])

    async def chat_token(self, agent_path: str | None = None) -> str:
        bound = {} if agent_path is None else {"agent_path": agent_path}
        return await self.token("chat", project_id=self.project_id, **bound)

    async def messages(self, session_id: str) -> list[tuple[str, str]]:
        """Return the roles and texts of a session's messages."""
        page = await self.get(f"/sessions/{session_id}/messages", limit=100)
        return [(one["role"], one["content"]) for one in page["items"]]
