"""A repository of a user, and the workspaces that a daemon makes of it, as a client sees them."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.sessions import write_project

PLAIN = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    """Run git as a user does, and return what it said."""
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        check=check,
        capture_output=True,
        env={**os.environ, **PLAIN},
    )
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def write_repository(root: Path) -> Path:
    """Write a project with a repository whose only commit holds everything, and return it."""
    write_project(root)
    (root / "src").mkdir()
    (root / "src" / "shop.py").write_text("\n".join(f"line {n}" for n in range(1, 21)) + "\n")
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "Ada")
    git(root, "config", "user.email", "ada@example.org")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


def digest_of(folder: Path, *, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Return what lies in a folder: a digest of each file, by path, but for those that begin with a name of
    `without`."""
    found = {}
    for above, folders, files in os.walk(folder):
        for name in [*files, *(one for one in folders if os.path.islink(os.path.join(above, one)))]:
            path = Path(above, name)
            relative = path.relative_to(folder).as_posix()
            if not relative.startswith(without or ("\0",)):
                content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
                found[relative] = f"{path.lstat().st_mode:o} {hashlib.sha256(content).hexdigest()}"
    return found


PINS = ("refs/kaged",)


@dataclass
class Workplace:
    """One session in a workspace of its own."""

    client: httpx2.AsyncClient
    session_id: str
    workspace: dict[str, Any]

    @property
    def root(self) -> Path:
        return Path(self.workspace["root"])

    @property
    def url(self) -> str:
        return f"/api/v1/sessions/{self.session_id}/workspace"

    async def look(self) -> dict[str, Any]:
        self.workspace = (await self.client.get(self.url)).json()
        return self.workspace

    async def until(self, *states: str) -> dict[str, Any]:
        """Wait until the workspace is in one of the states."""
        async with asyncio.timeout(WAIT_SECONDS):
            while (await self.look())["state"] not in states:  # noqa: ASYNC110 - a client has to ask
                await asyncio.sleep(0.02)
        return self.workspace

    async def until_removed(self) -> dict[str, Any]:
        """Wait until the folder of the workspace is removed."""
        async with asyncio.timeout(WAIT_SECONDS):
            while (await self.look())["removed_at"] is None:  # noqa: ASYNC110 - a client has to ask
                await asyncio.sleep(0.02)
        return self.workspace

    async def post(self, what: str, status: int = 200, **body: Any) -> dict[str, Any]:
        answer = await self.client.post(f"{self.url}/{what}", json=body if what == "merge" else None)
        assert answer.status_code == status, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def merge(self, status: int = 200, **body: Any) -> dict[str, Any]:
        return await self.post("merge", status, **body)


async def new_workplace(
    client: httpx2.AsyncClient,
    project_id: str,
    *,
    base: str = "head",
    title: str = "Fix the tests",
    state: str = "ready",
) -> Workplace:
    """Open a session in a workspace of its own, and wait until that is there."""
    body = {"project_id": project_id, "title": title, "workspace": {"kind": "worktree", "base": base}}
    answer = await client.post("/api/v1/sessions", json=body)
    assert answer.status_code == 201, answer.text
    place = Workplace(client, answer.json()["id"], {})
    await place.until(state)
    return place
