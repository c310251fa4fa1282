"""`kaged project move`: update the folder of a project that was moved.

Owns: the command. Never: what is moved with it (`app.harness`). It works with and without a daemon.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from app.cli.check import tool_names
from app.cli.client import DaemonClient
from app.cli.daemon_address import local_options, local_settings, require_project_root
from app.cli.given_path import GivenPath
from app.cli.output import CommandFailed, CommandGroup, json_option, print_json, print_text
from app.cli.trust import OPERATOR, local_daemon


@click.group(name="project", cls=CommandGroup)
def command() -> None:
    """Update the folder of a moved project."""


@command.command(name="move")
@click.argument("before")
@click.argument("folder", type=GivenPath())
@local_options
@json_option
def move(before: str, folder: Path, data_dir: Path | None, config_file: Path | None, as_json: bool) -> None:
    """Register FOLDER as the new folder of the project at BEFORE (a folder, or the project's id).

    Move the folder first: this command moves no file. Sessions, issues, rules, uploads and trust stay. It
    works without a running daemon.
    """
    if not before:
        raise click.UsageError("BEFORE is empty; give the project's earlier folder, or its id.")
    root = require_project_root(folder)
    moved = asyncio.run(_move(data_dir, config_file, before, root))
    if as_json:
        print_json({"root": moved})
    else:
        print_text(f"the project is now at {moved}")


async def _move(data_dir: Path | None, config_file: Path | None, before: str, root: Path) -> str:
    from app.storage.lock import read_lock

    settings = local_settings(data_dir, config_file)
    if read_lock(settings.daemon.data_dir) is not None:
        async with local_daemon(settings) as client:
            return await _by_daemon(client, before, root)
    from app.harness.projects.local_projects import LocalProjects

    known = before if before.startswith("prj_") else _spelled(before)
    return str(await LocalProjects(settings, tool_names()).move(known, root, actor=OPERATOR))


async def _by_daemon(client: DaemonClient, before: str, root: Path) -> str:
    names = (before, _spelled(before))
    async for project in client.items("/projects"):
        if project["id"] in names or project["root"] in names:
            path = f"/projects/{project['id']}/move"
            return str((await client.request("POST", path, body={"path": str(root)}))["root"])
    raise CommandFailed("project_not_found", f"there is no project at {before}; `kaged trust` loads one")


def _spelled(folder: str) -> str:
    """Return a folder as it was stored: with its links resolved, as far as it still exists."""
    return str(Path(folder).expanduser().resolve())
