"""`kaged project move`: go on with a project whose folder was moved.

Owns: the command. Never: what is moved with it (`app.harness`). It works with and without a daemon.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli.client import DaemonClient
from app.cli.daemon_address import find_daemon, local_options, require_project_root
from app.cli.output import CommandFailed, json_option, print_json, print_text
from app.cli.trust import OPERATOR

if TYPE_CHECKING:
    from app.config import Settings


@click.group(name="project")
def command() -> None:
    """Update the folder of a moved project."""


@command.command(name="move")
@click.argument("before")
@click.argument("folder", type=click.Path(path_type=Path))
@local_options
@json_option
def move(before: str, folder: Path, data_dir: Path | None, config_file: Path | None, as_json: bool) -> None:
    """Register FOLDER as the new folder of the project at BEFORE (a folder, or the project's id).

    Move the folder first. Sessions, issues, rules, uploads and trust stay; no file is moved. No daemon need
    run.
    """
    root = require_project_root(folder)
    from app.config import load_settings

    overrides: dict[str, Any] = {} if data_dir is None else {"daemon.data_dir": data_dir}
    settings = load_settings(config_file=config_file, overrides=overrides)
    moved = asyncio.run(_move(settings, before, root))
    if as_json:
        print_json({"root": moved})
    else:
        print_text(f"the project is now at {moved}")


async def _move(settings: Settings, before: str, root: Path) -> str:
    from app.storage.lock import read_lock

    if read_lock(settings.daemon.data_dir) is not None:
        return await _by_daemon(settings, before, root)
    from app.cli.tool_names import tool_names
    from app.harness.projects.local_projects import LocalProjects

    known = before if before.startswith("prj_") else _spelled(before)
    return str(await LocalProjects(settings, tool_names()).move(known, root, actor=OPERATOR))


async def _by_daemon(settings: Settings, before: str, root: Path) -> str:
    folder, file = settings.daemon.data_dir, settings.config_file
    address = find_daemon(url=None, token=None, data_dir=folder, config_file=file)
    async with DaemonClient(address) as client:
        names = (before, _spelled(before))
        async for project in client.items("/projects"):
            if project["id"] in names or project["root"] in names:
                path = f"/projects/{project['id']}/move"
                return str((await client.request("POST", path, body={"path": str(root)}))["root"])
    raise CommandFailed("project_not_found", f"there is no project at {before}; `kaged trust` loads one")


def _spelled(folder: str) -> str:
    """Return a folder as it was stored: links are followed as far as it is still there."""
    return str(Path(folder).expanduser().resolve())
