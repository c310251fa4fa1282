"""What every command that talks to the daemon needs: its address, its project, `--json`.

Owns: the options that these commands share, and running their work. Never: requests (`client`).
"""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from app.cli.client import DaemonClient
from app.cli.conversation import open_project
from app.cli.daemon_address import daemon_options, find_daemon
from app.cli.given_path import GivenPath
from app.cli.output import json_option, print_json, print_table, print_text, printable

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Command = Callable[..., Awaitable[int | None]]


@dataclass(frozen=True, slots=True)
class Connected:
    """A client of the daemon, and how a command shows what it got."""

    client: DaemonClient
    as_json: bool
    project: Path | None = None

    def show(self, answer: Any, shown: str | Callable[[Any], None]) -> None:
        """Print the answer: as JSON, or for people as a line or by a function."""
        if self.as_json:
            print_json(answer)
        elif isinstance(shown, str):
            print_text(shown)
        else:
            shown(answer)

    def show_id(self, made: dict[str, Any], next_step: str) -> None:
        """Print the id of what was created, for people and scripts; standard error says what to do next."""
        self.show(made, str(made["id"]))
        if not self.as_json:
            click.secho(printable(next_step), dim=True, err=True)

    def show_rows(
        self, answer: Any, header: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str, more: str = ""
    ) -> None:
        """Print a list: as JSON, or as a table. `empty` stands in its place, `more` below it."""
        if self.as_json:
            print_json(answer)
        elif not rows:
            print_text(empty)
        else:
            print_table(header, rows)
            if more:
                print_text(more, dim=True)

    async def project_id(self) -> str:
        """Return the id of the project that `--project`, or the current folder, names."""
        return str((await open_project(self.client, self.project))["id"])


def connected(command: Command) -> Callable[..., Any]:
    """Give a command the options of the daemon and `--json`; its first argument is a `Connected`.

    It stands directly above the function. The daemon is looked for at the first request, so wrong use is
    reported also without one."""

    @functools.wraps(command)
    def run(
        *,
        url: str | None,
        token: str | None,
        data_dir: Path | None,
        config_file: Path | None,
        as_json: bool,
        project: Path | None = None,
        **options: Any,
    ) -> int | None:
        async def work() -> int | None:
            find = functools.partial(
                find_daemon, url=url, token=token, data_dir=data_dir, config_file=config_file
            )
            async with DaemonClient(find) as client:
                return await command(Connected(client, as_json, project), **options)

        return asyncio.run(work())

    return daemon_options(json_option(run))


def project_option(text: str) -> Callable[[Decorated], Decorated]:
    """Return the option `--project` with its help."""
    return click.option("--project", type=GivenPath(), help=text)


def in_project(command: Command) -> Callable[..., Any]:
    """As `connected`, with the option `--project`."""
    return project_option("The project's folder (default: the current folder).")(connected(command))


def text_or_file(text: str | None, file: str | None, *, name: str) -> str | None:
    """Return what an option or argument says, or what the file that stands for it holds; `-` is
    standard input. None when neither was given. Raises `UsageError` for both."""
    if text is not None and file is not None:
        raise click.UsageError(f"give the {name} or a file with it, not both.")
    if file is None and text != "-":
        return text
    if file in (None, "-"):
        return sys.stdin.read()
    try:
        return Path(file).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{file} cannot be read: {getattr(error, 'strerror', error)}.") from error
