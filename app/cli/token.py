"""`kaged token`: create, list and revoke access tokens, and sign a browser in.

Owns: those four commands. Never: how tokens work, which is the daemon's.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from app.cli.connected import Connected, connected
from app.cli.conversation import LAST, find_session
from app.cli.daemon_address import path_part
from app.cli.output import CommandGroup, print_json, print_text
from app.ids import ROOT_AGENT, SUBAGENTS

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@click.group(name="token", cls=CommandGroup)
def command() -> None:
    """Create, list and revoke access tokens; sign a browser in."""


def _lifetime(ctx: click.Context, parameter: click.Parameter, value: str | None) -> timedelta | None:
    if value is None:
        return None
    shape = re.fullmatch(r"([1-9][0-9]{0,5})([mhdw])", value)
    if shape is None:
        raise click.BadParameter("write a number and m, h, d or w, for example 30d", ctx, parameter)
    return timedelta(**{_UNITS[shape[2]]: int(shape[1])})


@command.command(name="create")
@click.argument("name")
@click.option("--read-only", is_flag=True, help="A token that can read but not change anything.")
@click.option("--session", "session_id", help="An agent's token: the session it acts in, or `last`.")
@click.option("--agent", "agent_path", help="With --session: the agent whose tools the token calls.")
@click.option("--project-id", help="A plugin's token: the project whose sessions it reads.")
@click.option("--plugin", help="With --project-id: the plugin's name.")
@click.option("--chat", "model", help="A chat client's token: PROJECT/AGENT, or PROJECT for all its agents.")
@click.option("--expires-in", callback=_lifetime, help="A lifetime such as 12h or 30d (default: unlimited).")
@connected
async def create(
    daemon: Connected,
    name: str,
    read_only: bool,
    session_id: str | None,
    agent_path: str | None,
    project_id: str | None,
    plugin: str | None,
    model: str | None,
    expires_in: timedelta | None,
) -> None:
    """Create a token called NAME and print it; it is shown only once.

    It may do everything, unless an option says otherwise: look only (--read-only), act as one agent in
    one session (--session and --agent), read one project's sessions (--project-id and --plugin), or talk to
    agents at /v1/chat/completions and /mcp (--chat).
    """
    bound = {"session_id": session_id, "agent_path": agent_path, "project_id": project_id, "plugin": plugin}
    scope = _scope(read_only, bound, model)
    if session_id == LAST:
        bound["session_id"] = (await find_session(daemon.client, LAST))["id"]
    if model is not None:
        bound |= await _bound_to(daemon, model)
    body = {
        "name": name,
        "scope": scope,
        "expires_at": (datetime.now(UTC) + expires_in).isoformat() if expires_in is not None else None,
        **{field: value for field, value in bound.items() if value is not None},
    }
    created = await daemon.client.request("POST", "/tokens", body=body)
    if daemon.as_json:
        print_json(created)
        return
    print_text(created["token"])
    click.secho(
        f"{created['id']} ({created['scope']}): store it now; it is not shown again", dim=True, err=True
    )


def _scope(read_only: bool, bound: dict[str, str | None], model: str | None) -> str:
    """Return the scope that the options mean; what they lack the daemon says."""
    agent = bound["session_id"] is not None or bound["agent_path"] is not None
    plugin = bound["project_id"] is not None or bound["plugin"] is not None
    chat = model is not None
    if read_only + agent + plugin + chat > 1:
        raise click.UsageError("a token is for looking, one agent, one plugin or a chat client: choose one")
    if chat:
        return "chat"
    return "agent" if agent else "plugin" if plugin else "read-only" if read_only else "operator"


async def _bound_to(daemon: Connected, model: str) -> dict[str, str | None]:
    """Return the project, and the agent if there is one, that `--chat` names."""
    name, slash, agent = model.partition("/")
    projects = (await daemon.client.whole_list("/projects"))["items"]
    found = [project["id"] for project in projects if name in (project["slug"], project["id"])]
    if len(found) != 1:
        known = ", ".join(project["slug"] for project in projects) or "none"
        raise click.UsageError(
            f"several projects are called {name}: give the id of one"
            if found
            else f"there is no project {name} (projects: {known})"
        )
    if slash and agent.partition(".")[0] != ROOT_AGENT:
        agent = ROOT_AGENT + SUBAGENTS + agent.replace(".", SUBAGENTS)
    return {"project_id": found[0], "agent_path": agent if slash else None}


@command.command(name="list")
@connected
async def list_tokens(daemon: Connected) -> None:
    """List tokens; their secrets are not stored."""
    page = await daemon.client.whole_list("/tokens")
    rows = [
        (item["id"], item["name"], item["scope"], _moment(item["created_at"]), _state(item))
        for item in page["items"]
    ]
    daemon.show_rows(page, ("ID", "NAME", "SCOPE", "CREATED (UTC)", "STATE"), rows, empty="no tokens yet")


@command.command(name="revoke")
@click.argument("token_id")
@connected
async def revoke(daemon: Connected, token_id: str) -> None:
    """Revoke the token TOKEN_ID at once."""
    revoked = await daemon.client.request("DELETE", f"/tokens/{path_part(token_id)}")
    daemon.show(revoked, f"revoked {revoked['id']} {revoked['name']}")


@command.command(name="link")
@click.option("--base-url", metavar="URL", help="The address that browsers use, behind a proxy.")
@connected
async def link(daemon: Connected, base_url: str | None) -> None:
    """Print a link that signs in one browser, once."""
    if base_url is not None and not base_url.startswith(("https://", "http://")):
        raise click.UsageError("--base-url starts with https:// or http://.")
    made = await daemon.client.request("POST", "/tokens/launch-link")
    if base_url is not None:
        made["url"] = f"{base_url.rstrip('/')}/launch?{made['url'].partition('?')[2]}"
    daemon.show(made, made["url"])


def _moment(text: str) -> str:
    return text[:19].replace("T", " ")


def _state(token: dict[str, Any]) -> str:
    if token["revoked_at"]:
        return "revoked"
    if token["expires_at"] is None:
        return "valid"
    expires = datetime.fromisoformat(token["expires_at"])
    return "expired" if expires <= datetime.now(UTC) else f"until {_moment(token['expires_at'])}"
