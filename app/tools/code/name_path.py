"""A symbol of a file by its path of names, `Class.method`, without a line.

Owns: comparing such a path with the outline that the server has of the file, and the errors that tell what is
there. Never: names that are no declarations: these need their line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.bridges.lsp.manager import LanguageServer, OpenText
from app.errors import ToolError
from app.tools.code.call import CodeCall, Named, need
from app.tools.code.places import line_of, start_of
from app.tools.processes.foreign_text import objects, one_line

MAX_SYMBOLS = 20_000
MAX_DEPTH = 50
MAX_LISTED = 20
OUTLINE = "textDocument/documentSymbol"
_NAME = re.compile(r"[^\W\d][\w$]*")
_NUMBERED = re.compile(r"(?s)(.+)#([1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True)
class _Declared:
    """A symbol of an outline: the names around it and its own, and where its own begins, in the server's
    units."""

    names: tuple[str, ...]
    start: Mapping[str, Any]
    is_exact: bool

    @property
    def shown(self) -> str:
        return ".".join(self.names)


async def find_by_name(
    call: CodeCall, named: Named, server: LanguageServer, text: OpenText, symbol: str
) -> tuple[int, int]:
    """Return the line and column, both from 0, of the declaration that a path of names means; `name#2` is the
    second of several. Raises ToolError `symbol_not_found`, `symbol_ambiguous` and `action_not_supported`."""
    need(server, OUTLINE, f"{call.params.action} without a line")
    answer = await server.request(OUTLINE, {"textDocument": {"uri": text.uri}})
    numbered = _NUMBERED.fullmatch(symbol)
    wanted, number = (numbered[1], int(numbered[2])) if numbered else (symbol, None)
    every = list(_declared(objects(answer), ()))[:MAX_SYMBOLS]
    names = tuple(_NAME.findall(wanted))
    found = [one for one in every if names and _means(one.names, names)]
    if not found:
        raise _not_found(named, wanted, every)
    if number is None and len(found) > 1:
        raise _ambiguous(named, wanted, found)
    if number is not None and number > len(found):
        raise ToolError(
            "symbol_not_found",
            f"{one_line(wanted, 100)!r} is declared in {named.shown} {len(found)} times, not {number}",
            detail={"path": named.shown, "count": len(found)},
        )
    chosen = found[(number or 1) - 1]
    line, column = text.lines.from_server(dict(chosen.start), server.encoding)
    if not chosen.is_exact:  # its place is that of the whole definition
        at = re.compile(rf"(?<![\w$]){re.escape(chosen.names[-1])}(?![\w$])")
        name = at.search(text.lines.line(line), column)
        column = name.start() if name else column
    return line, column


def _means(names: Sequence[str], wanted: Sequence[str]) -> bool:
    """Tell whether the last names are the same, and the others before it follow each other in `names`,
    too."""
    if names[-1] != wanted[-1]:
        return False
    around = iter(names[:-1])
    return all(any(one == other for other in around) for one in wanted[:-1])


def _declared(nodes: list[dict[str, Any]], around: tuple[str, ...]) -> Iterator[_Declared]:
    for node in nodes[:MAX_SYMBOLS]:
        location = node.get("location")
        flat = isinstance(location, Mapping)
        container = node.get("containerName") if flat else None
        own = _NAME.findall(one_line(node.get("name"), 300))
        names = (*around, *(_NAME.findall(container) if isinstance(container, str) else ()), *own)
        exact = node.get("selectionRange")
        start = start_of(
            location.get("range") if isinstance(location, Mapping) else exact or node.get("range")
        )
        if own and line_of(start) is not None:
            yield _Declared(names, start, is_exact=not flat and exact is not None)
        if len(around) < MAX_DEPTH:
            yield from _declared(objects(node.get("children")), names)


def _not_found(named: Named, wanted: str, every: Sequence[_Declared]) -> ToolError:
    last = wanted.rpartition(".")[2].casefold()
    near = [one for one in every if last in one.names[-1].casefold()] or list(every)
    listed = ", ".join(dict.fromkeys(one.shown for one in near[:MAX_LISTED]))
    there = f"there are {one_line(listed, 1_000)}" if listed else "it declares nothing"
    return ToolError(
        "symbol_not_found",
        f"{one_line(wanted, 100)!r} is not declared in {named.shown}: {there}. Other names need their line.",
        detail={"path": named.shown, "near": [one.shown for one in near[:MAX_LISTED]]},
    )


def _ambiguous(named: Named, wanted: str, found: Sequence[_Declared]) -> ToolError:
    places = [
        {"symbol": f"{wanted}#{number}", "line": one.start["line"] + 1, "path": one.shown}
        for number, one in enumerate(found[:MAX_LISTED], 1)
    ]
    listed = ", ".join(f"{one['symbol']} ({one['path']}, line {one['line']})" for one in places)
    return ToolError(
        "symbol_ambiguous",
        f"{one_line(wanted, 100)!r} is declared {len(found)} times in {named.shown}: "
        f"{one_line(listed, 1_000)}; say which",
        detail={"path": named.shown, "places": places},
    )
