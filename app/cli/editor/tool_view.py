"""Tool calls as an editor shows them.

Owns: the kind of a tool, titles, locations, diffs, results as text. Never: sending them (`frame_view`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import orjson
from acp import text_block, tool_content, tool_diff_content
from acp.schema import ContentToolCallContent, FileEditToolCallContent, ToolCallLocation, ToolKind

from app.cli.editor.blocks import fence_for

Content = ContentToolCallContent | FileEditToolCallContent

KINDS: tuple[tuple[ToolKind, tuple[str, ...]], ...] = (
    ("read", ("read", "file.read")),
    ("edit", ("write", "edit", "file.write", "file.create", "edit.*")),
    ("search", ("grep", "glob", "search.*", "code.lsp", "tool_search", "web_search")),
    ("execute", ("bash", "shell.bash", "shell.background", "debug", "project.recipe")),
    ("fetch", ("web_fetch",)),
    ("think", ("todo", "kaged.todo", "kaged.plan")),
)
"""The kind of each tool; every other one is `other`."""
WRITING_ACTIONS = frozenset({("code.lsp", "rename"), ("code.lsp", "rename_file")})
MAX_SHOWN = 32 * 1024
MAX_TITLE = 100
_PATHS = ("path", "file", "new_path")
_TELLING = (
    *("command", "script", "pattern", "path", "file", "query", "expression", "expand"),
    *("title", "name", "url"),
)


def kind_of(name: str, arguments: Any) -> ToolKind:
    """Return the kind of a call."""
    action = arguments.get("action") if isinstance(arguments, Mapping) else None
    if (name, action) in WRITING_ACTIONS:
        return "edit"
    for kind, patterns in KINDS:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return kind
    return "other"


def title_of(name: str, arguments: Any, agent: str = "") -> str:
    """Return one line that says what a call does; the command itself for commands."""
    about = ""
    if isinstance(arguments, Mapping):
        telling = [arguments.get(key) for key in ("action", *_TELLING)]
        about = " ".join([one for one in telling if isinstance(one, str) and one.strip()][:2])
        if kind_of(name, arguments) == "execute" and isinstance(arguments.get("command"), str):
            name, about = "", arguments["command"]
    line = " ".join(f"{name} {about}".split())
    line = line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1]}…"
    return f"{agent}: {line}" if agent else line


def locations_of(root: Path, arguments: Any) -> list[ToolCallLocation]:
    """Return the files of a call, with the line where it has one."""
    if not isinstance(arguments, Mapping):
        return []
    line = next((arguments[key] for key in ("line", "offset") if type(arguments.get(key)) is int), None)
    found = [arguments[key] for key in _PATHS if isinstance(arguments.get(key), str) and arguments[key]]
    return [
        ToolCallLocation(path=absolute(root, path), line=line if line is not None and line > 0 else None)
        for path in found
        if "\0" not in path
    ]


def absolute(root: Path, path: str) -> str:
    """Return the whole path of a file of the project."""
    return os.path.normpath(os.path.join(root, path))


def diff_of(root: Path, name: str, arguments: Any) -> list[Content]:
    """Return what an edit changes; nothing for a call that is no edit of one file."""
    if not isinstance(arguments, Mapping) or kind_of(name, arguments) != "edit":
        return []
    path, before, after = (arguments.get(key) for key in ("path", "old_string", "new_string"))
    if after is None:
        before, after = None, arguments.get("content")
    if not isinstance(path, str) or not isinstance(after, str) or not isinstance(before, str | None):
        return []
    return [tool_diff_content(absolute(root, path), after, before)]


def result_of(name: str, arguments: Any, content: str) -> list[Content]:
    """Return the result of a call as text: the output of a command, else what the agent reads."""
    head, _, body = content.partition("\n")
    if kind_of(name, arguments) in ("execute", "read"):
        values = _named(head)
        if values is not None:
            code = values.get("exit_code")
            note = f"exit code {code}" if isinstance(code, int) and code else ""
            return output(body, note) if body or note else [_text(fenced(head))]
    return output(content)


def output(text: str, note: str = "") -> list[Content]:
    """Return the end of a text of a terminal or a tool, as it is."""
    shown = text if len(text) <= MAX_SHOWN else f"…\n{text[-MAX_SHOWN:]}"
    parts = [part for part in (fenced(shown) if shown.strip() else "", note) if part]
    return [_text("\n\n".join(parts))] if parts else []


def fenced(text: str) -> str:
    """Return a text that Markdown shows as it is."""
    fence = fence_for(text)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _text(text: str) -> Content:
    return tool_content(text_block(text))


def _named(head: str) -> Mapping[str, Any] | None:
    """Return the named values in the first line of a result, None where it has none."""
    if not head.startswith("{"):
        return None
    try:
        values = orjson.loads(head)
    except orjson.JSONDecodeError:
        return None
    return values if isinstance(values, dict) else None
