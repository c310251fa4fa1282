"""The content of files over HTTP: what no browser runs, in parts, as text; and who may have it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import httpx2
import pytest
import xxhash

from tests.driver.daemon import Daemon
from tests.driver.file_reader import FileReader, git, reason

pytestmark = pytest.mark.requirement("http.files")


async def test_content_is_what_no_browser_runs(shop: Path, files: FileReader) -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
    kinds = {
        "page.html": (b"<script>alert(1)</script>", "text/plain; charset=utf-8", "inline"),
        "icon.svg": (b'<svg onload="x()"/>', "text/plain; charset=utf-8", "inline"),
        "picture.png": (png, "image/png", "attachment"),
        "program": (b"\x7fELF\0\0", "application/x-elf", "attachment"),
        "data.html": (b"<script>\0\x01", "application/octet-stream", "attachment"),
        "latin.txt": ("Müller grüßt Jörg, öfter übermütig".encode("latin-1"), None, "inline"),
        "empty": (b"", "text/plain; charset=utf-8", "inline"),
    }
    for name, (content, media_type, disposition) in kinds.items():
        (shop / name).write_bytes(content)
        answer = await files.content(name)
        assert answer.content == content
        assert answer.headers["content-type"].startswith(media_type or "text/plain; charset="), name
        assert answer.headers["content-disposition"] == f'{disposition}; filename="{name}"'
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]


async def test_ranges_and_validators_hold_for_a_sparse_file_of_10_gb(shop: Path, files: FileReader) -> None:
    size = 10 * 2**30
    with (shop / "huge.bin").open("wb") as file:
        file.truncate(size)
        file.seek(size - 4)
        file.write(b"tail")

    assert (await files.entries())["huge.bin"]["size"] == size
    part = await files.content("huge.bin", {"range": "bytes=-4"})
    assert (part.status_code, part.content) == (206, b"tail")
    assert part.headers["content-range"] == f"bytes {size - 4}-{size - 1}/{size}"
    middle = await files.content("huge.bin", {"range": "bytes=5000000000-5000000009"})
    assert (middle.status_code, middle.content) == (206, b"\0" * 10)
    beyond = await files.content("huge.bin", {"range": f"bytes={size}-"})
    assert beyond.status_code == 416
    assert beyond.headers["content-range"] == f"bytes */{size}"
    assert beyond.json()["error"]["details"] == {"size": size}
    etag = part.headers["etag"]
    same = await files.content("huge.bin", {"if-none-match": etag})
    assert (same.status_code, same.content) == (304, b"")
    resumed = await files.content("huge.bin", {"range": "bytes=-4", "if-range": etag})
    assert resumed.status_code == 206
    binary = await files.client.get(f"{files.at}/text", params={"path": "huge.bin"})
    assert reason(binary) == (409, "binary_file")

    (shop / "small.txt").write_text("0123456789")
    for header in ("bytes=0-1,3-4", "bytes=5-2", "lines=1-2"):
        assert (await files.content("small.txt", {"range": header})).status_code == 200
    old = (await files.content("small.txt")).headers["etag"]
    (shop / "small.txt").write_text("9876543210")
    assert (await files.content("small.txt", {"range": "bytes=0-1", "if-range": old})).text == "9876543210"
    assert (await files.content("small.txt", {"if-none-match": old})).status_code == 200


async def test_a_file_that_changes_while_it_is_read_ends_the_answer(shop: Path, files: FileReader) -> None:
    size = 256 * 2**20

    async def cut_short(change: Any) -> bool:
        with (shop / "long.bin").open("wb") as file:
            file.truncate(size)
        os.utime(shop / "long.bin", (1_000_000, 1_000_000))
        got = 0
        request = files.client.stream("GET", f"{files.at}/content", params={"path": "long.bin"})
        try:
            async with request as answer:
                async for piece in answer.aiter_bytes():
                    if not got:
                        change(shop / "long.bin")
                    got += len(piece)
        except httpx2.RemoteProtocolError:
            return True
        assert got == size
        return False

    def write_in_place(path: Path) -> None:
        with path.open("r+b") as file:
            file.write(b"other")

    def append(path: Path) -> None:
        with path.open("ab") as file:
            file.write(b"more")

    assert await cut_short(lambda path: os.truncate(path, 10))
    assert await cut_short(lambda path: path.write_bytes(b"x" * 100))
    assert await cut_short(write_in_place)
    assert not await cut_short(append)
    assert not await cut_short(lambda path: path.unlink())


async def test_text_has_its_lines_encoding_and_digest(shop: Path, files: FileReader) -> None:
    content = "eins\r\nzwei\r\n" + "drei ü\r\n" * 3
    (shop / "win.txt").write_bytes(content.encode("utf-16"))
    found = await files.text("win.txt", line=2, limit=2)
    assert (found["lines"], found["first_line"], found["next_line"]) == (["zwei", "drei ü"], 2, 4)
    assert (found["total_lines"], found["line_ending"], found["encoding"]) == (5, "crlf", "utf-16-le")
    assert found["digest"] == xxhash.xxh3_128_hexdigest((shop / "win.txt").read_bytes())
    assert (await files.text("win.txt", line=99))["lines"] == []
    (shop / "sub").mkdir()
    (shop / "sub" / "link.txt").symlink_to("../win.txt")
    assert (await files.text("sub/link.txt"))["path"] == "win.txt"


async def test_only_tokens_that_no_cage_holds_may_read_files(
    client: httpx2.AsyncClient,
    daemon: Daemon,
    project_id: str,
    session_id: str,
    files: FileReader,
    shop: Path,
) -> None:
    (shop / ".env").write_text("KEY=secret\n")
    git(shop, "init", "-q")
    bodies = [
        {"name": "a", "scope": "agent", "session_id": session_id, "agent_path": "primary"},
        {"name": "p", "scope": "plugin", "project_id": project_id, "plugin": "notes"},
        {"name": "c", "scope": "chat", "project_id": project_id},
    ]
    requests = [
        (files.at, {}),
        (f"{files.at}/content", {"path": "README.md"}),
        (f"{files.at}/text", {"path": "README.md"}),
        (f"{files.at}/problems", {"path": "README.md"}),
        (f"{files.at}/search", {"q": "readme"}),
        (f"{files.at.removesuffix('files')}symbols", {"q": "readme"}),
    ]
    for body in bodies:
        made = await client.post("/api/v1/tokens", json=body)
        async with daemon.client(made.json()["token"]) as bound:
            for path, params in requests:
                for more in ({}, {"session_id": session_id}):
                    answer = await bound.get(path, params={**params, **more})
                    assert reason(answer) == (403, "out_of_scope"), (body, path)

    made = await client.post("/api/v1/tokens", json={"name": "r", "scope": "read-only"})
    async with daemon.client(made.json()["token"]) as reader:
        reading = FileReader(reader, project_id)
        assert ".env" in await reading.entries()
        assert (await reading.content("README.md")).status_code == 200
        for path in (".env", "./.env", ".git/config"):
            assert reason(await reading.content(path)) == (403, "secret_file")
            refused = await reader.get(f"{reading.at}/text", params={"path": path})
            assert reason(refused) == (403, "secret_file")
    assert (await files.content(".env")).text == "KEY=secret\n"
