"""rename: a symbol gets another name everywhere, in all files or in none.

Owns: asking whether it can be renamed, and the answer. Never: the writing (`edits`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.bridges.lsp.manager import LanguageServer
from app.errors import ToolError
from app.tools.code.call import CodeCall, need
from app.tools.code.edits import carry_out, check_confirmed, told_changes, worked_out
from app.tools.code.parameters import wrong
from app.tools.code.places import end_of, line_of, start_of
from app.tools.code.position import Position, find_position
from app.tools.code.results import FileChange, LspResult
from app.tools.code.shown import finished, part_of
from app.tools.processes.foreign_text import one_line

_METHOD = "textDocument/rename"
_PREPARE = "textDocument/prepareRename"
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"(?:r#|[@$#'%&*:.-]*)[^\W\d][\w$:.-]*[?!=']*")


async def rename(call: CodeCall) -> LspResult:
    """Rename the symbol at the position, and return the files with the number of edits in each."""
    new_name = call.params.new_name or ""
    if not new_name.strip() or not new_name.isprintable():
        raise wrong("new_name", "is not a name")
    named = await call.file()
    await call.scope()  # the words of its refusals are judged by it
    server = await call.whole_server(named)
    need(server, _METHOD, "rename")

    async def ask() -> Any:
        position = await find_position(call, named, server)  # anew: the file may have changed
        _check_name(new_name, position)
        await _prepare(server, position)
        try:
            return await server.request(_METHOD, {**position.params(server), "newName": new_name})
        except ToolError as error:
            raise _refused(error) from None

    checked = await worked_out(call, server, ask)
    if not checked.plan.operations:
        raise _not_possible("the server knows nothing to change for it")
    check_confirmed(call, checked.plan)
    await carry_out(call, server, checked)
    changes = told_changes(call, checked.plan)
    return await call.aside(_result, call, changes)


def _result(call: CodeCall, changes: list[FileChange]) -> LspResult:
    """Blocking."""
    part = part_of(changes, call.params)
    result = LspResult(
        changes=part,
        total_edits=sum(one.edits or 0 for one in changes),
        files_changed=len({one.path for one in changes}),
    )
    return finished(result, changes, len(part), call.params, call.context)


def _check_name(new_name: str, position: Position) -> None:
    """Refuse what is no name where a word is renamed: not every server does. Marks that languages put
    around a name (`@x`, `r#x`, `x?`, backticks) are let through."""
    line = position.text.lines.line(position.line)
    words = (found for found in _WORD.finditer(line) if found.start() <= position.column <= found.end())
    old = next((found.group() for found in words), "")
    if old.isidentifier() and "`" not in new_name and not _NAME.fullmatch(new_name):
        raise wrong("new_name", f"{one_line(new_name, 100)!r} is no name that {old!r} could have")


async def _prepare(server: LanguageServer, position: Position) -> None:
    """Ask whether there is something to rename. Raises ToolError `rename_not_possible`."""
    if not server.offers(_PREPARE):
        return
    try:
        answer = await server.request(_PREPARE, position.params(server))
    except ToolError as error:
        raise _refused(error) from None
    if answer is None or (isinstance(answer, Mapping) and answer.get("defaultBehavior") is False):
        raise _not_possible("there is nothing at this position that can be renamed")
    span = answer.get("range", answer) if isinstance(answer, Mapping) else None
    if line_of(start_of(span)) is not None and line_of(end_of(span)) is not None:
        _check_span(span, position, server)


def _check_span(span: Any, position: Position, server: LanguageServer) -> None:
    """Some servers would rename what is declared near a keyword: that is not what was asked for."""
    lines = position.text.lines
    start, end = (lines.from_server(one, server.encoding) for one in (start_of(span), end_of(span)))
    if not start <= (position.line, position.column) <= end:
        name = lines.text[lines.offset_of(*start) : lines.offset_of(*end)]
        raise _not_possible(
            f"what the server would rename is {one_line(name, 100)!r} at line {start[0] + 1}, "
            f"character {start[1]}"
        )


def _refused(error: ToolError) -> ToolError:
    if error.code != "lsp_request_failed":
        return error
    return _not_possible(one_line(error.message, 500))


def _not_possible(why: str) -> ToolError:
    return ToolError("rename_not_possible", f"nothing was changed: {why}")
