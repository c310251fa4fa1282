"""A lack of memory is told as such, and may pass."""

from __future__ import annotations

import httpx2
import pytest

from tests.driver.daemon import Daemon


@pytest.mark.requirement("security.memory_error")
async def test_a_lack_of_memory_is_503_with_a_reason(
    daemon: Daemon, client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking() -> None:
        raise MemoryError

    monkeypatch.setattr(daemon.services.registry, "definitions", lacking, raising=False)
    answer = await client.get("/api/v1/tools")
    assert (answer.status_code, answer.json()["error"]["details"]["reason"]) == (503, "out_of_memory")
    assert answer.headers["retry-after"] == "5"
