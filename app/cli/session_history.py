"""`kaged session rollback`, `undo` and `fork`: going back in a session, and going on from a point of it.

Owns: those commands. Never: what they do, which is the daemon's.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from app.cli.conversation import post_to_session
from app.cli.daemon_address import daemon_options, find_daemon
from app.cli.output import json_option, print_json, print_text


@click.command(name="rollback")
@click.argument("session")
@click.argument("place")
@click.option("--files", is_flag=True, help="Also restore the files that agents have written since.")
@click.option("--stage", is_flag=True, help="With --files: only show what would be restored.")
@click.option("--force", is_flag=True, help="With --files: also restore what others have changed.")
@daemon_options
@json_option
def roll_back(
    session: str,
    place: str,
    files: bool,
    stage: bool,
    force: bool,
    url: str | None,
    token: str | None,
    data_dir: Path | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Take SESSION (an id, or `last`) back to PLACE: a checkpoint (ckp_...) or a message (msg_...)."""
    if (stage or force) and not files:
        raise click.UsageError("--stage and --force go with --files.")
    body = {"checkpoint_id" if place.startswith("ckp_") else "message_id": place}
    options = {"files": files, "stage": stage, "force": force}
    address = find_daemon(url=url, token=token, data_dir=data_dir, config_file=config_file)
    _, answer = asyncio.run(post_to_session(address, session, "/rollback", body | options))
    if as_json:
        print_json(answer)
    elif stage:
        for file in answer["restored"]:
            print_text(f"{file['change']}: {file['path']}")
        _show_left(answer["conflicts"])
    else:
        print_text(f"{answer['id']}: {answer['messages']} messages taken out; undo brings them back")
        if answer["files"] is not None:
            print_text(f"{len(answer['files']['restored'])} files restored")
            _show_left(answer["files"]["conflicts"])


@click.command(name="undo")
@click.argument("session")
@click.argument("rollback")
@click.option("--force", is_flag=True, help="Also bring back files that were changed since.")
@daemon_options
@json_option
def undo(
    session: str,
    rollback: str,
    force: bool,
    url: str | None,
    token: str | None,
    data_dir: Path | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Bring back what ROLLBACK (rbk_...) took out of SESSION (an id, or `last`)."""
    address = find_daemon(url=url, token=token, data_dir=data_dir, config_file=config_file)
    _, answer = asyncio.run(
        post_to_session(address, session, f"/rollbacks/{rollback}/undo", {"force": force})
    )
    if as_json:
        print_json(answer)
        return
    print_text(f"{answer['messages']} messages are back")
    if answer["files"] is not None:
        _show_left(answer["files"]["undo_conflicts"])


@click.command(name="fork")
@click.argument("session")
@click.argument("message")
@daemon_options
@json_option
def fork(
    session: str,
    message: str,
    url: str | None,
    token: str | None,
    data_dir: Path | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Open a session with the conversation of SESSION (an id, or `last`) up to MESSAGE (msg_...)."""
    address = find_daemon(url=url, token=token, data_dir=data_dir, config_file=config_file)
    _, made = asyncio.run(post_to_session(address, session, "/fork", {"message_id": message}))
    if as_json:
        print_json(made)
    else:
        print_text(f"{made['id']} {made['title']}")


def _show_left(conflicts: list[dict[str, str]]) -> None:
    for file in conflicts:
        print_text(f"left alone: {file['path']}: {file['reason']}", dim=True)
