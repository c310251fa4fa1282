"""Large uploads and a daemon of its own process: its memory stays flat, and it goes on answering."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.driver.daemon import write_project
from tests.driver.daemon_process import DaemonProcess, write_config

SIZE = 50 * 1024 * 1024
PIECE = b"0123456789abcdef" * 4096
MOST_GROWTH_MB = 30
"""Less than one of the files; the daemon handles three at once."""


@pytest.mark.requirement("uploads.two_stage")
async def test_three_files_of_50_mb_do_not_stay_in_memory(tmp_path: Path) -> None:
    config = write_config(tmp_path / "config.toml", 9)
    daemon = await DaemonProcess.start(tmp_path / "data", config, write_project(tmp_path / "shop"))
    try:
        async with daemon.client() as client:
            await _upload(daemon, client, "warm.bin", len(PIECE))
            before = _memory_mb(daemon.pid)
            seen: list[float] = []
            slowest: list[float] = []
            watching = asyncio.create_task(_watch(daemon, client, seen, slowest))
            try:
                made = await asyncio.gather(
                    _upload(daemon, client, "a.bin", SIZE),
                    _upload(daemon, client, "b.bin", SIZE, key="b"),
                    _upload(daemon, client, "c.bin", SIZE, form=True),
                )
                fetched = await _fetch(client, made[0])
            finally:
                watching.cancel()
        digest = hashlib.sha256(PIECE * (SIZE // len(PIECE))).hexdigest()
        kept = [tmp_path / "data" / "uploads" / upload_id for upload_id in made]
        assert [path.stat().st_size for path in kept] == [SIZE] * 3
        assert fetched == digest
        assert seen, "nobody looked"
        assert max(seen) - before < MOST_GROWTH_MB
        # The loop was never held by a file: generous, since the machine may be busy.
        assert max(slowest) < 20
    finally:
        await daemon.stop()


async def _upload(
    daemon: DaemonProcess,
    client: httpx2.AsyncClient,
    name: str,
    size: int,
    *,
    key: str | None = None,
    form: bool = False,
) -> str:
    headers = {"idempotency-key": key} if key else {}
    if form:
        headers["content-type"] = "multipart/form-data; boundary=edge"
    answer = await client.post(
        "/uploads",
        params={"project_id": daemon.project_id, "name": name},
        content=_content(size, form=form),
        headers=headers,
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def _content(size: int, *, form: bool) -> AsyncIterator[bytes]:
    if form:
        yield b'--edge\r\nContent-Disposition: form-data; name="file"; filename="c.bin"\r\n\r\n'
    for _ in range(size // len(PIECE)):
        yield PIECE
    if form:
        yield b"\r\n--edge--\r\n"


async def _fetch(client: httpx2.AsyncClient, upload_id: str) -> str:
    digest = hashlib.sha256()
    async with client.stream("GET", f"/uploads/{upload_id}/content") as answer:
        async for piece in answer.aiter_bytes():
            digest.update(piece)
    return digest.hexdigest()


async def _watch(
    daemon: DaemonProcess, client: httpx2.AsyncClient, seen: list[float], slowest: list[float]
) -> None:
    while True:
        seen.append(_memory_mb(daemon.pid))
        began = time.monotonic()
        await client.get(f"{daemon.url}/healthz")
        slowest.append(time.monotonic() - began)
        await asyncio.sleep(0.02)


def _memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024
