"""What a run works with: its route, its system prompt, its tools and their rules.

Owns: these choices, made before the run starts. Never: who runs (`scope`), or what was used (`meter`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from app.harness.projects.permissions import PermissionRules
from app.harness.projects.prompts.store import Prompt
from app.harness.providers.route import Route
from app.harness.run.answers import WaitingCall
from app.messages import SystemBlock, ToolSpec
from app.tools.contract.definition import OwnTools
from app.tools.contract.rules import PermissionRule


class Remind(Protocol):
    """Gives the reminder of open tasks, None when there are none; `has_tool`: the agent can change them."""

    async def __call__(self, *, has_tool: bool) -> str | None: ...


Prepare = Callable[[Any], Awaitable[None]]
"""Is awaited before the first step of a run, which it is given."""


async def at_once() -> None:
    """Wait for nothing."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The choices of one run.

    `prepare` makes `system`, or the folder, ready, once, before the first step. `remind` gives the reminder
    of open tasks. `files_noted` waits until the state of the project's files is noted. `waiting_calls` are
    calls of an earlier run that this run resumes."""

    route: Route
    system: Callable[[], tuple[SystemBlock, ...]]
    tools: tuple[ToolSpec, ...]
    allowed_tools: frozenset[str]
    scratch_dir: Path
    permissions: PermissionRules
    extra_tools: OwnTools = field(default_factory=dict)
    manifest_rules: tuple[PermissionRule, ...] = ()
    on_overflow: Literal["abort", "truncate"] = "abort"
    prompt_edits: Mapping[str, Prompt] = field(default_factory=dict)
    surroundings: tuple[SystemBlock, ...] = ()
    prepare: Prepare | None = None
    remind: Remind | None = None
    files_noted: Callable[[], Awaitable[None]] = at_once
    waiting_calls: tuple[WaitingCall, ...] = ()
