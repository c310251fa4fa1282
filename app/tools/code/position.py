"""The position that a call is about: a line and a column, a name on a line, or a path of names.

Owns: finding it in the document, and the errors that tell what is there instead. Never: the server's
units; those are `LineIndex`'s.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from app.bridges.lsp.manager import LanguageServer, LineIndex, OpenText
from app.errors import ToolError
from app.tools.code.call import CodeCall, Named
from app.tools.code.loose_files import give_loose_files
from app.tools.code.name_path import find_by_name
from app.tools.code.parameters import wrong
from app.tools.processes.foreign_text import one_line

MAX_LISTED = 20
MAX_LINE = 300
_NUMBERED = re.compile(r"(?s)(.+)#([1-9][0-9]{0,5})")
_LAST_NAME = re.compile(r"(?<![\w$])[\w$]++\Z")
_WORD = re.compile(r"[\w$]+")


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a document; `line` and `column` count from 0."""

    text: OpenText
    line: int
    column: int

    @property
    def word(self) -> str:
        """The word at the position, empty where there is none."""
        return _word_at(self.text.lines.line(self.line), self.column)

    def params(self, server: LanguageServer) -> dict[str, Any]:
        """Return the parameters that requests about a position have."""
        position = self.text.lines.to_server(self.line, self.column, server.encoding)
        return {"textDocument": {"uri": self.text.uri}, "position": position}


async def find_position(call: CodeCall, named: Named, server: LanguageServer) -> Position:
    """Return the position that the call means, about which the server can be asked now. Raises ToolError
    `invalid_params`, `symbol_not_found`, `symbol_ambiguous`, and as `give_loose_files` does."""
    text = await server.document(named.relative)
    params = call.params
    if params.line is None:
        line, column = await find_by_name(call, named, server, text, params.symbol or "")
    else:
        line = checked_line(text.lines, params.line, named.shown)
        if params.symbol is not None:
            column = find_symbol(text.lines, line, params.symbol, named.shown)
        else:
            column = _checked_column(text.lines, line, params.character or 0, named.shown)
    position = Position(text, line, column)
    await give_loose_files(call, named, server, position.word)
    return position


def _checked_column(lines: LineIndex, line: int, column: int, shown: str) -> int:
    length = len(lines.line(line))
    if column > length:
        raise wrong(
            "character",
            f"line {line + 1} of {shown} has {length} characters, so it is at most {length}; "
            f"the line is {_shown(lines.line(line))}",
        )
    return column


def _word_at(line: str, column: int) -> str:
    words = (found for found in _WORD.finditer(line) if found.start() <= column <= found.end())
    return max((found.group() for found in words), key=len, default="")


def checked_line(lines: LineIndex, line: int, shown: str) -> int:
    """Return the line counted from 0. Raises ToolError `invalid_params` when there is none."""
    if line > lines.line_count:
        raise wrong("line", f"{shown} has {lines.line_count} lines")
    return line - 1


def find_symbol(lines: LineIndex, line: int, symbol: str, shown: str) -> int:
    """Return the column of the name on the line, of its last part if it is a path of names."""
    text = lines.line(line)
    name, number = symbol, None
    found = _columns(text, symbol)
    numbered = _NUMBERED.fullmatch(symbol)
    if not found and numbered is not None:
        name, number = numbered[1], int(numbered[2])
        found = _columns(text, name)
    last = _LAST_NAME.search(name)
    ahead = last.start() if last is not None else 0
    if not found:
        raise _not_found(lines, line, name, shown)
    if number is None and len(found) > 1:
        raise _ambiguous(text, line, name, found, ahead)
    if number is not None and number > len(found):
        raise ToolError(
            "symbol_not_found",
            f"{one_line(name, 100)!r} is on line {line + 1} of {shown} {len(found)} times, not {number}",
            detail={"path": shown, "line": line + 1, "count": len(found)},
        )
    return found[(number or 1) - 1] + ahead


def _columns(text: str, name: str) -> list[int]:
    """Return where the name is on the line, as a word of its own."""
    left = r"(?<![\w$])" if _is_word(name[0]) else ""
    right = r"(?![\w$])" if _is_word(name[-1]) else ""
    return [found.start() for found in re.finditer(left + re.escape(name) + right, text)]


def _is_word(character: str) -> bool:
    return character.isalnum() or character in "_$"


def _not_found(lines: LineIndex, line: int, name: str, shown: str) -> ToolError:
    elsewhere = [
        number + 1 for number in range(lines.line_count) if name in lines.line(number) and number != line
    ]
    nearest = sorted(sorted(elsewhere, key=lambda number: abs(number - line - 1))[:MAX_LISTED])
    listed = ", ".join(map(str, nearest))
    hint = f"; it is on line {listed}" if nearest else "; it is nowhere in the file"
    return ToolError(
        "symbol_not_found",
        f"{one_line(name, 100)!r} is not on line {line + 1} of {shown}, which is "
        f"{_shown(lines.line(line))}{hint}",
        detail={"path": shown, "line": line + 1, "elsewhere": nearest},
    )


def _ambiguous(text: str, line: int, name: str, found: list[int], ahead: int) -> ToolError:
    places = [
        {"symbol": f"{name}#{number}", "character": column + ahead}
        for number, column in enumerate(found[:MAX_LISTED], 1)
    ]
    listed = ", ".join(f"{one['symbol']} (character {one['character']})" for one in places)
    return ToolError(
        "symbol_ambiguous",
        f"{one_line(name, 100)!r} is {len(found)} times on line {line + 1}: {one_line(listed, 1_000)}; "
        f"say which. The line is {_shown(text)}",
        detail={"line": line + 1, "places": places},
    )


def _shown(line: str) -> str:
    return repr(one_line(line, MAX_LINE))
