"""Hooks of Claude Code's settings files, as entries of a project file.

Owns: reading those files, and what of them can be said in a project file. Never: running one, or writing
anywhere. The files are the repository's: nothing in them is believed, and all of it is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from app.harness.dsl.spec_hooks import DEFAULT_SECONDS, MAX_HOOKS, MAX_SECONDS, HookEvent
from app.harness.hooks.commands.input import CLAUDE_EVENTS
from app.tools.processes.foreign_text import one_line

FILES = (".claude/settings.json", ".claude/settings.local.json")
MAX_BYTES = 1024 * 1024
MAX_COMMAND = 10_000
_EVENTS: Mapping[str, HookEvent] = {theirs: own for own, theirs in CLAUDE_EVENTS.items()}
_TOOLS: Mapping[str, tuple[str, ...]] = {
    "Bash": ("shell",),
    "Read": ("file.read",),
    "Write": ("file.write", "file.create"),
    "Edit": ("edit.*",),
    "MultiEdit": ("edit.*",),
    "Glob": ("search.glob",),
    "Grep": ("search.grep",),
    "WebFetch": ("web_fetch",),
    "WebSearch": ("web_search",),
    "TodoWrite": ("kaged.todo", "todo"),
    "Task": ("agent-*", "task"),
}
"""The permissions that stand for Claude Code's tools."""
_MCP = re.compile(r"mcp__([A-Za-z0-9-]{1,40})__([A-Za-z0-9_-]{1,60})")


@dataclass(slots=True)
class FoundHooks:
    """`hooks` are entries for a project file by event, `left_out` says what cannot be imported and why."""

    hooks: dict[HookEvent, list[dict[str, Any]]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(map(len, self.hooks.values()))


def read_claude_hooks(folder: Path) -> FoundHooks:
    """Return the hooks of the settings files in a folder: a project's, or the user's home. Blocks; does not
    raise."""
    found = FoundHooks()
    for name in FILES:
        try:
            with (folder / name).open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        except OSError:
            continue
        found.files.append(name)
        _read(name, content, found)
    return found


def _read(name: str, content: bytes, found: FoundHooks) -> None:
    if len(content) > MAX_BYTES:
        found.left_out.append(f"{name}: the file is larger than 1 MB")
        return
    try:
        settings = orjson.loads(content)
    except ValueError:
        found.left_out.append(f"{name}: the file is not valid JSON")
        return
    hooks = settings.get("hooks") if isinstance(settings, dict) else None
    if not isinstance(hooks, dict):
        return
    for event, groups in hooks.items():
        if event not in _EVENTS:
            found.left_out.append(f"{name}: {one_line(event, 60)}: there is no such event here")
            continue
        for group in groups if isinstance(groups, list) else ():
            if isinstance(group, dict):
                _add_group(name, _EVENTS[event], event, group, found)


def _add_group(name: str, event: HookEvent, theirs: str, group: dict[str, Any], found: FoundHooks) -> None:
    match = _match(group.get("matcher")) if event in ("before_tool", "after_tool") else []
    if match is None:
        matcher = one_line(str(group.get("matcher")), 100)
        found.left_out.append(f"{name}: {theirs}: the matcher {matcher!r} cannot be translated")
        return
    commands = group.get("hooks")
    for one in commands if isinstance(commands, list) else ():
        if not isinstance(one, dict) or one.get("type") != "command" or not _is_command(one.get("command")):
            found.left_out.append(f"{name}: {theirs}: an entry is not a command")
            continue
        entries = found.hooks.setdefault(event, [])
        if len(entries) >= MAX_HOOKS:
            found.left_out.append(f"{name}: {theirs}: an event has at most {MAX_HOOKS} hooks")
            return
        entries.append(_entry(event, len(entries) + 1, one, match))


def _entry(event: HookEvent, number: int, one: Mapping[str, Any], match: list[str]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"claude-{event.replace('_', '-')}-{number}",
        "command": one["command"],
        "input": "claude",
    }
    if match:
        entry["match"] = [{"permission": permission} for permission in match]
    seconds = one.get("timeout")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds <= MAX_SECONDS:
        entry["timeout_seconds"] = float(seconds)
    elif event == "on_stop":
        entry["timeout_seconds"] = 60.0  # a minute is the default there, and tests take their time
    return entry if entry.get("timeout_seconds") != DEFAULT_SECONDS else _without_timeout(entry)


def _without_timeout(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "timeout_seconds"}


def _is_command(command: Any) -> bool:
    return isinstance(command, str) and 0 < len(command) <= MAX_COMMAND and "\0" not in command


def _match(matcher: Any) -> list[str] | None:
    """Return the permissions of a matcher, none for every call; None for one that says more than names."""
    if matcher is None or matcher in ("", "*", ".*"):
        return []
    if not isinstance(matcher, str) or len(matcher) > 1_000:
        return None
    permissions: dict[str, None] = {}
    for part in matcher.split("|"):
        found = list(_permissions(part.strip()))
        if not found:
            return None
        permissions.update(dict.fromkeys(found))
    return list(permissions) if len(permissions) <= MAX_HOOKS else None


def _permissions(name: str) -> Iterator[str]:
    of_mcp = _MCP.fullmatch(name)
    if of_mcp is not None:
        yield f"{of_mcp[1]}_{of_mcp[2]}"
    yield from _TOOLS.get(name, ())
