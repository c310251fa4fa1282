"""One question at a terminal, asked and answered while nothing else goes on.

Owns: the order of showing and reading. Never: what a line means (`dialogs`).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import Any

import click

from app.cli.dialogs import Dialog, Line, NotUnderstood
from app.cli.output import CommandFailed, print_text


async def ask_at_terminal(dialog: Dialog) -> Mapping[str, Any]:
    """Return the body of the answer. Raises `UsageError` without a terminal, `CommandFailed` when the
    input ends before."""
    if not sys.stdin.isatty():
        raise click.UsageError("give the answer, or run this at a terminal to be asked.")
    _show([*dialog.opening(), *dialog.prompt()])
    while True:
        typed = await asyncio.to_thread(sys.stdin.readline)
        if not typed:
            raise CommandFailed("aborted", "nothing was answered")
        try:
            body = dialog.take(typed.rstrip("\n"))
        except NotUnderstood as problem:
            print_text(f"  {problem}", color="yellow")
            continue
        if body is not None:
            return body
        _show(dialog.prompt())


def _show(lines: list[Line]) -> None:
    for line in lines:
        print_text(line.text, dim=line.dim, color="yellow" if line.asks else None)
