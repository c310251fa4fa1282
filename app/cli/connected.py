"""What every command that talks to the daemon needs: its address, its project, `--json`.

Owns: the options that these commands share, and running their work. Never: requests (`client`).
"""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from app.cli.client import DaemonClient
from app.cli.conversation import open_project
from app.cli.daemon_address import daemon_options, find_daemon
from app.cli.output import json_option, print_json, print_text

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Connected:
    """How a command reaches the daemon, and how it shows what it got."""

    url: str | None
    token: str | None
    data_dir: Path | None
    config_file: Path | None
    as_json: bool
    project: Path | None = None

    def run(self, work: Callable[[DaemonClient], Awaitable[Answer]]) -> Answer:
        """Do the work with a client of the daemon, to its end. Raises `CommandFailed`."""
        address = find_daemon(
            url=self.url, token=self.token, data_dir=self.data_dir, config_file=self.config_file
        )

        async def connected() -> Answer:
            async with DaemonClient(address) as client:
                return await work(client)

        return asyncio.run(connected())

    def show(self, answer: Any, text: str) -> None:
        """Print what came of it: all of it as JSON, or else the one line for people."""
        if self.as_json:
            print_json(answer)
        else:
            print_text(text)

    async def project_id(self, client: DaemonClient) -> str:
        """Return the id of the project that `--project`, or the folder one is in, names."""
        return str((await open_project(client, self.project))["id"])


def connected(command: Decorated) -> Callable[..., Any]:
    """Give a command the options of the daemon and `--json`; its first argument is a `Connected`.

    It stands directly above the function."""

    @functools.wraps(command)
    def run(
        *,
        url: str | None,
        token: str | None,
        data_dir: Path | None,
        config_file: Path | None,
        as_json: bool,
        project: Path | None = None,
        **values: Any,
    ) -> Any:
        return command(Connected(url, token, data_dir, config_file, as_json, project), **values)

    return daemon_options(json_option(run))


def in_project(command: Decorated) -> Callable[..., Any]:
    """As `connected`, with the option `--project`."""
    option = click.option(
        "--project",
        type=click.Path(path_type=Path),
        help="The project's folder (default: the current folder).",
    )
    return option(connected(command))


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
