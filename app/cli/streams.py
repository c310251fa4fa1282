"""Standard output and standard error, made fit for any locale and for being closed.

Owns: what happens to characters that a locale does not have, closed streams, `NO_COLOR`. Never: what is
printed (`output`).
"""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import click

_NO_COLOR = click.Option(["--no-color"], envvar="NO_COLOR")
_TERM = click.Option(["--term"], envvar="TERM")


def prepare_streams() -> None:
    """Let no locale and no closed stream end a command: characters that the locale does not have become `?`,
    and what is written to a stream that the caller has closed is dropped."""
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def colours() -> bool | None:
    """Return False when the environment has `NO_COLOR` or `TERM=dumb`, else None: as the stream is."""
    return False if _NO_COLOR.resolve_envvar_value(_context()) or dumb_terminal() else None


def dumb_terminal() -> bool:
    """Tell whether the terminal knows no control sequences, so that nothing on it can be erased."""
    return _TERM.resolve_envvar_value(_context()) == "dumb"


def _context() -> click.Context:
    return click.Context(click.Command("kaged"))


def write_data(text: str) -> None:
    """Write what programs read to standard output: in UTF-8, whatever the locale is."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
        return
    sys.stdout.write(text)
    sys.stdout.flush()


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def abandon_output() -> None:
    """Drop what cannot be written to standard output, whose reader has gone or whose disk is full, so that
    the end of the process does not fail on it again."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
