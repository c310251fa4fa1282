"""`kaged record`: write a transcript that the `replay` driver plays, from a real session.

Owns: the command. Never: the transcript's format (`app.harness.providers`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import click

from app.cli.connected import Connected, connected
from app.cli.conversation import find_session, session_path
from app.cli.file_upload import check_json, output_option, save
from app.cli.streams import write_data


@click.command(name="record")
@click.argument("session")
@output_option
@connected
async def command(daemon: Connected, session: str, output: Path | None) -> None:
    """Write SESSION (an id, or `last`) as a transcript for the driver `replay`.

    Read the file before you share it: it contains the messages and the arguments of tool calls.
    """
    check_json(daemon.as_json, output)
    detail = await find_session(daemon.client, session)
    path = f"{session_path(detail['id'])}/messages"
    messages = [one async for one in daemon.client.items(path, params={"agent_path": "primary"})]

    from app.harness.providers.drivers.replay.recording import transcript_from_messages

    text = transcript_from_messages(messages, description=detail["title"])
    if output is None:
        write_data(text)
        return
    await save(_once(text.encode()), output)
    daemon.show(
        {"session_id": detail["id"], "file": str(output), "messages": len(messages)},
        f"{output}: {len(messages)} messages of {detail['id']}",
    )


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content
