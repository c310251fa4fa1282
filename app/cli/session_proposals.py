"""`kaged session proposals`: what the subagents of a session have proposed for its issue's checklist.

Owns: that command. Never: what becomes of a proposal, which is the daemon's.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from app.cli.client import DaemonClient
from app.cli.connected import Connected, in_project
from app.cli.conversation import find_session, session_path
from app.cli.output import print_json, print_table, print_text


@click.command(name="proposals")
@click.argument("session", default="last")
@click.option(
    "--accept", "accepted", multiple=True, metavar="ID", help="Accept this proposal; may be repeated."
)
@click.option(
    "--reject", "rejected", multiple=True, metavar="ID", help="Reject this proposal; may be repeated."
)
@click.option("--all", "every", is_flag=True, help="Include decided proposals.")
@in_project
def proposals(
    daemon: Connected, session: str, accepted: tuple[str, ...], rejected: tuple[str, ...], every: bool
) -> None:
    """List what subagents of SESSION (an id, or `last`) proposed for the checklist of its issue."""

    async def work(client: DaemonClient) -> list[dict[str, Any]]:
        found = await find_session(client, session, daemon.project)
        path = f"{session_path(found['id'])}/todo-proposals"
        for ids, decision in ((accepted, "accept"), (rejected, "reject")):
            for one in ids:
                await client.request("POST", f"{path}/{quote(one, safe='')}/{decision}")
        decided = bool(accepted or rejected)
        params = {} if every or decided else {"state": "proposed"}
        items = [one async for one in client.items(path, params=params)]
        return [one for one in items if one["id"] in (*accepted, *rejected)] if decided else items

    items = daemon.run(work)
    if daemon.as_json:
        print_json({"items": items})
    elif not items:
        print_text("nothing is proposed")
    else:
        rows = [(one["id"], one["state"], one["kind"], one["agent_path"], one["content"]) for one in items]
        print_table(("ID", "STATE", "KIND", "FROM", "WHAT"), rows)
