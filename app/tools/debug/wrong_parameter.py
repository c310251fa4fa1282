"""The error for one wrong parameter of `debug`.

Owns: its shape. Never: checking.
"""

from __future__ import annotations

from app.errors import ToolError, invalid_params

NAME = "debug"


def wrong(field: str, problem: str) -> ToolError:
    """Return the error for one wrong parameter."""
    return invalid_params(f"{NAME}: {field}: {problem}", {field: problem})
