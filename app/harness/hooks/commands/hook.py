"""One hook of the operator or of a project, and the place in which it runs.

Owns: these shapes, for which agents a hook is, and reading the operator's hooks from the settings. Never:
running a hook.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from app.config.hook_settings import HookEntrySettings, HookSettings
from app.errors import ConfigError
from app.harness.dsl.compiled import CompiledProject
from app.harness.dsl.spec_hooks import HOOK_EVENTS, OF_TOOLS, HookEvent, HookSpec, HooksSection
from app.harness.dsl.validation import first_fault
from app.ids import ROOT_AGENT
from app.workspace.globs import text_matches

HookSource = Literal["config", "project"]


@dataclass(frozen=True, slots=True)
class CommandHook:
    """A command, the event at which it runs, and whose it is."""

    event: HookEvent
    source: HookSource
    spec: HookSpec

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def key(self) -> tuple[str, str]:
        return self.source, self.spec.name

    def is_for(self, agent_path: str) -> bool:
        """Tell whether the hook runs for an agent."""
        if self.spec.agents is None:
            return self.event in OF_TOOLS or agent_path == ROOT_AGENT
        return any(text_matches(agent_path, glob) for glob in self.spec.agents)


@dataclass(frozen=True, slots=True)
class HookPlace:
    """The project in which a hook runs. `root` is its own folder, where its scripts are; `folder` is where
    the session works that it is about."""

    project_id: str
    slug: str
    root: Path
    project: CompiledProject
    folder: Path


def hooks_of(section: HooksSection, source: HookSource) -> tuple[CommandHook, ...]:
    return tuple(CommandHook(event, source, spec) for event, spec in section.all())


def hooks_of_settings(settings: HookSettings) -> tuple[CommandHook, ...]:
    """Return the operator's hooks. Raises `ConfigError` for a cage that says nothing valid, and for a name
    that stands twice."""
    found: list[CommandHook] = []
    names: set[str] = set()
    for event in HOOK_EVENTS:
        entries: tuple[HookEntrySettings, ...] = getattr(settings, event)
        for index, entry in enumerate(entries):
            if entry.name in names:
                raise ConfigError(f"hooks.{event}.{index}.name: two hooks are called {entry.name!r}")
            names.add(entry.name)
            found.append(CommandHook(event, "config", _spec(entry, f"hooks.{event}.{index}")))
    try:
        HooksSection(**{event: [one.spec for one in found if one.event == event] for event in HOOK_EVENTS})
    except ValidationError as problem:
        raise ConfigError(f"hooks: {first_fault(problem)}") from None
    return tuple(found)


def _spec(entry: HookEntrySettings, key: str) -> HookSpec:
    values: dict[str, Any] = {
        **entry.model_dump(),
        "command": entry.command if isinstance(entry.command, str) else list(entry.command),
        "match": [one.model_dump() for one in entry.match],
        "agents": None if entry.agents is None else list(entry.agents),
    }
    try:
        return HookSpec.model_validate(values)
    except ValidationError as problem:
        raise ConfigError(f"{key}.{first_fault(problem)}") from None
