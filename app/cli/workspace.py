"""`kaged workspace`: sessions in workspaces, and what becomes of these.

Owns: these commands. Never: making or merging a workspace, which is the daemon's.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import click

from app.cli.connected import Connected, in_project
from app.cli.conversation import open_session, path_of, wished_workspace
from app.cli.daemon_address import path_part
from app.cli.merging import MergeOptions, exit_code, merge_options, print_merge
from app.cli.output import CommandFailed, CommandGroup, print_text
from app.cli.stream_view import StreamView

MEGABYTE = 1_000_000
EVERY_SECONDS = 0.5


@click.group(name="workspace", cls=CommandGroup)
def command() -> None:
    """Run sessions in their own workspaces; merge, keep or discard the results."""


@command.command(name="new")
@click.option("--title", default="", help="The title of the session, which also names the branch.")
@click.option(
    "--base",
    default="head",
    show_default=True,
    help="`head` (the last commit), `working` (with uncommitted changes), or a branch, tag or commit.",
)
@click.option("--no-wait", is_flag=True, help="Do not wait until the workspace is ready.")
@in_project
async def new(daemon: Connected, title: str, base: str, no_wait: bool) -> None:
    """Open a session in a workspace: its own clone of the repository, or a copy of a folder without one.

    `kaged send --workspace TEXT` does that and sends a message. Exits with 1 when the workspace cannot be
    created.
    """
    made = await open_session(daemon.client, daemon.project, title=title, workspace=wished_workspace(base))
    if not no_wait:
        await _until_ready(daemon, made)
    daemon.show_id(made, f"`kaged send --session {made['id']} TEXT` sends it a message")


async def _until_ready(daemon: Connected, session: dict[str, Any]) -> None:
    """Follow the creation of a session's workspace. Raises `CommandFailed` when it fails."""
    view = StreamView()
    frames = daemon.client.frames(session["id"], after_seq=session["last_seq"])
    async with aclosing(frames):
        async for frame in frames:
            if frame.type != "workspace.updated":
                continue
            state, detail = frame.payload["state"], frame.payload.get("detail")
            if state not in ("creating", "ready"):
                raise CommandFailed(
                    "workspace_not_ready",
                    f"the workspace of {session['id']} could not be created: {detail}",
                )
            if not daemon.as_json:
                view.show(frame)
            if state == "ready":
                return


@command.command(name="list")
@click.option("--all", "every", is_flag=True, help="Include removed workspaces.")
@in_project
async def list_workspaces(daemon: Connected, every: bool) -> None:
    """List the workspaces of the project: those of sessions, and those of their subagents."""
    path = f"/projects/{path_part(await daemon.project_id())}/workspaces"
    items = [one async for one in daemon.client.items(path) if every or one["removed_at"] is None]
    rows = [
        (one["id"], one["session_id"] or "", _agent(one), one["state"], one["kind"], _size(one), _branch(one))
        for one in items
    ]
    header = ("WORKSPACE", "SESSION", "SUBAGENT", "STATE", "KIND", "MB", "BRANCH")
    daemon.show_rows({"items": items}, header, rows, empty="the project has no workspaces")


@command.command(name="show")
@click.argument("session", default="last")
@in_project
async def show(daemon: Connected, session: str) -> None:
    """Show the workspace of SESSION (an id, `last`, or a workspace's id)."""
    daemon.show(await daemon.client.request("GET", await _address(daemon, session)), _print_workspace)


@command.command(name="merge")
@click.argument("session", default="last")
@merge_options
@in_project
async def merge(daemon: Connected, session: str, wish: MergeOptions) -> int:
    """Merge the changes of SESSION (an id, `last`, or a workspace's id).

    They go into the checkout's files, or into a branch. Exits with 1 when conflicts or blocked files prevent
    the merge.
    """
    address = await _address(daemon, session)
    answer = await wish.post(daemon, f"{address}/merge")
    whose = (await daemon.client.request("GET", address))["session_id"] if answer["given_to_agent"] else ""
    daemon.show(answer, lambda found: print_merge(found, whose, diff=wish.diff))
    return exit_code(answer)


@command.command(name="keep")
@click.argument("session", default="last")
@in_project
async def keep(daemon: Connected, session: str) -> None:
    """Keep the branch of SESSION (an id, `last`, or a workspace's id).

    The branch goes into the repository, and the workspace is removed.
    """
    found = await _act(daemon, session, "keep")
    daemon.show(found, f"{found['branch']} is in the repository; the workspace is removed")


@command.command(name="discard")
@click.argument("session", default="last")
@in_project
async def discard(daemon: Connected, session: str) -> None:
    """Discard the workspace of SESSION (an id, `last`, or a workspace's id).

    `undo` restores it for some days.
    """
    found = await _act(daemon, session, "discard")
    daemon.show(found, f"discarded; `kaged workspace undo {found['id']}` restores it")


@command.command(name="undo")
@click.argument("session", default="last")
@in_project
async def undo(daemon: Connected, session: str) -> None:
    """Restore the discarded workspace of SESSION (an id, `last`, or a workspace's id)."""
    found = await _act(daemon, session, "undo")
    daemon.show(found, f"restored {found['root']}")


@command.command(name="retry")
@click.argument("session", default="last")
@click.option("--no-wait", is_flag=True, help="Do not wait until the workspace is ready.")
@in_project
async def retry(daemon: Connected, session: str, no_wait: bool) -> None:
    """Create the broken workspace of SESSION (an id, `last`, or a workspace's id) again.

    It starts from its base; changes in a removed folder are not restored. Exits with 1 when it cannot be
    created.
    """
    found = await _act(daemon, session, "retry")
    path = f"/workspaces/{path_part(found['id'])}"
    while not no_wait and found["state"] == "creating":
        await asyncio.sleep(EVERY_SECONDS)
        found = await daemon.client.request("GET", path)
    if found["state"] == "broken":
        raise CommandFailed("workspace_not_ready", f"{found['id']} could not be created: {found['detail']}")
    daemon.show(found, f"{found['id']} is {found['state']}: {found['root']}")


async def _act(daemon: Connected, session: str, what: str) -> dict[str, Any]:
    path = await _address(daemon, session)
    answer: dict[str, Any] = await daemon.client.request("POST", f"{path}/{what}")
    return answer


async def _address(daemon: Connected, named: str) -> str:
    """Return the address of a workspace, or of that of a session."""
    if named.startswith("wks_"):
        return f"/workspaces/{path_part(named)}"
    return f"{await path_of(daemon.client, named, daemon.project)}/workspace"


def _agent(workspace: dict[str, Any]) -> str:
    """Return the key of the subagent that works in a workspace."""
    return str(workspace["agent_path"] or "").rpartition(".")[2]


def _branch(workspace: dict[str, Any]) -> str:
    return str(workspace["branch"] or workspace["root"])


def _size(workspace: dict[str, Any]) -> str:
    return f"{workspace['size_bytes'] / MEGABYTE:.1f}"


def _print_workspace(found: dict[str, Any]) -> None:
    print_text(f"{found['kind']} {found['state']}: {found['root']}")
    if found["branch"] is not None:
        print_text(f"branch {found['branch']}, from {found['base']} ({(found['base_commit'] or '')[:12]})")
    if found["merged"] is not None:
        print_text(f"merged into {found['merged']['into']} at {found['merged']['at']}")
    if found["detail"]:
        print_text(found["detail"])
