"""Who changed the files of a session, by what is stored with the results of calls.

Owns: the records of edits in order of time, and whether they explain what a file holds. Never: looking at
files. What rollbacks and reverts wrote is known, and nobody's edit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.harness.changes.comparison import Changed
from app.harness.checkpoints.file_writes import Expected, Kept, expected_after, writes_of
from app.harness.checkpoints.stored_objects import LINK, TreeEntry
from app.storage.models import Revert, Rollback
from app.storage.repositories.messages import EditRecord
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.ports import FileWrite

MOST_SHOWN = 50
"""Of one file; the newest."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The call of an agent that wrote a file."""

    agent_path: str
    run_id: str | None
    message_id: str
    call_id: str | None


@dataclass(frozen=True, slots=True)
class EditRecords:
    """The edits by path, every write in order of time, and the moves of files (new to old)."""

    edits: Sequence[tuple[Edit, Sequence[FileWrite]]]
    writes: Sequence[FileWrite]

    @property
    def names_matter(self) -> bool:
        """Whether folders or moved files are among the writes."""
        return any(one.folder or one.was is not None for one in self.writes)

    def moves(self) -> dict[bytes, bytes]:
        """Return where moved files came from (new to old)."""
        origin: dict[str, str] = {}
        for write in self.writes:
            if write.was is not None and not write.folder:
                origin[write.path] = origin.pop(write.was, write.was)
        return {os.fsencode(new): os.fsencode(old) for new, old in origin.items() if new != old}

    def touched(self) -> set[bytes]:
        """Return every file that is named as written."""
        return {os.fsencode(one.path) for one in self.writes if one.digest is not None}

    def expected(self, then: Mapping[bytes, TreeEntry]) -> dict[str, Expected]:
        """Return what the written files hold when nobody else changed them."""
        return expected_after(self.writes, map(os.fsdecode, then) if self.names_matter else ())

    def by_path(self, paths: Iterable[bytes]) -> dict[bytes, list[Edit]]:
        """Return the edits of some files, the oldest first."""
        wanted = {os.fsdecode(path): path for path in paths}
        found: dict[bytes, list[Edit]] = {}
        for edit, writes in self.edits:
            for write in writes:
                for path in _concerned(write, wanted):
                    known = found.setdefault(wanted[path], [])
                    if edit not in known:
                        known.append(edit)
        return {path: edits[-MOST_SHOWN:] for path, edits in found.items()}


def _concerned(write: FileWrite, wanted: Mapping[str, bytes]) -> list[str]:
    named = [one for one in (write.path, write.was) if one is not None]
    if not write.folder:
        return [one for one in named if one in wanted]
    starts = tuple(f"{one}/" for one in named)
    return [path for path in wanted if path.startswith(starts)]


def edit_records(uow: UnitOfWork, session_id: str, since: int) -> EditRecords:
    """Return what was written in a session from a time on, in milliseconds."""
    results = uow.messages.edit_records(session_id, since)
    timed: list[tuple[float, list[FileWrite]]] = []
    edits = []
    for row in results:
        writes = writes_of(row.details)
        timed.append((float(row.created_at), writes))
        edits.append((_edit(row), writes))
    timed += _of_rollbacks(uow.rollbacks.of_session(session_id), since)
    timed += _of_reverts(uow.reverts.of_session(session_id), since)
    timed.sort(key=lambda one: one[0])
    return EditRecords(edits, [write for _, writes in timed for write in writes])


def _edit(row: EditRecord) -> Edit:
    return Edit(row.agent_path, row.run_id, row.message_id, row.details.get("toolCallId"))


def _of_rollbacks(rows: Iterable[Rollback], since: int) -> list[tuple[float, list[FileWrite]]]:
    found: list[tuple[float, list[FileWrite]]] = []
    for row in rows:
        files = row.details.get("files") or {}
        if row.created_at >= since:
            found.append((row.created_at, writes_of(files)))
        if row.undone_at is not None and row.undone_at >= since:
            found.append((row.undone_at, writes_of({"wrote": files.get("undone", ())})))
    return found


def _of_reverts(rows: Iterable[Revert], since: int) -> list[tuple[float, list[FileWrite]]]:
    found: list[tuple[float, list[FileWrite]]] = []
    for row in rows:
        if row.applied_at is not None and row.applied_at >= since:
            found.append((row.applied_at, writes_of(row.details)))
        if row.undone_at is not None and row.undone_at >= since:
            found.append((row.undone_at, writes_of({"wrote": row.details.get("undone", ())})))
    return found


def is_explained(
    change: Changed,
    expected: Mapping[str, Expected],
    then: Mapping[bytes, TreeEntry],
    digests: Mapping[str, str],
) -> bool:
    """Tell whether the records explain what a file holds. `digests` are of present contents, by object."""
    key = os.fsdecode(change.path)
    if change.old_path is not None and expected.get(os.fsdecode(change.old_path), key) is not None:
        return False
    if key not in expected:
        return False
    want = expected[key]
    if want is None:
        return change.now is None and change.left_out is None
    if change.now is None or change.now.mode == LINK:
        return change.left_out is not None
    if change.status == "mode":
        return False
    if isinstance(want, Kept):
        kept = then.get(os.fsencode(want.path))
        return kept is not None and kept.oid == change.now.oid
    return digests.get(change.now.oid) == want
