"""Uses of a name that a rename would leave behind, as no server has looked at them.

Owns: the refusal, and the digest that overrides it. Never: comments, strings and other languages: these are
counted, and stop nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from app.errors import ToolError
from app.tools.code.call import CodeCall
from app.tools.code.crossed import NotAsked
from app.tools.code.name_nodes import name_nodes

MAX_FILES = 2_000
MAX_SHOWN = 20
MAX_LISTED = 1_000


async def check_seen(
    call: CodeCall, word: str, not_asked: Sequence[NotAsked], *, by_name: bool = True
) -> str:
    """Raise ToolError `rename_incomplete` when code that can mean the same was looked at by no server, unless
    the caller confirms just this list: then return its digest, and nothing where there is no such code.
    `by_name`: only identifiers count, else every file that holds the word."""
    reaching = [one for one in not_asked if one.reaches]
    names = _readable(call, [name for one in reaching if not one.places for name in one.files])
    left = await _uses(call, word, names[:MAX_FILES]) if by_name else [f"./{name}" for name in names]
    left += [f"./{name}" for name in names[MAX_FILES:]] if by_name else []
    for one in reaching:
        left += one.places if _readable(call, one.files) == list(one.files) else ()
    digest = digest_of_list(left) if left else ""
    if not left or call.params.confirms(digest):
        return digest
    shown = ", ".join(left[:MAX_SHOWN]) + (", ..." if len(left) > MAX_SHOWN else "")
    reasons = "; ".join(sorted({one.reason for one in not_asked if one.reaches})[:3])
    raise ToolError(
        "rename_incomplete",
        f"nothing was changed: {word!r} is also used in code that no language server has looked at "
        f"({reasons}): {shown}. Rename there first, or set confirm to {digest!r} to leave these as they are.",
        detail={"not_looked_at": left[:MAX_LISTED], "count": len(left), "confirm": digest},
    )


def digest_of_list(lines: Sequence[str]) -> str:
    """Return what a caller gives back to confirm just this list."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _readable(call: CodeCall, names: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if call.workspace.may_read(tuple(name.split("/")))]


async def _uses(call: CodeCall, word: str, names: Sequence[str]) -> list[str]:
    """Return where the word is an identifier, as `./path:line`; files that cannot be parsed as a whole."""
    if not names:
        return []
    nodes, unread = await name_nodes(call, word, names)
    return [*sorted({f"./{one.path}:{one.line}" for one in nodes}), *(f"./{name}" for name in unread)]
