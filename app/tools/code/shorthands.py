"""Names in object literals that stand for a property and a variable at once: `{ total }`.

Owns: writing both out where a rename changes one of them. Never: what else a rename changes. The servers of
TypeScript change such a name as a whole, so that the other of the two is lost.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from app.bridges.lsp.manager import LanguageServer, TextEdit, TextEdits
from app.errors import ToolError
from app.tools.code.call import CodeCall
from app.tools.code.edits import Checked
from app.tools.code.name_nodes import name_nodes
from app.tools.code.place_list import locations
from app.tools.code.places import Files

KIND = "shorthand_property_identifier"
MAX_PLACES = 500
_DEFINITION = "textDocument/definition"
_Start = tuple[str, int, int]


async def spelled_out(call: CodeCall, server: LanguageServer, checked: Checked, old: str) -> Checked:
    """Return the change with `{ old }` written out where only its property or only its variable gets the new
    name. Raises ToolError `rename_not_possible` for too many."""
    if not server.behaviour.across.splits_shorthands or not old.isidentifier():
        return checked
    texts = {
        _relative(call, one): one
        for one in checked.plan.operations
        if isinstance(one, TextEdits) and one.edits
    }
    nodes, _ = await name_nodes(call, old, list(texts), (KIND,))
    if len(nodes) > MAX_PLACES:
        raise ToolError("rename_not_possible", f"nothing was changed: {old!r} is in too many object literals")
    starts = {(path, *edit.start) for path, one in texts.items() for edit in one.edits}
    changed: dict[_Start, str] = {}
    for node in nodes:
        text = await server.document(node.path)
        at = text.lines.to_server(node.line - 1, node.column, server.encoding)
        start = (node.path, at["line"], at["character"])
        if start in starts:
            form = await _form(call, server, {"textDocument": {"uri": text.uri}, "position": at}, starts)
            changed[start] = form
    operations = tuple(
        replace(one, edits=_spelled(one.edits, _relative(call, one), changed, old))
        if isinstance(one, TextEdits)
        else one
        for one in checked.plan.operations
    )
    return replace(checked, plan=replace(checked.plan, operations=operations))


async def _form(call: CodeCall, server: LanguageServer, params: dict[str, Any], starts: set[_Start]) -> str:
    """Return how the name is to be written. The server names the variable first, then the properties that are
    declared for it; without one, what reads the property is left as it was."""
    found = locations(await server.request(_DEFINITION, params))

    def renamed() -> list[bool]:
        files = Files(call, server.encoding)
        places = [(files.anywhere(uri), at) for uri, at in found if isinstance(at, dict)]
        return [
            ("/".join(parts), at.get("line"), at.get("character")) in starts
            for parts, at in places
            if parts is not None
        ]

    variable, *properties = await call.aside(renamed) or [True]
    if variable and any(properties):
        return "{new}"
    return "{old}: {new}" if variable else "{new}: {old}"


def _relative(call: CodeCall, one: TextEdits) -> str:
    return os.path.relpath(one.path, call.project.root)


def _spelled(
    edits: Sequence[TextEdit], path: str, changed: dict[_Start, str], old: str
) -> tuple[TextEdit, ...]:
    return tuple(
        replace(one, new_text=changed[start].format(old=old, new=one.new_text))
        if (start := (path, *one.start)) in changed
        else one
        for one in edits
    )
