"""Runs the command that a project names for its new workspaces.

Owns: its cage, which can write the workspace only and reach the registries of its package managers, its log,
and what is found wrong afterwards. Never: whether the project is trusted, or what follows from a failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import orjson

from app.bridges.processes.child import SpawnFailed
from app.cages.cage import Cage, Mount
from app.cages.inner_environment import environment_inside
from app.cages.protected_names import ENVIRONMENT_MARK
from app.errors import ToolError
from app.harness.workspaces.small_files import read_small
from app.tools.processes.call_processes import CallProcesses
from app.workspace.package_registries import registries_for

SECONDS = 1800.0
MAX_OUTPUT = 16 * 1024 * 1024
MAX_LOG = 64 * 1024


@dataclass(frozen=True, slots=True)
class SetupPlace:
    """Where a setup runs: the folder that stands for the project's `root`, within the folder `tree`, which it
    may write. It reads what is `shown`."""

    workspace_id: str
    root: Path
    tree: Path
    shown: tuple[Path, ...]
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SetupRun:
    """How a setup ended: what it said, and what went wrong."""

    log: str
    problem: str | None


async def run_setup(
    processes: CallProcesses, environment: Mapping[str, str], command: str | Sequence[str], place: SetupPlace
) -> SetupRun:
    """Run a setup to its end; nothing of it is left. Raises nothing but a cancellation."""
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    key = f"setup/{place.workspace_id}"
    cage = Cage(
        mounts=(
            *(Mount(path, "deny") for path in processes.closed),
            *(Mount(path, "ro") for path in place.shown),
            Mount(place.tree, "rw"),
        ),
        env=dict(place.variables),
        net=await asyncio.to_thread(registries_for, place.root),
    )
    try:
        about = {"workspace": place.workspace_id}
        children = await processes.cages.children(key, cage, place.root, about=about)
        inside = dict(environment)
        if processes.has_cages:
            inside = environment_inside(environment, (*place.shown, place.tree))
        done = await children.run(
            words,
            owner="workspace setup",
            cwd=place.root,
            env={**inside, **place.variables},
            seconds=SECONDS,
            max_output=MAX_OUTPUT,
        )
    except SpawnFailed as problem:
        return SetupRun("", f"`setup` cannot be started: {problem.reason}")
    except ToolError as problem:
        return SetupRun("", f"`setup` cannot be started: {problem.message}")
    finally:
        await asyncio.shield(processes.cages.end(key))
    said = (done.stdout + done.stderr)[-MAX_LOG:].decode("utf-8", "replace").replace("\0", "\ufffd")
    if done.timed_out:
        return SetupRun(said, f"`setup` was killed after {SECONDS / 60:.0f} minutes")
    if done.truncated:
        return SetupRun(said, f"`setup` was killed because it wrote more than {MAX_OUTPUT // 1024**2} MB")
    return SetupRun(said, f"`setup` ended with {done.exit_code}" if done.exit_code else None)


def packages_outside(root: Path, project: Path) -> list[str]:
    """Return the Python packages installed in a workspace at `root` that are really files of the checkout at
    `project`: tests there would test the wrong files. Blocks."""
    found = set()
    for packages in _site_packages(root):
        for record in packages.glob("*.dist-info/direct_url.json"):
            with suppress(OSError, ValueError, KeyError, TypeError):
                place = unquote(urlsplit(str(orjson.loads(read_small(record) or b"")["url"])).path)
                if Path(place).is_relative_to(project):
                    found.add(record.parent.name.partition("-")[0])
        for listed in packages.glob("*.pth"):
            with suppress(ValueError):
                lines = (read_small(listed) or b"").decode("utf-8", "replace").splitlines()
                if any(line.startswith("/") and Path(line).is_relative_to(project) for line in lines):
                    found.add(listed.stem)
    return sorted(found)


def _site_packages(root: Path) -> Iterator[Path]:
    for mark in root.glob(f"*/{ENVIRONMENT_MARK}"):
        yield from mark.parent.glob("lib/python*/site-packages")
