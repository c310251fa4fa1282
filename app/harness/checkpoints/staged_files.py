"""git's index as `ls-files --stage --debug` prints it: which files are as they were when git took them in.

Owns: that form, and comparing it with a file's state. Never: running git. Files are judged by their states
alone: git itself would run the repository's filters to be sure.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.harness.checkpoints.stored_objects import TreeEntry
from app.tools.processes.git_commands import GitProblem

LISTING = ("ls-files", "-z", "--stage", "--debug", "--")
_32_BITS = 0xFFFFFFFF
_SKIPPED = 1 << 30
"""git's mark of a file that a sparse checkout leaves out."""
_NS = 1_000_000_000
_FLAGS = re.compile(
    rb"  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n"
    rb"  uid: \d+\tgid: \d+\n  size: (\d+)\tflags: ([0-9a-f]+)\n"
)


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file of the index: what git has of it, and its state when git took it in. A size above 4 GB is only
    known to its last 32 bits."""

    entry: TreeEntry
    changed_ns: int
    modified_ns: int
    number: int
    size: int
    is_skipped: bool

    def is_as(self, status: os.stat_result) -> bool:
        """Tell whether a file is still in the state in which git took it in."""
        return (
            self.changed_ns == status.st_ctime_ns
            and self.modified_ns == status.st_mtime_ns
            and self.number == status.st_ino & _32_BITS
            and self.size == status.st_size & _32_BITS
        )


def staged_files(listed: bytes) -> Iterator[tuple[bytes, StagedFile]]:
    """Yield the files of an index by name; those with conflicts are left out. Raises `GitProblem`."""
    at = 0
    while at < len(listed):
        end = listed.find(b"\0", at)
        flags = _FLAGS.match(listed, end + 1) if end >= 0 else None
        if flags is None:
            raise GitProblem("git's index is not read")
        head, _, name = listed[at:end].partition(b"\t")
        mode, oid, stage = head.decode().split()
        if stage == "0":
            changed, changed_ns, modified, modified_ns, number, size = map(int, flags.groups()[:6])
            skipped = bool(int(flags[7], 16) & _SKIPPED)
            state = (changed * _NS + changed_ns, modified * _NS + modified_ns, number, size, skipped)
            yield name, StagedFile(TreeEntry(mode, oid), *state)
        at = flags.end()
