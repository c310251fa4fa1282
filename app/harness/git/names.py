"""Names of files that a client gives for git: relative to the project's folder.

Owns: which names may be given, and how they are shown in a text. Never: whether there is such a file.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import ValidationFailed
from app.workspace.any_names import name_at

MAX_PATH = 4096
ALL = b"."
"""The project's folder."""


def shown(name: bytes) -> str:
    """Return a name for reading in a sentence; bytes that are not UTF-8 are written as `\\xNN`."""
    return name.decode("utf-8", "backslashreplace")


def given(paths: Sequence[str], *, field: str = "paths") -> list[bytes]:
    """Return the names by the addresses that a client gave, each once. Raises `ValidationFailed` for what can
    be no file of the project."""
    return list(dict.fromkeys(_checked(path, field) for path in paths))


def _checked(path: str, field: str) -> bytes:
    name = name_at(path)
    if not path or b"\0" in name or len(name) > MAX_PATH:
        raise _refused(path, "it is empty or too long, or contains a NUL character", field)
    if name.startswith(b"/"):
        raise _refused(path, "give it relative to the project's folder", field)
    parts = [part for part in name.split(b"/") if part not in (b"", b".")]
    if b".." in parts:
        raise _refused(path, "it must not contain `..`", field)
    return b"/".join(parts) or ALL


def _refused(path: str, why: str, field: str) -> ValidationFailed:
    name = path[:200].encode("utf-8", "backslashreplace").decode()
    return ValidationFailed(f"{name!r} is not the path of a file in the project: {why}.", fields={field: why})
