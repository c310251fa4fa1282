"""A note of refs and packs that git writes for the daemon, so that nothing of a killed one stays.

Owns: the locks and files that a killed git leaves in a repository, and removing them at the next start: they
would keep the user's own git from working. Never: what is written. Everything here blocks.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from app.tools.processes.git_commands import GitProblem

OWN_NAME = "refs-"
PACK_IN_THE_MAKING = "tmp_pack_kaged_"
"""How the names of packs begin that are being written; the name of their change follows. git removes such
files, too, after two weeks."""


HELD_SECONDS = 1.0
"""No program holds a lock of refs for so long."""


class RefChange:
    """One change of these refs in the repository whose folders are `own` (HEAD) and `common`. Use as a
    context manager. `notes` is the daemon's folder for changes under way."""

    def __init__(self, own: Path, common: Path, refs: Sequence[str], notes: Path) -> None:
        self._content = {"own": os.fsdecode(own), "common": os.fsdecode(common), "refs": list(refs)}
        self._notes = notes
        self._note = notes / f"{OWN_NAME}{secrets.token_hex(8)}.json"
        self.packs = _packs_of(self._note)
        """How the names of packs begin that this change brings. Those of other changes stay at its end."""

    def __enter__(self) -> RefChange:
        try:
            self._notes.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._note.open("w", encoding="utf-8") as file:
                json.dump(self._content, file)
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise GitProblem(f"the refs cannot be changed: {problem.strerror}") from None
        return self

    def __exit__(self, *_: object) -> None:
        """Forget it: git has ended by itself, and has left nothing."""
        self._note.unlink(missing_ok=True)


def end_ref_changes(notes: Path) -> None:
    """Remove what changes have left that were cut off when an earlier daemon was killed."""
    for note in sorted(notes.glob(f"{OWN_NAME}*.json")):
        with suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(note.read_text(encoding="utf-8"))
            began = note.stat().st_mtime
            packs = Path(found["common"]) / "objects" / "pack"
            for file in packs.glob(f"{_packs_of(note)}*"):
                file.unlink(missing_ok=True)
            own, common = Path(found["own"]), Path(found["common"])
            _remove_left((*_left_by(own, common, found["refs"]), *_half_objects(common)), began)
        with suppress(OSError):
            note.unlink(missing_ok=True)


def remove_objects_left(common: Path, began: float) -> None:
    """Remove the half objects that a killed git has left since its change began."""
    _remove_left(_half_objects(common), began)


def _half_objects(common: Path) -> Iterator[Path]:
    return (common / "objects").glob("??/tmp_obj_*")


def _remove_left(files: Iterable[Path], began: float) -> None:
    """Remove locks and half objects that are no older than a killed change, and that nobody holds: programs
    hold or write those for moments only, so one that is there a while later, and is the same, was left."""
    seen = [(file, found) for file in files if (found := _identity(file)) is not None]
    left = [(file, found) for file, found in seen if found[2] >= (began - 0.01) * 1e9]
    if left:
        time.sleep(HELD_SECONDS)  # noqa: TID251 - in a thread; nothing tells that a lock is let go
    for file, found in left:
        if _identity(file) == found:
            with suppress(OSError):
                file.unlink()


def _identity(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _left_by(own: Path, common: Path, refs: Sequence[str]) -> Iterator[Path]:
    yield own / "HEAD.lock"
    yield common / "packed-refs.lock"
    yield common / "packed-refs.new"
    yield common / "reftable" / "tables.list.lock"
    yield from (common / f"{ref}.lock" for ref in refs if is_plain(ref))


def _packs_of(note: Path) -> str:
    return f"{PACK_IN_THE_MAKING}{note.stem.removeprefix(OWN_NAME)}_"


def is_plain(ref: str) -> bool:
    return ref.startswith("refs/") and ".." not in ref.split("/") and "\0" not in ref
