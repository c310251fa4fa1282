"""Loading projects: compiled, judged, watched, and loaded again when their files change.

Owns: how a project comes into the registry, and which version takes the place of another. Never: compiling
(`dsl/compiler`), or what others read of loaded projects (`projects`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Protocol

from app.errors import Conflict, KagedError, ProjectFileInvalid
from app.harness.dsl.agent_view import is_view
from app.harness.dsl.compiled import CompiledProject
from app.harness.dsl.compiler import CompileResult, compile_in_thread
from app.harness.dsl.plugins import PluginCatalog
from app.harness.dsl.tool_resolution import ToolCatalog
from app.harness.dsl.watcher import ProjectChange, ProjectWatcher
from app.harness.projects.loaded_project import (
    LoadedProject,
    illegal_hooks,
    new_row,
    project_root,
    row_of,
    watch_list,
)
from app.harness.projects.project_rows import check_move, move_rows
from app.harness.projects.project_trust import (
    Judged,
    Trust,
    audited,
    granted,
    store_grant,
    store_version,
)
from app.harness.projects.projects import ProjectRegistry
from app.harness.projects.prompts.store import PromptFailure, PromptStore
from app.storage.models import Project
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.projects")

_KEPT_COLUMNS = {"id", "root", "created_at", "issues_numbered"}
"""What loading a project again does not change; its issues go on counting."""

OnPromptsChanged = Callable[[str, tuple[str, ...], tuple[PromptFailure, ...]], Awaitable[None]]
"""Gets a project's id, the agents whose prompts have new texts, and the prompts that cannot be read."""


class ProjectClaim(Protocol):
    """A claim to own a project: taken with what is written for it first, and held once that is committed."""

    def take(self, uow: UnitOfWork) -> None: ...

    def hold(self) -> None: ...


class ProjectClaims(Protocol):
    """Whose a project is, where several daemons share a database."""

    async def claim(self, project_id: str, root: Path) -> ProjectClaim | None:
        """Return the claim to a project that this daemon does not own. Raises `Unavailable`."""

    async def take_up(self, project_id: str) -> None:
        """Load a stored project that nobody owns. Raises `Unavailable`."""

    def serves(self, project_id: str) -> None:
        """Note that a project is complete."""


class ProjectLoader:
    """Fills the registry. `known_models` gives the aliases of the local config."""

    def __init__(
        self,
        projects: ProjectRegistry,
        storage: Storage,
        catalog: ToolCatalog,
        *,
        known_models: Callable[[], Collection[str]],
        prompts_changed: OnPromptsChanged,
        plugins: PluginCatalog | None = None,
        reloaded: Callable[[str, CompiledProject], None] | None = None,
    ) -> None:
        """`reloaded` gets a project's id and each version that replaces another."""
        self._projects = projects
        self._storage = storage
        self._catalog = catalog
        self._known_models = known_models
        self._prompts_changed = prompts_changed
        self._plugins = plugins
        self._reloaded = reloaded
        self._trusts = projects.trusts
        self._lock = asyncio.Lock()
        self.claims: ProjectClaims | None = None
        """Where several daemons share the database: whose a project is."""

    async def restore(self) -> None:
        """Load the projects that were loaded when the daemon stopped; one that is gone is logged."""
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
        try:
            return await self._load(root)
        except Conflict as problem:
            if self.claims is None or problem.details.get("reason") != "duplicate":
                raise
        return await self._load(root)  # another daemon was the first to load it

    async def _load(self, root: Path) -> LoadedProject:
        if self.claims is not None:
            row = await self._storage.read(lambda uow: uow.projects.by_root(str(root)))
            if row is not None and self._projects.find(row.id) is None:
                await self.claims.take_up(row.id)
        async with self._lock:
            row = await self._storage.read(lambda uow: uow.projects.by_root(str(root)))
            known = self._projects.find(row.id) if row is not None else None
            if known is not None:
                return await self._reload(known)
            if self.claims is not None and row is not None:
                raise Conflict("Another daemon has just loaded this project.", reason="duplicate")
            result = await self._compile(root)
            result.require()
            adopted = await self._adopt(row, root, result)
            if self.claims is not None:
                self.claims.serves(adopted.id)
            return adopted

    async def restore_one(self, project_id: str, recover: Callable[[], Awaitable[None]]) -> bool:
        """Load a stored project that no daemon owns; False when it is gone, or loaded already. `recover` puts
        right what its last owner has left, before anything can be begun in it."""
        async with self._lock:
            row = await self._storage.read(lambda uow: uow.projects.get(project_id))
            if row is None or self._projects.find(project_id) is not None:
                return False
            await self._restore(row, recover)
            return True

    async def reload(self, project_id: str) -> LoadedProject:
        """Compile again; on errors raise `ProjectFileInvalid` and keep the last good version."""
        async with self._lock:
            return await self._reload(self._projects.get(project_id))

    async def source_texts(self, project_id: str) -> dict[str, str]:
        """Return the project's own files as they are on disk now, by path below the root."""
        project = self._projects.get(project_id)
        result = await self._compile(project.root)
        return dict(result.sources)

    async def trust(self, project_id: str, digest: str, *, always: bool = False, actor: str) -> LoadedProject:
        """Let the newest version of a project act, which `digest` names; `always`: later versions, too.

        Raises `NotFound`, or `Conflict` (`project_changed`) when that is not the newest version any more."""
        async with self._lock:
            project = self._projects.get(project_id)
            newest = project.newest
            if newest is None or newest.digest != digest:
                raise Conflict(
                    f"The project {project.slug} has changed meanwhile; look at it again and trust that.",
                    reason="project_changed",
                    details={"digest": newest.digest if newest is not None else None},
                )
            row = granted(project.root, newest, always=always, actor=actor)
            event = audited("trust.granted", actor, project.id, {"digest": digest, "always": always})

            def store(uow: UnitOfWork) -> None:
                store_grant(uow, row, newest, project.id)
                uow.audit.add_many([event])

            await self._storage.write(store, durable=True)
            await self._reload(project)
            return project

    async def distrust(self, project_id: str, *, actor: str) -> LoadedProject:
        """Let nothing of a project act any more; what runs of it the caller ends.

        Raises `NotFound`, or `Conflict` (`trusted_by_settings`)."""
        async with self._lock:
            project = self._projects.get(project_id)
            self._trusts.require_revocable(project.root)
            event = audited("trust.withdrawn", actor, project.id)

            def store(uow: UnitOfWork) -> None:
                if uow.trust.remove(str(project.root)):
                    uow.audit.add_many([event])

            await self._storage.write(store, durable=True)
            project.trust = Trust("untrusted", project.trust.digest, project.trust.acts)
            project.compiled = None
            return project

    async def move(
        self, project_id: str, folder: str, carry: Callable[[Path, Path], Awaitable[None]], *, actor: str
    ) -> LoadedProject:
        """Go on with a project whose folder was moved to `folder`: sessions, issues and trust stay. `carry`
        is given both roots before that is stored: after a crash once more, so that it must not mind.

        Raises `NotFound`, `ProjectFileInvalid`, or `Conflict` for a folder that has a project of its own."""
        root = await asyncio.to_thread(project_root, folder)
        async with self._lock:
            project = self._projects.get(project_id)
            result = await self._compile(root)
            result.require()
            other = await self._storage.read(lambda uow: check_move(uow, project_id, root))
            if other is not None:
                self._projects.require_here(other.id)
            await carry(project.root, root)
            moved = await self._storage.write(
                lambda uow: move_rows(uow, project_id, root, actor), durable=True
            )
            gone = [project, self._projects.take_out(moved.replaced or "")]
            adopted = await self._adopt(moved.row, root, result)
        for one in gone:  # not under the lock, for which a watcher that reloads may wait
            if one is not None and one.watcher is not None:
                await one.watcher.stop()
        return adopted

    async def close(self) -> None:
        for project in self._projects.all():
            if project.watcher is not None:
                await project.watcher.stop()

    # -- inside -----------------------------------------------------------------------------

    async def _compile(self, root: Path) -> CompileResult:
        return await compile_in_thread(
            root, catalog=self._catalog, known_models=self._known_models(), plugins=self._plugins
        )

    async def _restore(self, row: Project, recover: Callable[[], Awaitable[None]] | None = None) -> None:
        root = Path(row.root)
        result = await self._compile(root)
        if result.project is None:
            log.error("project %s does not compile:\n%s", row.slug, result.format())
        await self._adopt(row, root, result, recover)

    async def _reload(self, project: LoadedProject) -> LoadedProject:
        result = await self._compile(project.root)
        before = project.compiled
        await self._take(project, result)
        if project.watcher is not None:
            await project.watcher.watch(watch_list(project.compiled, result), result.read_at)
        if project.compiled is not None and project.compiled is not before and self._reloaded is not None:
            self._reloaded(project.id, project.compiled)
        await self._reload_prompts(project.id)
        if result.project is None:
            log.error(
                "project %s no longer compiles; the last valid version stays active:\n%s",
                project.slug,
                result.format(),
            )
            result.require()
        return project

    async def _take(self, project: LoadedProject, result: CompileResult) -> None:
        """Judge what was compiled, store what came of it, and show it."""
        judged = await self._trusts.judge(project.root, result)
        active = judged.active
        if active is None and judged.trust.state != "untrusted":  # with errors the version before stays
            digest = project.row.compiled_digest
            active = project.compiled or (await self._trusts.stored(digest) if digest else None)
        newest = result.project or project.newest
        row = row_of(project.row, active, active or newest, result)
        await self._store(row, active, judged)
        if judged.trust.state == "changed" and project.trust.digest != judged.trust.digest:
            log.warning(
                "project %s asks for more than its trusted version: kaged trust %s", row.slug, row.root
            )
        project.row, project.diagnostics = row, row.diagnostics
        project.compiled, project.newest, project.trust = active, newest, judged.trust

    async def _adopt(
        self,
        row: Project | None,
        root: Path,
        result: CompileResult,
        recover: Callable[[], Awaitable[None]] | None = None,
    ) -> LoadedProject:
        project = LoadedProject(row or new_row(root), root, None)
        await self._take(project, result)
        if recover is not None:
            await recover()
        if project.compiled is not None and result.project is project.compiled:
            store = await PromptStore.open(project.compiled)
            project.prompts[project.compiled.digest] = store
        self._projects.put(project)
        watched = watch_list(project.compiled, result)
        project.watcher = ProjectWatcher(watched, lambda change: self._changed(project.id, change))
        await project.watcher.start(result.read_at)
        return project

    async def _store(self, row: Project, active: CompiledProject | None, judged: Judged) -> None:
        claim = await self.claims.claim(row.id, Path(row.root)) if self.claims is not None else None

        def store(uow: UnitOfWork) -> None:
            if claim is not None:
                claim.take(uow)
            if active is not None:
                store_version(uow, active)
            if judged.stored is not None:
                uow.trust.put(judged.stored)
            if uow.projects.get(row.id) is None:
                uow.projects.add(row)
            else:
                uow.projects.update(row.id, **row.model_dump(exclude=_KEPT_COLUMNS))
            uow.audit.add_many(illegal_hooks(row))

        await self._storage.write(store, durable=True)
        if claim is not None:
            claim.hold()

    async def _changed(self, project_id: str, change: ProjectChange) -> None:
        """Take up what the watcher saw; an error here must not end the watching."""
        try:
            project = self._projects.find(project_id)
            if change.kind == "project" or (project is not None and project.trust.state != "trusted"):
                await self.reload(project_id)
            else:
                await self._reload_prompts(project_id, change.agents)
        except ProjectFileInvalid:
            return  # said loudly by the reload already
        except KagedError as error:
            log.error("a change of project %s could not be loaded: %s", project_id, error.message)

    async def _reload_prompts(self, project_id: str, agents: tuple[str, ...] | None = None) -> None:
        """Read the prompts of some agents again, of all without `agents`, and return what is new."""
        project = self._projects.find(project_id)
        changed: dict[str, None] = {}
        failed: dict[str, PromptFailure] = {}
        for digest, store in list(project.prompts.items()) if project is not None else ():
            if is_view(digest):  # its agents have other paths; the store of the whole project names them
                await store.reload()
                continue
            outcome = await store.reload(agents)
            changed.update(dict.fromkeys(prompt.agent_path for prompt in outcome.changed))
            failed.update((failure.agent_path, failure) for failure in outcome.failed)
        for failure in failed.values():
            log.error("prompt %s of %s cannot be read: %s", failure.file, project_id, failure.message)
        if changed or failed:
            await self._prompts_changed(project_id, tuple(changed), tuple(failed.values()))
