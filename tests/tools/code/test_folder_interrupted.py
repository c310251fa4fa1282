"""The diagnostics of a folder, while its server is killed or the call is cancelled."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.tools.code.diagnostics import MAX_UNANSWERED
from tests.bridges.conftest import until
from tests.driver.language_servers import PATIENT, server_path
from tests.tools.code.conftest import CodeDesk, code_desk

FILES = 120
ROUNDS = 12
NAMES = [f"part{number:03d}" for number in range(FILES)]
LIMITS = replace(PATIENT, forgive_seconds=0.0)
"""Crashes never add up: a server that was killed is always started again."""


@pytest.fixture
async def many(tmp_path: Path) -> AsyncIterator[CodeDesk]:
    server_path("pyright")
    async with code_desk(tmp_path, limits=LIMITS) as desk:
        put_errors(desk, ".py", NAMES, "{name}: int = 'x'\n")
        yield desk


def put_errors(desk: CodeDesk, ending: str, names: Iterable[str], text: str) -> None:
    """Write files with one error each."""
    desk.put_all({f"{name}{ending}": text.format(name=name) for name in names})


async def folder(desk: CodeDesk) -> Any:
    return await desk.lsp("diagnostics", path=".", severity="error", limit=500)


async def running(desk: CodeDesk, ending: str = ".py") -> Any:
    """Return the row of the server in `status`, with `pid` and `open_documents` while it runs."""
    [row] = (await desk.lsp("status", path=f"{NAMES[0]}{ending}"))["servers"]
    return row


async def at_work(desk: CodeDesk, files: int, ending: str = ".py") -> Any:
    """Wait until the server has been given some files, and return its row."""
    async with asyncio.timeout(60):
        while (row := await running(desk, ending)).get("open_documents", 0) < files:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    return row


def is_whole(data: Any, ending: str = ".py") -> bool:
    """Tell whether all files are answered, and assert that those which are not are named."""
    whole = {f"./{name}{ending}" for name in NAMES}
    answered = {one["path"] for one in data["diagnostics"]}
    missing = {one["path"] for one in data.get("not_fresh", [])}
    assert answered <= whole and (answered | missing == whole or len(missing) == MAX_UNANSWERED)
    assert data["files"] == FILES and data["fresh"] is (answered == whole and not missing)
    return bool(data["fresh"])


@pytest.mark.timeout(600)
@pytest.mark.requirement("language_servers.tool.folder", "language_servers.lifecycle.kills")
@pytest.mark.parametrize(
    ("server", "ending", "text"),
    [
        ("pyright", ".py", "{name}: int = 'x'\n"),
        ("typescript-language-server", ".ts", "export const {name}: number = 'x';\n"),
    ],
    ids=["asked", "notified"],
)
async def test_a_kill_amid_the_diagnostics_of_a_folder_costs_a_restart_and_no_file(
    tmp_path: Path, server: str, ending: str, text: str
) -> None:
    """One server is asked for each file, the other sends notifications."""
    server_path(server)
    async with code_desk(tmp_path, limits=LIMITS) as desk:
        put_errors(desk, ending, NAMES, text)
        began = time.monotonic()
        assert is_whole(await folder(desk), ending)
        undisturbed = time.monotonic() - began
        await desk.lsp("reload", path=f"{NAMES[0]}{ending}")
        began = time.monotonic()
        call = asyncio.create_task(folder(desk))
        killed = (await at_work(desk, 20, ending))["pid"]
        os.kill(killed, signal.SIGKILL)
        assert is_whole(await call, ending)
        assert time.monotonic() - began < 2 * undisturbed + 45
        assert (await running(desk, ending))["pid"] != killed
        assert len(desk.events("code.lsp.server_crashed")) == 1


@pytest.mark.timeout(600)
@pytest.mark.requirement("language_servers.tool.folder", "language_servers.lifecycle.kills")
async def test_kills_at_random_moments_leave_no_file_out_in_silence(many: CodeDesk) -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    await folder(many)
    for _ in range(ROUNDS):
        put_errors(many, ".py", chance.sample(NAMES, 40), f"b: int = 'x{chance.random()}'\n")
        call = asyncio.create_task(folder(many))
        await asyncio.wait({call}, timeout=chance.uniform(0, 3))
        with suppress(KeyError, ProcessLookupError):
            os.kill((await running(many))["pid"], signal.SIGKILL)
        is_whole(await call)
        assert is_whole(await folder(many)), seed


@pytest.mark.timeout(600)
@pytest.mark.requirement("language_servers.tool.folder")
async def test_a_cancelled_call_for_a_folder_leaves_the_server_and_nothing_else(many: CodeDesk) -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    await many.lsp("diagnostics", path="part000.py")
    server, tasks = (await running(many))["pid"], len(asyncio.all_tasks())
    for _ in range(ROUNDS):
        call = asyncio.create_task(folder(many))
        await at_work(many, 10)
        await asyncio.wait({call}, timeout=chance.uniform(0, 0.5))
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call
        await until(lambda: len(asyncio.all_tasks()) <= tasks, 45)
        assert is_whole(await folder(many)), seed
        put_errors(many, ".py", NAMES, f"c: int = 'x{chance.random()}'\n")
    assert (await running(many))["pid"] == server and not many.events("code.lsp.server_crashed")
