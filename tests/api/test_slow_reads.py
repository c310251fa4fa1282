"""Reads of files that never seem to end: other sessions go on, and a client that leaves ends its own."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import httpx2
import pytest

from app.states import ToolCallState
from tests.driver.daemon import Daemon

pytestmark = pytest.mark.requirement("security.large_files")
WITHIN = 60


@pytest.fixture
def sparse(tmp_path: Path, project_id: str) -> str:
    """A file of a terabyte, nearly all of which is a hole, that begins as a text does."""
    file = tmp_path / "shop" / "sparse.txt"
    file.write_bytes(b"one\ntwo\n" * 100_000)
    os.truncate(file, 1 << 40)
    return "sparse.txt"


def reading(
    client: httpx2.AsyncClient, session: str, path: str, **params: int
) -> asyncio.Task[httpx2.Response]:
    body = {"params": {"path": path, **params}}
    call = client.post(f"/api/v1/sessions/{session}/tools/file.read", json=body, timeout=WITHIN)
    return asyncio.ensure_future(call)


async def test_eight_reads_of_a_sparse_file_stop_no_other_session(
    client: httpx2.AsyncClient, project_id: str, session_id: str, sparse: str
) -> None:
    held = [reading(client, session_id, sparse, offset=1_000_000) for _ in range(8)]
    other = await client.post("/api/v1/sessions", json={"project_id": project_id, "title": "Another"})
    read = await reading(client, other.json()["id"], "README.md")
    assert "It sells things." in read.json()["data"]["content"]
    answers = [(await one).json() for one in held]
    assert {answer["code"] for answer in answers} == {"file_too_large"}


async def test_a_read_ends_when_its_client_leaves(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str, sparse: str
) -> None:
    async def states() -> list[str]:
        rows = await daemon.services.storage.read(lambda uow: uow.tool_calls.direct(session_id))
        return [row.state for row in rows]

    call = reading(client, session_id, sparse, offset=1_000_000)
    async with asyncio.timeout(WITHIN):
        while not await states():  # noqa: ASYNC110 - a row in the database has no event
            await asyncio.sleep(0.01)
        call.cancel()
        while await states() == [ToolCallState.RUNNING.value]:  # noqa: ASYNC110 - the same
            await asyncio.sleep(0.01)
    assert await states() == [ToolCallState.CANCELLED.value]
