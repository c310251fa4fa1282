"""The projects that this daemon has loaded: compiled, watched, reloaded when their files change.

Owns: which compiled version new sessions get, and the snapshots that running sessions keep.
Never: compiling (`dsl/compiler`) or reading prompt files (`prompts/store`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.errors import Conflict, KagedError, NotFound, ProjectFileInvalid, ValidationFailed
from app.harness.dsl.catalog import ToolCatalog
from app.harness.dsl.compiled import WORKFLOW_PROMPTS, CompiledProject
from app.harness.dsl.compiler import CompileResult, compile_in_thread
from app.harness.dsl.plugins import PluginCatalog
from app.harness.dsl.prompt_files import PromptProblem
from app.harness.dsl.watcher import ProjectChange, ProjectWatcher, WatchList
from app.harness.prompts.store import PromptStore
from app.ids import new_id, now_ms
from app.storage.models import AuditEvent, Project
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.projects")

PROJECT_FOLDER = ".kaged"
PROJECT_FILE = "project.yaml"
COMPILED_HERE = "application/json"
"""The media type of what this daemon compiled itself; only such a version is ever run."""

_KEPT_COLUMNS = {"id", "root", "created_at", "issues_numbered"}
"""What loading a project again does not change; its issues go on counting."""


@dataclass(slots=True)
class LoadedProject:
    """One project. `compiled` is the last version without errors; `diagnostics` are the newest."""

    row: Project
    root: Path
    compiled: CompiledProject | None
    diagnostics: list[dict[str, Any]] = field(default_factory=list)
    prompts: dict[str, PromptStore] = field(default_factory=dict)
    """The prompts of each compiled version that a session uses, by the version's digest."""
    watcher: ProjectWatcher | None = None

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def slug(self) -> str:
        return self.row.slug


class ProjectRegistry:
    """All loaded projects by id. `known_models` gives the aliases of the local config."""

    def __init__(
        self,
        storage: Storage,
        catalog: ToolCatalog,
        *,
        known_models: Callable[[], Collection[str]],
        prompts_changed: Callable[[str, tuple[str, ...]], Awaitable[None]],
        plugins: PluginCatalog | None = None,
        reloaded: Callable[[str, CompiledProject], None] | None = None,
    ) -> None:
        """`reloaded` is told a project's id and each version of it that comes in the place of another."""
        self._storage = storage
        self._catalog = catalog
        self._known_models = known_models
        self._prompts_changed = prompts_changed
        self._plugins = plugins
        self._reloaded = reloaded
        self._projects: dict[str, LoadedProject] = {}
        self._snapshots: dict[str, CompiledProject] = {}
        self._lock = asyncio.Lock()

    async def restore(self) -> None:
        """Load the projects that were loaded when the daemon stopped; one that is gone is told."""
        cursor: str | None = None
        while True:
            page = await self._storage.read(
                lambda uow, cursor=cursor: uow.projects.list(limit=100, cursor=cursor)  # type: ignore[misc]
            )
            for row in page.items:
                await self._restore(row)
            cursor = page.next_cursor
            if cursor is None:
                return

    async def load(self, path: str | Path) -> LoadedProject:
        """Load the project in a folder (or of its project file); the same root is the same project.

        Raises `ProjectFileInvalid` with every diagnostic, `NotFound`, `ValidationFailed`."""
        root = await asyncio.to_thread(project_root, str(path))
        async with self._lock:
            row = await self._storage.read(lambda uow: uow.projects.by_root(str(root)))
            known = self._projects.get(row.id) if row is not None else None
            if known is not None:
                return await self._reload(known)
            result = await self._compile(root)
            compiled = result.require()
            row = self._row(row, root, compiled, result)
            return await self._adopt(row, root, compiled, result)

    async def reload(self, project_id: str) -> LoadedProject:
        """Compile again; on errors raise `ProjectFileInvalid` and keep the last good version."""
        async with self._lock:
            return await self._reload(self.get(project_id))

    def get(self, project_id: str) -> LoadedProject:
        found = self._projects.get(project_id)
        if found is None:
            raise NotFound(
                f"There is no loaded project {project_id}. GET /api/v1/projects lists those there are; "
                "POST /api/v1/projects/load loads one."
            )
        return found

    def all(self) -> list[LoadedProject]:
        return list(self._projects.values())

    def by_slug(self, slug: str) -> LoadedProject | None:
        return next((project for project in self._projects.values() if project.slug == slug), None)

    def compiled(self, project_id: str) -> CompiledProject:
        """Return the last version that compiled; raise `NotFound` or `ProjectFileInvalid`."""
        project = self.get(project_id)
        if project.compiled is None:
            raise ProjectFileInvalid(
                f"Project {project.slug} does not compile.", details={"diagnostics": project.diagnostics}
            )
        return project.compiled

    def root_of(self, project_id: str) -> Path:
        return self.get(project_id).root

    async def prompts_of(
        self, project_id: str, compiled: CompiledProject, *, workflow: str | None = None
    ) -> PromptStore:
        """Return the current prompts of a compiled version of a project.

        Raises `Conflict` when a prompt file cannot be read and no good text of it is known; of workflows'
        prompts only the one named is needed."""
        stores = self.get(project_id).prompts
        if compiled.digest not in stores:
            try:
                stores[compiled.digest] = await PromptStore.open(compiled)
            except PromptProblem as problem:
                raise Conflict(
                    f"A prompt of this project cannot be read: {problem.message}.", reason="prompt_unreadable"
                ) from None
        if workflow is not None and not stores[compiled.digest].has(workflow):
            raise Conflict(
                f"The prompt of {workflow} cannot be read, and no earlier text of it is known.",
                reason="prompt_unreadable",
            )
        return stores[compiled.digest]

    async def source_texts(self, project_id: str) -> dict[str, str]:
        """Return the project's own files as they are on disk now, by path below the root."""
        project = self.get(project_id)
        result = await self._compile(project.root)
        return dict(result.sources)

    async def snapshot(self, project_id: str, digest: str | None) -> CompiledProject | None:
        """Return the version of a project that a session was started with; None when not loaded."""
        project = self._projects.get(project_id)
        if project is None:
            return None
        if digest is None or (project.compiled is not None and project.compiled.digest == digest):
            return project.compiled
        found = self._snapshots.get(digest)
        if found is None:
            blob = await self._storage.read(lambda uow: uow.blobs.get(digest))
            if blob is None or blob.media_type != COMPILED_HERE:
                return project.compiled
            found = await asyncio.to_thread(CompiledProject.model_validate_json, blob.content)
            self._snapshots[digest] = found
        # An imported session may name what another project was compiled to, with other agents and cages.
        return found if found.root_dir == str(project.root) else project.compiled

    async def describe_prompts(
        self, project_id: str, compiled: CompiledProject, *, workflow: str | None = None
    ) -> list[dict[str, Any]]:
        """Return each agent's present prompt: `agent_path`, `file`, `digest`, `content`; and that of a
        workflow, which is known as `workflow` in place of an agent's path."""
        store = await self.prompts_of(project_id, compiled)
        root = self.root_of(project_id)
        return [
            {
                "agent_path": prompt.agent_path,
                "file": relative_to_root(prompt.file, root),
                "digest": prompt.digest,
                "content": prompt.text,
            }
            for prompt in store.all()
            if prompt.agent_path == workflow or not prompt.agent_path.startswith(WORKFLOW_PROMPTS)
        ]

    async def close(self) -> None:
        for project in self._projects.values():
            if project.watcher is not None:
                await project.watcher.stop()

    # -- inside -----------------------------------------------------------------------------

    async def _compile(self, root: Path) -> CompileResult:
        return await compile_in_thread(
            root, catalog=self._catalog, known_models=self._known_models(), plugins=self._plugins
        )

    async def _restore(self, row: Project) -> None:
        root = Path(row.root)
        result = await self._compile(root)
        compiled = result.project
        if compiled is None:
            log.error("project %s does not compile:\n%s", row.slug, result.format())
            compiled = await self._last_good(row)
        await self._adopt(self._row(row, root, compiled, result), root, compiled, result)

    async def _last_good(self, row: Project) -> CompiledProject | None:
        digest = row.compiled_digest
        blob = await self._storage.read(lambda uow: uow.blobs.get(digest)) if digest else None
        if blob is None or blob.media_type != COMPILED_HERE:
            return None
        return CompiledProject.model_validate_json(blob.content)

    async def _reload(self, project: LoadedProject) -> LoadedProject:
        result = await self._compile(project.root)
        compiled = result.project
        project.row = self._row(project.row, project.root, compiled or project.compiled, result)
        project.diagnostics = project.row.diagnostics
        if compiled is not None:
            project.compiled = compiled
            if compiled.digest in project.prompts:
                # While another version was in use nobody watched the prompts of this one.
                await project.prompts[compiled.digest].reload()
        if project.watcher is not None:
            await project.watcher.watch(watch_list(project.compiled, result))
        await self._store(project.row, compiled)
        if compiled is not None and self._reloaded is not None:
            self._reloaded(project.id, compiled)
        if compiled is None:
            log.error(
                "project %s no longer compiles; the last good version stays:\n%s",
                project.slug,
                result.format(),
            )
            result.require()
        return project

    def _row(
        self, row: Project | None, root: Path, compiled: CompiledProject | None, result: CompileResult
    ) -> Project:
        at = now_ms()
        return Project(
            id=row.id if row is not None else new_id("prj"),
            root=str(root),
            slug=compiled.slug if compiled is not None else (row.slug if row is not None else root.name),
            description=(compiled.description or "") if compiled is not None else "",
            state="loaded" if result.project is not None else "invalid",
            diagnostics=[diagnostic.model_dump() for diagnostic in result.diagnostics],
            compiled_digest=compiled.digest if compiled is not None else None,
            created_at=row.created_at if row is not None else at,
            loaded_at=at,
        )

    async def _adopt(
        self, row: Project, root: Path, compiled: CompiledProject | None, result: CompileResult
    ) -> LoadedProject:
        await self._store(row, compiled)
        project = LoadedProject(row, root, compiled, diagnostics=row.diagnostics)
        if compiled is not None and result.project is not None:
            project.prompts[compiled.digest] = await PromptStore.open(compiled)
        self._projects[row.id] = project
        watched = watch_list(compiled, result)
        project.watcher = ProjectWatcher(watched, lambda change: self._changed(row.id, change))
        await project.watcher.start()
        return project

    async def _store(self, row: Project, compiled: CompiledProject | None) -> None:
        content = compiled.model_dump_json().encode() if compiled is not None else None

        def store(uow: UnitOfWork) -> None:
            if content is not None and row.compiled_digest is not None:
                uow.blobs.put(row.compiled_digest, COMPILED_HERE, content)
            if uow.projects.get(row.id) is None:
                uow.projects.add(row)
            else:
                uow.projects.update(row.id, **row.model_dump(exclude=_KEPT_COLUMNS))
            uow.audit.add_many(illegal_hooks(row))

        await self._storage.write(store, durable=True)

    async def _changed(self, project_id: str, change: ProjectChange) -> None:
        """Take up what the watcher saw; an error here must not end the watching."""
        try:
            if change.kind == "project":
                await self.reload(project_id)
            else:
                await self._reload_prompts(project_id, change.agents)
        except ProjectFileInvalid:
            return  # said loudly by the reload already
        except KagedError as error:
            log.error("a change of project %s could not be taken up: %s", project_id, error.message)

    async def _reload_prompts(self, project_id: str, agents: tuple[str, ...]) -> None:
        project = self._projects.get(project_id)
        changed: dict[str, None] = {}
        for store in list(project.prompts.values()) if project is not None else ():
            outcome = await store.reload(agents)
            changed.update(dict.fromkeys(prompt.agent_path for prompt in outcome.changed))
            for failure in outcome.failed:
                log.error("prompt %s of %s cannot be read: %s", failure.file, project_id, failure.message)
        if changed:
            await self._prompts_changed(project_id, tuple(changed))


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
    """What to watch: the version in use, and what a newer one that does not compile was looking for."""
    missed = () if result.project is not None else result.watch_files
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
