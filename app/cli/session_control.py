"""`kaged session pause`, `resume` and `cancel`: a run held, taken up again, stopped.

Owns: those commands. Never: what they do, which is the daemon's; following the run, which `attach` does.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from app.cli.conversation import post_to_session
from app.cli.daemon_address import daemon_options, find_daemon
from app.cli.output import json_option, print_json, print_text


@click.command(name="pause")
@click.argument("session")
@click.option("--reason", help="Why, for whoever looks at the session.")
@daemon_options
@json_option
def pause(
    session: str,
    reason: str | None,
    url: str | None,
    token: str | None,
    data_dir: Path | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Hold the run of SESSION (an id, or `last`); what the model has said so far is kept."""
    address = find_daemon(url=url, token=token, data_dir=data_dir, config_file=config_file)
    body = {} if reason is None else {"reason": reason}
    _, answer = asyncio.run(post_to_session(address, session, "/pause", body))
    if as_json:
        print_json(answer)
    else:
        print_text(f"{answer['id']}: {answer['state']}; `kaged session resume {answer['id']}` goes on")


@click.command(name="resume")
@click.argument("session")
@click.option("--checkpoint", metavar="CKP", help="Go on from this checkpoint, not from the newest.")
@daemon_options
@json_option
def resume(
    session: str,
    checkpoint: str | None,
    url: str | None,
    token: str | None,
    data_dir: Path | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Go on with SESSION (an id, or `last`) where it was paused."""
    address = find_daemon(url=url, token=token, data_dir=data_dir, config_file=config_file)
    body = {} if checkpoint is None else {"checkpoint_id": checkpoint}
    session_id, answer = asyncio.run(post_to_session(address, session, "/resume", body))
    if as_json:
        print_json(answer)
    elif answer["run"] is None:
        print_text(f"{session_id}: nothing was left to do")
    else:
        print_text(f"{session_id}: goes on as {answer['run']['id']}; `kaged attach {session_id}` shows it")


@click.command(name="cancel")
@click.argument("session")
@daemon_options
@json_option
def cancel(
    session: str,
    url: str | None,
    token: str | None,
    data_dir: Path | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Stop the run of SESSION (an id, or `last`) for good; what the model has said so far is kept."""
    address = find_daemon(url=url, token=token, data_dir=data_dir, config_file=config_file)
    _, answer = asyncio.run(post_to_session(address, session, "/cancel", None))
    if as_json:
        print_json(answer)
    else:
        print_text(f"{answer['id']}: {answer['state']}")
