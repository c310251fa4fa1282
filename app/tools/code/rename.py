"""rename: a symbol gets another name everywhere, in all files or in none.

Owns: asking whether it can be renamed, and the answer. Never: the writing (`edits`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.bridges.lsp.manager import ForeignUri, LanguageServer, uri_to_path
from app.errors import ToolError
from app.tools.code.call import CodeCall, Named, need
from app.tools.code.concerned import Renaming
from app.tools.code.crossed import Crossed, Declaration, Group
from app.tools.code.crossing import crossed_at, files_of, not_looked_at, together
from app.tools.code.edits import Ask, Checked, carry_out, changed_files, check_confirmed, worked_out
from app.tools.code.merged_edits import edit_of_references, merged
from app.tools.code.parameters import wrong
from app.tools.code.places import Files, end_of, line_of, start_of
from app.tools.code.position import Position, find_position
from app.tools.code.rename_check import check_errors
from app.tools.code.results import FileChange, LspResult, NotLookedAt
from app.tools.code.shorthands import spelled_out
from app.tools.code.shown import finished, part_of
from app.tools.code.unseen import check_seen
from app.tools.code.word_hits import mentions, word_hits
from app.tools.processes.foreign_text import objects, one_line

_METHOD = "textDocument/rename"
_PREPARE = "textDocument/prepareRename"
_REFERENCES = "textDocument/references"
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

    first = await find_position(call, named, server)
    _check_name(new_name, first)
    refusal, hits = await together(
        _refusal(server, first), word_hits(call, server, first.word, in_all_languages=True)
    )
    answered = await _used_in(call, server, first)
    beside = await crossed_at(call, named, server, first, hits, answered)
    asks = _Asks(call, named, beside, first.word, new_name)
    checked = await spelled_out(call, server, await _of_all(call, server, asks, refusal), first.word)
    if not checked.plan.operations:
        raise _not_possible("the server knows nothing to change for it")
    check_confirmed(call, checked.plan)
    confirmed = await check_seen(call, first.word, beside.not_asked)
    renaming = Renaming(call, server, first, new_name, hits, beside)
    note = await check_errors(renaming, checked, confirmed)
    await carry_out(call, server, checked)
    changes = changed_files(call, checked.plan)

    def result() -> LspResult:
        left = not_looked_at(call, beside.not_asked)
        return _result(call, changes, mentions(call, hits, checked.plan), left, note)

    return await call.aside(result)


async def _of_all(call: CodeCall, server: LanguageServer, asks: _Asks, refusal: ToolError | None) -> Checked:
    """Return the changes that all servers want, as one."""
    beside = asks.beside
    every = [await worked_out(call, server, asks.of_own(server, refusal))]
    for other, group in beside.servers:
        every.append(await worked_out(call, other, asks.of_other(other, group)))
    for other, view in beside.views:
        every.append(await worked_out(call, other, asks.of_view(other, view)))
    # Not every server renames in files that are open and that no build has.
    paths = [path for one in every for path in one.plan.paths]
    changed = await call.aside(lambda: frozenset(map(os.path.realpath, paths)))
    for other in (server, *(one for one, _ in beside.servers)):
        if other.behaviour.across.renames_own_files and (beside.declaration is not None or other is server):
            every.append(await worked_out(call, other, asks.of_left(other, changed)))
    return merged(every)


async def _used_in(call: CodeCall, server: LanguageServer, position: Position) -> set[str]:
    """Return the files that the server knows uses of the symbol in, for what it is asked to change there."""
    if not server.offers(_REFERENCES):
        return set()
    try:
        return await files_of(call, server, await _places(server, position.params(server)))
    except ToolError as error:
        if error.code != "lsp_request_failed":
            raise
        return set()


@dataclass(frozen=True, slots=True)
class _Asks:
    """What the servers of a rename are asked.

    Some rename only what is declared in their own unit: of others these say where the symbol is used."""

    call: CodeCall
    named: Named
    beside: Crossed
    old_name: str
    new_name: str

    def of_own(self, server: LanguageServer, refusal: ToolError | None) -> Ask:
        """Return the question to the server of the file that was named. Raises its `refusal`, unless that is
        because the symbol is another unit's."""
        elsewhere = any(group.declares for _, group in self.beside.servers)
        if elsewhere and server.behaviour.across.renames_own_files:
            return self.for_places(server)
        if refusal is not None:
            raise refusal

        async def ask() -> Any:
            position = await find_position(self.call, self.named, server)  # again: the file may have changed
            _check_name(self.new_name, position)
            return await _renamed(server, position.params(server), self.new_name)

        return ask

    def of_other(self, server: LanguageServer, group: Group) -> Ask:
        if server.behaviour.across.renames_own_files and not group.declares:
            return self.for_places(server)

        async def ask() -> Any:
            return await _renamed(server, await self._declaration.at(server), self.new_name)

        return ask

    @property
    def _declaration(self) -> Declaration:
        assert self.beside.declaration is not None, "other servers are asked about one"
        return self.beside.declaration

    def of_view(self, server: LanguageServer, view: dict[str, Any]) -> Ask:
        async def ask() -> Any:
            return await _renamed(server, view, self.new_name)

        return ask

    def of_left(self, server: LanguageServer, changed: frozenset[str]) -> Ask:
        """Return the question for an edit of each place that has the name in files other than those that are
        changed anyway."""

        async def ask() -> Any:
            if self.beside.declaration is not None:
                params = await self.beside.declaration.at(server)
            else:
                params = (await find_position(self.call, self.named, server)).params(server)
            places = [one for one in await _places(server, params) if not _is_in(one, changed)]
            return edit_of_references(
                [one for one in places if await self._has_name(server, one)], self.new_name
            )

        return ask

    async def _has_name(self, server: LanguageServer, place: Mapping[str, Any]) -> bool:
        parts = Files(self.call, server.encoding).anywhere(place.get("uri"))
        if parts is None or line_of(start_of(place.get("range"))) is None:
            return False
        lines = (await server.document("/".join(parts))).lines
        line, column = lines.from_server(start_of(place.get("range")), server.encoding)
        return lines.line(line)[column:].startswith(self.old_name)

    def for_places(self, server: LanguageServer) -> Ask:
        async def ask() -> Any:
            places = await _places(server, await self._declaration.at(server))
            if any(not _is_wide(one, len(self.old_name)) for one in places):
                raise _not_possible("another package uses it under a name that cannot be identified")
            return edit_of_references(places, self.new_name)

        return ask


async def _places(server: LanguageServer, params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the places that a server knows of a symbol, with its declaration."""
    return objects(await server.request(_REFERENCES, {**params, "context": {"includeDeclaration": True}}))


def _is_in(place: Mapping[str, Any], paths: frozenset[str]) -> bool:
    try:
        return os.path.realpath(uri_to_path(str(place.get("uri")))) in paths
    except ForeignUri:
        return False


async def _renamed(server: LanguageServer, params: dict[str, Any], new_name: str) -> Any:
    try:
        return await server.request(_METHOD, {**params, "newName": new_name})
    except ToolError as error:
        raise _refused(error) from None


def _is_wide(place: Any, width: int) -> bool:
    """Tell whether a place is within one line and as wide as a name, all of whose characters are one unit."""
    span = place.get("range") if isinstance(place, Mapping) else None
    start, end = start_of(span), end_of(span)
    if line_of(start) is None or line_of(start) != line_of(end):
        return False
    return bool(end.get("character") == start.get("character", 0) + width)


def _result(
    call: CodeCall, changes: list[FileChange], mentioned: int, left: list[NotLookedAt], note: str | None
) -> LspResult:
    """Blocking."""
    part = part_of(changes, call.params)
    result = LspResult(
        changes=part,
        total_edits=sum(one.edits or 0 for one in changes),
        files_changed=len({one.path for one in changes}),
        mentions=mentioned or None,
        not_looked_at=left or None,
        note=note,
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


async def _refusal(server: LanguageServer, position: Position) -> ToolError | None:
    try:
        await _prepare(server, position)
    except ToolError as error:
        if error.code != "rename_not_possible":
            raise
        return error
    return None


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
