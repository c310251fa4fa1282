"""Telling that a server could not follow an import because its cage hides the file.

Owns: reading that from what the server complains of. Never: looking for the file: whether it is there is
none of the caller's business. What is missing and what is hidden look the same.
"""

from __future__ import annotations

import re
from typing import Any

from app.bridges.lsp.manager import Diagnosed, LanguageServer
from app.errors import ToolError
from app.tools.code.call import CodeCall, Named
from app.tools.code.results import LspResult
from app.tools.processes.foreign_text import objects

SECONDS = 5.0
MAX_ITEMS = 1_000
_MISSING = re.compile(
    r"cannot find|can.t find|could not|unresolved|not found|no such file|unable to (resolve|find|load)"
    r"|unknown import|is not a module|has no exported member|missing.?import|does not exist|is not in std"
    r"|cannot read|failed to",
    re.IGNORECASE,
)
_IMPORT = re.compile(r"import|modul|packag|includ|require|file|crate|header|export", re.IGNORECASE)


async def mark_limits(call: CodeCall, server: LanguageServer, named: Named, result: LspResult) -> LspResult:
    """Return the answer about a file, marked when the file imports something that the server does not see."""
    if not (await call.scope()).is_bounded:
        return result
    try:
        diagnosed = await server.diagnostics(named.relative, seconds=min(SECONDS, call.seconds_left()))
    except ToolError:
        return result
    return limited(call, result, diagnosed)


def limited(call: CodeCall, result: LspResult, *diagnosed: Diagnosed) -> LspResult:
    """Return the answer, marked when one of the files imports something that the server does not see."""
    bounded = call.is_bounded and any(_misses_import(one) for one in diagnosed)
    return result.model_copy(update={"limited_by_cage": True}) if bounded else result


def _misses_import(diagnosed: Diagnosed) -> bool:
    return any(_is_missing_import(one) for one in objects(list(diagnosed.items))[:MAX_ITEMS])


def _is_missing_import(one: dict[str, Any]) -> bool:
    message, code = one.get("message"), one.get("code")
    text = f"{code} {message}"[:2_000]
    return bool(_MISSING.search(text) and _IMPORT.search(text))
