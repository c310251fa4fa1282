"""What agents have written, as it is kept with the results of their calls.

Owns: the form in which it is stored (`details.wrote` of a result), and what the files that agents wrote must
hold now if nobody else has touched them. Never: looking at files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from app.errors import ValidationFailed
from app.tools.contract.ports import FileWrite
from app.workspace.any_names import address_of, path_at


@dataclass(frozen=True, slots=True)
class Kept:
    """The content that a file had before: that of a path of the tree that was noted."""

    path: str


Expected = str | Kept | None
"""What a file must hold: a content's digest, what another file held, or nothing at all (it is gone)."""


def as_details(writes: Sequence[FileWrite]) -> list[dict[str, Any]]:
    """Return the writes of one call in the form in which they are stored."""
    return [
        {
            "path": address_of(one.path),
            **({} if one.digest is None else {"digest": one.digest}),
            **({} if one.was is None else {"was": address_of(one.was)}),
            **({"folder": True} if one.folder else {}),
        }
        for one in writes
    ]


def writes_of(details: Mapping[str, Any]) -> list[FileWrite]:
    """Return the writes that are stored with a result; what does not look like one is left out."""
    found = []
    for one in details.get("wrote", ()):
        if isinstance(one, dict) and isinstance(one.get("path"), str):
            digest, was = one.get("digest"), one.get("was")
            with suppress(ValidationFailed):
                found.append(
                    FileWrite(
                        path_at(one["path"]),
                        digest if isinstance(digest, str) else None,
                        path_at(was) if isinstance(was, str) else None,
                        bool(one.get("folder")),
                    )
                )
    return found


def expected_after(writes: Iterable[FileWrite], noted: Iterable[str]) -> dict[str, Expected]:
    """Return what each file that agents wrote must hold after the writes, in their order.

    `noted` are the paths of the files that were there before the first of them."""
    before = set(noted)
    expected: dict[str, Expected] = {}

    def now(path: str) -> Expected:
        return expected[path] if path in expected else (Kept(path) if path in before else None)

    for write in writes:
        if write.was is not None:
            for old, new in _moved(write, expected, before):
                expected[new], expected[old] = now(old), None
        elif write.digest is not None:
            expected[write.path] = write.digest
        else:
            for path in _below(write.path, expected, before) if write.folder else (write.path,):
                expected[path] = None
    return expected


def _moved(write: FileWrite, expected: Mapping[str, Expected], before: set[str]) -> list[tuple[str, str]]:
    was = write.was or ""
    if not write.folder:
        return [(was, write.path)]
    return [(path, write.path + path[len(was) :]) for path in _below(was, expected, before)]


def _below(folder: str, expected: Mapping[str, Expected], before: set[str]) -> list[str]:
    return [path for path in {*before, *expected} if path.startswith(f"{folder}/")]
