"""`kaged status`: whether a daemon runs on a data folder, and what it does.

Owns: the command, its exit codes and its layout. Never: finding out (`daemon_status`).
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli.daemon_address import daemon_options, data_folder, find_daemon, find_project_root
from app.cli.given_path import GivenPath
from app.cli.output import json_option, print_json, print_text
from app.release import shown_release

if TYPE_CHECKING:
    from app.cli.daemon_status import DaemonStatus

NOT_RUNNING = 3
"""The exit code without a daemon, as `systemctl status` has it."""
_COLORS = {"running": "green", "starting": "yellow", "unresponsive": "red", "stopped": None}


@click.command(name="status")
@click.option("--project", type=GivenPath(), help="The project to look for (default: the current folder).")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the daemon may take to answer.",
)
@daemon_options
@json_option
def command(
    project: Path | None,
    timeout: float,
    url: str | None,
    token: str | None,
    data_dir: Path | None,
    config_file: Path | None,
    as_json: bool,
) -> int:
    """Show whether a daemon runs on the data folder, and what it does.

    Exit codes: 0 it runs and answers; 1 it starts, does not answer, or cannot be looked at; 3 none runs.
    """
    root = find_project_root() if project is None else project.expanduser().absolute()
    status = asyncio.run(_look(url, token, data_dir, config_file, timeout))
    if as_json:
        print_json(_as_json(status, root))
    else:
        _print(status, root)
    return 0 if status.condition == "running" else NOT_RUNNING if status.condition == "stopped" else 1


async def _look(
    url: str | None, token: str | None, data_dir: Path | None, config_file: Path | None, seconds: float
) -> DaemonStatus:
    from app.cli.daemon_status import local_status, remote_status
    from app.cli.local_daemon import find_local_daemon

    find = partial(find_daemon, url=url, token=token, data_dir=data_dir, config_file=config_file)
    if url is not None:
        return await remote_status(find(), seconds=seconds)
    daemon = find_local_daemon(data_folder(data_dir, config_file))
    return await local_status(daemon, find, seconds=seconds)


def _project_of(status: DaemonStatus, root: Path | None) -> dict[str, Any] | None:
    """Return the project in a folder, and whether the daemon has it."""
    if root is None or status.projects is None:
        return None
    real = str(root.resolve())
    return {"root": str(root), "loaded": any(one["root"] in (str(root), real) for one in status.projects)}


def _as_json(status: DaemonStatus, root: Path | None) -> dict[str, Any]:
    return {
        "state": status.condition,
        "problem": status.problem,
        "data_dir": None if status.data_dir is None else str(status.data_dir),
        "url": status.url,
        "pid": status.pid,
        "uptime_seconds": status.uptime_seconds,
        "versions": status.versions or None,
        "ready": status.readiness.get("ready"),
        "failed_checks": status.failed_checks,
        "cages": status.cages,
        "project": _project_of(status, root),
        "projects": None
        if status.projects is None
        else [
            {"id": one["id"], "slug": one["slug"], "root": one["root"], "trust": one["trust"]["state"]}
            for one in status.projects
        ],
        "sessions": status.sessions,
    }


def _print(status: DaemonStatus, root: Path | None) -> None:
    print_text(_headline(status), bold=True, color=_COLORS[status.condition])
    if status.problem is not None:
        print_text(f"  {status.problem}", color="yellow")
    for name, text in _lines(status, root):
        print_text(f"  {name.ljust(10)}{text}")


def _headline(status: DaemonStatus) -> str:
    if status.condition == "stopped":
        return f"no daemon runs on {status.data_dir}; start one with `kaged serve`"
    where = f" at {status.url}" if status.url else ""
    process = f", process {status.pid}" if status.pid else ""
    since = f", for {_duration(status.uptime_seconds)}" if status.uptime_seconds is not None else ""
    return f"{status.condition}{where}{process}{since}"


def _lines(status: DaemonStatus, root: Path | None) -> list[tuple[str, str]]:
    lines = [("version", _version(status.versions))] if status.versions else []
    if status.data_dir is not None and status.condition != "stopped":
        lines.append(("data", str(status.data_dir)))
    if (cages := status.cages) is not None:
        lines.append(("cages", f"{cages['tier']}: {cages['reason']}"))
    lines += [("not ready", f"{name}: {detail}") for name, detail in status.failed_checks.items()]
    if status.sessions is not None:
        counts = status.sessions
        waiting = f"{counts['waiting']} waiting for an answer"
        lines.append(("sessions", f"{counts['running']} running, {counts['queued']} queued, {waiting}"))
    for one in status.projects or ():
        trust = "" if one["trust"]["state"] == "trusted" else f"  ({one['trust']['state']})"
        lines.append(("project", f"{one['slug']}  {one['root']}{trust}"))
    project = _project_of(status, root)
    if project is not None and not project["loaded"]:
        lines.append(("project", f"{project['root']} is not loaded; `kaged send` there loads it"))
    return lines


def _version(known: dict[str, Any]) -> str:
    return shown_release(str(known.get("kaged")), known.get("commit"), known.get("database_schema"))


def _duration(seconds: int) -> str:
    """Return a duration in its two largest units."""
    parts: list[str] = []
    for name, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count or parts:
            parts.append(f"{count} {name}")
    return " ".join(parts[:2]) or "0 s"
