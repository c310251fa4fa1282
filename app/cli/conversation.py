"""Finds or opens the session of a command, and what all commands that follow one share.

Owns: `--session`, `--project`, drawing frames, Ctrl-C. Never: how frames look (`stream_view`).
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from app.cli.client import DaemonClient, ReceivedFrame
from app.cli.daemon_address import find_project_root, path_part, require_project_root
from app.cli.output import CommandFailed, print_warning
from app.cli.stream_view import StreamView

LAST = "last"


async def open_project(client: DaemonClient, folder: Path | None) -> dict[str, Any]:
    """Return the project of `folder`, or of the folder at or above this one, loading it if needed; by default
    the daemon's only project. When its file has errors, the last good version is used with a warning; so is
    the trusted one when its file asks for more. A read-only token, and every one while nothing can be stored,
    finds loaded projects only."""
    root = find_project_root() if folder is None else require_project_root(folder)
    if root is not None:
        try:
            loaded: dict[str, Any] = await client.request("POST", "/projects/load", body={"path": str(root)})
        except CommandFailed as failure:
            if failure.code not in ("dsl_invalid", "forbidden", "unavailable"):
                raise
            kept = await _loaded_before(client, root)
            if kept is None:
                raise
            if failure.code == "dsl_invalid":
                print_warning(f"{failure.message}; the last good version is used (`kaged check {root}`)")
            elif failure.code == "unavailable":
                print_warning(failure.message)
            return kept
        if loaded["trust"]["state"] == "changed":
            print_warning(
                f"the project file asks for more than its trusted version, which stays in use "
                f"(`kaged trust --show {root}`)"
            )
        return loaded
    projects = [project async for project in client.items("/projects")]
    if len(projects) == 1:
        return dict(projects[0])
    if not projects:
        raise CommandFailed(
            "no_project",
            "this folder has no .kaged/project.yaml; set --project, or create one with `kaged init`",
        )
    known = ", ".join(str(project["root"]) for project in projects)
    raise CommandFailed("no_project", f"choose a project with --project; the daemon has {known}")


async def _loaded_before(client: DaemonClient, root: Path) -> dict[str, Any] | None:
    """Return the loaded project of a folder; None when no version of it compiled."""
    real = str(await asyncio.to_thread(root.resolve))
    found = [one async for one in client.items("/projects") if one["root"] in (str(root), real)]
    if not found:
        return None
    detail: dict[str, Any] = await client.request("GET", f"/projects/{found[0]['id']}")
    return detail if detail["compiled_digest"] is not None else None


async def find_session(client: DaemonClient, session: str, project: Path | None = None) -> dict[str, Any]:
    """Return the session's detail; `last` is the newest one of `project`, by default of the project at or
    above this folder, and outside of all projects the newest of the daemon."""
    if session == LAST:
        params: dict[str, Any] = {"limit": 1}
        if project is not None:
            params["project_id"] = (await open_project(client, project))["id"]
        elif (root := find_project_root()) is not None:
            params |= await _only_of(client, root)
        newest = (await client.request("GET", "/sessions", params=params))["items"]
        if not newest:
            raise CommandFailed("not_found", "there is no session yet; start one with `kaged send TEXT`")
        session = newest[0]["id"]
    found: dict[str, Any] = await client.request("GET", session_path(session))
    return found


async def _only_of(client: DaemonClient, root: Path) -> dict[str, Any]:
    """Return what limits a list to the project of a folder. A daemon elsewhere, as in a container, may have
    it at another path: its only project, at a path that this machine has not, is taken for it."""
    projects = [project async for project in client.items("/projects")]
    real = str(await asyncio.to_thread(root.resolve))
    if found := [project["id"] for project in projects if project["root"] in (str(root), real)]:
        return {"project_id": found[0]}
    if len(projects) == 1 and not await asyncio.to_thread(Path(projects[0]["root"]).exists):
        return {}
    raise CommandFailed(
        "not_found",
        f"the daemon has no session of {root}: start one with `kaged send TEXT`, or name a session of "
        "another project (`kaged session list`)",
    )


async def open_session(
    client: DaemonClient,
    project: Path | None,
    *,
    title: str | None,
    issue_number: int | None = None,
    mode: str | None = None,
    workspace: str | dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a new session of the project: bound to an issue, in a mode, in a workspace when given."""
    wanted: dict[str, Any] = {"project_id": (await open_project(client, project))["id"]}
    if workspace is not None:
        wanted["workspace"] = workspace
    if title:
        wanted["title"] = title
    if issue_number is not None:
        wanted["issue_number"] = issue_number
    if mode is not None:
        wanted["mode"] = mode
    created: dict[str, Any] = await client.request("POST", "/sessions", body=wanted)
    return created


def wished_workspace(base: str | None) -> dict[str, Any]:
    """Return what a request for a session says to get a workspace that starts from `base`."""
    return {"kind": "worktree"} if base is None else {"kind": "worktree", "base": base}


async def path_of(client: DaemonClient, session: str, project: Path | None = None) -> str:
    """Return the address of a session (an id, or `last`) below `/api/v1`; raise when there is none."""
    return session_path((await find_session(client, session, project))["id"])


def session_path(session_id: str) -> str:
    """Return the address of a session below `/api/v1`."""
    return f"/sessions/{path_part(session_id)}"


async def draw(client: DaemonClient, view: StreamView, session_id: str, frame: ReceivedFrame) -> None:
    """Show a frame; of a message that ended while the connection was lost, show the stored text."""
    view.show(frame)
    if frame.type != "message.end" or frame.of_subagent:
        return
    message_id = frame.payload["messageId"]
    if view.is_incomplete(message_id):
        with suppress(CommandFailed):  # an attempt that failed is not stored
            message = await client.request("GET", f"{session_path(session_id)}/messages/{message_id}")
            view.catch_up(message_id, message["content"])


class Interrupts:
    """Ctrl-C while a command follows a run: the first cancels it, the second leaves."""

    def __init__(
        self, cancel: Callable[[], Awaitable[Any]], leave: Callable[[], Any], note: Callable[[str], None]
    ) -> None:
        self.count = 0
        self._cancel, self._leave, self._note = cancel, leave, note
        self._task: asyncio.Task[None] | None = None

    def __enter__(self) -> Interrupts:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
        if self._task is not None:
            self._task.cancel()

    def _interrupted(self) -> None:
        self.count += 1
        if self.count > 1:
            self._leave()
        else:
            self._task = asyncio.get_running_loop().create_task(self._try_to_cancel())

    async def _try_to_cancel(self) -> None:
        try:
            await self._cancel()
        except CommandFailed as failure:
            self._note(f"the run could not be cancelled: {failure.message}")
