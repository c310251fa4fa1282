"""A project with real language servers, or with the hostile one, and what is left of them afterwards."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.bridges.lsp.manager import (
    Declarations,
    Declared,
    LanguageServers,
    ProjectLanguages,
    ServerCages,
    ServerLimits,
)
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.tier import Tier
from app.tools.project_files.text_format import text_of
from app.workspace.tree_watch import TreeWatches
from tests.bridges.conftest import IN_CAGES, children_of, until
from tests.driver.caging import FULL
from tests.driver.language_servers import PATIENT, ROOT, server_command, server_environment
from tests.driver.machine import need_tier

HOSTILE = ROOT / "tests" / "fakes" / "hostile_language_server.py"
QUICK = ServerLimits(look_seconds=0.05, back_off=(0.01, 0.02, 0.03))
"""As a daemon has them, but it is not waited between restarts."""
Event = tuple[str, str, dict[str, Any]]


@dataclass
class Place:
    """A project at work. `audited` has what was recorded: event, project, data."""

    root: Path
    languages: LanguageServers
    project: ProjectLanguages
    log: Path
    audited: list[Event] = field(default_factory=list)

    def put(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())

    def said(self) -> list[dict[str, Any]]:
        """Return what the hostile server has written to its log."""
        if not self.log.exists():
            return []
        whole = self.log.read_bytes().rpartition(b"\n")[0]  # it may be writing the next line
        return [orjson.loads(line) for line in whole.splitlines()]

    def received(self, method: str | None = None) -> list[dict[str, Any]]:
        """Return the messages that the hostile server got."""
        found = [one["message"] for one in self.said() if one["event"] == "received"]
        return [one for one in found if method is None or one.get("method") == method]

    def starts(self) -> list[int]:
        """Return the processes of the hostile server that were started, by id."""
        return [one["pid"] for one in self.said() if one["event"] == "started"]

    def events(self, name: str) -> list[dict[str, Any]]:
        return [data for event, _, data in self.audited if event == f"code.lsp.server_{name}"]


Open = Callable[..., AbstractAsyncContextManager[Place]]


@asynccontextmanager
async def open_place(
    base: Path,
    root: Path | None = None,
    *,
    declared: Sequence[Declared] = (),
    limits: ServerLimits = PATIENT,
    path: tuple[Path, ...] = (),
    watches: TreeWatches | None = None,
    caged: bool = IN_CAGES,
    tier: Tier = FULL,
) -> AsyncIterator[Place]:
    """Open a project; when it is closed no process is left of it, and `watches` are closed. `caged`: its
    servers run in cages, as a machine of this `tier` has them."""
    if caged:
        need_tier(tier)
    root = root or base / "project"
    root.mkdir(parents=True, exist_ok=True)
    before = children_of(os.getpid()).keys()
    children, watches = ChildProcesses(), watches or TreeWatches()
    cages = Cages(children, tier)
    audited: list[Event] = []
    declarations = Declarations(local=tuple(declared))
    languages = LanguageServers(
        children,
        watches,
        environment=server_environment(base / "home", path=path),
        declared=lambda _: declarations,
        decode=text_of,
        record=lambda event, project, data: audited.append((event, project, data)),
        limits=limits,
        cages=ServerCages(cages, base / "states") if caged else None,
    )
    try:
        yield Place(root, languages, languages.project("prj_1", root), base / "server.log", audited)
    finally:
        await languages.aclose()
        now = {pid: _command_of(pid) for pid in children_of(os.getpid()).keys() - before}
        left = {
            pid: command for pid, command in now.items() if command and b"guardian_process" not in command
        }
        await watches.aclose()
        await cages.aclose()
        await children.aclose()
    assert not left, f"closing the language servers left {left}"
    await until(lambda: children_of(os.getpid()).keys() <= before)
    assert not [task for task in asyncio.all_tasks() if "server" in task.get_name()]


def _command_of(pid: int) -> bytes:
    """Return the command of a process, nothing of one that has ended and is not reaped yet."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture
def hostile(tmp_path: Path) -> Open:
    """Opens a project whose files `*.hostile` belong to the hostile server, which is given `arguments`;
    it has one file, `one.hostile`, with an error."""

    @asynccontextmanager
    async def opened(*arguments: str, limits: ServerLimits = QUICK) -> AsyncIterator[Place]:
        command = (sys.executable, str(HOSTILE), "--log", str(tmp_path / "server.log"), *arguments)
        entry = Declared(
            language="hostile",
            command=command,
            extensions=(".hostile",),
            settings={"first": {"second": 2}, "dotted.name": True},
            env={},
        )
        async with open_place(tmp_path, declared=[entry], limits=limits) as place:
            place.put("one.hostile", "word bad\nword\n")
            yield place

    return opened


def messages(diagnosed: Any) -> list[str]:
    """Return the texts of fresh diagnostics."""
    assert diagnosed.fresh, diagnosed
    return [item["message"] for item in diagnosed.items]


def serving(server: str, folder: str) -> tuple[Declared, ...]:
    """Declare one of the real servers for the language of a fixture."""
    language = {"cpp": "cpp", "bash": "bash"}.get(folder, folder)
    return (Declared(language=language, command=server_command(server)),)
