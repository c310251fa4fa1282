"""One loaded project, and what is found about it on disk and in what was compiled.

Owns: the shape, the way from a path to a project's root, what is watched of it. Never: loading
(`projects`), or whether it may act (`project_trust`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.errors import Conflict, NotFound, ProjectFileInvalid, ProjectUntrusted, ValidationFailed
from app.harness.dsl.compiled import CompiledProject
from app.harness.dsl.compiler import CompileResult
from app.harness.dsl.watcher import ProjectWatcher, WatchList
from app.harness.projects.project_trust import Trust
from app.harness.projects.prompts.store import PromptStore
from app.ids import new_id, now_ms
from app.storage.models import AuditEvent, Project

PROJECT_FOLDER = ".kaged"
PROJECT_FILE = "project.yaml"


@dataclass(slots=True)
class LoadedProject:
    """One project. `compiled` is the last version without errors that is trusted: it alone acts. `newest` is
    the last one without errors, which is shown; `diagnostics` are those of the last attempt."""

    row: Project
    root: Path
    compiled: CompiledProject | None
    diagnostics: list[dict[str, Any]] = field(default_factory=list)
    prompts: dict[str, PromptStore] = field(default_factory=dict)
    """The prompts of each compiled version that a session uses, by the version's digest."""
    watcher: ProjectWatcher | None = None
    newest: CompiledProject | None = None
    trust: Trust = field(default_factory=lambda: Trust("untrusted"))

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def slug(self) -> str:
        return self.row.slug

    def acting(self) -> CompiledProject:
        """Return the version that may act.

        Raises `Conflict` (`project_untrusted`, or `project_invalid` for one that has never compiled)."""
        if self.compiled is not None:
            return self.compiled
        if self.trust.state == "untrusted":
            raise untrusted(self)
        raise Conflict(
            f"Project {self.slug} does not compile; repair its project file first.",
            reason="project_invalid",
            details={"project_id": self.id, "state": self.row.state},
        )

    def shown(self) -> CompiledProject:
        """Return the version that is shown: the one that acts, else the newest.

        Raises `ProjectFileInvalid` for one that has never compiled."""
        shown = self.compiled or self.newest
        if shown is None:
            raise ProjectFileInvalid(
                f"Project {self.slug} does not compile.", details={"diagnostics": self.diagnostics}
            )
        return shown


def untrusted(project: LoadedProject) -> ProjectUntrusted:
    """Return the error with which everything that would act for an untrusted project is refused."""
    return ProjectUntrusted(
        f"The project {project.slug} is not trusted, so nothing of it runs. Look at what it would do on its "
        f"page; then trust it there, or with: kaged trust {project.root}",
        reason="project_untrusted",
        details={"project_id": project.id, "digest": project.trust.digest},
    )


def illegal_hooks(project: Project) -> list[AuditEvent]:
    """Return the audit rows of the plugins of subagents that have hooks which only the root agent's have."""
    return [
        AuditEvent(
            created_at=now_ms(),
            event=found["code"],
            actor="daemon",
            project_id=project.id,
            data={"declared_at": found["path"], "message": found["message"]},
        )
        for found in project.diagnostics
        if found["code"] == "plugin.hook.illegal"
    ]


def watch_list(compiled: CompiledProject | None, result: CompileResult) -> WatchList:
    """What to watch: the version in use, and what a newer one was looking for that is not in use."""
    missed = () if result.project is not None and result.project is compiled else result.watch_files
    return WatchList.of(compiled, also=missed) if compiled is not None else WatchList(missed, {})


def project_root(path: str) -> Path:
    """Return the folder of the project that `path` names; blocks on file I/O."""
    if "\0" in path or not path.strip():
        raise ValidationFailed(
            "The path is not usable.", fields={"path": "write the path of a project folder, without NUL"}
        )
    try:
        found = Path(path).expanduser().resolve(strict=True)
    except (OSError, RuntimeError):
        raise NotFound(f"There is no folder {path!r}.", reason="path_not_found") from None
    if found.name == PROJECT_FILE and found.parent.name == PROJECT_FOLDER:
        found = found.parent
    root = found.parent if found.name == PROJECT_FOLDER else found
    if not (root / PROJECT_FOLDER / PROJECT_FILE).is_file():
        raise NotFound(
            f"{root} has no {PROJECT_FOLDER}/{PROJECT_FILE}. Make one with: kaged init {root}",
            reason="project_file_missing",
        )
    return root


def relative_to_root(file: str, root: Path) -> str:
    try:
        return str(Path(file).relative_to(root))
    except ValueError:
        return file


def new_row(root: Path) -> Project:
    """Return the row of a project that is loaded for the first time."""
    at = now_ms()
    return Project(id=new_id("prj"), root=str(root), slug=root.name, created_at=at, loaded_at=at)


def row_of(
    row: Project, active: CompiledProject | None, shown: CompiledProject | None, result: CompileResult
) -> Project:
    """Return a project's row after a compilation: `active` may act, `shown` is what clients see."""
    return Project(
        id=row.id,
        root=row.root,
        slug=shown.slug if shown is not None else row.slug,
        description=(shown.description or "") if shown is not None else "",
        state="loaded" if result.project is not None else "invalid",
        diagnostics=[diagnostic.model_dump() for diagnostic in result.diagnostics],
        compiled_digest=active.digest if active is not None else None,
        created_at=row.created_at,
        loaded_at=now_ms(),
    )
