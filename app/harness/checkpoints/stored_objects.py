"""The objects that kaged keeps for one project: contents and trees, in git's format and by git's names.

Owns: the form of what is kept, and what every store of objects can do. Never: where else objects are found
(`git_objects`), or the project's files (`file_survey`).
"""

from __future__ import annotations

import hashlib
import zlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.ids import new_id

MAX_UNTRACKED = 20_000
"""Files that are neither tracked nor ignored; where there are more, nothing is noted."""
LOOK_AGAIN_SECONDS = 600.0
"""So long nobody looks whether there are still too many, so that a message costs nothing."""
TOO_MANY = (
    f"more than {MAX_UNTRACKED:,} files are neither tracked nor ignored: list what is generated in .gitignore"
)
LINK = "120000"
FOLDER = "40000"


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a tree. `mode` is git's: 100644, 100755 or 120000 (a link); `oid` names the content."""

    mode: str
    oid: str


class StoredObjects(ABC):
    """The objects of one project, in `folder`. What it cannot do raises `GitProblem`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.objects = folder / "objects"
        self.hash = "sha1"

    @abstractmethod
    async def open(self) -> None:
        """Prepare the store, before anything else is asked of it."""

    @abstractmethod
    async def names(self, among: Collection[bytes] | None = None) -> list[bytes]:
        """Return the files of the project's folder that count, relative to it; of some when given."""

    @abstractmethod
    async def missing(self, oids: Iterable[str]) -> set[str]:
        """Return those of the objects that are kept nowhere."""

    @abstractmethod
    async def write_tree(self, entries: Mapping[bytes, TreeEntry]) -> str:
        """Return the name of the tree of these files, by path; its contents are kept already."""

    @abstractmethod
    async def read_tree(self, tree: str) -> dict[bytes, TreeEntry]:
        """Return the files of a tree by path."""

    @abstractmethod
    async def contents(self, oids: Iterable[str], limit: int) -> dict[str, bytes]:
        """Return contents by name; refused when all are above `limit` bytes."""

    @abstractmethod
    async def reachable(self, trees: Sequence[str]) -> set[str]:
        """Return the names of all objects of some trees, the trees themselves included."""

    def oid(self, content: bytes) -> str:
        """Return the name that git gives a file's content."""
        return self.name_of(b"blob", content)

    def name_of(self, kind: bytes, content: bytes) -> str:
        """Return the name that git gives an object."""
        return hashlib.new(self.hash, b"%s %d\0" % (kind, len(content)) + content).hexdigest()

    def keep(self, content: bytes, kind: bytes = b"blob") -> int:
        """Keep an object in the own folder; return the bytes that it takes there. Blocks."""
        file = self.file_of(self.name_of(kind, content))
        if file.exists():
            return 0
        packed = zlib.compress(b"%s %d\0" % (kind, len(content)) + content, 1)
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_name(new_id("wtr"))
        try:
            temporary.write_bytes(packed)
            temporary.replace(file)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        return len(packed)

    def file_of(self, oid: str) -> Path:
        """Return where an object lies when the own folder has it."""
        return self.objects / oid[:2] / oid[2:]
