"""`kaged session`: list, export, import, and the commands of `session_control` and `session_mode`.

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
from app.cli.connected import Connected, connected, project_option
from app.cli.conversation import find_session, session_path
from app.cli.file_upload import check_json, output_option, save
from app.cli.given_path import GivenPath
from app.cli.output import CommandGroup, print_text, print_warning
from app.cli.session_control import CONTROL
from app.cli.session_mode import mode, plan

_CHUNK_BYTES = 256 * 1024


@click.group(name="session", cls=CommandGroup)
def command() -> None:
    """List, export and import sessions. Pause, resume, cancel and retry one. Change its model, its mode and
    its queued messages. Rewind or fork it. Decide about its plan, and what its subagents propose."""


for _command in (*CONTROL, mode, plan):
    command.add_command(_command)


@command.command(name="list")
@project_option("Only sessions of this project.")
@click.option("--state", type=click.Choice(["idle", "queued", "running", "paused", "archived"]))
@click.option("--limit", type=click.IntRange(1, 100), default=25, show_default=True)
@click.option("--cursor", help="Continue from `next_cursor` of an earlier --json answer.")
@connected
async def list_sessions(daemon: Connected, state: str | None, limit: int, cursor: str | None) -> None:
    """List sessions, newest first."""
    params: dict[str, Any] = {"state": state, "limit": limit, "cursor": cursor}
    if daemon.project is not None:
        params["project_id"] = await daemon.project_id()
    page = await daemon.client.request("GET", "/sessions", params=params)
    rows = [
        (item["id"], item["state"], item["created_at"][:19].replace("T", " "), item["title"])
        for item in page["items"]
    ]
    after = page["next_cursor"]
    daemon.show_rows(
        page,
        ("ID", "STATE", "CREATED (UTC)", "TITLE"),
        rows,
        empty="no sessions yet; start one with `kaged send TEXT`",
        more=f"{len(rows)} of {page['total']}; more with --cursor {after}" if after else "",
    )


@command.command(name="export")
@click.argument("session")
@output_option
@connected
async def export_session(daemon: Connected, session: str, output: Path | None) -> None:
    """Write SESSION (an id, or `last`) as one file of JSON lines."""
    check_json(daemon.as_json, output)
    session_id, size = await _export(daemon.client, session, output)
    if output is not None:
        written = {"session_id": session_id, "file": str(output), "bytes": size}
        daemon.show(written, f"{session_id}: {size:,} bytes in {output}")


@command.command(name="import")
@click.argument("file", type=GivenPath(exists=True, dir_okay=False, allow_dash=True))
@connected
async def import_session(daemon: Connected, file: Path) -> None:
    """Import a session from FILE, written by `kaged session export`; `-` reads standard input."""
    created = await daemon.client.request("POST", "/sessions/import", content=_chunks(file))
    daemon.show(created, _print_imported)


def _print_imported(created: dict[str, Any]) -> None:
    print_text(f"imported {created['id']} {created['title']}")
    for warning in created["warnings"]:
        print_warning(warning)


async def _export(client: DaemonClient, session: str, output: Path | None) -> tuple[str, int]:
    """Return the session's id and how many bytes were written; a file appears only when it is whole."""
    session_id = (await find_session(client, session))["id"]
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
