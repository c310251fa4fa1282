"""`kaged share`: a session as a file for other people, and a preview of what leaves with it.

Owns: that command. Never: what the file holds, which the daemon decides.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import click

from app.cli.connected import Connected, connected
from app.cli.conversation import find_session, session_path
from app.cli.file_upload import check_json, output_option, readable_size, save
from app.cli.output import print_text, print_warning

INCLUDABLE = ("results", "thinking", "subagents", "images")
_PARTS = {
    "messages": "messages of operators",
    "answers": "answers of agents",
    "tool_calls": "tool calls",
    "results": "results of tool calls",
    "thinking": "thinking",
    "subagents": "subagents",
    "images": "images",
    "attached_files": "contents of attached files",
    "notes": "notes of kaged to the agent",
}
_MOST_NAMES = 20


def _included(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    names = [name for value in given for name in value.split(",") if name]
    for name in names:
        if name not in INCLUDABLE:
            raise click.UsageError(f"--include takes {', '.join(INCLUDABLE)}, not {name!r}.")
    return tuple(dict.fromkeys(names))


@click.command(name="share")
@click.argument("session")
@click.option(
    "--format", "format_", type=click.Choice(["html", "markdown"]), default="html", show_default=True
)
@click.option(
    "--include",
    multiple=True,
    callback=_included,
    metavar="PART",
    help=f"Share these, too: {', '.join(INCLUDABLE)}. Repeat it, or separate them by commas.",
)
@click.option("--preview", is_flag=True, help="Only show what would leave; write nothing.")
@output_option
@connected
async def command(
    daemon: Connected,
    session: str,
    format_: str,
    include: tuple[str, ...],
    preview: bool,
    output: Path | None,
) -> None:
    """Write SESSION (an id, or `last`) as one file for other people: HTML without scripts, or Markdown.

    Known secrets are redacted. Results of tool calls, thinking, subagents and images are left out unless
    --include names them."""
    params = {"format": format_, "include": list(include)}
    if not preview:
        check_json(daemon.as_json, output)
    session_id = (await find_session(daemon.client, session))["id"]
    path = f"{session_path(session_id)}/share"
    if preview:
        daemon.show(await daemon.client.request("GET", f"{path}/preview", params=params), _print_preview)
        return
    size = await _written(daemon.client.download(path, params), output)
    if output is not None:
        written = {"session_id": session_id, "file": str(output), "bytes": size}
        daemon.show(written, f"{session_id}: {readable_size(size)} in {output}. Read it before you send it.")


async def _written(pieces: AsyncGenerator[bytes, None], output: Path | None) -> int:
    async with aclosing(pieces):
        if output is not None:
            return await save(pieces, output)
        size = 0
        async for piece in pieces:
            size += sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return size


def _print_preview(found: dict[str, Any]) -> None:
    print_text(found["title"], bold=True)
    print_text(f"{readable_size(found['bytes'])} would leave:")
    for name, words in _PARTS.items():
        if found["shared"][name]:
            print_text(f"  {found['shared'][name]:>7,} {words}")
    if found["file_count"]:
        names, more = found["files"][:_MOST_NAMES], found["file_count"] - _MOST_NAMES
        print_text(f"  {found['file_count']:>7,} names of files:")
        for name in names:
            print_text(f"          {name}")
        if more > 0:
            print_text(f"          and {more:,} more (--json lists them)")
    kept = [f"{count:,} {_PARTS[name]}" for name, count in found["kept"].items() if count]
    print_text(f"Kept here: {', '.join(kept) or 'nothing'}.")
    count, messages = found["shared"]["redactions"], len(found["redacted"])
    print_text(f"Redacted: {count:,} secrets in {messages:,} messages." if count else "Redacted: nothing.")
    if found["images"]:
        print_warning("images are not looked into: check that they show no secrets")
