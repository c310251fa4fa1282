"""`kaged logs`: show the daemon's log, and follow it.

Owns: the command and the layout of a line. Never: where the log is read (`log_source`).
"""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import click

from app.cli.daemon_address import daemon_options, data_folder, find_daemon
from app.cli.output import json_option, print_json, print_text

DEFAULT_LINES = 50
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(r"([0-9]{1,9})([smhdw])")
_COLORS = {"warning": "yellow", "error": "red", "critical": "red"}


class _Moment(click.ParamType[datetime]):
    """A duration before now, or a time."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            if (ago := _AGO.fullmatch(value)) is not None:
                return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
            return datetime.fromisoformat(value).astimezone(UTC)  # one without a zone is local
        except (ValueError, OverflowError):
            self.fail(
                "write a duration such as 30s, 10m, 2h, 7d, or a time such as 2026-05-22T14:30.", param, ctx
            )


@click.command(name="logs")
@click.option("-f", "--follow", is_flag=True, help="Go on with new entries until Ctrl-C, over restarts too.")
@click.option(
    "-n", "--lines", type=click.IntRange(min=0), help=f"The newest entries (default {DEFAULT_LINES})."
)
@click.option("--since", type=_Moment(), help="Entries since then: 30s, 10m, 2h, 7d, or a time.")
@click.option(
    "--level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Entries of this level and more serious ones.",
)
@click.option("--session", "session_id", help="Entries of a session.")
@click.option("--text", help="Entries that contain this text.")
@daemon_options
@json_option
def command(
    follow: bool,
    lines: int | None,
    since: datetime | None,
    level: str | None,
    session_id: str | None,
    text: str | None,
    url: str | None,
    token: str | None,
    data_dir: Path | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Show the log of the daemon, the newest entry last.

    Without a running daemon the log is read from its database. With --json each entry is a line.
    """
    from app.cli.log_source import LogSource

    newest = lines if lines is not None else None if since is not None else DEFAULT_LINES
    filters = {"level": level, "session_id": session_id, "text": text}
    source = LogSource(
        find=partial(find_daemon, url=url, token=token, data_dir=data_dir, config_file=config_file),
        folder=None if url is not None else data_folder(data_dir, config_file),
        config_file=config_file,
        filters={name: value for name, value in filters.items() if value is not None},
    )
    asyncio.run(_show(source, newest, since, follow=follow, as_json=as_json))


async def _show(
    source: Any, newest: int | None, since: datetime | None, *, follow: bool, as_json: bool
) -> None:
    show = print_json if as_json else _print
    async with aclosing(source):
        begun = datetime.now(UTC)
        for entry in await source.newest(newest, since):
            show(entry)
        if follow:
            following = asyncio.ensure_future(_follow(source, begun, show))
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, following.cancel)
            with suppress(asyncio.CancelledError):
                await following


async def _follow(source: Any, begun: datetime, show: Callable[[dict[str, Any]], None]) -> None:
    async for entry in source.later(begun):
        show(entry)


def _print(entry: dict[str, Any]) -> None:
    fields = dict(entry["fields"])
    exception = fields.pop("exception", None)
    event = fields.pop("message", "") if entry["event"] == "log" else entry["event"]
    known = {"session_id": entry["session_id"], "run_id": entry["run_id"], **fields}
    words = " ".join(f"{name}={value}" for name, value in known.items() if value is not None)
    moment = datetime.fromisoformat(entry["created_at"]).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    line = f"{moment} {entry['level']:<8} {event} {words}".rstrip()
    whole = f"{line}\n{exception}" if exception else line
    # Indented, so that nothing that is quoted here can pass for an entry.
    print_text(whole.replace("\r", "").replace("\n", "\n    "), color=_COLORS.get(entry["level"]))
