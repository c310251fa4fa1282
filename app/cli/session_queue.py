"""`kaged session queue`, `edit` and `unqueue`: the messages of a session that wait.

Owns: those commands. Never: posting (`send`), or when a message is run, which is the daemon's.
"""

from __future__ import annotations

from typing import Any

import click

from app.cli.client import DaemonClient
from app.cli.connected import Connected, connected
from app.cli.conversation import find_session, session_path
from app.cli.output import print_json, print_table, print_text

_SHOWN = 60


@click.command(name="queue")
@click.argument("session")
@connected
def queue(daemon: Connected, session: str) -> None:
    """List the queued messages of SESSION (an id, or `last`)."""

    async def ask(client: DaemonClient) -> list[dict[str, Any]]:
        path = session_path((await find_session(client, session, None))["id"])
        return [one async for one in client.items(f"{path}/messages") if one["position"] is None]

    found = daemon.run(ask)
    if daemon.as_json:
        print_json({"items": found})
    elif not found:
        print_text("nothing waits")
    else:
        rows = [(one["id"], one["delivery"], " ".join(one["content"].split())[:_SHOWN]) for one in found]
        print_table(("ID", "DELIVERY", "TEXT"), rows)


@click.command(name="edit")
@click.argument("session")
@click.argument("message")
@click.argument("text")
@connected
def edit(daemon: Connected, session: str, message: str, text: str) -> None:
    """Change the text of the queued MESSAGE of SESSION to TEXT."""

    async def change(client: DaemonClient) -> Any:
        path = session_path((await find_session(client, session, None))["id"])
        return await client.request("PATCH", f"{path}/messages/{message}", body={"content": text})

    changed = daemon.run(change)
    daemon.show(changed, f"{changed['id']}: changed; it still waits")


@click.command(name="unqueue")
@click.argument("session")
@click.argument("message")
@connected
def unqueue(daemon: Connected, session: str, message: str) -> None:
    """Remove the queued MESSAGE of SESSION."""

    async def remove(client: DaemonClient) -> None:
        path = session_path((await find_session(client, session, None))["id"])
        await client.request("DELETE", f"{path}/messages/{message}")

    daemon.run(remove)
    daemon.show({"id": message, "removed": True}, f"{message}: removed")
