"""Two sessions of one project: one in the project's own folder, one in a clone with a branch of its own.

Owns: making the clone by git itself, and its row. Never: how the daemon makes workspaces.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.ids import new_id, now_ms
from app.storage.models import Workspace
from app.storage.unit_of_work import UnitOfWork
from tests.driver.sessions import Driver, driven
from tests.harness.checkpoints.test_files import git

BRANCH = "kaged/try"
PORT = 42_310


@dataclass
class Pair:
    """`shared` works in `project`, `own` in `tree`."""

    shared: Driver
    own: Driver
    project: Path
    tree: Path
    data: Path

    async def shell(self, driver: Driver, command: str, **params: Any) -> dict[str, Any]:
        return await called(driver, "shell.bash", command=command, **params)

    async def says(self, driver: Driver, command: str) -> str:
        """Return what a command says that ends well."""
        done = await self.shell(driver, command)
        assert done["exit_code"] == 0, done["stdout"]
        return str(done["stdout"]).replace("\r\n", "\n")


async def called(driver: Driver, tool: str, *, agent_path: str = "primary", **params: Any) -> dict[str, Any]:
    """Call a tool as an operator does, as an agent of the session; return its answer."""
    answer = await driver.session_call("POST", f"/tools/{tool}", {"params": params, "agent_path": agent_path})
    assert answer["type"] == "output", answer
    found: dict[str, Any] = answer["data"]
    return found


async def refused(driver: Driver, tool: str, *, agent_path: str = "primary", **params: Any) -> str:
    """Call a tool that refuses; return the code of its error."""
    answer = await driver.session_call("POST", f"/tools/{tool}", {"params": params, "agent_path": agent_path})
    assert answer["type"] == "error", answer
    return str(answer["code"])


async def placed(driver: Driver, repository: Path, *, prefix: str = "") -> Path:
    """Have the driver's session work in a clone of the repository; return its root. The project is the
    part `prefix` of the repository."""
    services = driver.daemon.services
    workspace_id = new_id("wks")
    folder = services.settings.daemon.data_dir / "workspaces" / driver.project_id / workspace_id
    folder.mkdir(parents=True)
    tree = folder / "tree"
    git(folder, "clone", "-q", "--shared", str(repository), str(tree))
    git(tree, "checkout", "-q", "-b", BRANCH)
    row = Workspace(
        id=workspace_id,
        project_id=driver.project_id,
        session_id=driver.session_id,
        kind="worktree",
        state="ready",
        root=str(tree / prefix),
        branch=BRANCH,
        base="head",
        base_commit=git(tree, "rev-parse", "HEAD").strip(),
        first_port=PORT,
        ports=10,
        created_at=now_ms(),
        updated_at=now_ms(),
    )

    def store(uow: UnitOfWork) -> None:
        uow.workspaces.add(row)
        uow.sessions.update(driver.session_id, workspace_id=workspace_id)

    await services.storage.write(store, durable=True)
    return tree / prefix


@asynccontextmanager
async def paired(
    data: Path, project: Path, *, repository: Path | None = None, **settings: Any
) -> AsyncIterator[Pair]:
    """Run a daemon with both sessions. The project lies in `repository`, or is one itself."""
    top = repository or project
    async with driven(data, project, **settings) as shared:
        own = Driver(shared.daemon, shared.client)
        own.project_id = shared.project_id
        await own.new_session()
        prefix = "" if top == project else project.relative_to(top).as_posix()
        yield Pair(shared, own, project, await placed(own, top, prefix=prefix), data)


def committed(root: Path, files: dict[str, str]) -> Path:
    """Write files into a project and make it a repository with all of them in one commit."""
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


def whole(folder: Path) -> dict[str, str]:
    """Return everything in a folder: names, kinds, modes and contents."""
    found = {}
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(above, name)
            status = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(status.st_mode) else ""
            found[str(path.relative_to(folder))] = f"{status.st_mode:o} {content}"
    return found
