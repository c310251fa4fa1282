"""What a hook reads on its standard input: one JSON object.

Owns: its fields in kaged's format and in Claude Code's, without secrets and within a bound. Never: when a
hook runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel

from app.harness.dsl.spec_hooks import HookEvent
from app.harness.hooks.commands.hook import CommandHook, HookPlace
from app.observability import Redactor
from app.tools.contract.definition import GivenParams
from app.tools.contract.modes import DEFAULT_MODE, ModeName
from app.tools.contract.naming import rule_name

MAX_INPUT = 1024 * 1024
"""Bytes of the JSON."""
_LONGEST_TEXT = 16 * 1024
"""Characters that each text keeps where the whole would be too long."""
_MOST_ITEMS = 200

CLAUDE_EVENTS: Mapping[HookEvent, str] = {
    "before_tool": "PreToolUse",
    "after_tool": "PostToolUse",
    "on_prompt": "UserPromptSubmit",
    "on_stop": "Stop",
}
_CLAUDE_TOOLS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "shell.bash": ("Bash", {}),
    "file.read": ("Read", {"path": "file_path"}),
    "file.write": ("Write", {"path": "file_path"}),
    "file.create": ("Write", {"path": "file_path"}),
    "edit.text": ("Edit", {"path": "file_path", "old_text": "old_string", "new_text": "new_string"}),
    "search.grep": ("Grep", {}),
    "search.glob": ("Glob", {}),
    "web_fetch": ("WebFetch", {}),
    "web_search": ("WebSearch", {}),
}
"""Names of Claude Code's tools, and of their parameters where they differ."""
_CLAUDE_MODES: Mapping[ModeName, str] = {
    "plan": "plan",
    "ask": "default",
    "edits": "acceptEdits",
    "full": "bypassPermissions",
}


class InputTooLong(Exception):
    """The arguments of a call are longer than a hook can be given."""


@dataclass(frozen=True, slots=True)
class HookInput:
    """What an event is about. `subject` has the fields that only some events have. `root` is where the
    session works, None for a trial without one."""

    session_id: str | None
    agent_path: str
    run_id: str | None = None
    subject: Mapping[str, Any] = field(default_factory=dict)
    mode: ModeName = DEFAULT_MODE
    root: Path | None = None


def content_of(
    hook: CommandHook, place: HookPlace, given: HookInput, redactor: Redactor, *, whole: bool = False
) -> bytes:
    """Return the JSON for a hook. Long texts in it are cut where it would be too long, which `truncated`
    says; with `whole` that raises `InputTooLong`. Takes time in proportion to its length."""
    fields = redactor.data(_fields(hook, place, given))
    content = _dumped(fields)
    if len(content) <= MAX_INPUT:
        return content
    if whole:
        raise InputTooLong
    for length in (_LONGEST_TEXT, _LONGEST_TEXT // 16, 64):
        content = _dumped({**_shortened(fields, length), "truncated": True})
        if len(content) <= MAX_INPUT:
            return content
    kept = {key: value for key, value in fields.items() if isinstance(value, str) and len(value) < 1_000}
    return _dumped({**kept, "truncated": True})


def arguments_of(params: BaseModel) -> dict[str, Any]:
    """Return the checked arguments of a call as plain data."""
    if isinstance(params, GivenParams):
        return dict(params.given)
    return params.model_dump(mode="json", exclude_unset=True)


def _fields(hook: CommandHook, place: HookPlace, given: HookInput) -> dict[str, Any]:
    if hook.spec.input == "claude":
        return _for_claude(hook, place, given)
    return {
        "hook": hook.name,
        "event": hook.event,
        "session_id": given.session_id,
        "run_id": given.run_id,
        "project_id": place.project_id,
        "project": place.slug,
        "project_dir": str(place.root),
        "workspace_dir": str(place.folder),
        "agent": given.agent_path,
        "mode": given.mode,
        **given.subject,
    }


def _for_claude(hook: CommandHook, place: HookPlace, given: HookInput) -> dict[str, Any]:
    subject = given.subject
    fields: dict[str, Any] = {
        "session_id": given.session_id,
        "cwd": str(place.folder),
        "hook_event_name": CLAUDE_EVENTS[hook.event],
        "permission_mode": _CLAUDE_MODES[given.mode],
    }
    if "tool" in subject:
        name, renamed = _CLAUDE_TOOLS.get(rule_name(subject["tool"]), (subject["tool"], {}))
        arguments = {renamed.get(key, key): value for key, value in subject["arguments"].items()}
        path = arguments.get("file_path")
        if isinstance(path, str) and not path.startswith("/"):
            arguments["file_path"] = str(place.folder / path)
        fields |= {"tool_name": name, "tool_input": arguments}
    if "result" in subject:
        fields["tool_response"] = subject["result"]
    if "prompt" in subject:
        fields["prompt"] = subject["prompt"]
    if "sent_back" in subject:
        fields["stop_hook_active"] = subject["sent_back"] > 0
    return fields


def _dumped(fields: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(fields, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # a lone surrogate, an integer beyond 64 bits
        return orjson.dumps(_plain(fields))


def _plain(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case bool() | float() | None:
            return value
        case int():
            return value if -(2**63) <= value < 2**64 else str(value)
        case Mapping():
            return {_plain(str(key)): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return _plain(str(value))


def _shortened(value: Any, length: int) -> Any:
    match value:
        case str():
            return value if len(value) <= length else f"{value[:length]} [cut]"
        case Mapping():
            items = list(value.items())[:_MOST_ITEMS]
            return {_shortened(key, length): _shortened(item, length) for key, item in items}
        case list() | tuple():
            return [_shortened(item, length) for item in value[:_MOST_ITEMS]]
        case _:
            return value
