"""Runs a command of the operator in a workspace: the project's `setup`, or a check of an attempt.

Owns: its cage, which can write the workspace only and reach the registries of its package managers, and is
no wider than that of the agent that wrote there; and its limits. Never: which command it is, whether the
project is trusted, or what follows from a failure.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.bridges.processes.child import Finished, SpawnFailed
from app.cages.cage import Cage, Mount
from app.cages.inner_environment import environment_inside
from app.cages.network_rules import NetworkRules
from app.errors import ToolError
from app.observability import Redactor
from app.tools.processes.call_processes import CallProcesses, plain_variables
from app.workspace.package_registries import registries_for

MAX_OUTPUT = 16 * 1024 * 1024
_LONGEST_SECRET = 16 * 1024


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """Where a command runs: the folder that stands for the project's `root`, within the folder `tree`, which
    it may write. It reads what is `shown`. The manifests in `manifests` say which registries it reaches.
    `held` is the cage of the agent that wrote what the command runs: it has that one then, and of its hosts
    the registries alone."""

    workspace_id: str
    root: Path
    tree: Path
    shown: tuple[Path, ...]
    variables: Mapping[str, str]
    manifests: Path
    held: Cage | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """A command for `/bin/sh`, or its words. `name` is what operators know it by."""

    name: str
    words: str | Sequence[str]
    seconds: float

    @property
    def argv(self) -> list[str]:
        return ["/bin/sh", "-c", self.words] if isinstance(self.words, str) else list(self.words)


@dataclass(frozen=True, slots=True)
class CommandRun:
    """How a command ended: what it said, its exit code where it ended by itself, and what went wrong."""

    output: bytes
    exit_code: int | None
    problem: str | None
    seconds: float = 0.0

    def end(self, most: int, redactor: Redactor) -> str:
        """Return the last bytes of what it said, as text without secrets."""
        # More than that is looked at, so that no secret is cut by the beginning.
        said = self.output[-most - _LONGEST_SECRET :].decode("utf-8", "replace").replace("\0", "\ufffd")
        return redactor.text(said).encode()[-most:].decode("utf-8", "ignore")


async def run_in_workspace(
    processes: CallProcesses, environment: Mapping[str, str], command: Command, place: CommandPlace
) -> CommandRun:
    """Run a command to its end; nothing of it is left. Raises nothing but a cancellation."""
    key = f"{command.name}/{place.workspace_id}"
    began = time.monotonic()
    try:
        done = await _run(processes, environment, command, place, key)
    except SpawnFailed as problem:
        return CommandRun(b"", None, f"`{command.name}` cannot be started: {problem.reason}")
    except ToolError as problem:
        return CommandRun(b"", None, f"`{command.name}` cannot be started: {problem.message}")
    finally:
        await asyncio.shield(processes.cages.end(key))
    took = time.monotonic() - began
    said = done.stdout + done.stderr
    if done.timed_out:
        limit = f"{command.seconds / 60:.0f} minutes" if command.seconds >= 120 else f"{command.seconds:g} s"
        return CommandRun(said, None, f"`{command.name}` was killed after {limit}", took)
    if done.truncated:
        most = f"more than {MAX_OUTPUT // 1024**2} MB"
        return CommandRun(said, None, f"`{command.name}` was killed because it wrote {most}", took)
    failure = f"`{command.name}` ended with {done.exit_code}" if done.exit_code else None
    return CommandRun(said, done.exit_code, failure, took)


async def _run(
    processes: CallProcesses,
    environment: Mapping[str, str],
    command: Command,
    place: CommandPlace,
    key: str,
) -> Finished:
    cage = cage_at(place, processes.closed, await asyncio.to_thread(registries_for, place.manifests))
    about = {"workspace": place.workspace_id}
    children = await processes.cages.children(key, cage, place.root, about=about)
    inside = dict(environment)
    if processes.has_cages and place.held is not None:
        inside = plain_variables(environment)
    elif processes.has_cages:
        inside = environment_inside(environment, (*place.shown, place.tree))
    return await children.run(
        command.argv,
        owner=f"workspace {command.name}",
        cwd=place.root,
        env={**inside, **cage.env},
        seconds=command.seconds,
        max_output=MAX_OUTPUT,
    )


def cage_at(place: CommandPlace, closed: Sequence[Path], registries: Sequence[str]) -> Cage:
    """Return the cage of a command: its own, or that which it is held to."""
    held, variables = place.held, dict(place.variables)
    if held is not None:
        allowed = NetworkRules.of(held.net)
        return replace(
            held,
            net=tuple(host for host in registries if allowed.covers(host)),
            env={**held.env, **variables},
        )
    mounts = (
        *(Mount(path, "deny") for path in closed),
        *(Mount(path, "ro") for path in place.shown),
        Mount(place.tree, "rw"),
    )
    return Cage(mounts=mounts, env=variables, net=tuple(registries))
