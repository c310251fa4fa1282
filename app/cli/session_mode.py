"""`kaged session mode` and `kaged session plan`: how much a session asks, and the decision about its plan.

Owns: those commands. Never: what a mode means, or checking a decision, which are the daemon's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from app.cli.client import DaemonClient
from app.cli.connected import Connected, in_project, text_or_file
from app.cli.conversation import find_session, path_of, session_path
from app.cli.dialogs import visible
from app.cli.output import CommandFailed, print_text
from app.cli.questions import interaction_path, send_answer

MODES = ("plan", "ask", "edits", "full")
AFTER_PLAN = MODES[1:]


@click.command(name="mode")
@click.argument("session")
@click.argument("mode", required=False, type=click.Choice(MODES))
@in_project
async def mode(daemon: Connected, session: str, mode: str | None) -> None:
    """Show how much SESSION (an id, or `last`) asks, with the rules of its mode; or set its MODE.

    \b
    plan    reads, searches, web; ends with a plan that you accept, edit or reject
    ask     asks where a rule asks (default)
    edits   edits files without asking; commands ask
    full    asks only where the project file pins a question
    """
    if mode is not None:
        path = await path_of(daemon.client, session, daemon.project)
        changed = await daemon.client.request("PATCH", path, body={"mode": mode})
        daemon.show(changed, f"{changed['id']}: {mode}, from the next call on")
        return
    found = await find_session(daemon.client, session, daemon.project)
    known = (await daemon.client.request("GET", "/modes"))["items"]
    shown = next(one for one in known if one["name"] == found["mode"])
    daemon.show({"session_id": found["id"], **shown}, _print_mode)


def _print_mode(shown: dict[str, Any]) -> None:
    print_text(f"{shown['session_id']}: {shown['name']}")
    print_text(shown["description"])
    for rule in shown["rules"]:
        print_text(f"  {rule['action']:<5}  {rule['permission']} {rule['pattern']}", dim=True)


@click.command(name="plan")
@click.argument("session", default="last")
@click.option(
    "--accept", type=click.Choice(AFTER_PLAN), help="Accept the plan, and carry it out in this mode."
)
@click.option("--edited", metavar="FILE", help="With --accept: the plan with your changes; `-` reads stdin.")
@click.option("--reject", is_flag=True, help="Reject the plan; the session stays in plan mode.")
@click.option("--comment", "-m", help="A comment for the agent.")
@in_project
async def plan(
    daemon: Connected, session: str, accept: str | None, edited: str | None, reject: bool, comment: str | None
) -> None:
    """Show the newest plan of SESSION (an id, or `last`), or decide about it."""
    body = _decision(accept, edited, reject, comment)
    found = await _newest(daemon.client, session, daemon.project)
    if body is None:
        daemon.show(found, _print_plan)
        return
    closed = await send_answer(daemon.client, interaction_path(found["session_id"], found["id"]), body)
    daemon.show(closed, f"{closed['id']}: {closed['answer']['state']}")


def _decision(
    accept: str | None, edited: str | None, reject: bool, comment: str | None
) -> dict[str, Any] | None:
    """Return the body of the decision; None when there is none. Raises `UsageError`."""
    if accept is not None and reject:
        raise click.UsageError("give --accept or --reject, not both.")
    if edited is not None and accept is None:
        raise click.UsageError("--edited goes with --accept.")
    if accept is None and not reject:
        if comment is not None:
            raise click.UsageError("--comment goes with --accept or --reject.")
        return None
    said = {} if comment is None else {"comment": comment}
    if reject:
        return {"decision": "reject", **said}
    text = text_or_file(None, edited, name="plan") if edited is not None else None
    if text is None:
        return {"decision": "accept", "mode": accept, **said}
    return {"decision": "edit", "mode": accept, "plan": text, **said}


async def _newest(client: DaemonClient, session: str, project: Path | None) -> dict[str, Any]:
    """Return the newest plan of a session; the open one goes first."""
    session_id = (await find_session(client, session, project))["id"]
    path = f"{session_path(session_id)}/interactions"
    plans = [one async for one in client.items(path) if one["kind"] == "plan"]
    opened = [one for one in plans if one["state"] == "pending"]
    if not plans:
        raise CommandFailed("not_found", f"{session_id} has no plan; set its mode to plan and post a message")
    return (opened or plans)[0]


def _print_plan(found: dict[str, Any]) -> None:
    answer = found["answer"] or {}
    state = answer.get("state", "proposed" if found["state"] == "pending" else found["state"])
    chosen = f", mode {answer['mode']}" if "mode" in answer else ""
    print_text(f"{found['id']}: {state}{chosen}", dim=True)
    for line in (answer.get("plan") or found["request"]["plan"]).split("\n"):
        print_text(visible(line))
