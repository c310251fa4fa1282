"""`kaged trust`: trust a project, show what it would do, revoke the trust.

Owns: the command. Never: judging a project (`project_trust`). It works with and without a daemon.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli.check import tool_names
from app.cli.client import DaemonClient
from app.cli.daemon_address import (
    find_daemon,
    find_project_root,
    local_options,
    local_settings,
    require_project_root,
)
from app.cli.given_path import GivenPath
from app.cli.output import CommandFailed, json_option, print_json, print_text
from app.cli.trust_question import print_acts

if TYPE_CHECKING:
    from app.config import Settings

OPERATOR = "operator"


@click.command(name="trust")
@click.argument("folder", type=GivenPath(), required=False)
@click.option("--always", is_flag=True, help="Also trust every later version of this project.")
@click.option("--show", is_flag=True, help="Show what the project would do, and change nothing.")
@click.option("--remove", is_flag=True, help="Revoke the trust; nothing of the project runs any more.")
@local_options
@json_option
def command(
    folder: Path | None,
    always: bool,
    show: bool,
    remove: bool,
    data_dir: Path | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Trust the project in FOLDER (default: the one at or above this folder) in its present version.

    An untrusted project is parsed and shown, and nothing of it runs. Later versions that ask for no more are
    trusted with it. The command works without a running daemon.
    """
    if always + show + remove > 1:
        raise click.UsageError("choose one of --always, --show and --remove.")
    root = find_project_root() if folder is None else require_project_root(folder)
    if root is None:
        raise CommandFailed("no_project", "there is no .kaged/project.yaml here; write one with `kaged init`")
    settings = local_settings(data_dir, config_file)
    how = "look" if show else "withdraw" if remove else "grant"
    shown, trust = asyncio.run(decide(settings, root, how, always=always))
    if as_json:
        print_json({"root": shown, "trust": trust})
    elif remove:
        print_text(f"{shown} is no longer trusted")
    else:
        print_acts(shown, trust)


async def decide(
    settings: Settings, root: Path, how: str, *, always: bool = False
) -> tuple[str, dict[str, Any]]:
    """Look at (`look`), trust (`grant`) or distrust (`withdraw`) the project at `root`: through the daemon
    that runs on the data folder, else in its database. Return the root and its trust, as clients read it."""
    from app.storage.lock import read_lock

    if read_lock(settings.daemon.data_dir) is not None:
        async with local_daemon(settings) as client:
            return await _by_daemon(client, root, how, always=always)
    from app.harness.projects.local_projects import LocalProjects
    from app.harness.projects.project_trust import wire_trust

    local = LocalProjects(settings, tool_names())
    if how == "withdraw":
        await local.withdraw(root, actor=OPERATOR)
    seen = await (local.grant(root, always=always, actor=OPERATOR) if how == "grant" else local.look(root))
    return str(seen.root), wire_trust(seen.trust)


def local_daemon(settings: Settings) -> DaemonClient:
    """Return a client of the daemon that runs on the data folder of these settings."""
    folder, file = settings.daemon.data_dir, settings.config_file
    return DaemonClient(partial(find_daemon, url=None, token=None, data_dir=folder, config_file=file))


async def _by_daemon(
    client: DaemonClient, root: Path, how: str, *, always: bool
) -> tuple[str, dict[str, Any]]:
    project = await client.request("POST", "/projects/load", body={"path": str(root)})
    at = f"/projects/{project['id']}/trust"
    if how == "grant":
        body = {"digest": project["trust"]["digest"], "always": always}
        project = await client.request("POST", at, body=body)
    elif how == "withdraw":
        project = await client.request("DELETE", at)
    return project["root"], project["trust"]
