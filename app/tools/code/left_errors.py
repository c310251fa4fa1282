"""The refusal of a rename that would leave errors.

Owns: its words as the caller may read them, and the digest that overrides it. Never: finding the errors.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.errors import ToolError
from app.tools.after_edit.known_errors import ErrorRow, Rows
from app.tools.code.call import CodeCall
from app.tools.code.places import Files
from app.tools.code.unseen import digest_of_list
from app.tools.processes.foreign_text import one_line

MAX_SHOWN = 5
MAX_LISTED = 200
MAX_MESSAGE = 300


def refuse_errors(call: CodeCall, found: Mapping[str, Rows], confirmed: str) -> None:
    """Raise ToolError `rename_leaves_errors` unless the caller confirms just these errors. `found` has them
    by file; `confirmed` is the digest of what the caller has confirmed besides. Blocking."""
    files = Files(call, "utf-16")
    # The server sees more than such callers may read.
    withheld = call.is_bounded or call.withholds
    lines: list[str] = []
    places: list[str] = []
    unnamed = 0
    for path in sorted(found):
        file = files.of_path(call.project.root / path)
        if file.verdict == "hidden":
            unnamed += len(found[path])
            continue
        words = file.verdict == "inside" and not withheld
        lines += [f"{file.shown}:{row.line}{_said(row) if words else ''}" for row in found[path]]
        places += [f"{file.shown}:{row.line}:{row.code if words else ''}" for row in found[path]]
    digest = digest_of_list([*places, str(unnamed)])
    if call.params.confirms(digest):
        return
    listed = "; ".join(lines[:MAX_SHOWN])
    more = [f"{len(lines) - MAX_SHOWN} more"] if len(lines) > MAX_SHOWN else []
    more += [f"{unnamed} in files that may not be named"] if unnamed else []
    confirm = "+".join(filter(None, (confirmed, digest)))
    raise ToolError(
        "rename_leaves_errors",
        f"nothing was changed: the rename would leave errors that are not there now: "
        f"{' and '.join(filter(None, [listed, *more]))}. Set confirm to {confirm!r} to rename all the same, "
        "and correct these afterwards.",
        detail={"new_errors": lines[:MAX_LISTED], "count": len(lines) + unnamed, "confirm": confirm},
    )


def _said(row: ErrorRow) -> str:
    return f": {one_line(row.message, MAX_MESSAGE)}"
