"""`kaged session rollback`, `undo` and `fork`: going back in a session, and going on from a point of it.

Owns: those commands. Never: what they do, which is the daemon's.
"""

from __future__ import annotations

import click

from app.cli.connected import Connected, connected
from app.cli.conversation import post_to_session
from app.cli.output import print_json, print_text


@click.command(name="rollback")
@click.argument("session")
@click.argument("place")
@click.option("--files", is_flag=True, help="Also restore the files that agents wrote since.")
@click.option("--stage", is_flag=True, help="With --files: show what would be restored, and change nothing.")
@click.option("--force", is_flag=True, help="With --files: also restore files that others changed.")
@connected
def roll_back(daemon: Connected, session: str, place: str, files: bool, stage: bool, force: bool) -> None:
    """Rewind SESSION (an id, or `last`) to PLACE: a checkpoint (ckp_...) or a message (msg_...)."""
    if (stage or force) and not files:
        raise click.UsageError("--stage and --force go with --files.")
    body = {"checkpoint_id" if place.startswith("ckp_") else "message_id": place}
    options = {"files": files, "stage": stage, "force": force}
    _, answer = daemon.run(lambda client: post_to_session(client, session, "/rollback", body | options))
    if daemon.as_json:
        print_json(answer)
    elif stage:
        for file in answer["restored"]:
            print_text(f"{file['change']}: {file['path']}")
        _show_left(answer["conflicts"])
    else:
        print_text(f"{answer['id']}: {answer['messages']} messages removed; `undo` restores them")
        if answer["files"] is not None:
            print_text(f"{len(answer['files']['restored'])} files restored")
            _show_left(answer["files"]["conflicts"])


@click.command(name="undo")
@click.argument("session")
@click.argument("rollback")
@click.option("--force", is_flag=True, help="Also restore files that were changed since.")
@connected
def undo(daemon: Connected, session: str, rollback: str, force: bool) -> None:
    """Undo ROLLBACK (rbk_...) of SESSION (an id, or `last`)."""
    _, answer = daemon.run(
        lambda client: post_to_session(client, session, f"/rollbacks/{rollback}/undo", {"force": force})
    )
    if daemon.as_json:
        print_json(answer)
        return
    print_text(f"{answer['messages']} messages restored")
    if answer["files"] is not None:
        _show_left(answer["files"]["undo_conflicts"])


@click.command(name="fork")
@click.argument("session")
@click.argument("message")
@connected
def fork(daemon: Connected, session: str, message: str) -> None:
    """Start a new session with the conversation of SESSION (an id, or `last`) up to MESSAGE (msg_...)."""
    _, made = daemon.run(lambda client: post_to_session(client, session, "/fork", {"message_id": message}))
    daemon.show(made, f"{made['id']} {made['title']}")


def _show_left(conflicts: list[dict[str, str]]) -> None:
    for file in conflicts:
        print_text(f"not restored: {file['path']}: {file['reason']}", dim=True)
