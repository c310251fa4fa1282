"""What the daemon uses of this machine: its cages, shell commands, and the programs that are installed.

Owns: looking for programs, language servers and debug adapters. Never: starting any of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.bridges.dap.manager import AdapterTable
from app.bridges.lsp.manager import ServerTable
from app.bridges.pty.manager import TerminalManager
from app.bridges.sandbox.tier import Tier
from app.config import Settings, child_environment
from app.daemon.debug_adapters import debug_declarations
from app.daemon.language_servers import declarations
from app.errors import ToolError
from app.harness.dsl.compiled import CompiledProject
from app.programs import find_program, on_path


@dataclass(frozen=True, slots=True)
class Capability:
    """Something outside the daemon that it can use. `reason` says why it is not available."""

    name: str
    kind: str
    available: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """`tier` is the kind of cages that the daemon can make here."""

    settings: Settings
    tier: Tier
    terminals: TerminalManager

    async def capabilities(self, project: CompiledProject) -> list[Capability]:
        """Return what a project finds here and what is missing, each with the reason."""
        return await asyncio.to_thread(_look, self.settings, self.tier, project)


def _look(settings: Settings, tier: Tier, project: CompiledProject) -> list[Capability]:
    environment = child_environment()
    found = [_sandbox(tier)]
    found += _language_servers(settings, project, environment)
    found += _debug_adapters(settings, project, environment)
    root = Path(project.root_dir)
    found.append(_program("git", on_path("git", environment, outside=root)))
    found += [_program(name, find_program(name, environment)) for name in ("rg", "ast-grep")]
    return found


def _sandbox(tier: Tier) -> Capability:
    """Return which cages there are: of namespaces, the weaker ones of landlock, or none."""
    available = tier.name in ("full", "landlock")
    reason = f"{tier.name}: {tier.reason}" + (f". {tier.advice}" if tier.advice else "")
    return Capability(name="sandbox", kind="sandbox", available=available, reason=reason)


def _language_servers(
    settings: Settings, project: CompiledProject, environment: Mapping[str, str]
) -> Iterator[Capability]:
    """Yield every language; the reason says why it has no server, and how to get one."""
    declared = declarations(project.lsp, settings.lsp)
    table = ServerTable(declared.project, declared.local, environment, root=Path(project.root_dir))
    return (_resolved(name, "language_server", table.resolve) for name in table.languages())


def _debug_adapters(
    settings: Settings, project: CompiledProject, environment: Mapping[str, str]
) -> Iterator[Capability]:
    """Yield every runtime; the reason says why it cannot be debugged, and how to get its adapter."""
    declared = debug_declarations(project.dap, settings.dap)
    table = AdapterTable(declared.project, declared.local, environment, root=Path(project.root_dir))
    return (_resolved(name, "debug_adapter", table.resolve) for name in table.runtimes())


def _resolved(name: str, kind: str, resolve: Callable[[str], object]) -> Capability:
    try:
        resolve(name)
    except ToolError as absent:
        return Capability(name=name, kind=kind, available=False, reason=absent.message)
    return Capability(name=name, kind=kind, available=True)


def _program(name: str, path: Path | None) -> Capability:
    reason = None if path else f"{name} is not on the path of the daemon, outside of projects."
    return Capability(name=name, kind="program", available=path is not None, reason=reason)
