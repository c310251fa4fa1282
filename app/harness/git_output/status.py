"""The output of `git status --porcelain=v2 -z`: its head and its files.

Owns: the form that git writes. Never: running git, or what a state means for a caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

UNTRACKED = "??"
_WORDS = {b"1": 8, b"2": 9, b"u": 10}
"""How many words stand before the name, which may have blanks."""
_UNKNOWN = {"branch.head": "(detached)", "branch.oid": "(initial)"}
"""What git writes where there is no branch, or no commit."""
_MOST_HEAD = 32


@dataclass(frozen=True, slots=True)
class StatusLine:
    """One file, by its name in the repository. `marks` are git's two letters, that of the index and that of
    the working tree. `is_conflict`: they say how both sides changed it. `old_name` is where a renamed or
    copied file was."""

    name: bytes
    marks: str
    is_conflict: bool = False
    old_name: bytes | None = None
    is_submodule: bool = False


def status_head(output: bytes) -> dict[str, str]:
    """Return the head of a status by its keys, such as `branch.head`. Unknown values have no key."""
    head = {}
    for line in output.split(b"\0", _MOST_HEAD):
        if not line.startswith(b"# "):
            break
        key, _, value = line[2:].decode("utf-8", "backslashreplace").partition(" ")
        if value != _UNKNOWN.get(key):
            head[key] = value
    return head


def status_lines(output: bytes) -> Iterator[StatusLine]:
    """Yield the files of a status in their order; lines of another kind are left out."""
    fields = iter(output.split(b"\0"))
    for line in fields:
        kind = line[:1]
        if kind == b"?":
            yield StatusLine(line[2:], UNTRACKED)
            continue
        old = next(fields, None) if kind == b"2" else None
        count = _WORDS.get(kind)
        words = line.split(b" ", count) if count is not None else []
        if count is not None and len(words) > count:
            marks = words[1].decode("ascii", "replace")
            submodule = words[2].startswith(b"S")
            yield StatusLine(words[-1], marks, kind == b"u", old, submodule)
