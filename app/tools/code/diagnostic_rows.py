"""What servers report for one file, as answers have it.

Owns: the shape, order and filter of diagnostics. Never: asking a server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.bridges.lsp.manager import Diagnosed, Encoding
from app.tools.after_edit.server_scope import WITHHELD
from app.tools.code.call import CodeCall
from app.tools.code.places import Files, end_of, line_of, start_of
from app.tools.code.results import Diagnostic, Related
from app.tools.processes.foreign_text import clean, objects, one_line

MAX_ITEMS = 10_000
MAX_MESSAGE = 2_000
MAX_RELATED = 5
SEVERITIES = ("error", "warning", "information", "hint")
_TAGS = {1: "unnecessary", 2: "deprecated"}


def wanted(call: CodeCall, found: list[Diagnostic]) -> list[Diagnostic]:
    """Return those of the severity that the call asks for, as the caller may read them."""
    severity = call.params.severity
    if call.withholds:
        found = [one.model_copy(update={"message": WITHHELD, "related": None}) for one in found]
    return found if severity == "all" else [one for one in found if one.severity == severity]


def errors_shown(call: CodeCall, diagnosed: Diagnosed, encoding: Encoding, files: Files) -> list[Diagnostic]:
    """Return the errors of one file by position, as the caller may read them. Blocking."""
    return wanted(call, [one for one in rows(diagnosed, encoding, files) if one.severity == "error"])


def rows(diagnosed: Diagnosed, encoding: Encoding, files: Files | None = None) -> list[Diagnostic]:
    """Return what a server reported for one file, by position; with what is related to it in `files`.
    Blocking."""
    found = [
        row
        for one in objects(list(diagnosed.items))[:MAX_ITEMS]
        if (row := _row(one, diagnosed, encoding, files)) is not None
    ]
    return sorted(found, key=lambda one: (one.line, one.character, SEVERITIES.index(one.severity)))


def _row(
    one: Mapping[str, Any], diagnosed: Diagnosed, encoding: Encoding, files: Files | None
) -> Diagnostic | None:
    start, end = start_of(one.get("range")), end_of(one.get("range"))
    message = _message(one.get("message"))
    if line_of(start) is None or line_of(end) is None or not message:
        return None
    lines = diagnosed.text.lines
    (line, column), (end_line, end_column) = (lines.from_server(each, encoding) for each in (start, end))
    source = one_line(one.get("source"), 100) or None
    tags = one.get("tags")
    return Diagnostic(
        line=line + 1,
        character=column,
        end_line=end_line + 1,
        end_character=end_column,
        severity=_severity(one.get("severity")),
        message=message,
        code=_code(one.get("code"), source),
        source=source,
        tags=[_TAGS[tag] for tag in tags if tag in (1, 2)] or None if isinstance(tags, list) else None,
        related=None if files is None else _related(one.get("relatedInformation"), files) or None,
    )


def _severity(value: Any) -> str:
    """A diagnostic without a severity is an error: better looked at than missed."""
    return SEVERITIES[value - 1] if type(value) is int and 1 <= value <= 4 else "error"


def _message(value: Any) -> str:
    text = value.get("value") if isinstance(value, Mapping) else value
    return clean(text, MAX_MESSAGE)


def _code(value: Any, source: str | None) -> str | None:
    if isinstance(value, Mapping):
        value = value.get("value")
    if type(value) is int:
        return f"ts({value})" if source in {"typescript", "ts"} else str(value)
    return one_line(value, 100) or None


def _related(given: Any, files: Files) -> list[Related]:
    found = []
    for one in objects(given)[:MAX_RELATED]:
        location = one.get("location")
        if not isinstance(location, Mapping):
            continue
        place = files.place(location.get("uri"), start_of(location.get("range")))
        if place is None:
            continue
        message = None if place.outside_cage else one_line(one.get("message"), MAX_MESSAGE) or None
        found.append(
            Related(path=place.path, line=place.line, message=message, outside_cage=place.outside_cage)
        )
    return found
