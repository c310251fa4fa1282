"""Who commits when an operator brings a workspace back: as git would say for who runs the daemon.

Owns: who it is where git has no name or address for them. Never: reading git's settings
(`harness.git.settings`), or committing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from app.harness.git.repository import settings_in, users_environment
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import GitProblem
from app.workspace.repository import repository_options

FALLBACK = {"name": "kaged", "email": "kaged@localhost"}


async def operator_identity(
    processes: CallProcesses, environment: Mapping[str, str], root: Path
) -> Mapping[str, str]:
    """Return the `name` and `email` that git's settings have in a project's folder, or kaged's own."""
    accepted = await asyncio.to_thread(repository_options, root) or ()
    users = users_environment(environment, Path(await asyncio.to_thread(os.path.realpath, root)))
    try:
        settings = await settings_in(processes, users, root, accepted)
    except GitProblem:
        return FALLBACK
    return {key: settings.identity.get(key, fallback) for key, fallback in FALLBACK.items()}
