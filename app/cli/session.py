"""`kaged session`: list, export, import, and the commands of `session_control` and `session_history`.

Owns: the first three. Never: the format of an export, which is the daemon's.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import click

from app.cli.client import DaemonClient
from app.cli.connected import Connected, connected
from app.cli.conversation import find_session, open_project, session_path
from app.cli.file_upload import save
from app.cli.output import CommandGroup, print_json, print_table, print_text, print_warning
from app.cli.session_control import cancel, model, pause, resume, retry
from app.cli.session_history import fork, roll_back, undo
from app.cli.session_proposals import proposals
from app.cli.session_queue import edit, queue, unqueue

_CHUNK_BYTES = 256 * 1024


@click.group(name="session", cls=CommandGroup)
def command() -> None:
    """List, export and import sessions; pause, resume, cancel and retry one; change its model and what waits
    in it; go back in one, or fork it; see what its subagents propose."""


for _command in (pause, resume, cancel, retry, model, queue, edit, unqueue, roll_back, undo, fork, proposals):
    command.add_command(_command)


@command.command(name="list")
@click.option("--project", type=click.Path(path_type=Path), help="Only sessions of this project.")
@click.option("--state", type=click.Choice(["idle", "queued", "running", "paused", "archived"]))
@click.option("--limit", type=click.IntRange(1, 100), default=25, show_default=True)
@click.option("--cursor", help="Continue from `next_cursor` of an earlier --json answer.")
@connected
def list_sessions(daemon: Connected, state: str | None, limit: int, cursor: str | None) -> None:
    """List sessions, newest first."""

    async def ask(client: DaemonClient) -> dict[str, Any]:
        params: dict[str, Any] = {"state": state, "limit": limit, "cursor": cursor}
        if daemon.project is not None:
            params["project_id"] = (await open_project(client, daemon.project))["id"]
        page: dict[str, Any] = await client.request("GET", "/sessions", params=params)
        return page

    page = daemon.run(ask)
    if daemon.as_json:
        print_json(page)
        return
    rows = [
        (item["id"], item["state"], item["created_at"][:19].replace("T", " "), item["title"])
        for item in page["items"]
    ]
    if not rows:
        print_text("no sessions yet; begin one with `kaged send TEXT`")
        return
    print_table(("ID", "STATE", "CREATED (UTC)", "TITLE"), rows)
    if page["next_cursor"]:
        print_text(f"{len(rows)} of {page['total']}; more with --cursor {page['next_cursor']}", dim=True)


@command.command(name="export")
@click.argument("session")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="The file to write (default: standard output)."
)
@connected
def export_session(daemon: Connected, session: str, output: Path | None) -> None:
    """Write SESSION (an id, or `last`) as one file of JSON lines."""
    if output is not None and output.exists():
        raise click.UsageError(f"{output} exists already; name another file.")
    if daemon.as_json and output is None:
        raise click.UsageError(
            "--json needs --output: without a file the export itself goes to standard output."
        )
    session_id, size = daemon.run(lambda client: _export(client, session, output))
    if daemon.as_json:
        print_json({"session_id": session_id, "file": str(output), "bytes": size})
    elif output is not None:
        print_text(f"{session_id}: {size:,} bytes in {output}")


@command.command(name="import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@connected
def import_session(daemon: Connected, file: Path) -> None:
    """Import a session from FILE, written by `kaged session export`; `-` reads standard input."""
    if str(file) != "-" and not file.is_file():
        raise click.UsageError(f"there is no file {file}.")

    async def send(client: DaemonClient) -> dict[str, Any]:
        created: dict[str, Any] = await client.request("POST", "/sessions/import", content=_chunks(file))
        return created

    created = daemon.run(send)
    if daemon.as_json:
        print_json(created)
    else:
        print_text(f"imported {created['id']} {created['title']}")
        for warning in created["warnings"]:
            print_warning(warning)


async def _export(client: DaemonClient, session: str, output: Path | None) -> tuple[str, int]:
    """Return the session's id and how many bytes were written; a file appears only when it is whole."""
    session_id = (await find_session(client, session, None))["id"]
    async with aclosing(client.download(f"{session_path(session_id)}/export")) as chunks:
        if output is not None:
            return session_id, await save(chunks, output)
        size = 0
        async for chunk in chunks:
            size += len(chunk)
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return session_id, size


async def _chunks(file: Path) -> AsyncIterator[bytes]:
    source = sys.stdin.buffer if str(file) == "-" else await asyncio.to_thread(file.open, "rb")
    try:
        while chunk := await asyncio.to_thread(source.read, _CHUNK_BYTES):
            yield chunk
    finally:
        source.close()
