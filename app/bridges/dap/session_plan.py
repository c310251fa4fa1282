"""What a debug session is made from, and with what it runs.

Owns: these shapes, and where the adapter and the program of one session run. Never: beginning it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from app.bridges.dap.adapter_behaviour import Entry
from app.bridges.dap.adapter_entry import ResolvedAdapter
from app.bridges.dap.limits import DebugLimits
from app.bridges.dap.requests import AttachRequest, DebugOwner, LaunchRequest
from app.bridges.dap.reverse_requests import Terminals
from app.bridges.dap.rust_formatters import files_of, find_formatters
from app.bridges.processes.audit import Record
from app.bridges.processes.child_starter import ChildStarter
from app.programs import on_path

RUST = "rust"


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What sessions are run with; the same for all of a daemon."""

    children: ChildStarter
    terminals: Terminals | None
    environment: Mapping[str, str]
    record: Record
    limits: DebugLimits

    async def for_request(
        self, request: LaunchRequest | AttachRequest, resolved: ResolvedAdapter, root: Path
    ) -> Dependencies:
        """Return these as they are for one session: where its adapter and program run. Raises ToolError as
        the cage does."""
        if request.cage is None:
            return self
        commands = [resolved.command, resolved.interpreter] if isinstance(request, LaunchRequest) else []
        if isinstance(request, AttachRequest) and not is_dialled(request, resolved):
            commands = [resolved.command]
        commands += [(file,) for file in resolved.behaviour.process.own_files]
        places = {**self.environment, **resolved.env}
        if resolved.runtime == RUST:
            formatters = await asyncio.to_thread(find_formatters, places, root)
            commands += [(str(file),) for file in files_of(formatters)] if formatters else []
        for name in resolved.behaviour.process.runs:
            program = await asyncio.to_thread(on_path, name, places)
            commands += [(str(program),)] if program is not None else []
        inside = await request.cage([one for one in commands if one], self.environment)
        environment = {**inside.environment, **resolved.behaviour.process.env_in_cage}
        return replace(self, children=inside.children, environment=environment)


@dataclass(frozen=True, slots=True)
class Plan:
    """What one session is made from: who asks for it, what is debugged, by which adapter, and with what."""

    owner: DebugOwner
    request: LaunchRequest | AttachRequest
    resolved: ResolvedAdapter
    dependencies: Dependencies

    @property
    def cwd(self) -> Path:
        return self.request.cwd if isinstance(self.request, LaunchRequest) else self.owner.project_root

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the adapter, and of what runs in its terminals."""
        return {**self.dependencies.environment, **self.resolved.env}

    def stops_on_entry(self, way: Entry | None = None) -> bool:
        """Tell whether the program is to stop on entry, and in this way."""
        wanted = isinstance(self.request, LaunchRequest) and self.request.stop_on_entry
        return wanted and way in (None, self.resolved.behaviour.stopping.entry)


def is_dialled(request: AttachRequest, resolved: ResolvedAdapter) -> bool:
    """Tell whether the program has an adapter in itself, so that none is started."""
    return resolved.behaviour.reach.attaches_itself and request.port is not None
