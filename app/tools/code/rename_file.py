"""rename_file: a file gets another path, and what refers to it is corrected, as one.

Owns: asking the server what to correct, where it can be asked. Never: the writing (`edits`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from app.bridges.lsp.manager import EditPlan, LanguageServer, RenameFile, path_to_uri
from app.errors import ToolError
from app.tools.code.call import CodeCall, Named, shown_path
from app.tools.code.crossed import Crossed, Declaration
from app.tools.code.crossing import crossed, not_looked_at
from app.tools.code.edits import Checked, carry_out, changed_files, check_confirmed, check_reach, worked_out
from app.tools.code.loose_files import give_loose_files
from app.tools.code.merged_edits import merged
from app.tools.code.parameters import wrong
from app.tools.code.results import FileChange, LspResult
from app.tools.code.shown import finished, part_of
from app.tools.code.unseen import check_seen
from app.tools.code.word_hits import word_hits
from app.tools.processes.foreign_text import objects
from app.workspace import invalid_path
from app.workspace.globs import Glob, globs_of

_WILL = "workspace/willRenameFiles"
_DID = "workspace/didRenameFiles"
MAX_FILTERS = 200
"""More of them would let a hostile server hold everybody up."""
_ONLY_MOVED = "Only the file was moved; what refers to it stays as it was"
_WITHOUT_SERVER = frozenset({"language_not_supported", "lsp_server_not_found"})


async def rename_file(call: CodeCall) -> LspResult:
    """Move the file with its corrections, and return the files that changed."""
    old = await call.file()
    new = await call.aside(_destination, call, old)
    paths = (call.project.root.joinpath(*old.parts), call.project.root.joinpath(*new))
    server, note = await _server(call, old, paths)
    moved = RenameFile(*paths)
    beside = Crossed()
    if server is not None:
        checked, beside = await _corrections(call, old, server, paths)
    else:
        checked = Checked(EditPlan(), {})
    whole = Checked(EditPlan((*checked.plan.operations, moved), checked.plan.annotations), checked.digests)
    await call.aside(check_reach, call, whole.plan)
    await carry_out(call, server, whole)
    if server is not None and _wants(server, _DID, *paths):
        server.notify(_DID, _moved(paths))
    changes = changed_files(call, whole.plan)
    return await call.aside(_result, call, changes, note, beside)


async def _corrections(
    call: CodeCall, old: Named, server: LanguageServer, paths: tuple[Path, Path]
) -> tuple[Checked, Crossed]:
    """Return what the servers of all units that can refer to the file want corrected."""
    stem = old.parts[-1].partition(".")[0]
    params = _moved(paths)

    async def ask() -> Any:
        await server.document(old.relative)
        await give_loose_files(call, old, server, stem)
        return await server.request(_WILL, params)

    hits = await word_hits(call, server, stem)
    beside = await crossed(call, old, server, Declaration(old.relative), hits, stem)
    every = [await worked_out(call, server, ask)]
    for other, _ in beside.servers:
        if _wants(other, _WILL, *paths):
            await other.document(old.relative)
            every.append(await worked_out(call, other, partial(other.request, _WILL, params)))
    checked = merged(every)
    check_confirmed(call, checked.plan)
    await check_seen(call, stem, beside.not_asked, by_name=False)
    return checked, beside


def _moved(paths: tuple[Path, Path]) -> dict[str, Any]:
    return {"files": [{"oldUri": path_to_uri(paths[0]), "newUri": path_to_uri(paths[1])}]}


def _destination(call: CodeCall, old: Named) -> tuple[str, ...]:
    """Return the new place below the root. Blocking. Raises ToolError `invalid_params`, `invalid_path`,
    `file_exists` and as the workspace does."""
    path, named = call.params.new_name or "", call.params.path or ""
    if call.workspace.locate(named).parts != old.parts:
        raise invalid_path(named, f"this is a symbolic link; name the file itself, {old.shown}")
    location = call.workspace.locate(path)
    if location.parts == old.parts:
        raise ToolError("no_change", "old and new path are the same; there is nothing to change")
    if location.aside is not None:
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
    call: CodeCall, old: Named, paths: tuple[Path, Path]
) -> tuple[LanguageServer | None, str | None]:
    """Return the server to ask, or why none is asked."""
    try:
        await call.scope()  # the words of its refusals are judged by it
        server = await call.whole_server(old)
    except ToolError as error:
        if error.code not in _WITHOUT_SERVER:
            raise
        return None, f"{_ONLY_MOVED}: {error.message}"
    if not _wants(server, _WILL, *paths):
        return None, f"{_ONLY_MOVED}: {server.name} corrects no imports of such a file."
    return server, None


def _wants(server: LanguageServer, method: str, *paths: Path) -> bool:
    """Tell whether the server takes requests or notifications for a move between these paths."""
    options = server.options(method)
    if options is None:
        return False
    every = [path.as_posix().split("/")[1:] for path in paths]
    filters = islice(objects(options.get("filters")), MAX_FILTERS)
    return any(glob.matches(parts) for one in filters for glob in _globs(one) for parts in every)


def _globs(one: Mapping[str, Any]) -> list[Glob]:
    pattern = one.get("pattern")
    if one.get("scheme", "file") not in {"file", None} or not isinstance(pattern, Mapping):
        return []
    glob, options = pattern.get("glob"), pattern.get("options")
    if pattern.get("matches") == "folder" or not isinstance(glob, str):
        return []
    ignores_case = isinstance(options, Mapping) and options.get("ignoreCase") is True
    return globs_of(glob, ignores_case=ignores_case)


def _result(call: CodeCall, changes: list[FileChange], note: str | None, beside: Crossed) -> LspResult:
    """Blocking."""
    part = part_of(changes, call.params)
    result = LspResult(
        changes=part,
        total_edits=sum(one.edits or 0 for one in changes),
        files_changed=len({one.path for one in changes}),
        not_looked_at=not_looked_at(call, beside.not_asked) or None,
        note=note,
    )
    return finished(result, changes, len(part), call.params, call.context)
