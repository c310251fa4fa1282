"""What language servers find in one file, over HTTP: a real server, one that hangs, and none."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from tests.driver.daemon import PROJECT_YAML, Daemon, running_daemon, write_project
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.file_reader import FileReader, reason
from tests.driver.language_servers import server_command

pytestmark = [pytest.mark.requirement("http.files"), pytest.mark.needs("cages")]
HOSTILE = Path(__file__).parents[1] / "fakes" / "hostile_language_server.py"
WRONG = 'def total() -> int:\n    cake = "🍰"; return cake\n'


async def declare(shop: Path, files: FileReader, **servers: tuple[list[str], list[str]]) -> None:
    """Have the project declare servers by language: the command and the endings of names."""
    declared = [
        {"lang": language, "command": command, "extensions": endings}
        for language, (command, endings) in servers.items()
    ]
    lsp = orjson.dumps({"servers": declared}).decode()
    (shop / ".kaged" / "project.yaml").write_text(f"{PROJECT_YAML}lsp: {lsp}\n")
    loaded = await files.client.post("/api/v1/projects/load", json={"path": str(shop)})
    assert loaded.status_code == 200, loaded.text


async def asked(files: FileReader, path: str, wait: float = 10, **more: str) -> dict[str, Any]:
    answer = await files.client.get(f"{files.at}/problems", params={"path": path, "wait": wait, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def checked(files: FileReader, path: str, **more: str) -> dict[str, Any]:
    """Ask until nothing is being checked any more, as the page does."""
    async with asyncio.timeout(2 * WAIT_SECONDS):
        while (found := await asked(files, path, **more))["state"] == "checking":
            assert found["reason"]
    return found


async def known(files: FileReader, path: str, **more: str) -> dict[str, Any]:
    """Ask until the server has answered."""
    found = await checked(files, path, **more)
    assert (found["state"], found["reason"], found["next_cursor"]) == ("known", None, None), found
    return found


async def test_the_problems_of_a_file_are_those_of_its_present_content(
    daemon: Daemon, client: httpx2.AsyncClient, shop: Path, files: FileReader, session_id: str
) -> None:
    await declare(shop, files, python=(list(server_command("pyright")), [".py"]))
    (shop / "cakes").mkdir()
    (shop / "cakes" / "total.py").write_text(WRONG)
    (shop / "link.py").symlink_to("cakes/total.py")

    found = await known(files, "link.py", session_id=session_id)
    assert (found["path"], found["total"], found["server"]) == ("cakes/total.py", 1, "pyright-langserver")
    (problem,) = found["items"]
    assert "🍰" in problem.pop("message")
    start, end = WRONG.splitlines()[1].rindex("cake") + 1, len(WRONG.splitlines()[1]) + 1
    assert problem == {
        "severity": "error",
        "start": {"line": 2, "column": start},
        "end": {"line": 2, "column": end},
        "source": "Pyright",
        "code": "reportReturnType",
    }

    made = await client.post("/api/v1/tokens", json={"name": "r", "scope": "read-only"})
    async with daemon.client(made.json()["token"]) as reader:
        reading = FileReader(reader, files.at.split("/")[-2])
        (problem,) = (await known(reading, "cakes/total.py"))["items"]
        assert "read-only token" in problem["message"] and "🍰" not in problem["message"]
        (shop / ".env").write_text("KEY=secret\n")
        refused = await reader.get(f"{files.at}/problems", params={"path": ".env"})
        assert reason(refused) == (403, "secret_file")

    (shop / "cakes" / "total.py").write_text(WRONG.replace("return cake", "return len(cake)"))
    assert (await known(files, "cakes/total.py"))["items"] == []

    for path, why in (("gone.py", (404, "file_not_found")), ("cakes", (409, "is_a_folder"))):
        assert reason(await client.get(f"{files.at}/problems", params={"path": path})) == why
    elsewhere = {"path": "link.py", "session_id": "ses_01M8F3CTKZ249YKXA4ARQ7D5Z6"}
    assert reason(await client.get(f"{files.at}/problems", params=elsewhere))[0] == 404


async def test_why_nothing_is_known_is_said_and_the_wait_is_bounded(
    shop: Path, files: FileReader, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    hangs = [sys.executable, str(HOSTILE), "--log", str(log), "--never-answer", "initialize"]
    await declare(shop, files, hangs=(hangs, [".hangs"]), gone=(["a-server-that-is-nowhere"], [".gone"]))
    for name in ("a.hangs", "a.gone", "a.unheard"):
        (shop / name).write_text("bad\n")
    nothing = {"items": [], "total": 0, "server": None}

    began = time.monotonic()
    found = await asked(files, "a.hangs", wait=0.3)
    assert time.monotonic() - began < WAIT_SECONDS
    assert found == {**found, **nothing, "state": "checking", "reason": found["reason"]}
    assert "still checking" in found["reason"]
    unheard = await asked(files, "a.unheard")
    assert (unheard["state"], unheard["total"]) == ("no_server", 0) and "lsp.servers" in unheard["reason"]
    gone = await checked(files, "a.gone")
    assert gone["state"] == "not_installed" and "a-server-that-is-nowhere" in gone["reason"]


async def test_no_server_starts_in_a_project_that_nobody_trusts(
    tmp_path: Path, model_settings: dict[str, Any]
) -> None:
    shop, log = write_project(tmp_path / "shop"), tmp_path / "server.log"
    command = [sys.executable, str(HOSTILE), "--log", str(log)]
    nobody = {"projects": {"trusted": []}}
    async with (
        running_daemon(tmp_path / "data", **nobody, **model_settings) as strict,
        strict.client() as client,
    ):
        loaded = await client.post("/api/v1/projects/load", json={"path": str(shop)})
        files = FileReader(client, loaded.json()["id"])
        await declare(shop, files, hostile=(command, [".hostile"]))
        (shop / "one.hostile").write_text("word bad\n")
        found = await asked(files, "one.hostile")
        assert found["state"] == "not_trusted" and "Trust it" in found["reason"]
        assert not log.exists()
        project = (await client.get(files.at.removesuffix("/files"))).json()
        digest = {"digest": project["trust"]["digest"]}
        trusted = await client.post(files.at.removesuffix("/files") + "/trust", json=digest)
        assert trusted.status_code == 200, trusted.text
        (problem,) = (await known(files, "one.hostile"))["items"]
        assert (problem["severity"], problem["start"]) == ("error", {"line": 1, "column": 6})
