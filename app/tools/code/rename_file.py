"""rename_file: a file gets another path, and what refers to it is corrected, as one.

Owns: asking the server what to correct, where it can be asked. Never: the writing (`edits`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from app.bridges.lsp.manager import EditPlan, LanguageServer, RenameFile, path_to_uri
from app.errors import ToolError
from app.tools.code.call import CodeCall, Named, shown_path
from app.tools.code.edits import Checked, carry_out, check_confirmed, check_reach, told_changes, worked_out
from app.tools.code.loose_files import give_loose_files
from app.tools.code.results import FileChange, LspResult
from app.tools.code.shown import finished, part_of
from app.tools.code.texts import objects, wrong
from app.workspace import invalid_path

_WILL = "workspace/willRenameFiles"
_DID = "workspace/didRenameFiles"
MAX_GLOB = 1_000
MAX_WILDCARDS = 12
"""More of them would let a hostile server make a comparison take for ever."""
_ONLY_MOVED = "Only the file was moved; what refers to it stays as it was"
_WITHOUT_SERVER = frozenset({"language_not_supported", "lsp_server_not_found"})


async def rename_file(call: CodeCall) -> LspResult:
    """Move the file with its corrections, and return the files that changed."""
    old = await call.file()
    new = await asyncio.to_thread(_destination, call, old)
    server, note = await _server(call, old, new)
    paths = (call.project.root.joinpath(*old.parts), call.project.root.joinpath(*new))
    told = {"files": [{"oldUri": path_to_uri(paths[0]), "newUri": path_to_uri(paths[1])}]}
    moved = RenameFile(*paths)
    if server is not None:
        asked = server

        async def ask() -> Any:
            await asked.document(old.relative)
            await give_loose_files(call, old, asked, old.parts[-1].partition(".")[0])
            return await asked.request(_WILL, told)

        checked = await worked_out(call, server, ask)
        check_confirmed(call, checked.plan)
    else:
        checked = Checked(EditPlan(), {})
    whole = Checked(EditPlan((*checked.plan.operations, moved), checked.plan.annotations), checked.digests)
    await asyncio.to_thread(check_reach, call, whole.plan)
    await carry_out(call, server, whole)
    if server is not None and _wants(server, _DID, old, new):
        server.notify(_DID, told)
    changes = told_changes(call, whole.plan)
    return await asyncio.to_thread(_result, call, changes, note)


def _destination(call: CodeCall, old: Named) -> tuple[str, ...]:
    """Return the new place below the root. Blocking. Raises ToolError `invalid_params`, `invalid_path`,
    `file_exists` and as the workspace does."""
    path, named = call.params.new_name or "", call.params.path or ""
    if call.workspace.locate(named).parts != old.parts:
        raise invalid_path(named, f"this is a symbolic link; name the file itself, {old.shown}")
    location = call.workspace.locate(path)
    if location.parts == old.parts:
        raise ToolError("no_change", "old and new path are the same; there is nothing to change")
    if location.in_scratch:
        raise invalid_path(path, "a file can only be moved within the project")
    if location.names_directory or not location.parts:
        raise wrong("new_name", "is a folder; write the file's whole new path, from the project's root")
    with call.workspace.target(path) as target:
        if target.exists:
            raise ToolError(
                "file_exists",
                f"{shown_path(location.parts)} exists already; choose another name, or remove it first",
                detail={"path": shown_path(location.parts)},
            )
    return location.parts


async def _server(
    call: CodeCall, old: Named, new: tuple[str, ...]
) -> tuple[LanguageServer | None, str | None]:
    """Return the server to ask, or why none is asked."""
    try:
        server = await call.server(old)
    except ToolError as error:
        if error.code not in _WITHOUT_SERVER:
            raise
        return None, f"{_ONLY_MOVED}: {error.message}"
    if not _wants(server, _WILL, old, new):
        return None, f"{_ONLY_MOVED}: {server.name} corrects no imports of such a file."
    return server, None


def _wants(server: LanguageServer, method: str, old: Named, new: tuple[str, ...]) -> bool:
    """Tell whether the server wants to be asked about, or told of, the move of this file."""
    options = server.options(method)
    if options is None:
        return False
    filters = objects(options.get("filters"))
    return any(_matches(one, path) for one in filters for path in (old.relative, "/".join(new)))


def _matches(one: Mapping[str, Any], path: str) -> bool:
    pattern = one.get("pattern")
    if one.get("scheme", "file") not in {"file", None} or not isinstance(pattern, Mapping):
        return False
    glob, options = pattern.get("glob"), pattern.get("options")
    if pattern.get("matches") == "folder" or not isinstance(glob, str) or len(glob) > MAX_GLOB:
        return False
    if glob.count("*") > MAX_WILDCARDS:
        return False
    ignores_case = isinstance(options, Mapping) and options.get("ignoreCase") is True
    compiled = _compiled(glob, ignores_case)
    return compiled is not None and compiled.search("/" + path) is not None


@lru_cache(maxsize=256)
def _compiled(glob: str, ignores_case: bool) -> re.Pattern[str] | None:
    """Return a glob of the protocol as an expression that is compared with the end of a path: the
    part before the root is not known to it."""
    parts: list[str] = []
    depth, at = 0, 0
    while at < len(glob):
        one = glob[at]
        at += 1
        if glob.startswith("**/", at - 1):
            parts.append("(?:[^/]*/)*")
            at += 2
        elif one == "*" and glob.startswith("*", at):
            parts.append(".*")
            at += 1
        elif one == "{":
            parts.append("(?:")
            depth += 1
        elif one == "}" and depth:
            parts.append(")")
            depth -= 1
        elif one == "," and depth:
            parts.append("|")
        elif one == "[" and (end := glob.find("]", at + 1)) > 0:
            inner = glob[at:end]
            negated = inner.startswith("!")
            parts.append(
                "[" + ("^" if negated else "") + re.escape(inner[negated:]).replace(r"\-", "-") + "]"
            )
            at = end + 1
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(one, re.escape(one)))
    try:
        return re.compile("(?:^|/)(?:" + "".join(parts) + r")\Z", re.IGNORECASE if ignores_case else 0)
    except re.error:
        return None


def _result(call: CodeCall, changes: list[FileChange], note: str | None) -> LspResult:
    """Blocking."""
    part = part_of(changes, call.params)
    result = LspResult(
        changes=part,
        total_edits=sum(one.edits or 0 for one in changes),
        files_changed=len({one.path for one in changes}),
        note=note,
    )
    return finished(result, changes, len(part), call.params, call.context)
