"""A daemon that was told to do without the sandbox says so in everything that it answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.daemon import running_daemon


@pytest.mark.requirement("cages.kernel.off")
@pytest.mark.parametrize(
    ("overrides", "warning"),
    [
        ({"sandbox": {"mode": "off"}}, "no-sandbox"),
        ({"sandbox": {"mode": "off"}, "auth": {"mode": "insecure"}}, "insecure, no-sandbox"),
        ({}, None),
    ],
)
async def test_every_answer_warns_of_a_missing_sandbox(
    tmp_path: Path, overrides: dict[str, Any], warning: str | None
) -> None:
    async with running_daemon(tmp_path, **overrides) as daemon, daemon.client() as client:
        answers = [
            await client.get("/api/v1/projects"),
            await client.get("/healthz"),
            await client.get("/nothing-here"),
            await client.post("/api/v1/projects/load", headers={"origin": "http://evil.example"}),
        ]
        assert [answer.headers.get("x-kaged-warning") for answer in answers] == [warning] * 4
        for token in (None, "not-a-token"):
            async with daemon.websocket("/ws", token=token) as socket:
                assert socket.response is not None
                assert socket.response.headers.get("x-kaged-warning") == warning
