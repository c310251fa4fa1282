"""code_actions: the fixes and refactorings that a server offers for a place.

Owns: which diagnostics go along, resolving, and showing edits and commands. Never: carrying any out;
the agent does that by `edit.text`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from app.bridges.lsp.manager import (
    CreateFile,
    DeleteFile,
    LanguageServer,
    LineIndex,
    MalformedEdit,
    OpenText,
    Operation,
    RenameFile,
    TextEdit,
    TextEdits,
    parse_workspace_edit,
)
from app.errors import ToolError
from app.tools.code.call import CodeCall, Named, need
from app.tools.code.limited import mark_limits
from app.tools.code.places import Files, Found, end_of, line_of, start_of
from app.tools.code.position import checked_line, find_position
from app.tools.code.results import CodeAction, EditShown, LspResult
from app.tools.code.shown import finished, part_of
from app.tools.processes.foreign_text import CUT, clean, objects, one_line

MAX_ACTIONS = 100
MAX_EDITS = 50
MAX_TEXT = 8_000
MAX_TITLE = 300
AT_ONCE = 8
DIAGNOSTICS_SECONDS = 10.0
_METHOD = "textDocument/codeAction"
_RESOLVE = "codeAction/resolve"

Span = tuple[tuple[int, int], tuple[int, int]]
"""Start and end as line from 0 and column in characters."""


async def code_actions(call: CodeCall) -> LspResult:
    """Return what can be done, with the edits resolved; the preferred ones first."""
    named = await call.file()
    (await call.scope()).check_words("code_actions")
    server = await call.server(named)
    need(server, _METHOD, "code_actions")
    text, span = await _asked_about(call, named, server)
    about: list[dict[str, Any]] = []
    fresh = True
    if call.params.include_diagnostics:
        diagnosed = await server.diagnostics(named.relative, seconds=DIAGNOSTICS_SECONDS)
        text, fresh = diagnosed.text, diagnosed.fresh
        items = objects(list(diagnosed.items))
        about = [one for one in items if _touches(span, _span_of(one.get("range"), text, server))]
        span = _narrowest(about, text, server) or span
    answer = await server.request(_METHOD, _request(text, span, about, server))
    given = objects(answer)[:MAX_ACTIONS]
    resolved = await _resolved(server, given)

    def shown() -> LspResult:
        files = Files(call, server.encoding, text)
        found = [one for each in resolved if (one := _action(files, server, each)) is not None]
        found.sort(key=lambda one: (one.disabled is not None, not one.preferred))
        part = part_of(found, call.params)
        note = None if fresh else "The diagnostics there are not for the present content: ask again."
        result = LspResult(actions=part, count=len(found), fresh=None if fresh else False, note=note)
        return finished(result, found, len(part), call.params, call.context)

    return await mark_limits(call, server, named, await call.aside(shown))


async def _asked_about(call: CodeCall, named: Named, server: LanguageServer) -> tuple[OpenText, Span]:
    """Return the place that is meant; without a column the whole line."""
    if call.params.character is not None or call.params.symbol is not None:
        position = await find_position(call, named, server)
        place = (position.line, position.column)
        return position.text, (place, place)
    text = await server.document(named.relative)
    assert call.params.line is not None
    line = checked_line(text.lines, call.params.line, named.shown)
    return text, ((line, 0), (line, len(text.lines.line(line))))


def _request(
    text: OpenText, span: Span, about: list[dict[str, Any]], server: LanguageServer
) -> dict[str, Any]:
    start, end = (text.lines.to_server(line, column, server.encoding) for line, column in span)
    return {
        "textDocument": {"uri": text.uri},
        "range": {"start": start, "end": end},
        "context": {"diagnostics": about, "triggerKind": 1},
    }


def _span_of(span: Any, text: OpenText, server: LanguageServer) -> Span | None:
    start, end = start_of(span), end_of(span)
    if line_of(start) is None or line_of(end) is None:
        return None
    return text.lines.from_server(start, server.encoding), text.lines.from_server(end, server.encoding)


def _touches(span: Span, other: Span | None) -> bool:
    return other is not None and other[0] <= span[1] and span[0] <= other[1]


def _narrowest(about: list[dict[str, Any]], text: OpenText, server: LanguageServer) -> Span | None:
    """Return the span of the smallest diagnostic: servers look for fixes of what is exactly there."""
    spans = [span for one in about if (span := _span_of(one.get("range"), text, server)) is not None]
    lines = text.lines
    return min(spans, key=lambda one: lines.offset_of(*one[1]) - lines.offset_of(*one[0]), default=None)


async def _resolved(server: LanguageServer, given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not server.offers(_RESOLVE):
        return given
    gate = asyncio.Semaphore(AT_ONCE)

    async def resolve(one: dict[str, Any]) -> dict[str, Any]:
        if "edit" in one or isinstance(one.get("command"), str) or "disabled" in one:
            return one
        async with gate:
            try:
                answer = await server.request(_RESOLVE, one)
            except ToolError as error:
                if error.code != "lsp_request_failed":
                    raise
                return {**one, "disabled": {"reason": error.message}}
        return answer if isinstance(answer, dict) else one

    return list(await asyncio.gather(*map(resolve, given)))


def _action(files: Files, server: LanguageServer, one: Mapping[str, Any]) -> CodeAction | None:
    """Blocking."""
    title = one_line(one.get("title"), MAX_TITLE)
    if not title:
        return None
    disabled = one.get("disabled")
    reason = None
    if isinstance(disabled, Mapping):
        reason = one_line(disabled.get("reason"), MAX_TITLE) or "the server does not say why"
    edits: list[EditShown] | None = None
    if one.get("edit") is not None:
        try:
            plan = parse_workspace_edit(one["edit"])
        except MalformedEdit as problem:
            reason = reason or f"its edit cannot be used: {one_line(str(problem), MAX_TITLE)}"
        else:
            edits = [shown for each in plan.operations for shown in _edits(files, server, each)]
    return CodeAction(
        title=title,
        kind=one_line(one.get("kind"), 100) or None,
        preferred=True if one.get("isPreferred") is True else None,
        disabled=reason,
        edits=None if edits is None else edits[:MAX_EDITS],
        truncated=True if edits is not None and _is_cut(edits) else None,
        command=_command(one.get("command")),
    )


def _is_cut(edits: list[EditShown]) -> bool:
    texts = (text for one in edits for text in (one.old, one.new))
    return len(edits) > MAX_EDITS or any(text is not None and text.endswith(CUT) for text in texts)


def _command(given: Any) -> str | None:
    if isinstance(given, Mapping):
        given = given.get("command")
    return one_line(given, MAX_TITLE) or None


def _edits(files: Files, server: LanguageServer, operation: Operation) -> list[EditShown]:
    """Return an operation's edits as an answer shows them; what is outside the cage by its path and
    line only. What may not even be mentioned is left out. Blocking."""
    if isinstance(operation, TextEdits):
        found = files.of_path(operation.path)
        return _text_edits(files, server, found, operation) if found.verdict != "hidden" else []
    kinds = {CreateFile: "create", DeleteFile: "delete", RenameFile: "rename"}
    path = operation.old if isinstance(operation, RenameFile) else operation.path
    found = files.of_path(path)
    if found.verdict == "hidden":
        return []
    outside = True if found.verdict == "outside" else None
    new = None
    if isinstance(operation, RenameFile):
        target = files.of_path(operation.new)
        new = target.shown if target.verdict != "hidden" else None
    return [EditShown(path=found.shown, operation=kinds[type(operation)], new_path=new, outside_cage=outside)]


def _text_edits(files: Files, server: LanguageServer, found: Found, operation: TextEdits) -> list[EditShown]:
    lines = files.lines(found)
    edits = operation.edits[: MAX_EDITS + 1]
    alone = lines is not None and len({line for one in edits for line in _lines_near(one)}) == sum(
        len(_lines_near(one)) for one in edits
    )
    shown = []
    for edit in edits:
        if found.verdict != "inside" or lines is None:
            outside = True if found.verdict == "outside" else None
            shown.append(EditShown(path=found.shown, line=edit.start[0] + 1, outside_cage=outside))
            continue
        start, end = ({"line": line, "character": character} for line, character in (edit.start, edit.end))
        (line, column), (end_line, end_column) = (
            lines.from_server(one, server.encoding) for one in (start, end)
        )
        begin, end_at = lines.offset_of(line, column), lines.offset_of(end_line, end_column)
        old, new = lines.text[begin:end_at], edit.new_text
        if not old and alone:
            line, column, end_column = _around(lines, line)
            first, last = lines.offset_of(line, column), lines.offset_of(end_line, end_column)
            old, new = lines.text[first:last], lines.text[first:begin] + new + lines.text[begin:last]
        shown.append(
            EditShown(
                path=found.shown,
                line=line + 1,
                character=column,
                end_line=end_line + 1,
                end_character=end_column,
                old=clean(old, MAX_TEXT),
                new=clean(new, MAX_TEXT),
            )
        )
    return shown


def _lines_near(edit: TextEdit) -> range:
    """Return the lines that an edit may be shown with: an insertion with those around it."""
    return range(max(edit.start[0] - (edit.start == edit.end), 0), edit.end[0] + 1)


def _around(lines: LineIndex, line: int) -> tuple[int, int, int]:
    """Return the line and column where an insertion is shown from, and the column in its own line up to
    which: what is inserted into nothing cannot be carried out by `edit.text`."""
    end = len(lines.line(line))
    if lines.line(line).strip() or line == 0:
        return line, 0, end
    return line - 1, 0, end
