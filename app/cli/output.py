"""What commands print: results for people or programs, and failures.

Owns: `--json`, tables, lists of commands, failure texts. Never: the live view of a session (`stream_view`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click
import orjson

from app.cli.streams import colours, write_data

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

MAX_DIAGNOSTICS = 20
"""How many problems of a project file a failure shows; `kaged check` shows all."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(slots=True)
class JsonFlag:
    """Whether `--json` is set, for failures too; the object of the root command."""

    enabled: bool = False


class CommandFailed(Exception):
    """A command failed; `message` says what to do."""

    def __init__(
        self, code: str, message: str, *, details: Mapping[str, Any] | None = None, exit_code: int = 1
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = dict(details or {})
        self.exit_code = exit_code


def json_option(command: Decorated) -> Decorated:
    """Give a command the option `--json`; its parameter is `as_json`."""

    def remember(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
        if value:
            ctx.ensure_object(JsonFlag).enabled = True
        return value

    option = click.option(
        "--json",
        "as_json",
        is_flag=True,
        is_eager=True,
        callback=remember,
        help="Print machine-readable JSON.",
    )
    return option(command)


def print_json(value: Any) -> None:
    """Print one JSON document on one line of standard output."""
    write_data(orjson.dumps(value, default=str).decode() + "\n")


def print_text(text: str, *, bold: bool = False, dim: bool = False, color: str | None = None) -> None:
    """Print a line, on a terminal with colours."""
    click.secho(printable(text), bold=bold or None, dim=dim or None, fg=color)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns as wide as they need to be."""
    cleaned = [[printable(cell).replace("\n", " ") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cleaned, strict=True)]
    print_text(_columns(header, widths), bold=True)
    for row in cleaned:
        print_text(_columns(row, widths))


def print_failure(failure: CommandFailed, flag: JsonFlag) -> None:
    """Print a failure to standard error, as text with its diagnostics or as a line of JSON."""
    color = colours()
    if flag.enabled:
        error = {"code": failure.code, "message": failure.message, "details": failure.details}
        sys.stderr.write(orjson.dumps({"error": error}, default=str).decode() + "\n")
        return
    click.secho("kaged: ", fg="red", err=True, nl=False, color=color)
    click.echo(printable(failure.message), err=True)
    for found in failure.details.get("diagnostics", ())[:MAX_DIAGNOSTICS]:
        place = f"{found['file']}:{found['line']}:{found['column']}"
        text = f"  {place}: {found['severity']}[{found['code']}]: {found['message']}"
        click.echo(printable(text), err=True)
    for field, message in failure.details.get("fields", {}).items():
        if message in failure.message:
            continue
        click.echo(printable(f"  {field}: {message}"), err=True)


def print_warning(text: str) -> None:
    """Print a warning to standard error; nothing with `--json`."""
    context = click.get_current_context(silent=True)
    flag = context.find_object(JsonFlag) if context is not None else None
    if flag is None or not flag.enabled:
        click.secho(printable(f"! {text}"), fg="yellow", err=True)


def printable(text: str) -> str:
    """Return `text` without control characters, which could steer the terminal."""
    return _CONTROL.sub("", text)


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


_NEVER_CUT = 10_000


class CommandGroup(click.Group):
    """Lists its commands with their complete first sentence."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [
            (name, one.get_short_help_str(limit=_NEVER_CUT))
            for name, one in found
            if one is not None and not one.hidden
        ]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)
