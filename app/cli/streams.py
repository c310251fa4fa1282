"""Standard output and standard error, for any locale and also when closed.

Owns: characters that a locale lacks, closed streams, `NO_COLOR`. Never: what is printed (`output`).
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
    """Replace characters that the locale lacks by `?`, and drop output to closed streams."""
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def colours() -> bool | None:
    """Return False for `NO_COLOR` or `TERM=dumb`, else None: the stream decides."""
    return False if _NO_COLOR.resolve_envvar_value(_context()) or dumb_terminal() else None


def dumb_terminal() -> bool:
    """Tell whether the terminal has no control sequences."""
    return _TERM.resolve_envvar_value(_context()) == "dumb"


def _context() -> click.Context:
    return click.Context(click.Command("kaged"))


def write_data(text: str) -> None:
    """Write data for programs to standard output, in UTF-8 with any locale."""
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
    """Drop buffered output that cannot be written, so that the end of the process does not fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
