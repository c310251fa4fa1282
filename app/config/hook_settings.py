"""The section `[hooks]` of `config.toml`: commands of the operator around tool calls, prompts and run ends.

Owns: names, types, defaults and bounds; they are those of the project file's `hooks`. Never: running one.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from app.config.section import Section


class HookMatchSettings(Section):
    """Which tool calls a hook is for, as a permission rule says it."""

    permission: str = Field(min_length=1, max_length=200)
    pattern: str = Field(default="*", min_length=1, max_length=1000)


class HookEntrySettings(Section):
    """One hook. `command` is a shell line, or program and arguments. `cage` is a block as in the project
    file, or `disabled`; its paths are relative to the project at work."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    command: Annotated[str, Field(min_length=1)] | Annotated[tuple[str, ...], Field(min_length=1)]
    match: tuple[HookMatchSettings, ...] = ()
    agents: tuple[str, ...] | None = None
    timeout_seconds: float = Field(default=10.0, gt=0, le=600)
    cage: Literal["disabled"] | dict[str, Any] | None = None
    input: Literal["kaged", "claude"] = "kaged"


class HookSettings(Section):
    """The operator's hooks by event. They run in every trusted project, before those of its file."""

    before_tool: tuple[HookEntrySettings, ...] = ()
    after_tool: tuple[HookEntrySettings, ...] = ()
    on_prompt: tuple[HookEntrySettings, ...] = ()
    on_stop: tuple[HookEntrySettings, ...] = ()
