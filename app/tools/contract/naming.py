"""Names of tools: their shape, and the form that providers accept.

Owns: the mapping between kaged's dotted names and wire names. Never: a list of tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_NAME = re.compile(r"^[a-z][a-z0-9_-]*+(?>(\.[a-z][a-z0-9_-]*+)*)$")
MAX_WIRE_LENGTH = 64

LOCKED_TWINS: Mapping[str, str] = {
    "read": "file.read",
    "write": "file.write",
    "edit": "edit.text",
    "glob": "search.glob",
    "grep": "search.grep",
    "bash": "shell.bash",
}
"""The portable names, and the tools of which they are second names."""
_PORTABLE: Mapping[str, str] = {dotted: portable for portable, dotted in LOCKED_TWINS.items()}


def rule_name(name: str) -> str:
    """Return the name that permission rules go by: `bash` and `shell.bash` are one tool to them."""
    return LOCKED_TWINS.get(name, name)


def portable_name(name: str) -> str | None:
    """Return the name that the tool `name` has in the locked set, if it is there."""
    return _PORTABLE.get(name)


def is_tool_name(name: str) -> bool:
    """Tell whether `name` is dot-delimited lower-case words, short enough for every provider."""
    return len(name) <= MAX_WIRE_LENGTH and _NAME.match(name) is not None


def wire_name(name: str) -> str:
    """Return the name as providers are sent it: `file.read` becomes `file_read`."""
    return name.replace(".", "_")


def wire_names(names: Iterable[str]) -> dict[str, str]:
    """Map each wire name to its tool name. Raises ValueError when a name is malformed or two names share one
    wire name."""
    mapping: dict[str, str] = {}
    for name in names:
        if not is_tool_name(name):
            raise ValueError(f"malformed tool name {name!r}")
        wire = wire_name(name)
        taken = mapping.get(wire)
        if taken is not None:
            raise ValueError(f"tools {taken!r} and {name!r} would both be sent as {wire!r}")
        mapping[wire] = name
    return mapping
