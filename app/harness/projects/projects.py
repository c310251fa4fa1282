"""The projects that this daemon has loaded, as everybody reads them.

Owns: which compiled version new sessions get, and the snapshots that running sessions keep. Never: loading
or reloading one (`project_loader`), or reading prompt files (`prompts/store`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.errors import Conflict, KagedError, NotFound
from app.harness.dsl.compiled import WORKFLOW_PROMPTS, CompiledProject
from app.harness.dsl.prompt_files import PromptProblem
from app.harness.dsl.workflow_view import as_session_sees
from app.harness.projects.loaded_project import LoadedProject, relative_to_root, untrusted
from app.harness.projects.project_trust import ProjectTrusts, Trust, wire_trust
from app.harness.projects.prompts.store import PromptStore
from app.harness.projects.session_roots import SessionRoot, SessionRoots
from app.storage.models import Session as SessionRow

LOAD = "POST /api/v1/projects/load"


class ProjectRegistry:
    """All loaded projects by id. It is made before everything that reads projects."""

    def __init__(self, trusts: ProjectTrusts, workspaces: SessionRoots | None = None) -> None:
        self.trusts = trusts
        self.workspaces = workspaces or SessionRoots()
        self.elsewhere: Callable[[str], KagedError | None] | None = None
        """Where several daemons share the database: why a project that is not loaded is not served here; None
        when there is no such project."""
        self._projects: dict[str, LoadedProject] = {}
        self._snapshots: dict[str, CompiledProject] = {}

    def put(self, project: LoadedProject) -> None:
        """Take in a project, also in the place of one with the same id."""
        self._projects[project.id] = project

    def take_out(self, project_id: str) -> LoadedProject | None:
        """Forget a project; None when it is not loaded."""
        return self._projects.pop(project_id, None)

    def find(self, project_id: str) -> LoadedProject | None:
        """Return a project; None when it is not loaded."""
        return self._projects.get(project_id)

    def get(self, project_id: str) -> LoadedProject:
        found = self._projects.get(project_id)
        if found is None:
            self.require_here(project_id)
            raise NotFound(
                f"There is no loaded project {project_id}. Open its folder to load it.",
                details={"route": LOAD},
            )
        return found

    def require_here(self, project_id: str) -> None:
        """Raise the error that says which other daemon owns a project."""
        if project_id not in self._projects and self.elsewhere is not None:
            problem = self.elsewhere(project_id)
            if problem is not None:
                raise problem

    def is_elsewhere(self, project_id: str) -> bool:
        """Tell whether another daemon owns a project, or may."""
        return project_id not in self._projects and self.elsewhere is not None

    def all(self) -> list[LoadedProject]:
        return list(self._projects.values())

    def by_slug(self, slug: str) -> LoadedProject | None:
        return next((project for project in self._projects.values() if project.slug == slug), None)

    def compiled(self, project_id: str) -> CompiledProject:
        """Return the version that acts: the last one that compiled and is trusted.

        Raises `NotFound`, `ProjectFileInvalid`, `Conflict` (`project_untrusted`)."""
        project = self.get(project_id)
        if project.compiled is None and project.newest is not None:
            return project.acting()
        return project.shown()

    def require_trusted(self, project_id: str) -> None:
        """Raise `Conflict` (`project_untrusted`) for a loaded project that nobody trusts."""
        if self.is_untrusted(project_id):
            raise untrusted(self.get(project_id))

    def trust_of(self, project_id: str) -> Trust:
        """Return the trust in a project; one that is not loaded has none."""
        project = self._projects.get(project_id)
        return project.trust if project is not None else Trust("untrusted")

    def wire_trust(self, project_id: str) -> dict[str, Any]:
        """Return the trust in a project as clients read it."""
        return wire_trust(self.trust_of(project_id))

    def is_untrusted(self, project_id: str) -> bool:
        """Tell whether a project is loaded and nobody trusts it."""
        project = self._projects.get(project_id)
        return project is not None and project.trust.state == "untrusted"

    def root_of(self, project_id: str) -> Path:
        """Return the project's own folder, in which its file is. A session may work elsewhere
        (`root_of_session`)."""
        return self.get(project_id).root

    def root_of_session(self, row: SessionRow) -> SessionRoot:
        """Return where a session works. Raises `NotFound`, and `Conflict` when its workspace is not there."""
        return self.workspaces.of(row, self.root_of(row.project_id))

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

    async def snapshot(self, project_id: str, digest: str | None) -> CompiledProject | None:
        """Return the version of a project that a session was started with; None when not loaded."""
        project = self._projects.get(project_id)
        if project is None or self.is_untrusted(project_id):
            return None
        if digest is None or (project.compiled is not None and project.compiled.digest == digest):
            return project.compiled
        found = self._snapshots.get(digest)
        if found is None:
            found = await self.trusts.stored(digest)
            if found is None:
                return project.compiled
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

    async def of_session(self, row: SessionRow) -> CompiledProject:
        """Return the project as it was compiled for this session, cut down to its workflow if it has one."""
        self.require_trusted(row.project_id)
        project = await self.snapshot(row.project_id, row.compiled_digest)
        if project is None:
            raise Conflict(
                "The project of this session is not loaded. Open its folder to load it.",
                reason="project_not_loaded",
                details={"project_id": row.project_id, "route": LOAD},
            )
        return as_session_sees(project, row)
