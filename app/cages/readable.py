"""What of a project somebody may read, by the grants of a cage.

Owns: the comparison of two of them, and which paths they name. Never: opening files, or writing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from app.cages.file_grants import FileGrants, Mode, Parts


@dataclass(frozen=True, slots=True)
class Readable:
    """Made by `of`: equal ones read the same, however their cages are written. Components are below the
    project's root."""

    grants: FileGrants

    @classmethod
    def of(cls, grants: FileGrants, denied: Iterable[Parts] = ()) -> Readable:
        """Return what the grants let somebody read, without the places `denied`."""
        modes: dict[Parts, Mode] = {}
        for parts, _ in grants.entries:
            modes[parts] = "deny" if grants.mode(parts) in {None, "deny"} else "ro"
        for parts in denied:
            modes[parts] = "deny"
            modes |= {below: "deny" for below in modes if below[: len(parts)] == parts}
        return cls(FileGrants(tuple(_without_repetition(modes))))

    @property
    def is_all(self) -> bool:
        """Whether it is the whole project."""
        return self == ALL

    @property
    def name(self) -> str:
        """A name for files and folders, its own."""
        return hashlib.sha256(repr(self.grants.entries).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def granted(self) -> tuple[Parts, ...]:
        return tuple(parts for parts, mode in self.grants.entries if mode != "deny")

    @property
    def denied(self) -> tuple[Parts, ...]:
        """The places that are denied within what is granted."""
        return tuple(parts for parts, mode in self.grants.entries if mode == "deny")

    def allows(self, parts: Parts) -> bool:
        return self.grants.mode(parts) not in {None, "deny"}

    def covers(self, other: Readable) -> bool:
        """Tell whether everything is readable here that is in `other`."""
        places = {(), *self.granted, *self.denied, *other.granted, *other.denied}
        return all(self.allows(parts) for parts in places if other.allows(parts))


def _without_repetition(modes: dict[Parts, Mode]) -> Iterable[tuple[Parts, Mode]]:
    """Yield the entries that change something, shallow ones first."""
    for parts in sorted(modes, key=lambda one: (len(one), one)):
        above = next(
            (modes[parts[:length]] for length in range(len(parts) - 1, -1, -1) if parts[:length] in modes),
            "deny",
        )
        if modes[parts] != above:
            yield parts, modes[parts]


ALL = Readable(FileGrants((((), "ro"),)))
