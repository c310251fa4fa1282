"""`kaged stop`: stop the daemon of a data folder, and wait for its end.

Owns: the command. Never: what a daemon does when it stops (`app.main`), or remote daemons.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli.daemon_address import data_folder, find_daemon, local_options
from app.cli.output import CommandFailed, json_option, print_json, print_text

if TYPE_CHECKING:
    from app.cli.daemon_status import DaemonStatus
    from app.cli.local_daemon import LocalDaemon, Process

DEFAULT_SECONDS = 30.0
_KILLED_SECONDS = 10.0
_PART_FOR_LOOKING = 6
"""Which part of the time the daemon has to answer what runs, before it is asked to stop."""
_LOOK_SECONDS = 0.1


@click.command(name="stop")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=DEFAULT_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="How long running tool calls and the daemon may take to end.",
)
@click.option("--now", is_flag=True, help="Kill the daemon when it has not ended by then.")
@click.option("--url", envvar="KAGED_URL", hidden=True)
@local_options
@json_option
def command(
    timeout: float, now: bool, url: str | None, data_dir: Path | None, config_file: Path | None, as_json: bool
) -> None:
    """Stop the daemon of the data folder, and wait until it has ended.

    Running sessions are paused; `kaged session resume` continues them under the next daemon. Without a daemon
    there is nothing to do, and the exit code is 0. It is 1 when the daemon has not ended in time.
    """
    from app.cli.daemon_status import local_status
    from app.cli.local_daemon import find_local_daemon, opened_process

    deadline = time.monotonic() + timeout
    folder = data_folder(data_dir, config_file)
    daemon = _with_address(find_local_daemon(folder), deadline)
    _refuse_remote(url, daemon)
    if not daemon.held or daemon.ended:
        _print(as_json, f"no daemon runs on {folder}", stopped=False)
        return
    if daemon.holder is None:
        raise CommandFailed(
            "unknown", f"a process holds {folder}, and its lock does not say which; stop it by hand"
        )
    if daemon.url is None and not now:
        raise CommandFailed(
            "busy",
            f"the process {daemon.holder.pid} holds {folder} without being a daemon that listens, for "
            "example `kaged db restore`; it was left alone (--now kills it)",
        )
    with opened_process(daemon.holder) as process:
        find = partial(find_daemon, url=None, token=None, data_dir=folder, config_file=None)
        status = asyncio.run(local_status(daemon, find, seconds=max(timeout / _PART_FOR_LOOKING, 1.0)))
        begun = time.monotonic()
        killed = process is not None and _end(process, deadline, now=now, status=status)
    how = "killed" if killed else "stopped"
    seconds = time.monotonic() - begun
    line = f"{how} the daemon (process {daemon.holder.pid}) after {seconds:.1f} s"
    _print(as_json, line, stopped=True, killed=killed, pid=daemon.holder.pid, status=status)


def _with_address(daemon: LocalDaemon, deadline: float) -> LocalDaemon:
    """Wait until a daemon that starts has its address. Blocks."""
    from app.cli.local_daemon import find_local_daemon

    while daemon.held and daemon.url is None and not daemon.ended and time.monotonic() < deadline:
        threading.Event().wait(_LOOK_SECONDS)
        daemon = find_local_daemon(daemon.folder)
    return daemon


def _refuse_remote(url: str | None, daemon: LocalDaemon) -> None:
    """Raise `CommandFailed` when `KAGED_URL` names another daemon than that of the data folder."""
    if url is not None and url.rstrip("/") != daemon.url:
        raise CommandFailed(
            "usage",
            f"--url or KAGED_URL names the daemon at {url}, and `kaged stop` stops a daemon of this machine "
            "by its process: unset it, and name the data folder with --data-dir",
            exit_code=2,
        )


def _end(process: Process, deadline: float, *, now: bool, status: DaemonStatus) -> bool:
    """Stop the process, and wait for its end; tell whether it had to be killed. Raises `CommandFailed`."""
    process.send(signal.SIGTERM)
    if process.wait(deadline - time.monotonic()):
        return False
    if not now:
        problem = f" ({status.problem})" if status.problem else ""
        raise CommandFailed(
            "timeout",
            f"the daemon (process {process.pid}) was asked to stop and has not ended yet{problem}; wait "
            "longer with --timeout, or kill it with --now",
        )
    process.send(signal.SIGKILL)
    if not process.wait(_KILLED_SECONDS):
        raise CommandFailed("timeout", f"the process {process.pid} was killed and has not ended yet")
    return True


def _print(
    as_json: bool,
    line: str,
    *,
    stopped: bool,
    killed: bool = False,
    pid: int | None = None,
    status: DaemonStatus | None = None,
) -> None:
    working: list[dict[str, Any]] = status.working if status is not None else []
    sessions = status.sessions if status is not None else None
    if as_json:
        shown = [{"id": one["id"], "title": one["title"], "state": one["state"]} for one in working]
        print_json(
            {"stopped": stopped, "killed": killed, "pid": pid, "sessions": sessions, "interrupted": shown}
        )
        return
    print_text(line)
    if sessions is not None and (sessions["running"] or sessions["waiting"]):
        print_text(
            f"sessions at that moment: {sessions['running']} running, "
            f"{sessions['waiting']} waiting for an answer",
            dim=True,
        )
    for one in working:
        print_text(f"  {one['id']}  {one['state']}  {one['title']}", dim=True)
