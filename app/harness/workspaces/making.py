"""Making workspaces in the background, and what waits for them.

Owns: whether one can be made, its task, and what becomes of it when it cannot. Never: how it is made
(`creation`).
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from app.config import WorkspaceSettings
from app.errors import Conflict, InsufficientStorage, KagedError, ToolError
from app.harness.dsl.spec_sections import WorkspaceSection
from app.harness.projects.projects import ProjectRegistry
from app.harness.projects.session_roots import unusable
from app.harness.uploads.placement import FOLDER as UPLOADS
from app.harness.workspaces.creation import HEAD, WORKING, Wish, without_project
from app.harness.workspaces.layout import Layout, branch_of
from app.harness.workspaces.outfit import Fitting
from app.harness.workspaces.record import WorkspaceRecord
from app.harness.workspaces.repository import Repository, commit_of, has_folder, refuse_foreign, repository_of
from app.harness.workspaces.seeds import SEED, Seeds
from app.harness.workspaces.sight import Sight
from app.harness.workspaces.sizes import size_of
from app.harness.workspaces.sources import Source
from app.harness.workspaces.tools import Tools, words
from app.ids import ROOT_AGENT, new_id, now_ms
from app.states import WORKABLE, WorkspaceState
from app.storage.models import Session as SessionRow
from app.storage.models import Workspace
from app.tools.processes.git_commands import GitCommands, GitProblem

log = logging.getLogger("kaged.workspaces")

S = WorkspaceState
GIGABYTE = 1_000_000_000


class Making:
    """Makes the workspaces of all projects."""

    def __init__(
        self, record: WorkspaceRecord, projects: ProjectRegistry, tools: Tools, settings: WorkspaceSettings
    ) -> None:
        self._record = record
        self._projects = projects
        self._tools = tools
        self._settings = settings
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._measuring: set[asyncio.Task[None]] = set()
        self._begun = itertools.count()
        self._measured: dict[str, int] = {}
        """Of which measuring the stored size of a workspace is."""
        self._noted: dict[str, asyncio.Event] = {}
        self.stopped = False
        """Whether the daemon stops: what is being made is then made by the next start."""
        self.seeds = Seeds(record, tools)

    async def plan(self, project_id: str, base: str, title: str, actor: str) -> Workspace:
        """Return the row of a workspace that can be made; it is stored with its session. Raises
        `ValidationFailed` for a base that is not there, `Conflict` for one without the project's folder, and
        `InsufficientStorage`."""
        root = self._projects.root_of(project_id)
        await self.require_room()
        workspace_id = new_id("wks")
        layout = self._tools.layout(project_id, workspace_id)
        try:
            repository = await repository_of(self._reading(root), root)
            if repository is None:
                kind, branch, commit, base = "copy", None, None, WORKING
            else:
                await refuse_foreign(root)
                kind, branch = "worktree", branch_of(workspace_id, title)
                base = WORKING if repository.head is None else base
                commit = repository.head
                git = self._reading(root)
                if base not in {HEAD, WORKING}:
                    commit = await commit_of(git, base)
                await _require_project(git, repository, base, commit)
        except GitProblem as problem:
            raise Conflict(
                f"The project's repository cannot be used: {problem}", reason="git_failed"
            ) from None
        prefix = "" if repository is None else repository.prefix
        at = now_ms()
        return Workspace(
            id=workspace_id,
            project_id=project_id,
            kind=kind,
            root=str(layout.root(prefix)),
            branch=branch,
            base=base,
            base_commit=commit,
            created_by=actor,
            created_at=at,
            updated_at=at,
        )

    @asynccontextmanager
    async def planned(
        self, session: SessionRow, base: str, titles: Sequence[str], actor: str, group_id: str
    ) -> AsyncIterator[list[Workspace]]:
        """Give the rows of workspaces that all begin with the same, one for each title, for sessions that see
        their project as `session` does. They are stored within the block, and made after it. Raises as `plan`
        does."""
        project_id = session.project_id
        row = await self.plan(project_id, base, titles[0], actor)
        rows = [row, *(self._like(row, title) for title in titles[1:])]
        try:
            if row.base == WORKING:
                seed = self.seeds.plan(project_id, group_id)
                commit = await self._seed(row, seed, session)
                for one in rows:
                    one.base_commit, one.journal = commit, {SEED: group_id}
            yield rows
            for one in rows:
                self.begin(one)
        finally:
            await asyncio.shield(self.seeds.planned(project_id, group_id))

    def _like(self, row: Workspace, title: str) -> Workspace:
        """Return the row of another workspace that begins with the same."""
        workspace_id = new_id("wks")
        layout = self._tools.layout(row.project_id, workspace_id)
        prefix = Path(row.root).relative_to(self._tools.layout_of(row).tree)
        branch = None if row.branch is None else branch_of(workspace_id, title)
        names = {"id": workspace_id, "root": str(layout.root(str(prefix))), "branch": branch}
        return row.model_copy(update=names)

    async def _seed(self, row: Workspace, layout: Layout, session: SessionRow) -> str | None:
        sight = await self._sight_of(session, ROOT_AGENT, of_subagent=False)
        root, is_copy, room = self._projects.root_of(row.project_id), row.kind == "copy", await self._room()
        try:
            return await self._tools.creation.seed(root, layout, sight, is_copy=is_copy, most_bytes=room)
        except (GitProblem, OSError) as problem:
            why = f"The project's files cannot be saved for the workspaces: {words(problem)}"
            raise Conflict(why, reason="git_failed") from None

    def begin(self, row: Workspace) -> None:
        """Make a stored workspace in the background, unless that is under way or the daemon stops."""
        if self.stopped or row.id in self._tasks:
            return
        noted = self._noted[row.id] = asyncio.Event()
        task = asyncio.create_task(self._make_to_its_end(row, noted), name=f"make {row.id}")
        self._tasks[row.id] = task

        def over(_: asyncio.Task[None]) -> None:
            noted.set()
            self._tasks.pop(row.id, None)
            self._noted.pop(row.id, None)

        task.add_done_callback(over)

    async def noted(self, workspace_id: str) -> None:
        """Wait until what a workspace is made of may change again."""
        noted = self._noted.get(workspace_id)
        if noted is not None:
            await noted.wait()

    async def finished(self, workspace_id: str) -> bool:
        """Wait while a workspace is being made; False when the daemon stops, which makes it no further."""
        task = self._tasks.get(workspace_id)
        if task is not None:
            await asyncio.wait({task})
        return not self.stopped

    async def ready(self, session: SessionRow) -> bool:
        """Wait while a session's workspace is being made; False when the daemon stops before."""
        return await self.finished(session.workspace_id or "")

    def is_making(self, session: SessionRow) -> bool:
        return session.workspace_id in self._tasks

    async def require(self, session: SessionRow) -> None:
        """Raise `Conflict` when a session's workspace is not there to work in."""
        if session.workspace_id is None:
            return
        row = await self._record.get(session.workspace_id)
        if not self._tools.holds(row):
            way = "Merge it or keep its branch, then open" if self._tools.reaches(row) else "Open"
            raise Conflict(
                f"The session's workspace {row.root} is in the data folder of another or an earlier "
                f"daemon. {way} another session.",
                reason="workspace_elsewhere",
                details={"workspace_id": row.id},
            )
        if S(row.state) in WORKABLE:
            return
        raise unusable(row)

    async def give_up(self, row: Workspace) -> Workspace:
        """Make a workspace no further, and leave nothing of it; return its row. One that is made by now
        stays. Raises `Conflict` when something of it cannot be removed."""
        task = self._tasks.get(row.id)
        if task is not None:
            task.cancel("the workspace is discarded")
            await asyncio.wait({task})
        present = await self._record.get(row.id)
        if present.state != S.CREATING.value:
            return present
        root, layout = self._projects.root_of(row.project_id), self._tools.layout_of(row)
        try:
            await self._tools.creation.abandon(root, layout, row.id)
        except (GitProblem, OSError) as problem:
            why = f"The unfinished workspace cannot be removed: {words(problem)}"
            raise Conflict(why, reason="git_failed") from None
        at = now_ms()
        gone = {"ended_at": at, "removed_at": at, "size_bytes": 0, "journal": None}
        discarded = await self._record.move(present, S.DISCARDED, gone)
        await self.seeds.used(present)
        return discarded

    async def fitting(self, row: Workspace) -> Fitting:
        """Return what commands of the operator run in, for a workspace that is made. Raises `GitProblem`."""
        root, layout = self._projects.root_of(row.project_id), self._tools.layout_of(row)
        repository = None
        if row.kind == "worktree":
            repository = await repository_of(self._tools.creation.reading(root), root)
        borrowed = () if repository is None else (repository.objects,)
        return Fitting(layout, root, Path(row.root), borrowed, 0, root)

    async def _make_to_its_end(self, row: Workspace, noted: asyncio.Event) -> None:
        await self._make(row, noted)
        await self.seeds.used(row)

    async def _make(self, row: Workspace, noted: asyncio.Event) -> None:
        # The caller may hold an old row: a workspace that is ready by now is not made again.
        if (await self._record.get(row.id)).state != S.CREATING.value:
            return
        root = self._projects.root_of(row.project_id)
        layout = self._tools.layout_of(row)
        try:
            await self._record.note(row, {}, "clone" if row.kind == "worktree" else "copy")
            identity = await self._tools.merging.identity(root)
            seed, source, room = self.seeds.of(row), await self._source(row), await self._room()
            sight = await self._sight(row)
            wish = Wish(row.id, root, row.base, row.base_commit, row.branch, room, seed, source, sight, noted)
            made = await self._tools.creation.make(wish, layout, identity)
            section, notes = self._section(row.project_id)
            if row.run_id is not None:  # it would run what an agent wrote: as that agent may, and no more
                section = section.model_copy(update={"setup": None})
            section = await self._with_files(row, section)
            notes = [*notes, *([] if made.note is None else [made.note])]
            place = root if row.parent_id is None else self._projects.workspaces.at(row.parent_id, root).path
            room, seen = await self._room(), None if row.run_id is None else sight
            fitting = Fitting(layout, root, made.root, made.borrowed, room, place, seen)
            row, found, columns = await self._tools.outfit.fit(row, section, fitting)
            detail = " ".join((*notes, *found)) or None
            columns |= {"base_commit": made.base_commit, "detail": detail, "journal": None}
            row = await self._record.move(row, S.READY, columns, only_from=S.CREATING)
            self._measure_soon(row)  # a session need not wait for it
        except asyncio.CancelledError:
            raise  # the row says that it is being made: the next start makes it
        except (KagedError, GitProblem, ToolError, OSError) as problem:
            await self._could_not_be_made(row, root, layout, words(problem))
        except Exception as problem:
            log.exception("the workspace %s could not be made", row.id)
            await self._could_not_be_made(row, root, layout, type(problem).__name__)

    async def _with_files(self, row: Workspace, section: WorkspaceSection) -> WorkspaceSection:
        """Return the section with the files that the run of a workflow is given, which lie in the project."""
        session_id = row.session_id or ""
        run = await self._record.storage.read(lambda uow: uow.workflow_runs.of_session(session_id))
        if run is None or row.run_id is not None:
            return section
        folder = f"{UPLOADS}/{run.id}"
        if not await asyncio.to_thread((self._projects.root_of(row.project_id) / folder).is_dir):
            return section
        return section.model_copy(update={"copy": [*section.copy, f"{UPLOADS}/.gitignore", f"{folder}/*"]})

    async def _sight(self, row: Workspace) -> Sight | None:
        """Return what bounds what a workspace has that is not committed. None: nothing does."""
        session_id = row.session_id or ""
        session = await self._record.storage.read(lambda uow: uow.sessions.get(session_id))
        if row.run_id is not None:
            if session is None:
                raise Conflict("The session of this workspace is gone.", reason="session_gone")
            return await self._sight_of(session, row.agent_path or ROOT_AGENT, of_subagent=True)
        if session is None or row.base != WORKING or row.kind == "copy":
            return None
        return await self._sight_of(session, ROOT_AGENT, of_subagent=False)

    async def _sight_of(self, session: SessionRow, path: str, *, of_subagent: bool) -> Sight | None:
        project = await self._projects.of_session(session)
        agent = project.agent(path)
        if agent is None:
            raise Conflict(f"The project has no agent {path!r} any more.", reason="agent_not_found")
        root = self._projects.root_of(session.project_id)
        return Sight.of(agent, root, beyond=not of_subagent)

    async def _source(self, row: Workspace) -> Source | None:
        """Return the workspace of which that of a subagent is made; None for the project's own folder."""
        if row.parent_id is None:
            return None
        parent = await self._record.get(row.parent_id)
        if parent.removed_at is not None or parent.base_commit is None:
            raise Conflict(f"The workspace {parent.id} no longer exists.", reason="workspace_gone")
        return Source(parent.id, self._tools.layout_of(parent), parent.base_commit)

    def setup_of(self, project_id: str) -> str | list[str] | None:
        """Return the command that a trusted project has for new workspaces."""
        return self._section(project_id)[0].setup

    def _section(self, project_id: str) -> tuple[WorkspaceSection, list[str]]:
        """Return what the trusted project file says of workspaces; what it says otherwise has no effect."""
        try:
            return self._projects.get(project_id).acting().workspace, []
        except Conflict:
            return WorkspaceSection(), ["The project is not trusted: nothing was copied or set up."]

    async def _could_not_be_made(self, row: Workspace, root: Path, layout: Layout, why: str) -> None:
        log.warning("the workspace %s could not be made: %s", row.id, why)
        columns: dict[str, Any] = {"detail": why[:1000], "removed_at": now_ms(), "size_bytes": 0}
        try:
            await self._tools.creation.abandon(root, layout, row.id)
        except (KagedError, GitProblem, OSError) as problem:
            log.warning("what is left of the workspace %s stays: %s", row.id, words(problem))
            if await asyncio.to_thread(os.path.lexists, layout.folder):
                left = f"{why}. What is left of it cannot be removed: {words(problem)}"
                columns = {"detail": left[:1000]}
        try:
            await self._record.move(row, S.BROKEN, {**columns, "journal": None}, only_from=S.CREATING)
        except KagedError as problem:
            log.warning("the workspace %s is not stored as broken: %s", row.id, problem.message)

    def _measure_soon(self, row: Workspace) -> None:
        task = asyncio.create_task(self.measure(row), name=f"measure {row.id}")
        self._measuring.add(task)
        task.add_done_callback(self._measuring.discard)

    async def measure(self, row: Workspace) -> None:
        """Store how much room a workspace takes, when that is another size than before."""
        begun = next(self._begun)
        size = await asyncio.to_thread(size_of, self._tools.layout_of(row).folder)
        try:
            async with self._record.holding(row.id) as present:
                if present.removed_at is not None:
                    self._measured.pop(row.id, None)
                elif begun > self._measured.get(row.id, -1):  # one that began later knows better
                    self._measured[row.id] = begun
                    if present.size_bytes != size:
                        await self._record.note(present, {"size_bytes": size})
        except KagedError as problem:
            log.warning("the size of the workspace %s is not known: %s", row.id, words(problem))

    async def aclose(self) -> None:
        """Stop what is being made and measured; the next start does it."""
        self.stopped = True
        tasks = [*self._tasks.values(), *self._measuring]
        for task in tasks:
            task.cancel("the daemon is stopping")
        await asyncio.gather(*tasks, return_exceptions=True)

    def _reading(self, root: Path) -> GitCommands:
        return self._tools.creation.reading(root)

    async def _room(self) -> int:
        held = await self._record.storage.read(lambda uow: uow.workspaces.bytes_held())
        return max(0, int(self._settings.max_gb * GIGABYTE) - held)

    async def require_room(self) -> None:
        if not await self._room():
            raise InsufficientStorage(
                f"All workspaces take {self._settings.max_gb:g} GB, which is as much as `workspaces.max_gb` "
                "allows: keep the branches of some, or archive the sessions of those that are merged. One "
                f"that is discarded takes its space for {self._settings.undo_days:g} days more "
                "(`workspaces.undo_days`).",
                reason="workspaces_full",
            )


async def _require_project(git: GitCommands, repository: Repository, base: str, commit: str | None) -> None:
    """Raise `Conflict` when the project's folder is not in the commit that a workspace starts from."""
    if base == WORKING or commit is None or not repository.prefix:
        return
    if not await has_folder(git, commit, repository.prefix):
        raise without_project(repository.prefix, commit)
