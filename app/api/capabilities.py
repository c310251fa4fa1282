"""What of the machine a project can use: looked up now, nothing assumed.

Owns: which programs are on the path, which servers a project names. Never: starting any of them.
"""

from __future__ import annotations

import asyncio
import shutil

from app.api.schemas.projects import Capability
from app.config import Settings, child_environment
from app.harness.dsl.compiled import CompiledProject
from app.tools.ast_grep.programs import installed
from app.tools.search.engine import packaged_ripgrep, system_ripgrep


async def capabilities_of(settings: Settings, project: CompiledProject) -> list[Capability]:
    """Return what is present and what is missing, each with the reason."""
    return await asyncio.to_thread(_look, settings, project)


def _look(settings: Settings, project: CompiledProject) -> list[Capability]:
    found = [
        Capability(
            name="sandbox",
            kind="sandbox",
            available=False,
            reason="Not installed in this version: agents run without a cage.",
        )
    ]
    servers = {server.lang: tuple(server.command) for server in project.lsp.servers}
    servers.update({lang: server.command for lang, server in settings.lsp.servers.items()})
    found += [_program(lang, "language_server", command) for lang, command in sorted(servers.items())]
    adapters = {entry.runtime: tuple(entry.adapter or entry.command or ()) for entry in project.dap.adapters}
    adapters.update(
        {runtime: entry.adapter or entry.command or () for runtime, entry in settings.dap.adapters.items()}
    )
    found += [_program(runtime, "debug_adapter", command) for runtime, command in sorted(adapters.items())]
    engine = packaged_ripgrep() or system_ripgrep(child_environment())
    programs = {"git": "git", "rg": str(engine or "rg"), "ast-grep": installed("ast-grep")}
    found += [_program(name, "program", (command,)) for name, command in programs.items()]
    return found


def _program(name: str, kind: str, command: tuple[str, ...]) -> Capability:
    path = shutil.which(command[0]) if command else None
    reason = None if path else f"{command[0] if command else name} is not on the path of the daemon."
    return Capability.model_validate(
        {"name": name, "kind": kind, "available": path is not None, "reason": reason}
    )
