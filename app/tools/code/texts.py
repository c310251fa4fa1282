"""What `code.lsp` says and shows in words: a server's texts, and errors of wrong parameters.

Owns: the errors that this tool makes of wrong parameters. Never: making texts safe; `foreign_text`
does.
"""

from __future__ import annotations

from app.errors import RPC_INVALID_PARAMS, ToolError
from app.tools.foreign_text import CUT, MAX_NUMBER, clean, clean_value, objects, one_line, whole_number

__all__ = ["CUT", "MAX_NUMBER", "clean", "clean_value", "objects", "one_line", "whole_number", "wrong"]


def wrong(field: str, problem: str) -> ToolError:
    """Return the error for one wrong parameter."""
    return ToolError(
        "invalid_params",
        f"code.lsp: {field}: {problem}",
        detail={"fields": {field: problem}},
        rpc_code=RPC_INVALID_PARAMS,
    )
