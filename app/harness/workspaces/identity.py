"""Who commits when an operator brings a workspace back: as git would say for who runs the daemon.

Owns: asking git for the name and the address. Reading settings runs no program. Never: committing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from app.bridges.processes.child import SpawnFailed
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import NO_PROGRAMS, QUIET
from app.workspace.repository import repository_options

SECONDS = 10.0
FALLBACK = {"name": "kaged", "email": "kaged@localhost"}


async def operator_identity(
    processes: CallProcesses, environment: Mapping[str, str], root: Path
) -> Mapping[str, str]:
    """Return the `name` and `email` that git's settings have in a project's folder, or kaged's own."""
    accepted = await asyncio.to_thread(repository_options, root) or ()
    plain = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    found = dict(FALLBACK)
    for key in FALLBACK:
        try:
            done = await processes.own.run(
                ["git", *QUIET, *accepted, "config", "--get", f"user.{key}"],
                owner="git",
                cwd=root,
                env={**plain, **NO_PROGRAMS},
                seconds=SECONDS,
                max_output=10_000,
            )
        except SpawnFailed:
            return FALLBACK
        said = done.stdout.decode("utf-8", "replace").strip()
        if done.exit_code == 0 and said and "\n" not in said:
            found[key] = said
    return found
