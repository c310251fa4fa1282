"""hover: what a symbol is, by its type and its documentation.

Owns: the request, the split of the server's text into both, and whether the documentation may be read.
Never: rendering.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.bridges.lsp.manager import LanguageServer
from app.tools.code.call import CodeCall, need
from app.tools.code.limited import mark_limits
from app.tools.code.place_list import locations
from app.tools.code.places import Files, end_of, line_of, start_of
from app.tools.code.position import Position, find_position
from app.tools.code.results import LspResult, Point, Range
from app.tools.processes.foreign_text import clean

MAX_CONTENT = 8_000
_DEFINITION = "textDocument/definition"
MAX_DOCUMENTATION = 16_000
MAX_PARTS = 50
_FENCED = re.compile(r"\A\s*```[^\n`]*\n(.*?)\n?```[ \t]*(?:\n|\Z)", re.DOTALL)
_PICTURE = re.compile(r"!\[(?>(?:(?!!\[)[^\]\n])*)\]\(data:(?>(?:(?!!\[)[^)\s])*)\)[ \t]*+")
_RULE = re.compile(r"\A\s*(?:-{3,}|\*{3,})[ \t]*(?:\n|\Z)")


async def hover(call: CodeCall) -> LspResult:
    """Return type information and documentation of what is at the position."""
    named = await call.file()
    (await call.scope()).check_words("hover")
    server = await call.server(named)
    need(server, "textDocument/hover", "hover")
    position = await find_position(call, named, server)
    answer = await server.request("textDocument/hover", position.params(server))
    contents = answer.get("contents") if isinstance(answer, Mapping) else None
    content, documentation = split(text_of(contents))
    if not content:
        nothing = LspResult(content="", note="The server has nothing to say about this position.")
        return await mark_limits(call, server, named, nothing)
    note = None
    if documentation and not await _may_read_documentation(call, server, position):
        documentation, note = "", "The documentation is in a file that this agent may not read."
    result = LspResult(
        content=content,
        documentation=documentation or None,
        range=_range(answer.get("range"), position, server),
        note=note,
    )
    return await mark_limits(call, server, named, result)


async def _may_read_documentation(call: CodeCall, server: LanguageServer, position: Position) -> bool:
    """Tell whether the symbol is declared only in files that the caller may read, or in libraries of
    which it may know: comments there are content."""
    if not call.view.restricts:
        return True
    if not server.offers(_DEFINITION):
        return False
    answer = await server.request(_DEFINITION, position.params(server))

    def judge() -> bool:
        files = Files(call, server.encoding)
        found = [files.of_uri(uri) for uri, _ in locations(answer)]
        readable = (one is not None and (one.verdict == "inside" or one.parts is None) for one in found)
        return bool(found) and all(readable)

    return await call.aside(judge)


def text_of(contents: Any) -> str:
    """Return the text of hover contents in any of the protocol's forms."""
    if isinstance(contents, list):
        return "\n\n".join(filter(None, (text_of(one) for one in contents[:MAX_PARTS])))
    if isinstance(contents, str):
        return clean(contents, MAX_CONTENT + MAX_DOCUMENTATION)
    if not isinstance(contents, Mapping):
        return ""
    value = clean(contents.get("value"), MAX_CONTENT + MAX_DOCUMENTATION)
    if "language" in contents and value:
        return f"```\n{value}\n```"
    return value


def split(text: str) -> tuple[str, str]:
    """Return the code that a hover begins with, and the documentation after it. A text without code
    is content up to its first empty line. Pictures written out in it are left out."""
    code: list[str] = []
    rest = _PICTURE.sub("", text).strip()
    while (fenced := _FENCED.match(rest)) is not None:
        code.append(fenced[1].strip("\n"))
        rest = _RULE.sub("", rest[fenced.end() :]).strip()
    if not code:
        first, _, rest = rest.partition("\n\n")
        code = [first]
    documentation = _RULE.sub("", rest).strip()
    return clean("\n\n".join(code).strip(), MAX_CONTENT), clean(documentation, MAX_DOCUMENTATION)


def _range(span: Any, position: Position, server: LanguageServer) -> Range | None:
    start, end = start_of(span), end_of(span)
    if line_of(start) is None or line_of(end) is None:
        return None
    lines = position.text.lines
    first, last = lines.from_server(start, server.encoding), lines.from_server(end, server.encoding)
    return Range(
        start=Point(line=first[0] + 1, character=first[1]), end=Point(line=last[0] + 1, character=last[1])
    )
