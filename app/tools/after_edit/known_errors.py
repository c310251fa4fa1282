"""The errors that language servers found in files, kept to compare with what they find later.

Owns: taking diagnostics apart, what is kept of them and for how long it holds, and which errors are
new. Never: waiting longer than its deadline, or what is shown of them.
"""

from __future__ import annotations

import asyncio
import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from app.bridges.lsp.manager import Diagnosed, Encoding, LanguageServer, OpenText
from app.cages.readable import Readable
from app.tools.after_edit.server_scope import WITHHELD
from app.tools.contract.edit_findings import IntroducedError
from app.tools.processes.foreign_text import one_line
from app.tools.project_files.read_tracker import Digest, digest_of

MAX_FILES = 500
MAX_ROWS = 1_000
MAX_KEPT_ROWS = 10_000
MAX_MESSAGE = 500
MAX_CODE = 100


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """One error, with its texts made safe to show. The line counts from 1, the character from 0; `near`
    is the line that it is in."""

    line: int
    character: int
    message: str
    code: str | None
    source: str | None
    near: str


Rows = tuple[ErrorRow, ...]
_Key = Callable[[ErrorRow], Hashable]
Reading = Callable[[str], str]


def _as_it_was(row: ErrorRow) -> Hashable:
    return row.code, row.message, row.near


def _elsewhere(row: ErrorRow) -> Hashable:
    return row.code, row.message


def new_errors(rows: Rows, before: Rows, read: Reading = str) -> Rows:
    """Return the errors that are more than those before, each counted once. Lines may have shifted: of
    several errors that read the same, those in lines that read the same are the old ones. `read` returns what
    a text is where names have changed, the same for before and after."""

    def renamed(row: ErrorRow) -> Hashable:
        return row.code, read(row.message), read(row.near)

    def in_other_words(row: ErrorRow) -> Hashable:
        """A name in the message may have been changed by a rename."""
        return (row.code, read(row.near)) if row.code is not None and row.near else None

    new, old = list(rows), list(before)
    for key in (_as_it_was, renamed, _elsewhere, in_other_words):
        new, old = _without_pairs(new, old, key)
    return tuple(new)


def _without_pairs(
    new: list[ErrorRow], old: list[ErrorRow], key: _Key
) -> tuple[list[ErrorRow], list[ErrorRow]]:
    """Leave out, on both sides, what is on the other too; a key of None is like no other."""
    there = Counter(key(row) for row in old)
    there[None] = 0
    paired: Counter[Hashable] = Counter()
    rest: list[ErrorRow] = []
    for row in new:
        if there[key(row)] > paired[key(row)]:
            paired[key(row)] += 1
        else:
            rest.append(row)
    left: list[ErrorRow] = []
    for row in old:
        if paired[key(row)]:
            paired[key(row)] -= 1
        else:
            left.append(row)
    return rest, left


def shown(path: str, rows: Rows, *, withheld: bool = False) -> tuple[IntroducedError, ...]:
    """Return errors of a file (relative to the root) as answers have them, without their words when these are
    `withheld`."""
    return tuple(
        IntroducedError(
            path=f"./{path}",
            line=row.line,
            character=row.character,
            message=WITHHELD if withheld else row.message,
            code=row.code,
            source=row.source,
        )
        for row in rows
    )


@dataclass(frozen=True, slots=True)
class _Kept:
    """The errors of one content, and the moment of a server's life that they are from."""

    digest: Digest
    rows: Rows
    run: weakref.ref[Any]
    changes: int


class KnownErrors:
    """The errors of the files below one root."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, Readable], _Kept] = OrderedDict()

    async def now(self, server: LanguageServer, path: str, seconds: float) -> Rows | None:
        """Return the errors of what the file holds now; None when the server has not answered in time.

        Raises ToolError as `LanguageServer.diagnostics` does."""
        kept = self._kept.get((path, server.reading.readable))
        if kept is not None and server.offers("textDocument/diagnostic"):  # of others the answer is at hand
            text = await server.document(path)
            digest = await asyncio.to_thread(_digest, text)
            if digest == kept.digest and kept.run() is run_of(server) and kept.changes == _changes(server):
                return kept.rows
        changes = _changes(server)
        diagnosed = await server.diagnostics(path, seconds=seconds)
        if not diagnosed.fresh:
            return None
        digest, rows = await asyncio.to_thread(_taken_apart, diagnosed, server.encoding)
        run = run_of(server)
        if run is not None:
            # While changes came in, this is known for the content, but not for its surroundings.
            changes = changes if changes == _changes(server) else -1
            self._keep((path, server.reading.readable), _Kept(digest, rows, weakref.ref(run), changes))
        return rows

    async def before_edit(self, server: LanguageServer, path: str, seconds: float) -> Rows | None:
        """Return the errors of what the file holds, from before other files changed if need be."""
        rows = await self.now(server, path, seconds)
        kept = self._kept.get((path, server.reading.readable))
        if rows is None and kept is not None:
            text = await server.document(path)
            rows = kept.rows if kept.digest == await asyncio.to_thread(_digest, text) else None
        return rows

    def _keep(self, key: tuple[str, Readable], kept: _Kept) -> None:
        self._kept[key] = kept
        self._kept.move_to_end(key)
        while (
            len(self._kept) > MAX_FILES or sum(len(one.rows) for one in self._kept.values()) > MAX_KEPT_ROWS
        ):
            self._kept.popitem(last=False)


def run_of(server: LanguageServer) -> Any:
    """Return the present run of a server, None when it does not run."""
    return server.lifecycle.run


def _changes(server: LanguageServer) -> int:
    run = run_of(server)
    return -1 if run is None else int(run.changes)


def _digest(text: OpenText) -> Digest:
    return digest_of(text.text.encode("utf-8", "surrogatepass"))


def error_rows(diagnosed: Diagnosed, encoding: Encoding) -> Rows:
    """Return the errors in what a server found, by position. Blocking."""
    return _taken_apart(diagnosed, encoding)[1]


def _taken_apart(diagnosed: Diagnosed, encoding: Encoding) -> tuple[Digest, Rows]:
    """Return the content's digest and its errors by position. Blocking."""
    errors = [one for one in diagnosed.items if _is_error(one.get("severity"))][:MAX_ROWS]
    rows = [row for one in errors if (row := _row(one, diagnosed.text, encoding)) is not None]
    return _digest(diagnosed.text), tuple(sorted(rows, key=lambda row: (row.line, row.character)))


def _is_error(severity: Any) -> bool:
    """A diagnostic without a severity is an error: better looked at than missed."""
    return not (type(severity) is int and 2 <= severity <= 4)


def _row(one: Mapping[str, Any], text: OpenText, encoding: Encoding) -> ErrorRow | None:
    span = one.get("range")
    start = span.get("start") if isinstance(span, Mapping) else None
    if not isinstance(start, Mapping) or type(start.get("line")) is not int or start["line"] < 0:
        return None
    line, column = text.lines.from_server(start, encoding)
    message, code, source = one.get("message"), one.get("code"), one_line(one.get("source"), MAX_CODE)
    return ErrorRow(
        line=line + 1,
        character=column,
        message=one_line(message.get("value") if isinstance(message, Mapping) else message, MAX_MESSAGE),
        code=_code(code.get("value") if isinstance(code, Mapping) else code, source),
        source=source or None,
        near=text.lines.line(line).strip()[:MAX_MESSAGE],
    )


def _code(value: Any, source: str) -> str | None:
    if type(value) is int:
        return f"ts({value})" if source in {"typescript", "ts"} else str(value)
    return one_line(value, MAX_CODE) or None
