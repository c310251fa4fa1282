"""git's settings of who runs the daemon, as workspaces obey them: who commits, how files are written, and
what is ignored.

Owns: who commits where git has no name or address for them. Never: reading git's settings
(`harness.git.settings`), or committing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from app.harness.git.repository import settings_in, users_environment
from app.harness.git.settings import GitSettings
from app.harness.workspaces.repository import CARRIED, Repository
from app.harness.workspaces.small_files import read_small
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import GitProblem
from app.workspace.repository import repository_options

FALLBACK = {"name": "kaged", "email": "kaged@localhost"}


async def operator_identity(
    processes: CallProcesses, environment: Mapping[str, str], root: Path
) -> Mapping[str, str]:
    """Return the `name` and `email` that git's settings have in a project's folder, or kaged's own."""
    try:
        settings = await _settings_of_user(processes, environment, root)
    except GitProblem:
        return FALLBACK
    return {key: settings.identity.get(key, fallback) for key, fallback in FALLBACK.items()}


async def as_user_sees(
    repository: Repository, processes: CallProcesses, environment: Mapping[str, str], root: Path
) -> Repository:
    """Return a repository with the settings and ignore rules that it has for who runs the daemon: git in a
    cage sees those of the repository alone. Raises `GitProblem`."""
    settings = await _settings_of_user(processes, environment, root)
    carried = {name: settings.values[name] for name in CARRIED if name in settings.values}
    rules = settings.files.get("core.excludesfile")
    ignored = None if rules is None else await asyncio.to_thread(read_small, rules)
    return replace(repository, settings=carried, ignored=ignored or b"")


async def _settings_of_user(
    processes: CallProcesses, environment: Mapping[str, str], root: Path
) -> GitSettings:
    accepted = await asyncio.to_thread(repository_options, root) or ()
    users = users_environment(environment, Path(await asyncio.to_thread(os.path.realpath, root)))
    return await settings_in(processes, users, root, accepted)
