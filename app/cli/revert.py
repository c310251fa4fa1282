"""`kaged revert`: revert what a session changed in a file, or undo a revert.

Owns: the command. Never: writing files (the daemon).
"""

from __future__ import annotations

from typing import Any

import click

from app.cli.changes import diff_path, digests_of, listed_path, session_and_path, since_option
from app.cli.client import DaemonClient
from app.cli.connected import Connected, in_project
from app.cli.conversation import LAST, path_of
from app.cli.daemon_address import path_part


@click.command(name="revert")
@click.argument("words", nargs=-1, metavar="[SESSION] PATH")
@click.option("--hunk", "hunks", multiple=True, metavar="N",
              help="Only this hunk: its number in `kaged diff SESSION PATH`, or its digest. May be repeated.",
              )  # fmt: skip
@click.option("--undo", metavar="REVERT", help="Undo this revert; takes no PATH.")
@click.option("--list", "listed", is_flag=True, help="List the reverts of SESSION; takes no PATH.")
@since_option
@in_project
async def command(
    daemon: Connected,
    words: tuple[str, ...],
    hunks: tuple[str, ...],
    undo: str | None,
    listed: bool,
    since: str,
) -> None:
    """Revert what SESSION (an id, or `last`) changed in PATH."""
    if listed:
        if len(words) > 1 or hunks or undo is not None:
            raise click.UsageError("--list takes no PATH and no other option.")
        await _list(daemon, words[0] if words else LAST)
        return
    if undo is not None:
        if len(words) > 1 or hunks:
            raise click.UsageError("--undo takes no PATH and no --hunk.")
        path = await path_of(daemon.client, words[0] if words else LAST, daemon.project)
        undone = await daemon.client.request("POST", f"{path}/reverts/{path_part(undo)}/undo")
        daemon.show(undone, f"{undone['id']}: undone; restored {', '.join(undone['files'])}")
        return
    session, name = session_and_path(words)
    if name is None:
        raise click.UsageError("give a PATH.")
    listed_name = listed_path(name)
    path = await path_of(daemon.client, session, daemon.project)
    body: dict[str, Any] = {"path": listed_name, "since": since}
    if hunks:
        body["hunks"] = await _digests(daemon.client, diff_path(f"{path}/changes", listed_name), since, hunks)
    made = await daemon.client.request("POST", f"{path}/reverts", body=body)
    part = _part(made["hunks"])
    undoing = f"`kaged revert {made['session_id']} --undo {made['id']}` undoes it"
    daemon.show(made, f"{made['id']}: reverted {part}{made['path']}; {undoing}")


async def _digests(client: DaemonClient, path: str, since: str, wanted: tuple[str, ...]) -> list[str]:
    return digests_of(await client.request("GET", path, params={"since": since}), wanted)


async def _list(daemon: Connected, session: str) -> None:
    """Show the reverts of a session, with what undoes them."""
    path = await path_of(daemon.client, session, daemon.project)
    answer = await daemon.client.whole_list(f"{path}/reverts")
    rows = [
        (
            one["id"],
            one["created_at"],
            _part(one["hunks"]) + one["path"],
            "undone" if one["undone_at"] else "",
        )
        for one in answer["items"]
    ]
    more = "`kaged revert SESSION --undo REVERT` undoes one"
    header = ("REVERT", "TIME", "FILE", "STATE")
    daemon.show_rows(answer, header, rows, empty="nothing was reverted in this session", more=more)


def _part(hunks: int | None) -> str:
    return "" if hunks is None else f"{hunks} {'hunk' if hunks == 1 else 'hunks'} of "
