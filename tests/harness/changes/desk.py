"""Asks a daemon for the changes of a session, and takes them back."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.driver.sessions import Driver


async def changes(driver: Driver, since: str = "start", **more: Any) -> dict[str, Any]:
    """Return the whole list, walked in pages of three; `items` by path."""
    items: dict[str, dict[str, Any]] = {}
    cursor = ""
    while True:
        page = await driver.session_call("GET", f"/changes?since={quote(since)}&limit=3{cursor}")
        items |= {one["path"]: one for one in page["items"]}
        if page["next_cursor"] is None:
            assert len(items) == page["total"]
            return {**page, "items": items}
        cursor = f"&cursor={page['next_cursor']}"


async def diff(driver: Driver, path: str, query: str = "", *, status: int = 200) -> dict[str, Any]:
    answer: dict[str, Any] = await driver.session_call(
        "GET", f"/changes/{quote(path)}?{query}", status=status
    )
    return answer


async def revert(driver: Driver, path: str, *, status: int = 201, **more: Any) -> dict[str, Any]:
    body = {"path": path, **more}
    answer: dict[str, Any] = await driver.session_call("POST", "/reverts", body, status=status)
    return answer


async def undo(driver: Driver, made: dict[str, Any], *, status: int = 200) -> dict[str, Any]:
    path = f"/reverts/{made['id']}/undo"
    answer: dict[str, Any] = await driver.session_call("POST", path, status=status)
    return answer


def reason(answer: dict[str, Any]) -> str:
    return str(answer["error"]["details"]["reason"])


def files(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file of a project with its mode, without git's and kaged's own."""
    return {
        str(file.relative_to(root)): (file.lstat().st_mode & 0o111, file.read_bytes())
        for file in sorted(root.rglob("*"))
        if file.is_file() and not {".git", ".kaged"} & set(file.relative_to(root).parts)
    }
