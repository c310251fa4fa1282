"""One change from what several servers answer about one symbol.

Owns: putting plans together, and a rename from the places of references where a server leaves its own files
out. Never: asking, or writing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.bridges.lsp.manager import EditPlan, TextEdits
from app.errors import ToolError
from app.tools.code.edits import Checked
from app.tools.project_files.read_tracker import Digest
from app.workspace import changed_since_read


def merged(every: Sequence[Checked]) -> Checked:
    """Return the changes of all, each once; `every` has one at least.

    Raises ToolError `file_changed_since_read` when a file changed between two answers, and
    `lsp_request_failed` when one of several does more than edit texts."""
    if len(every) == 1:
        return every[0]
    digests: dict[str, Digest] = {}
    texts: dict[Path, TextEdits] = {}
    for path, digest in [pair for one in every for pair in one.digests.items()]:
        if digests.setdefault(path, digest) != digest:
            raise changed_since_read(path)
    for operation in [operation for one in every for operation in one.plan.operations]:
        if not isinstance(operation, TextEdits):
            raise ToolError(
                "lsp_request_failed",
                "nothing was changed: the servers of several packages want to create, move or delete files",
            )
        known = texts.get(operation.path)
        edits = operation.edits if known is None else tuple(dict.fromkeys((*known.edits, *operation.edits)))
        # Versions are those of documents in different servers; all were compared with their own.
        texts[operation.path] = replace(operation, edits=edits, version=None)
    notes = {note.identifier: note for one in reversed(every) for note in one.plan.annotations}
    return Checked(EditPlan(tuple(texts.values()), tuple(notes.values())), digests)


def edit_of_references(answer: Any, new_name: str) -> dict[str, Any]:
    """Return the protocol's edit that gives every place of an answer to references a new name."""
    changes: dict[str, list[dict[str, Any]]] = {}
    for one in answer if isinstance(answer, list) else ():
        if isinstance(one, dict) and isinstance(one.get("uri"), str):
            changes.setdefault(one["uri"], []).append({"range": one.get("range"), "newText": new_name})
    return {"changes": changes}
