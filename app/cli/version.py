"""`kaged version`, and the line of `kaged --version`.

Owns: the command and the line. Never: finding the commit (`app.release`).
"""

from __future__ import annotations

import platform

import click

from app import __version__
from app.cli.output import json_option, print_json, print_text


@click.command(name="version")
@json_option
def command(as_json: bool) -> None:
    """Print the version, the commit of the build, and the revision of the database schema.

    `kaged --version` prints the same line. `kaged status` prints the version of a running daemon.
    """
    if not as_json:
        print_text(version_line())
        return
    from app.release import commit
    from app.storage.revisions import HEAD

    print_json(
        {
            "kaged": __version__,
            "commit": commit(),
            "database_schema": HEAD,
            "python": platform.python_version(),
            "platform": platform.system().lower(),
        }
    )


def version_line() -> str:
    """Return the version as people read it."""
    from app.release import commit, shown_release
    from app.storage.revisions import HEAD

    return f"kaged {shown_release(__version__, commit(), HEAD)}"
