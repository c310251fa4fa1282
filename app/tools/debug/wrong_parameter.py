"""The error for one wrong parameter of `debug`.

Owns: its shape. Never: checking.
"""

from __future__ import annotations

from app.errors import RPC_INVALID_PARAMS, ToolError

NAME = "debug"


def wrong(field: str, problem: str) -> ToolError:
    """Return the error for one wrong parameter."""
    return ToolError(
        "invalid_params",
        f"{NAME}: {field}: {problem}",
        detail={"fields": {field: problem}},
        rpc_code=RPC_INVALID_PARAMS,
    )
