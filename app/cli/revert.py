"""`kaged revert`: revert what a session changed in a file, or undo a revert.

Owns: the command. Never: writing files (the daemon).
"""

from __future__ import annotations

from typing import Any

import click

from app.cli.changes import changes_path, diff_path, session_and_path, since_option
from app.cli.client import DaemonClient
from app.cli.connected import Connected, in_project
from app.cli.conversation import LAST
from app.cli.daemon_address import path_part
from app.cli.output import CommandFailed


@click.command(name="revert")
@click.argument("words", nargs=-1, metavar="[SESSION] PATH")
@click.option("--hunk", "hunks", type=click.IntRange(min=1), multiple=True, metavar="N",
              help="Only this hunk of `kaged diff SESSION PATH`; may be repeated.")  # fmt: skip
@click.option("--undo", metavar="RVT", help="Undo this revert; takes no PATH.")
@since_option
@in_project
async def command(
    daemon: Connected, words: tuple[str, ...], hunks: tuple[int, ...], undo: str | None, since: str
) -> None:
    """Revert what SESSION (an id, or `last`) changed in PATH."""
    if undo is not None:
        if len(words) > 1 or hunks:
            raise click.UsageError("--undo takes no PATH and no --hunk.")
        changes = await changes_path(daemon.client, words[0] if words else LAST, daemon.project)
        undone = await daemon.client.request("POST", f"{changes}/revert/{path_part(undo)}/undo")
        daemon.show(undone, f"{undone['id']}: undone; restored {', '.join(undone['files'])}")
        return
    session, path = session_and_path(words)
    if path is None:
        raise click.UsageError("give a PATH.")
    changes = await changes_path(daemon.client, session, daemon.project)
    body: dict[str, Any] = {"path": path.removeprefix("./"), "since": since}
    if hunks:
        body["hunks"] = await _digests(daemon.client, diff_path(changes, path), since, hunks)
    made = await daemon.client.request("POST", f"{changes}/revert", body=body)
    count = made["hunks"]
    part = "" if count is None else f"{count} {'hunk' if count == 1 else 'hunks'} of "
    undoing = f"`kaged revert {made['session_id']} --undo {made['id']}` undoes it"
    daemon.show(made, f"{made['id']}: reverted {part}{made['path']}; {undoing}")


async def _digests(client: DaemonClient, path: str, since: str, numbers: tuple[int, ...]) -> list[str]:
    """Return what names the hunks with these numbers."""
    diff = await client.request("GET", path, params={"since": since})
    known = diff["hunks"] or []
    if max(numbers) > len(known):
        raise CommandFailed(
            "not_found",
            f"{diff['path']} has no hunk {max(numbers)}, only {len(known)}; `kaged diff` shows them",
        )
    return [known[number - 1]["digest"] for number in dict.fromkeys(numbers)]
