"""What one caller may do below a root, and what nobody may do there.

Owns: `Bounds`: the caller's policy, files of the daemon, kinds of files, refusals. Never: cages, or opening
files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from app.errors import RPC_CAPABILITY_DENIED, ToolError
from app.workspace.descriptors import names_of, real_path
from app.workspace.linked_files import linked_files
from app.workspace.own_places import workspace_around
from app.workspace.paths import Access, folded, invalid_path

Names = tuple[str, ...]
Guard = Callable[[int, Names], None]
"""Raises ToolError unless what is at these names in an open directory may be written by now."""


class Policy(Protocol):
    def check(self, parts: Names, access: Access) -> None:
        """Raise ToolError unless the real path `parts`, below the root, may be used so."""

    def check_step(self, parts: Names) -> None:
        """Raise ToolError unless the caller may learn whether there is something at `parts`, on the way
        to something else."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """`policy` None means the whole root. `closed` are real absolute paths, as components. Of a closed folder
    everything is closed, but for a workspace in it to who works there."""

    policy: Policy | None
    closed: tuple[Names, ...]

    def judge(self, parts: Names, root: Names, access: Access) -> None:
        """Raise ToolError unless the real path `parts` below `root` may be used so."""
        self._check_closed(parts, root)
        if self.policy is not None:
            self.policy.check(parts, access)

    def judge_step(self, parts: Names, root: Names) -> None:
        """Raise ToolError unless the caller may learn whether `parts` exists: absent and forbidden look the
        same."""
        self._check_closed(parts, root)
        if self.policy is not None:
            self.policy.check_step(parts)

    def judge_held(self, directory: int, inside: Names, root: Names, access: Access, shown: str) -> None:
        """Judge `inside` an open directory again, by its present path. Raises ToolError, and
        `file_changed_since_read` when it has left the root."""
        path = real_path(directory)
        if path is None:
            return
        whole = names_of(path)
        if whole[: len(root)] != root:
            raise ToolError(
                "file_changed_since_read",
                f"{shown} was moved or removed meanwhile; read it again",
                detail={"path": shown},
            )
        self.judge((*whole[len(root) :], *inside), root, access)

    def closed_below(self, root: Names) -> tuple[Names, ...]:
        """Return the closed places that lie below `root`, as components below it."""
        return tuple(whole[len(root) :] for whole in self.closed if whole[: len(root)] == root)

    def check_identity(self, status: os.stat_result, shown: str) -> None:
        """Refuse a further name (a hard link) of a closed file, or of one anywhere in a closed folder."""
        if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
            return
        if any(linked_files("/" + "/".join(names)).holds(status) for names in self.closed):
            raise daemons_own(shown)

    def with_further_names(self) -> frozenset[tuple[int, int]]:
        """Return device and inode of those closed files that have further names (hard links)."""
        known = (linked_files("/" + "/".join(names)).identities() for names in self.closed)
        return frozenset().union(*known)

    def _check_closed(self, parts: Names, root: Names) -> None:
        for closed in self.closed:
            if closed == root[: len(closed)] and workspace_around(root, closed) is None:
                raise daemons_own("/".join(parts) or ".")
            if root == closed[: len(root)]:
                inside = closed[len(root) :]
                if [*map(folded, inside)] == [*map(folded, parts[: len(inside)])]:
                    raise daemons_own("/".join(parts) or ".")


def check_kind(status: os.stat_result, shown: str) -> None:
    """Raise ToolError `invalid_path` for what is neither a regular file nor a directory."""
    regular = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    if not regular or status.st_dev in _process_devices():
        raise invalid_path(shown, "only regular files and directories can be used, not devices or pipes")


def daemons_own(shown: str) -> ToolError:
    """Return the refusal of a place that is the daemon's."""
    return ToolError(
        "capability_denied",
        f"{shown} belongs to the daemon; no tool may use it",
        detail={"path": shown},
        rpc_code=RPC_CAPABILITY_DENIED,
    )


def closed_to_writes(shown: str) -> ToolError:
    """Return the refusal to write into a session's scratch folder, or into one of a skill."""
    return ToolError(
        "capability_denied",
        f"{shown} lies in a read-only folder outside the project; write below the project's root",
        detail={"path": shown},
        rpc_code=RPC_CAPABILITY_DENIED,
    )


@lru_cache(maxsize=1)
def _process_devices() -> frozenset[int]:
    """Device numbers of the file systems that show processes instead of files."""
    try:
        return frozenset({os.stat("/proc/self").st_dev})
    except OSError:
        return frozenset()
