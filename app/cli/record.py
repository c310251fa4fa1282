"""`kaged record`: write a transcript that the `replay` driver plays, from a real session.

Owns: the command. Never: the transcript's format (`app.harness.providers`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from app.cli.client import DaemonClient
from app.cli.connected import Connected, connected
from app.cli.conversation import find_session, session_path
from app.cli.output import CommandFailed
from app.cli.streams import write_data
from app.storage.private_file import private


@click.command(name="record")
@click.argument("session")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="The file to write (default: standard output)."
)
@connected
def command(daemon: Connected, session: str, output: Path | None) -> None:
    """Write SESSION (an id, or `last`) as a transcript for the driver `replay`.

    Look it over before you share it: it holds what was said and what tools were asked to do.
    """
    if output is not None and output.exists():
        raise click.UsageError(f"{output} exists already; name another file.")
    if daemon.as_json and output is None:
        raise click.UsageError(
            "--json needs --output: without a file the transcript goes to standard output."
        )
    detail, messages = daemon.run(lambda client: _read(client, session))

    from app.harness.providers.recording import transcript_from_messages

    text = transcript_from_messages(messages, description=detail["title"])
    if output is None:
        write_data(text)
        return
    try:
        with open(output, "x", encoding="utf-8", opener=private) as file:
            file.write(text)
    except OSError as error:
        raise CommandFailed("failed", f"{output} cannot be written: {error.strerror}") from error
    daemon.show(
        {"session_id": detail["id"], "file": str(output), "messages": len(messages)},
        f"{output}: {len(messages)} messages of {detail['id']}",
    )


async def _read(client: DaemonClient, session: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    detail = await find_session(client, session, None)
    path = f"{session_path(detail['id'])}/messages"
    return detail, [item async for item in client.items(path, params={"agent_path": "primary"})]
