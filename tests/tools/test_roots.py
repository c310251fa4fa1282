"""Sessions of one project that work in different folders."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from app.tools.project_files.file_locks import FileLocks
from app.tools.project_files.project_files import Change, ProjectFiles
from app.tools.project_files.read_tracker import ReadTracker, digest_of
from app.workspace import Target
from tests.driver.daemon_process import WAIT_SECONDS
from tests.tools.conftest import Desk


@pytest.mark.requirement("workspace.roots")
async def test_sessions_wait_for_each_other_in_one_root_only(desk: Desk, tmp_path: Path) -> None:
    locks = FileLocks(wait_seconds=WAIT_SECONDS)
    files, other = ProjectFiles(reads=ReadTracker(), locks=locks), tmp_path / "other"
    other.mkdir()
    started, goes_on = threading.Event(), threading.Event()
    done: list[str] = []

    async def change(session: str, root: Path, *, holds: bool = False) -> None:
        def write(target: Target) -> Change[None]:
            if holds:
                started.set()
                assert goes_on.wait(WAIT_SECONDS)
            content = session.encode()
            target.replace(content) if target.exists else target.create(content)
            done.append(session)
            return Change(target.key, digest_of(content), None)

        context = replace(desk.context, session_id=session, project_root=root)
        await files.change("a.txt", context, write, lambda _: None)

    for root in (desk.root, other):
        (root / "a.txt").write_text("first")
    holder = asyncio.create_task(change("holds", desk.root, holds=True))
    assert await asyncio.to_thread(started.wait, WAIT_SECONDS)
    waiter = asyncio.create_task(change("waits", desk.root))
    await change("elsewhere", other)
    assert done == ["elsewhere"] and not waiter.done()
    goes_on.set()
    await asyncio.gather(holder, waiter)
    assert done == ["elsewhere", "holds", "waits"]
