"""A Jupyter notebook as lines of text: its cells, what they hold and what they gave.

Owns: that rendering, of format 4 and of the older 3. Never: files, or running anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

MAX_BYTES = 16 * 1024 * 1024
MAX_OUTPUT_CHARACTERS = 20_000
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_TEXT_TYPES = ("text/plain", "text/markdown", "text/latex", "application/json")


class NotANotebook(Exception):
    """The content is not what it is named; the message says why."""


def notebook_lines(content: bytes) -> list[str]:
    try:
        notebook = orjson.loads(content)
    except ValueError as problem:
        raise NotANotebook(f"its JSON is malformed ({problem})") from None
    lines: list[str] = []
    for number, cell in enumerate(_cells(notebook), 1):
        if lines:
            lines.append("")
        lines += _cell(number, cell)
    return lines


def _cells(notebook: Any) -> list[dict[str, Any]]:
    found = notebook.get("cells") if isinstance(notebook, dict) else None
    if found is None and isinstance(notebook, dict) and isinstance(notebook.get("worksheets"), list):
        sheets = (sheet for sheet in notebook["worksheets"] if isinstance(sheet, dict))
        found = [cell for sheet in sheets for cell in _list(sheet.get("cells"))]
    if not isinstance(found, list) or not all(isinstance(cell, dict) for cell in found):
        raise NotANotebook("it has no list of cells")
    return found


def _cell(number: int, cell: dict[str, Any]) -> Iterator[str]:
    kind = cell.get("cell_type")
    count = cell.get("execution_count", cell.get("prompt_number"))
    run = f", run {count}" if isinstance(count, int) else ""
    yield f"=== cell {number}: {kind if isinstance(kind, str) else 'unknown'}{run} ==="
    yield from _text(cell.get("source", cell.get("input"))).split("\n")
    for output in _list(cell.get("outputs")):
        if isinstance(output, dict):
            yield from _output(output)


def _output(output: dict[str, Any]) -> Iterator[str]:
    kind = output.get("output_type")
    if kind == "stream":
        yield f"--- output: {output.get('name', output.get('stream', 'stdout'))} ---"
        yield from _cut(_text(output.get("text")))
    elif kind in {"error", "pyerr"}:
        yield "--- output: error ---"
        traceback = "\n".join(_text(line) for line in _list(output.get("traceback")))
        yield from _cut(traceback or f"{output.get('ename')}: {output.get('evalue')}")
    else:
        data = output.get("data")
        yield from _bundle(
            data if isinstance(data, dict) else {}, "result" if "execut" in str(kind) else "display"
        )


def _bundle(data: dict[str, Any], noun: str) -> Iterator[str]:
    """Show the plainest form of a value, and say which pictures there are."""
    yield f"--- output: {noun} ---"
    plain = next((kind for kind in _TEXT_TYPES if kind in data), None)
    if plain is not None:
        value = data[plain]
        yield from _cut(_text(value) if isinstance(value, str | list) else orjson.dumps(value).decode())
    for kind, value in data.items():
        if kind.startswith(("image/", "audio/", "video/")):
            yield f"[{kind}, {len(_text(value)):,} characters, not shown]"
        elif plain is None:
            yield f"[{kind}, not shown]"


def _cut(text: str) -> list[str]:
    text = _ESCAPES.sub("", text).rstrip("\n")
    more = len(text) - MAX_OUTPUT_CHARACTERS
    lines = text[:MAX_OUTPUT_CHARACTERS].split("\n")
    return [*lines, f"[{more:,} more characters of this output]"] if more > 0 else lines


def _text(value: Any) -> str:
    """Return a text that the format stores whole or as a list of lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
