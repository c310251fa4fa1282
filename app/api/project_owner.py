"""Which daemon a request is for, where several share a database.

Owns: finding the project in the address of a request, and refusing it when another daemon owns that. Never:
who owns it (`daemon/ownership`). Projects that a body names are refused where they are looked up.
"""

from __future__ import annotations

import re

from starlette.types import Scope

from app.daemon.services import Services
from app.storage.unit_of_work import UnitOfWork

_NOUNS = re.compile(r"/api/v1/(projects|sessions|runs|workflow-runs|uploads)/([a-z]+_[0-9A-Z]+)(?:/|$)")


def names_project(path: str) -> bool:
    """Tell whether an address names a project, or something that belongs to one."""
    return _NOUNS.match(path) is not None


async def require_owned(services: Services, scope: Scope) -> None:
    """Raise `Unavailable` (`project_elsewhere`) when another daemon owns what the address names."""
    ownership = services.decisions.ownership
    found = _NOUNS.match(scope["path"]) if ownership is not None else None
    if ownership is None or found is None:
        return
    noun, key = found.groups()
    project_id = (
        key if noun == "projects" else await services.storage.read(lambda uow: _project(uow, noun, key))
    )
    if project_id is not None:
        await ownership.check(project_id)


def _project(uow: UnitOfWork, noun: str, key: str) -> str | None:
    if noun in ("workflow-runs", "uploads"):
        row = uow.workflow_runs.get(key) if noun == "workflow-runs" else uow.uploads.get(key)
        return None if row is None else row.project_id
    if noun == "runs":
        run = uow.runs.get(key)
        key = "" if run is None else run.session_id
    session = uow.sessions.get(key)
    return None if session is None else session.project_id
