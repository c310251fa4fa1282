"""Which version of a project may act: none before an operator trusts it, then the last one that was trusted.

Owns: the judgement of each compiled version, and the stored trust of a root. Never: loading projects, or
ending runs of one that is no longer trusted (`daemon.project_decisions`).
Keeps S12 of docs/security.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from app.errors import Conflict
from app.harness.dsl.acts import Act
from app.harness.dsl.compiled import CompiledProject
from app.harness.dsl.compiler import CompileResult
from app.harness.dsl.widening import compare
from app.ids import now_ms
from app.storage.models import AuditEvent, ProjectTrust
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

TrustState = Literal["trusted", "untrusted", "changed"]
COMPILED_HERE = "application/json"
"""The media type of what this daemon compiled itself; only such a version is ever run."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What may act of a project. `digest` names its newest version that compiles, which is what an operator
    would trust; `acts` is what that version does, with marks where it is more than what is trusted."""

    state: TrustState
    digest: str | None = None
    acts: tuple[Act, ...] = ()
    by: Literal["operator", "always", "settings"] | None = None
    """Why it is trusted."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a compiled version. `active` may act; None: nothing may, or nothing compiles. `stored` is
    the row to store with it, None where the one that is stored still holds."""

    trust: Trust
    active: CompiledProject | None
    stored: ProjectTrust | None = None


@dataclass(slots=True)
class ProjectTrusts:
    """Judges versions. Projects at or below one of `trusted` need no operator."""

    storage: Storage
    trusted: tuple[Path, ...] = ()
    _roots: tuple[Path, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._roots = tuple(folder.resolve() for folder in self.trusted)

    def by_settings(self, root: Path) -> bool:
        """Tell whether the settings trust the project in a folder."""
        return any(root.is_relative_to(folder) for folder in self._roots)

    def require_revocable(self, root: Path) -> None:
        """Raise `Conflict` (`trusted_by_settings`) for a project that the settings trust."""
        if self.by_settings(root):
            raise Conflict(
                f"The settings trust {root}: take its folder out of `projects.trusted` "
                "(KAGED_PROJECTS__TRUSTED).",
                reason="trusted_by_settings",
            )

    async def judge(self, root: Path, result: CompileResult) -> Judged:
        """Judge what was compiled of a root; with errors in it the last version that was trusted stays."""
        new = result.project
        acts = result.reader.all() if result.reader is not None else ()
        digest = new.digest if new is not None else None
        if self.by_settings(root):
            return Judged(Trust("trusted", digest, acts, "settings"), new)
        row = await self.storage.read(lambda uow: uow.trust.of_root(str(root)))
        old = await self.stored(row.digest) if row is not None else None
        if row is None or (old is None and not row.always):
            return Judged(Trust("untrusted", digest, acts), None)
        why: Literal["operator", "always"] = "always" if row.always else "operator"
        if new is None or result.reader is None:
            return Judged(Trust("trusted", row.digest, (), why), old)
        if old is not None and not row.always:
            compared = compare(old, result.reader)
            if any(act.change is not None for act in compared):
                return Judged(Trust("changed", digest, compared), old)
        # What is no more than before is trusted in the place of what was.
        moved = None if row.digest == digest else _moved(row, new.digest)
        return Judged(Trust("trusted", digest, acts, why), new, moved)

    async def stored(self, digest: str) -> CompiledProject | None:
        """Return a version that this daemon compiled; None when it is not there any more."""
        blob = await self.storage.read(lambda uow: uow.blobs.get(digest))
        if blob is None or blob.media_type != COMPILED_HERE:
            return None
        return CompiledProject.model_validate_json(blob.content)


def granted(root: Path, compiled: CompiledProject, *, always: bool, actor: str) -> ProjectTrust:
    """Return the row with which an operator trusts a version."""
    return ProjectTrust(
        root=str(root), digest=compiled.digest, always=always, trusted_by=actor, trusted_at=now_ms()
    )


def store_version(uow: UnitOfWork, compiled: CompiledProject) -> None:
    """Keep a version that may act, as sessions and later comparisons need it."""
    uow.blobs.put(compiled.digest, COMPILED_HERE, compiled.model_dump_json().encode())


def store_grant(
    uow: UnitOfWork, row: ProjectTrust, compiled: CompiledProject, project_id: str | None
) -> None:
    """Store that a version is trusted. Where nothing was before, sessions that began with another version go
    on with this one: the trust in theirs was taken back."""
    if project_id is not None and uow.trust.of_root(row.root) is None:
        uow.sessions.forget_versions(project_id)
    store_version(uow, compiled)
    uow.trust.put(row)


def audited(event: str, actor: str, project_id: str | None, data: dict[str, Any] | None = None) -> AuditEvent:
    """Return an audit row about trust; what a project would do is not repeated in it."""
    return AuditEvent(created_at=now_ms(), event=event, actor=actor, project_id=project_id, data=data or {})


def wire_trust(trust: Trust) -> dict[str, Any]:
    """Return the trust in a project as clients read it."""
    return {
        "state": trust.state,
        "digest": trust.digest,
        "by": trust.by,
        "acts": [
            {
                "kind": act.kind,
                "where": act.where,
                "text": act.text,
                "file": act.file or None,
                "line": act.line or None,
                "digest": act.digest,
                "change": act.change,
            }
            for act in trust.acts
        ],
    }


def _moved(row: ProjectTrust, digest: str) -> ProjectTrust:
    return row.model_copy(update={"digest": digest})
