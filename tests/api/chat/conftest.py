"""Fixtures of the chat-completions tests: a project with agents below its root, a daemon that serves them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.chat_client import ChatDesk
from tests.driver.daemon import running_daemon
from tests.driver.family import Cast, agent, enabled, write_family
from tests.fakes.provider_server import FakeProvider

PRIMARY = agent(
    "primary",
    tools=enabled("file.read", "file.write", "kaged.ask"),
    permissions=[{"permission": "file.write", "pattern": "secret.txt", "action": "deny"}],
    subagents={
        "coder": agent(
            "coder",
            tools=enabled("file.read", "file.write"),
            subagents={"tester": agent("tester", tools=enabled("file.read"))},
        ),
        "reader": agent("reader", tools=enabled("file.read")),
    },
)


@pytest.fixture
def settings() -> dict[str, Any]:
    """More settings of the daemon, by section."""
    return {}


@pytest.fixture
async def desk(tmp_path: Path, settings: dict[str, Any]) -> AsyncIterator[ChatDesk]:
    cast = Cast()
    root = write_family(tmp_path / "family", PRIMARY)
    (root / "README.md").write_text("It sells things.\n")
    async with FakeProvider(cast.respond) as model:
        provider = {"driver": "openai", "base_url": f"{model.base_url}/v1", "api_key": "sk-test"}
        settings = {
            "models": {"main": ["fake:model-a"]},
            "providers": {"fake": provider},
            "prices": {"fake:model-a": {"input": 1.0, "output": 2.0, "images": True}},
            "chat_completions": {"enabled": True},
            **settings,
        }
        async with running_daemon(tmp_path / "data", **settings) as daemon, daemon.client() as client:
            loaded = await client.post("/api/v1/projects/load", json={"path": str(root)})
            assert loaded.status_code == 200, loaded.text
            yield ChatDesk(daemon, client, cast, model, root, loaded.json()["id"])
