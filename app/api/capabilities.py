"""What of the machine a project can use: looked up now, nothing assumed.

Owns: which programs, language servers and debuggers are there. Never: starting any of them.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.api.schemas.projects import Capability
from app.bridges.dap.manager import AdapterTable
from app.bridges.lsp.manager import ServerTable
from app.bridges.sandbox.manager import Tier
from app.config import Settings, child_environment
from app.errors import ToolError
from app.harness.debug_adapters import debug_declarations
from app.harness.dsl.compiled import CompiledProject
from app.harness.language_servers import declarations
from app.programs import find_program


async def capabilities_of(settings: Settings, tier: Tier, project: CompiledProject) -> list[Capability]:
    """Return what is present and what is missing, each with the reason. `tier` is that of the daemon's
    cages."""
    return await asyncio.to_thread(_look, settings, tier, project)


def _look(settings: Settings, tier: Tier, project: CompiledProject) -> list[Capability]:
    environment = child_environment()
    found = [_sandbox(tier)]
    found += _language_servers(settings, project, environment)
    found += _debug_adapters(settings, project, environment)
    programs = {"git": "git"}
    programs |= {name: str(find_program(name, environment) or name) for name in ("rg", "ast-grep")}
    found += [_program(name, "program", (command,)) for name, command in programs.items()]
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
    for language in table.languages():
        reason = None
        try:
            table.resolve(language)
        except ToolError as absent:
            reason = absent.message
        yield Capability(name=language, kind="language_server", available=reason is None, reason=reason)


def _debug_adapters(
    settings: Settings, project: CompiledProject, environment: Mapping[str, str]
) -> Iterator[Capability]:
    """Every runtime, with why it cannot be debugged and how to get its adapter."""
    declared = debug_declarations(project.dap, settings.dap)
    table = AdapterTable(declared.project, declared.local, environment, root=Path(project.root_dir))
    for runtime in table.runtimes():
        reason = None
        try:
            table.resolve(runtime)
        except ToolError as absent:
            reason = absent.message
        yield Capability(name=runtime, kind="debug_adapter", available=reason is None, reason=reason)


def _program(name: str, kind: str, command: tuple[str, ...]) -> Capability:
    path = shutil.which(command[0]) if command else None
    reason = None if path else f"{command[0] if command else name} is not on the path of the daemon."
    return Capability.model_validate(
        {"name": name, "kind": kind, "available": path is not None, "reason": reason}
    )
