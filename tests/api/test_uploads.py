"""Uploads over HTTP: received to the disk, checked, bounded, fetched in parts, removed when unused."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.ids import now_ms
from tests.driver.daemon import Daemon, running_daemon, write_project
from tests.driver.daemon_process import WAIT_SECONDS

UPLOADS = "/api/v1/uploads"
pytestmark = pytest.mark.requirement("uploads.two_stage")


async def _send(
    client: httpx2.AsyncClient,
    project_id: str,
    content: Any = b"hello\n",
    name: str = "a.txt",
    **options: Any,
) -> httpx2.Response:
    return await client.post(
        UPLOADS, params={"project_id": project_id, "name": name}, content=content, **options
    )


def _kept(daemon: Daemon) -> list[str]:
    folder = daemon.services.settings.daemon.data_dir / "uploads"
    return sorted(os.listdir(folder)) if folder.exists() else []


async def test_a_raw_body_is_kept_and_read_again(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str
) -> None:
    answer = await _send(client, project_id, b"hello\n", "notes.txt")

    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert made["name"] == "notes.txt"
    assert made["media_type"] == "text/plain"
    assert made["size_bytes"] == 6
    assert made["sha256"] == hashlib.sha256(b"hello\n").hexdigest()
    assert made["used_by"] is None
    assert (await client.get(f"{UPLOADS}/{made['id']}")).json() == made
    content = daemon.services.settings.daemon.data_dir / "uploads" / made["id"]
    assert content.stat().st_mode & 0o777 == 0o600
    assert content.parent.stat().st_mode & 0o777 == 0o700

    fetched = await client.get(f"{UPLOADS}/{made['id']}/content")
    assert fetched.content == b"hello\n"
    assert fetched.headers["content-disposition"] == 'attachment; filename="notes.txt"'
    assert fetched.headers["x-content-type-options"] == "nosniff"
    assert fetched.headers["content-type"].startswith("text/plain")


async def test_a_form_with_one_file_is_taken(client: httpx2.AsyncClient, project_id: str) -> None:
    content = os.urandom(300_000) + b"\r\n--not-the-boundary\r\n"

    answer = await client.post(
        UPLOADS,
        params={"project_id": project_id},
        files={"file": ("C:\\bilder\\übersicht.png", content, "image/png")},
    )

    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert (made["name"], made["media_type"]) == ("übersicht.png", "image/png")
    assert made["sha256"] == hashlib.sha256(content).hexdigest()
    assert (await client.get(f"{UPLOADS}/{made['id']}/content")).content == content


@pytest.mark.parametrize(
    ("body", "content_type", "said"),
    [
        (b"--x\r\n", "multipart/form-data; boundary=x", "ends before its last boundary"),
        (b"", "multipart/form-data; boundary=x", "ends before its last boundary"),
        (b"hello", "multipart/form-data", "names no boundary"),
        (b"hello, this is no form", "multipart/form-data; boundary=x", "cannot be read"),
        (
            b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n',
            "multipart/form-data; boundary=x",
            "no `filename`",
        ),
        (
            b'--x\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\n1\r\n--x\r\n',
            "multipart/form-data; boundary=x",
            "a second part",
        ),
        (
            b'--x\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\n1\r\n',
            "multipart/form-data; boundary=x",
            "ends before its last boundary",
        ),
    ],
)
async def test_a_broken_form_is_refused_and_leaves_nothing(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str, body: bytes, content_type: str, said: str
) -> None:
    answer = await client.post(
        UPLOADS, params={"project_id": project_id}, content=body, headers={"content-type": content_type}
    )

    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["details"]["reason"] == "multipart_invalid"
    assert said in answer.json()["error"]["message"]
    assert _kept(daemon) == []


async def test_what_is_missing_is_named(client: httpx2.AsyncClient, project_id: str) -> None:
    no_name = await client.post(UPLOADS, params={"project_id": project_id}, content=b"x")
    no_project = await client.post(UPLOADS, params={"name": "a"}, content=b"x")
    unknown = await _send(client, "prj_unknown")

    assert no_name.json()["error"]["details"]["fields"] == {"name": "is required with a raw body"}
    assert no_project.json()["error"]["details"]["fields"] == {"project_id": "is required"}
    assert unknown.status_code == 404
    for path in ("upl_unknown", "upl_unknown/content"):
        assert (await client.get(f"{UPLOADS}/{path}")).status_code == 404
    assert (await client.delete(f"{UPLOADS}/upl_unknown")).status_code == 404


async def _unannounced() -> AsyncIterator[bytes]:
    for _ in range(20):
        yield b"x" * 65_536


async def test_a_file_that_is_too_large_is_refused_and_leaves_nothing(
    tmp_path: Path, model_settings: dict[str, Any]
) -> None:
    limits = {"max_upload_bytes": 100_000}
    async with running_daemon(tmp_path / "data", limits=limits, **model_settings) as daemon:
        async with daemon.client() as client:
            root = write_project(tmp_path / "shop")
            loaded = await client.post("/api/v1/projects/load", json={"path": str(root)})
            project_id = loaded.json()["id"]
            at_limit = await _send(client, project_id, b"x" * 100_000)
            announced = await _send(client, project_id, b"x" * 100_001)
            far = await _send(client, project_id, b"x" * 500_000)
            form = await client.post(
                UPLOADS, params={"project_id": project_id}, files={"file": ("a", b"x" * 100_001)}
            )
            streamed = await _send(client, project_id, _unannounced())

        assert at_limit.status_code == 201, at_limit.text
        for refused in (announced, far, form, streamed):
            assert refused.status_code == 413, refused.text
            assert refused.json()["error"]["code"] == "payload_too_large"
        assert announced.json()["error"]["details"] == {"reason": "upload_too_large", "max_bytes": 100_000}
        assert _kept(daemon) == [at_limit.json()["id"]]


async def test_a_body_that_breaks_off_leaves_nothing(daemon: Daemon, project_id: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    writer.write(
        f"POST {UPLOADS}?project_id={project_id}&name=a HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\n"
        f"Authorization: Bearer {daemon.token}\r\nContent-Length: 5000000\r\n\r\n".encode()
    )
    writer.write(b"x" * 2_000_000)
    await writer.drain()
    async with asyncio.timeout(WAIT_SECONDS):
        while not _kept(daemon):  # noqa: ASYNC110 - the folder tells nobody
            await asyncio.sleep(0.01)
        writer.close()
        while _kept(daemon):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    del reader


async def test_the_same_key_gives_the_same_upload(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str
) -> None:
    key = {"idempotency-key": "report-1"}
    first = await _send(client, project_id, b"one", headers=key)
    again = await _send(client, project_id, b"one", headers=key)
    other = await _send(client, project_id, b"two", headers=key)

    assert first.status_code == 201
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert other.status_code == 409
    assert other.json()["error"]["details"]["reason"] == "idempotency_key_reused"
    assert _kept(daemon) == [first.json()["id"]]


@pytest.mark.parametrize(
    ("asked", "status", "content"),
    [
        ("bytes=0-3", 206, b"0123"),
        ("bytes=4-", 206, b"456789"),
        ("bytes=-2", 206, b"89"),
        ("bytes=5-99", 206, b"56789"),
        ("bytes=10-", 200, b"0123456789"),
        ("bytes=7-3", 200, b"0123456789"),
        ("bytes=0-1,4-5", 200, b"0123456789"),
        ("lines=1-2", 200, b"0123456789"),
        ("nonsense", 200, b"0123456789"),
    ],
)
async def test_a_range_of_bytes_is_given(
    client: httpx2.AsyncClient, project_id: str, asked: str, status: int, content: bytes
) -> None:
    made = (await _send(client, project_id, b"0123456789", "<b>seite.html")).json()

    answer = await client.get(f"{UPLOADS}/{made['id']}/content", headers={"range": asked})

    assert (answer.status_code, answer.content) == (status, content)
    assert answer.headers["content-disposition"].startswith("attachment")


async def test_an_unused_upload_is_taken_back_and_a_used_one_is_not(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str
) -> None:
    unused = (await _send(client, project_id)).json()["id"]
    used = (await _send(client, project_id)).json()["id"]
    uploads = daemon.services.management.uploads
    await daemon.services.storage.write(lambda uow: uploads.claim(uow, [used], project_id, "iss_1"))

    taken = await client.delete(f"{UPLOADS}/{unused}")
    refused = await client.delete(f"{UPLOADS}/{used}")

    assert taken.status_code == 204
    assert (await client.get(f"{UPLOADS}/{unused}")).status_code == 404
    assert refused.status_code == 409
    assert refused.json()["error"]["details"]["reason"] == "upload_in_use"
    assert _kept(daemon) == [used]


async def test_a_content_that_is_gone_is_reported_as_gone(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str
) -> None:
    made = (await _send(client, project_id)).json()["id"]
    (daemon.services.settings.daemon.data_dir / "uploads" / made).unlink()

    answer = await client.get(f"{UPLOADS}/{made}/content")

    assert answer.status_code == 410
    assert answer.json()["error"]["code"] == "gone"


async def test_unused_uploads_are_removed_after_a_day_and_so_are_lost_contents(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str
) -> None:
    old, fresh, used = [(await _send(client, project_id)).json()["id"] for _ in range(3)]
    uploads, storage = daemon.services.management.uploads, daemon.services.storage
    yesterday = now_ms() - 25 * 60 * 60 * 1000
    await storage.write(lambda uow: uow.uploads.update(old, created_at=yesterday))
    await storage.write(lambda uow: uow.uploads.update(used, created_at=yesterday))
    await storage.write(lambda uow: uploads.claim(uow, [used], project_id, "iss_1"))
    folder = daemon.services.settings.daemon.data_dir / "uploads"
    lost = "upl_01JZ0000000000000000000000"
    (folder / "upl_01JZ0000000000000000000001.part").write_bytes(b"left by a killed daemon")
    (folder / lost).write_bytes(b"its row is gone, or not back yet")
    (folder / "something else").write_bytes(b"not ours")

    assert await uploads.trim() == 2

    assert _kept(daemon) == sorted([fresh, used, lost, "something else"])
    assert (await client.get(f"{UPLOADS}/{old}")).status_code == 404
    await storage.write(lambda uow: uow.uploads.update(used, used_by=None, used_at=None))
    assert await uploads.trim() == 1
    assert _kept(daemon) == sorted([fresh, lost, "something else"])
    assert await uploads.trim(now_ms() + 25 * 60 * 60 * 1000) == 2
    assert _kept(daemon) == ["something else"]


async def test_a_reader_may_look_and_not_hand_in(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str
) -> None:
    made = (await _send(client, project_id)).json()["id"]
    created = await daemon.services.access.create("looker", scope="read-only")
    async with daemon.client(created.secret) as reader:
        assert (await reader.get(f"{UPLOADS}/{made}/content")).status_code == 200
        assert (await _send(reader, project_id)).status_code == 403
        assert (await reader.delete(f"{UPLOADS}/{made}")).status_code == 403
