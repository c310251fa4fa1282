"""A project in a git repository, with git as its user runs it and the routes of the interface beside it.

Owns: making the repository, and asking real git what came of a request. Never: what a test expects.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

IDENTITY = "[user]\n\tname = Ada\n\temail = ada@example.org\n"


def git(folder: Path, *words: str | bytes, check: bool = True, given: bytes | None = None) -> str:
    """Run git as the user does, and return what it prints."""
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        input=given,
        check=False,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0 or not check, (words, done.stderr)
    return os.fsdecode(done.stdout)


@dataclass
class GitDesk:
    """A loaded project at `root`; `top` is the repository's folder."""

    client: httpx2.AsyncClient
    project_id: str
    root: Path

    @classmethod
    async def load(cls, client: httpx2.AsyncClient, root: Path) -> GitDesk:
        answer = await client.post("/api/v1/projects/load", json={"path": str(root)})
        assert answer.status_code == 200, answer.text
        return cls(client, str(answer.json()["id"]), root)

    async def send(self, method: str, what: str, **options: Any) -> httpx2.Response:
        return await self.client.request(method, f"/api/v1/projects/{self.project_id}/git/{what}", **options)

    async def get(self, what: str, **params: Any) -> Any:
        answer = await self.send("GET", what, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, what: str, **body: Any) -> Any:
        answer = await self.send("POST", what, json=body)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    async def refused(self, what: str, status: int = 409, **body: Any) -> dict[str, Any]:
        """Return the details of a refusal, with its message."""
        answer = await self.send("POST", what, json=body)
        assert answer.status_code == status, answer.text
        error = answer.json()["error"]
        return {"message": error["message"], **error.get("details", {})}

    async def states(self) -> dict[str, tuple[str | None, str | None]]:
        """Return what is staged and not staged of each file that differs."""
        status = await self.get("status", limit=100)
        return {
            one["path"]: (one["staged"], "untracked" if one["untracked"] else one["unstaged"])
            for one in status["items"]
        }

    def git(self, *words: str | bytes, **options: Any) -> str:
        return git(self.root, *words, **options)

    def write(self, name: str, content: str | bytes) -> Path:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def commit(self, message: str = "by git") -> None:
        """Commit everything with git itself."""
        self.git("add", "--all")
        self.git("commit", "-qm", message)
