"""The stored rows of a project whose folder was moved.

Owns: giving a project another root, with its trust. Never: the files, or what is in memory (`projects`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.errors import Conflict, NotFound
from app.harness.projects.project_trust import audited
from app.storage.models import Project
from app.storage.unit_of_work import UnitOfWork

_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class MovedRows:
    """The row as it is now, the root that it had, and the id of an empty project that made room for it."""

    row: Project
    before: str
    replaced: str | None


def check_move(uow: UnitOfWork, project_id: str, root: Path) -> Project | None:
    """Return the empty project that makes room for one at a root; None when nothing is in the way.

    Raises `Conflict` (`project_exists`) for a project that has sessions, issues or workspaces."""
    other = uow.projects.by_root(str(root))
    if other is None or other.id == project_id:
        return None
    if other.issues_numbered or uow.sessions.list(project_id=other.id, limit=1).items:
        raise Conflict(
            f"{root} is the root of the project {other.id}, which has sessions or issues of its own.",
            reason="project_exists",
            details={"project_id": other.id},
        )
    held = uow.workspaces.with_folder(other.id)
    if held:
        raise Conflict(
            f"{root} is the root of the project {other.id}, which has {len(held)} workspaces: keep or "
            "discard them there, and wait until their files are removed.",
            reason="project_exists",
            details={"project_id": other.id, "workspaces": [one.id for one in held[:_MOST_NAMED]]},
        )
    return other


def move_rows(uow: UnitOfWork, project_id: str, root: Path, actor: str) -> MovedRows:
    """Give a project another root, and its trust with it.

    A project that was loaded from the new root meanwhile, and has neither sessions nor issues, makes room.
    Nothing is recorded when the root is the same. Raises `NotFound`, or `Conflict` (`project_exists`) for one
    that has."""
    row, other = uow.projects.get(project_id), check_move(uow, project_id, root)
    if row is None:
        raise NotFound(f"There is no project {project_id}.")
    before = row.root
    if before == str(root):
        return MovedRows(row, before, None)
    if other is not None:
        uow.workspaces.forget_project(other.id)
        uow.attempt_groups.forget_project(other.id)
        uow.projects.remove(other.id)
    uow.projects.update(project_id, root=str(root))
    uow.trust.move(before, str(root))
    data = {"from": before, "to": str(root)}
    uow.audit.add_many([audited("project.moved", actor, project_id, data)])
    replaced = other.id if other is not None else None
    return MovedRows(row.model_copy(update={"root": str(root)}), before, replaced)
