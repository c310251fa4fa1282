"""Asks for the files of a project over HTTP, and runs git to make repositories.

Owns: requests and their pages. Never: what should be in them.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2

from tests.driver.daemon_process import WAIT_SECONDS

GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.com",
}


def git(root: Path, *arguments: str, fails: bool = False) -> str:
    """Run git as a person does, without that one's settings; `fails` says that it may."""
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=root,
        env=os.environ | GIT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert fails or done.returncode == 0, done.stderr
    return done.stdout


class FileReader:
    """Asks for the files of one project."""

    def __init__(self, client: httpx2.AsyncClient, project_id: str) -> None:
        self.client = client
        self.at = f"/api/v1/projects/{project_id}/files"

    async def page(self, path: str = ".", **params: Any) -> dict[str, Any]:
        answer = await self.client.get(self.at, params={"path": path, "limit": 100, **params})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def entries(self, path: str = ".", **params: Any) -> dict[str, dict[str, Any]]:
        """Return all entries by path, over all pages."""
        found: dict[str, dict[str, Any]] = {}
        cursor: Mapping[str, Any] = {}
        while True:
            page = await self.page(path, **params, **cursor)
            assert not found.keys() & {one["path"] for one in page["items"]}
            found |= {one["path"]: one for one in page["items"]}
            if page["next_cursor"] is None:
                assert len(found) == page["total"]
                return found
            cursor = {"cursor": page["next_cursor"]}

    async def words(self, path: str = ".", **params: Any) -> dict[str, str]:
        found = await self.entries(path, **params)
        return {name: one["git"] for name, one in found.items() if one["git"] is not None}

    async def content(
        self, path: str, headers: Mapping[str, str] | None = None, **params: Any
    ) -> httpx2.Response:
        return await self.client.get(f"{self.at}/content", params={"path": path, **params}, headers=headers)

    async def text(self, path: str, **params: Any) -> dict[str, Any]:
        answer = await self.client.get(f"{self.at}/text", params={"path": path, **params})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def names(self, q: str, **params: Any) -> list[str]:
        answer = await self.client.get(f"{self.at}/search", params={"q": q, **params})
        assert answer.status_code == 200, answer.text
        return [one["path"] for one in answer.json()["items"]]

    async def names_become(self, q: str, expected: list[str], **params: Any) -> None:
        """Wait until a search finds exactly these: a list that is being made counts from its end on."""
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                if await self.names(q, **params) == expected:
                    return
                await asyncio.sleep(0.05)

    async def symbols(self, q: str, **params: Any) -> dict[str, Any]:
        """Search declarations; wait until no file is being read any more."""
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                place = self.at.removesuffix("/files") + "/symbols"
                answer = await self.client.get(place, params={"q": q, **params})
                assert answer.status_code == 200, answer.text
                found: dict[str, Any] = answer.json()
                if found["state"] != "pending":
                    return found
                assert not found["complete"]

    async def declared(self, q: str, **params: Any) -> list[tuple[str | None, str, str, str, int]]:
        """Return container, name, kind, path and line of the declarations that fit."""
        found = (await self.symbols(q, **params))["items"]
        return [(one["container"], one["name"], one["kind"], one["path"], one["line"]) for one in found]

    async def declared_becomes(self, q: str, expected: list[tuple[str, int]], **params: Any) -> None:
        """Wait until a search finds exactly these paths and lines: a list of files that is being made counts
        from its end on."""
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                if [(path, line) for _, _, _, path, line in await self.declared(q, **params)] == expected:
                    return
                await asyncio.sleep(0.05)


def reason(answer: httpx2.Response) -> tuple[int, str | None]:
    return answer.status_code, answer.json()["error"].get("details", {}).get("reason")
