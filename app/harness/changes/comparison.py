"""What differs between two states of a project's files.

Owns: which paths differ, and which of them are one file under another name. Never: lines, or who changed
them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.harness.checkpoints.stored_objects import LINK, TreeEntry
from app.workspace.file_status import ChangeStatus

MOST_ALIKE = 200
"""So many deleted and so many added files are looked through for similar ones."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One path that differs. `then` and `now` are its entries (None: not there). `left_out` says why a file
    that is there has no entry. A renamed file had `then` at `old_path`."""

    path: bytes
    then: TreeEntry | None
    now: TreeEntry | None
    left_out: str | None = None
    old_path: bytes | None = None

    @property
    def status(self) -> ChangeStatus:
        if self.old_path is not None:
            return "renamed"
        if self.then is None:
            return "added"
        if self.now is None and self.left_out is None:
            return "deleted"
        same = self.now is not None and self.now.oid == self.then.oid
        return "mode" if same else "modified"

    @property
    def state(self) -> str:
        """What names exactly this difference."""
        return f"{self.path!r}\0{self.old_path!r}\0{self.then}\0{self.now}\0{self.left_out}"


def differences(
    then: Mapping[bytes, TreeEntry],
    now: Mapping[bytes, TreeEntry],
    left_out: Mapping[bytes, str],
    also: Collection[bytes] = (),
) -> list[Changed]:
    """Return what differs, by path. Files of `also` are in it when they are left out now: what they were then
    is not known."""
    found = [
        Changed(name, then.get(name), entry)
        for name, entry in now.items()
        if (before := then.get(name)) is None or before.oid != entry.oid or before.mode != entry.mode
    ]
    found += [
        Changed(name, entry, None, left_out.get(name)) for name, entry in then.items() if name not in now
    ]
    found += [
        Changed(name, None, None, left_out[name]) for name in also if name in left_out and name not in then
    ]
    return sorted(found, key=lambda one: one.path)


def exactly_renamed(changes: Sequence[Changed], recorded: Mapping[bytes, bytes]) -> list[Changed]:
    """Join what was deleted with what was added: by the moves that are `recorded` (new to old), and by the
    same content."""
    deleted = {one.path: one for one in changes if is_gone(one)}
    added = {one.path: one for one in changes if is_new(one)}
    pairs: dict[bytes, bytes] = {}
    for new, old in recorded.items():
        if new in added and old in deleted and old not in pairs.values():
            pairs[new] = old
    taken = set(pairs.values())
    by_content: dict[str, list[bytes]] = {}
    for path, one in deleted.items():
        if path not in taken and one.then is not None:
            by_content.setdefault(one.then.oid, []).append(path)
    for path, one in added.items():
        candidates = by_content.get(one.now.oid) if one.now is not None and path not in pairs else None
        if candidates:
            pairs[path] = candidates.pop(0)
    return joined(changes, pairs)


def joined(changes: Iterable[Changed], pairs: Mapping[bytes, bytes]) -> list[Changed]:
    """Make one renamed file of each pair (new to old), unless one has the place of the other's folder: a
    revert can write only one after the other."""
    pairs = {new: old for new, old in pairs.items() if not _are_nested(new, old)}
    known = {one.path: one for one in changes}
    gone = set(pairs.values())
    return [
        replace(one, then=known[pairs[path]].then, old_path=pairs[path]) if path in pairs else one
        for path, one in known.items()
        if path not in gone
    ]


def _are_nested(one: bytes, other: bytes) -> bool:
    return one.startswith(other + b"/") or other.startswith(one + b"/")


def is_gone(one: Changed) -> bool:
    """Tell whether it may be the old name of a renamed file."""
    return one.status == "deleted" and one.then is not None and one.then.mode != LINK


def is_new(one: Changed) -> bool:
    """Tell whether it may be the new name of a renamed file."""
    return one.status == "added" and one.now is not None and one.now.mode != LINK
