"""Diagnostics straight from tsserver, which typescript-language-server passes requests on to.

Owns: that request and the translation of its answer. The server's own publishing has no versions
and says nothing when a clean file stays clean; this answers for the text of the last change, at once.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from app.bridges.lsp.connection import Connection
from app.bridges.lsp.file_uris import path_to_uri
from app.bridges.rpc.peer import ResponseError

COMMAND = "typescript.tsserverRequest"
_ERRORS = ("syntacticDiagnosticsSync", "semanticDiagnosticsSync")
_HINTS = ("suggestionDiagnosticsSync",)
_SEVERITIES = {"error": 1, "warning": 2, "suggestion": 4, "message": 3}
MAX_ITEMS = 20_000


async def diagnostics(
    client: Connection, path: Path, *, hints: bool = True
) -> tuple[dict[str, Any], ...] | None:
    """Return the diagnostics as the protocol has them (UTF-16 columns), with or without `hints`; None when
    the server does not answer such requests."""

    async def ask(kind: str) -> Any:
        arguments = [kind, {"file": str(path)}]
        return await client.request("workspace/executeCommand", {"command": COMMAND, "arguments": arguments})

    try:
        answers = await asyncio.gather(*map(ask, (*_ERRORS, *_HINTS) if hints else _ERRORS))
        further = await client.further_diagnostics(path)
    except ResponseError:
        return None
    found: list[dict[str, Any]] = []
    for answer in answers:
        body = answer.get("body") if isinstance(answer, dict) else None
        if not isinstance(body, list):
            return None
        found += [_diagnostic(entry) for entry in body[:MAX_ITEMS] if isinstance(entry, dict)]
    return (*found, *further)


def _diagnostic(entry: dict[str, Any]) -> dict[str, Any]:
    tags = [tag for key, tag in (("reportsUnnecessary", 1), ("reportsDeprecated", 2)) if entry.get(key)]
    related = entry.get("relatedInformation")
    return {
        "range": {"start": _position(entry.get("start")), "end": _position(entry.get("end"))},
        "severity": _SEVERITIES.get(str(entry.get("category")), 1),
        "code": entry.get("code"),
        "source": entry.get("source") or "typescript",
        "message": str(entry.get("text", "")),
        **({"tags": tags} if tags else {}),
        **({"relatedInformation": _related(related)} if isinstance(related, list) else {}),
    }


def _related(entries: list[Any]) -> list[dict[str, Any]]:
    found = []
    for entry in entries[:50]:
        span = entry.get("span") if isinstance(entry, dict) else None
        if isinstance(span, dict) and isinstance(span.get("file"), str):
            place = {"start": _position(span.get("start")), "end": _position(span.get("end"))}
            location = {"uri": path_to_uri(Path("/", span["file"])), "range": place}
            found.append({"location": location, "message": str(entry.get("message", ""))})
    return found


def _position(value: Any) -> dict[str, int]:
    """Return a place of tsserver, which counts lines and columns from 1."""
    line = value.get("line") if isinstance(value, dict) else None
    offset = value.get("offset") if isinstance(value, dict) else None
    return {
        "line": max(0, line - 1) if isinstance(line, int) else 0,
        "character": max(0, offset - 1) if isinstance(offset, int) else 0,
    }
