"""Programs, arguments and variables as the system takes them.

Owns: which of them can be passed on at all, and which program a bare name means. Never: starting it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from app.programs import on_path


def plain(text: str | bytes) -> bytes:
    """Return the bytes for the system; ValueError for a text that it would cut or cannot represent."""
    plain = os.fsencode(text)
    if b"\0" in plain:
        raise ValueError("an argument or variable contains a null character")
    return plain


def variables(env: Mapping[str, str]) -> list[bytes]:
    for name in env:
        if not name or "=" in name:
            raise ValueError(f"{name!r} is not the name of a variable")
    entries = os.fsencode("\0".join(f"{name}={value}" for name, value in env.items())).split(b"\0")
    if len(entries) != len(env):
        raise ValueError("a variable contains a null character")
    return entries


def program(name: bytes, env: Mapping[str, str]) -> bytes:
    if b"/" in name:
        return name
    found = on_path(os.fsdecode(name), env)
    if found is None:
        raise FileNotFoundError(2, f"there is no program {os.fsdecode(name)!r} on PATH, outside of projects")
    return os.fsencode(found)


def in_words(problem: OSError | ValueError) -> str:
    if isinstance(problem, UnicodeError):
        return "an argument or variable is not valid text"
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror
    return str(problem)
