"""The folder in which a session works: the project's, or that of its workspace.

Owns: the one answer to which root a session has, for everything that touches files or starts programs. Never:
making workspaces, or what a project file says, which is read in the project's own folder.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from app.errors import Conflict
from app.storage.models import Session as SessionRow
from app.storage.models import Workspace as WorkspaceRow

PLAIN_BASES = {"head": "the newest commit", "working": "the newest commit and the changes not committed"}


@dataclass(frozen=True, slots=True)
class Branch:
    """The branch of a workspace: what it started from, and whether it is that of a subagent."""

    name: str | None
    base: str
    commit: str | None = None
    of_child: bool = False

    def in_words(self) -> str:
        """Return the line for its agents."""
        if self.of_child:
            kind = "a copy" if self.name is None else f"a clone, on the branch {self.name},"
            return (
                f"{kind} of the folder of the agent that calls you, as it was then, with what is not "
                "committed there. It is for you and your subagents alone. That agent takes your changes "
                "over, committed or not"
            )
        if self.name is None:
            return (
                "a copy of the project's folder, for this session alone; the operator takes the changes over"
            )
        start = PLAIN_BASES.get(self.base, self.base)
        commit = "" if self.commit is None else f" ({self.commit[:12]})"
        return (
            f"a clone of the project's repository, for this session alone, on the branch {self.name}, which "
            f"started from {start}{commit}. Commit on this branch; the operator merges it into the project"
        )


@dataclass(frozen=True, slots=True)
class SessionRoot:
    """`path` is where a session works, `project` the folder of its project, the same without a workspace.
    There are the project file, prompts, plugins and what else steers agents."""

    path: Path
    project: Path
    branch: Branch | None = None
    workspace_id: str | None = None

    @classmethod
    def shared(cls, project: Path) -> SessionRoot:
        """Return the root of a session that works in the project's own folder."""
        return cls(project, project)

    @property
    def is_shared(self) -> bool:
        return self.path == self.project

    @property
    def is_of_child(self) -> bool:
        """Whether it is the folder of a subagent, and not that of its session."""
        return self.branch is not None and self.branch.of_child


class SessionRoots:
    """The workspaces of the sessions in memory, known by `learn`: asking for a root costs no query."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Path, Branch]] = {}
        self._broken: dict[str, WorkspaceRow] = {}
        self._ports: dict[Path, int] = {}

    def learn(self, row: WorkspaceRow) -> None:
        """Take in a workspace as it is stored now; let go of one whose folder is removed."""
        root = Path(os.path.realpath(row.root))
        if row.removed_at is not None:
            self._known.pop(row.id, None)
            self._ports.pop(root, None)
            if row.state == "broken":
                self._broken[row.id] = row
            return
        self._broken.pop(row.id, None)
        self._known[row.id] = root, Branch(row.branch, row.base, row.base_commit, row.run_id is not None)
        if row.first_port is not None:
            self._ports[root] = row.first_port
        else:
            self._ports.pop(root, None)

    def of(self, session: SessionRow, project: Path) -> SessionRoot:
        """Return where a session of the project in the folder `project` works.

        Raises `Conflict`: `workspace_not_ready` for a workspace that could not be created, and
        `workspace_removed`."""
        return self.at(session.workspace_id, project)

    def at(self, workspace_id: str | None, project: Path) -> SessionRoot:
        """Return the root of a workspace, or of the project's own folder for None. Raises as `of`."""
        if workspace_id is None:
            return SessionRoot.shared(project)
        known = self._known.get(workspace_id)
        if known is None:
            broken = self._broken.get(workspace_id)
            if broken is not None:
                raise unusable(broken)
            raise Conflict(
                "The workspace of this session is removed, with its files. Open another session.",
                reason="workspace_removed",
                details={"workspace_id": workspace_id},
            )
        root, branch = known
        return SessionRoot(root, project, branch, workspace_id)

    def first_port(self, root: Path) -> int | None:
        """Return the first port of the range of the workspace at `root`, None where it has none."""
        return self._ports.get(root) if self._ports else None


def unusable(row: WorkspaceRow) -> Conflict:
    """Return the error for a session that cannot work in its workspace as it is."""
    state = "could not be created" if row.state == "broken" and row.removed_at else f"is {row.state}"
    why = f": {row.detail.rstrip('.')}" if row.detail else ""
    return Conflict(
        f"The session's workspace {state}{why}. {_WAYS_OUT[row.state]}",
        reason="workspace_not_ready",
        details={"workspace_id": row.id, "state": row.state},
    )


_WAYS_OUT = {
    "creating": "Wait until it is ready.",
    "kept": "Open another session.",
    "discarded": "Restore it with `kaged workspace undo`, or open another session.",
    "broken": "Create it again with `kaged workspace retry`, or open another session.",
}
