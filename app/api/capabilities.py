"""What of the machine a project can use: looked up now, nothing assumed.

Owns: which programs, language servers and debuggers are there. Never: starting any of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from app.api.schemas.projects import Capability, CapabilityKind
from app.bridges.dap.manager import AdapterTable
from app.bridges.lsp.manager import ServerTable
from app.bridges.sandbox.manager import Tier
from app.config import Settings, child_environment
from app.daemon.debug_adapters import debug_declarations
from app.daemon.language_servers import declarations
from app.errors import ToolError
from app.harness.dsl.compiled import CompiledProject
from app.programs import find_program, on_path


async def capabilities_of(settings: Settings, tier: Tier, project: CompiledProject) -> list[Capability]:
    """Return what is present and what is missing, each with the reason. `tier` is that of the daemon's
    cages."""
    return await asyncio.to_thread(_look, settings, tier, project)


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
    """Which cages there are: those of namespaces, the weaker ones of landlock, or none."""
    available = tier.name in ("full", "landlock")
    reason = f"{tier.name}: {tier.reason}" + (f". {tier.advice}" if tier.advice else "")
    return Capability(name="sandbox", kind="sandbox", available=available, reason=reason)


def _language_servers(
    settings: Settings, project: CompiledProject, environment: Mapping[str, str]
) -> Iterator[Capability]:
    """Every language, with why there is no server for it and how to get one."""
    declared = declarations(project.lsp, settings.lsp)
    table = ServerTable(declared.project, declared.local, environment, root=Path(project.root_dir))
    return (_resolved(name, "language_server", table.resolve) for name in table.languages())


def _debug_adapters(
    settings: Settings, project: CompiledProject, environment: Mapping[str, str]
) -> Iterator[Capability]:
    """Every runtime, with why it cannot be debugged and how to get its adapter."""
    declared = debug_declarations(project.dap, settings.dap)
    table = AdapterTable(declared.project, declared.local, environment, root=Path(project.root_dir))
    return (_resolved(name, "debug_adapter", table.resolve) for name in table.runtimes())


def _resolved(name: str, kind: CapabilityKind, resolve: Callable[[str], object]) -> Capability:
    try:
        resolve(name)
    except ToolError as absent:
        return Capability(name=name, kind=kind, available=False, reason=absent.message)
    return Capability(name=name, kind=kind, available=True)


def _program(name: str, path: Path | None) -> Capability:
    reason = None if path else f"{name} is not on the path of the daemon, outside of projects."
    return Capability(name=name, kind="program", available=path is not None, reason=reason)
