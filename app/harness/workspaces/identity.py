"""git's settings of who runs the daemon, as workspaces obey them: who commits, how files are written, and
what is ignored.

Owns: who commits where git has no name or address for them. Never: reading git's settings
(`harness.git.settings`), or committing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from app.harness.git.repository import settings_of_user
from app.harness.workspaces.repository import CARRIED, Repository
from app.harness.workspaces.small_files import read_small
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import GitProblem

FALLBACK = {"name": "kaged", "email": "kaged@localhost"}


async def operator_identity(
    processes: CallProcesses, environment: Mapping[str, str], root: Path
) -> Mapping[str, str]:
    """Return the `name` and `email` that git's settings have in a project's folder, or kaged's own."""
    try:
        settings = await settings_of_user(processes, environment, root)
    except GitProblem:
        return FALLBACK
    return {key: settings.identity.get(key, fallback) for key, fallback in FALLBACK.items()}


async def as_user_sees(
    repository: Repository, processes: CallProcesses, environment: Mapping[str, str], root: Path
) -> Repository:
    """Return a repository with the settings and ignore rules that it has for who runs the daemon: git in a
    cage sees those of the repository alone. Raises `GitProblem`."""
    settings = await settings_of_user(processes, environment, root)
    carried = {name: settings.values[name] for name in CARRIED if name in settings.values}
    rules = settings.files.get("core.excludesfile")
    ignored = None if rules is None else await asyncio.to_thread(read_small, rules)
    return replace(repository, settings=carried, ignored=ignored or b"")
