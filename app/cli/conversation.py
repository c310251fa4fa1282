"""Finds or opens the session that a command is about, and follows it.

Owns: `--session`, `--project` and the loop over frames that `send` and `attach` share. Never: how
frames look (`stream_view`).
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import quote

from app.cli.client import DaemonClient
from app.cli.daemon_address import find_project_root, require_project_root
from app.cli.output import CommandFailed, print_warning
from app.cli.stream_view import StreamView

LAST = "last"


async def open_project(client: DaemonClient, folder: Path | None) -> dict[str, Any]:
    """Return the project of `folder`, or of the folder at or above this one, loading it if needed.

    Without either, the daemon's only project is taken. Of one whose file does not compile any more the
    last good version is used, as the daemon does, and that is said. A token that may only read finds the
    projects that are loaded."""
    root = find_project_root() if folder is None else require_project_root(folder)
    if root is not None:
        try:
            loaded: dict[str, Any] = await client.request("POST", "/projects/load", body={"path": str(root)})
        except CommandFailed as failure:
            if failure.code not in ("dsl_invalid", "forbidden"):
                raise
            kept = await _loaded_before(client, root)
            if kept is None:
                raise
            if failure.code == "dsl_invalid":
                print_warning(f"{failure.message}; the last good version is used (`kaged check {root}`)")
            return kept
        return loaded
    projects = [project async for project in client.items("/projects")]
    if len(projects) == 1:
        return dict(projects[0])
    if not projects:
        raise CommandFailed(
            "no_project",
            "this folder has no .kaged/project.yaml; name one with --project, or write one with `kaged init`",
        )
    known = ", ".join(str(project["root"]) for project in projects)
    raise CommandFailed("no_project", f"say which project with --project; the daemon has {known}")


async def _loaded_before(client: DaemonClient, root: Path) -> dict[str, Any] | None:
    """Return the project of a folder as the daemon has it; None when no version of it ever compiled."""
    real = str(await asyncio.to_thread(root.resolve))
    found = [one async for one in client.items("/projects") if one["root"] in (str(root), real)]
    if not found:
        return None
    detail: dict[str, Any] = await client.request("GET", f"/projects/{found[0]['id']}")
    return detail if detail["compiled_digest"] is not None else None


async def find_session(client: DaemonClient, session: str, project: Path | None) -> dict[str, Any]:
    """Return the session's detail; `last` is the newest one (of `project`, when given)."""
    if session == LAST:
        params: dict[str, Any] = {"limit": 1}
        if project is not None:
            params["project_id"] = (await open_project(client, project))["id"]
        newest = (await client.request("GET", "/sessions", params=params))["items"]
        if not newest:
            raise CommandFailed("not_found", "there is no session yet; begin one with `kaged send TEXT`")
        session = newest[0]["id"]
    found: dict[str, Any] = await client.request("GET", session_path(session))
    return found


async def open_session(
    client: DaemonClient, project: Path | None, title: str | None, issue_number: int | None = None
) -> dict[str, Any]:
    """Return a new session of the project, bound to an issue when one is given."""
    wanted: dict[str, Any] = {"project_id": (await open_project(client, project))["id"]}
    if title:
        wanted["title"] = title
    if issue_number is not None:
        wanted["issue_number"] = issue_number
    created: dict[str, Any] = await client.request("POST", "/sessions", body=wanted)
    return created


async def post_to_session(
    client: DaemonClient, session: str, path: str, body: dict[str, Any] | None
) -> tuple[str, dict[str, Any]]:
    """Post below the address of a session (an id, or `last`); return its id and the answer."""
    session_id: str = (await find_session(client, session, None))["id"]
    answer: dict[str, Any] = await client.request("POST", f"{session_path(session_id)}{path}", body=body)
    return session_id, answer


def session_path(session_id: str) -> str:
    """Return the address of a session below `/api/v1`."""
    return f"/sessions/{quote(session_id, safe='')}"


async def show_missed(client: DaemonClient, view: StreamView, session_id: str, message_id: str) -> None:
    """Show a message that ended while the connection was away: its deltas are gone, its text is not."""
    if not view.is_incomplete(message_id):
        return
    async for message in client.items(f"{session_path(session_id)}/messages"):
        if message["id"] == message_id:
            view.catch_up(message_id, message["content"])
            return
