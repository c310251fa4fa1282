"""Which projects this daemon owns, where several share a PostgreSQL database.

Owns: taking projects that nobody owns, recovering them as after a crash, and the error for a project that
another daemon owns. Never: the rows of leases, or renewing them (`storage/leases`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from app.daemon.project_management import ProjectManagement
from app.errors import KagedError, NotFound, Unavailable
from app.harness.projects.files_marker import agreed_marker
from app.harness.projects.project_loader import ProjectLoader
from app.harness.sessions.session_manager import SessionManager
from app.storage.leases import Leases, boot_seconds
from app.storage.repositories.leases import WHOLE_DATABASE, LeaseState
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.daemon")

POLL_SECONDS = 1.0
RETRY_SECONDS = 2
"""When a client may ask again that has asked the wrong daemon."""


class LeaseClaim:
    """A lease that is taken in the transaction that writes first for its project."""

    def __init__(
        self, leases: Leases, project_id: str, marker: str, problem: Callable[[], KagedError]
    ) -> None:
        self._leases, self._project_id, self._marker = leases, project_id, marker
        self._problem = problem
        self._fence: int | None = None
        self._begun = 0.0

    def take(self, uow: UnitOfWork) -> None:
        """Take the lease as part of a unit. Raises the error of a project that is elsewhere."""
        self._begun = boot_seconds()
        self._fence = uow.leases.take(self._project_id, self._leases.owner, self._marker)
        if self._fence is None:
            raise self._problem()

    def hold(self) -> None:
        """Note that the unit is committed."""
        assert self._fence is not None
        self._leases.add(self._project_id, self._fence, self._begun)


class Ownership:
    """Implements the loader's `ProjectClaims`."""

    def __init__(
        self,
        storage: Storage,
        leases: Leases,
        loader: ProjectLoader,
        management: ProjectManagement,
        sessions: SessionManager,
        taken_over: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`taken_over` gets the id of each project that is answered for here from now on."""
        self._storage, self._leases = storage, leases
        self._taken_over = taken_over
        self._loader, self._management, self._sessions = loader, management, sessions
        self._lock = asyncio.Lock()
        self._known: dict[str, LeaseState] = {}
        self._problems: dict[str, Unavailable] = {}
        self._failures: dict[str, str] = {}
        self._served: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Take every project that nobody owns, then look for more for as long as the daemon runs."""
        await self._look()
        self._task = asyncio.create_task(self._look_forever(), name="ownership")

    async def aclose(self) -> None:
        """Take nothing more. The leases are released when the storage is closed."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def served(self) -> frozenset[str]:
        """The projects that this daemon owns and has recovered."""
        return frozenset(self._served)

    @property
    def of_others(self) -> int:
        """How many projects other daemons own."""
        return sum(
            state.project_id not in self._served and not state.expired for state in self._known.values()
        )

    @property
    def unserved(self) -> int:
        """How many projects nobody owns, such as those whose files are elsewhere."""
        return sum(state.project_id not in self._served and state.expired for state in self._known.values())

    @property
    def tends_database(self) -> bool:
        """Whether this daemon does the work that concerns the whole database, such as retention."""
        return WHOLE_DATABASE in self._leases.projects

    async def check(self, project_id: str) -> None:
        """Raise `Unavailable` unless this daemon serves the project, or nobody knows it."""
        if project_id in self._served:
            return
        await self._read_states()
        if project_id not in self._served and (problem := self.problem(project_id)) is not None:
            raise problem

    def problem(self, project_id: str) -> Unavailable | None:
        """Return why a project is not served here; None when there is no such project. `details.url` is the
        address of the daemon that owns it."""
        state = self._known.get(project_id)
        owned = state is not None and not self._is_free(project_id)
        if project_id in self._problems and not owned:
            return self._problems[project_id]
        if state is None:
            return None
        details = {"project_id": project_id, "retry_after_seconds": RETRY_SECONDS}
        said = "No daemon owns the project at this moment; one takes it within seconds."
        if owned:
            said = f"The project is owned by the daemon at {state.owner_url}. Ask that one."
            details["url"] = state.owner_url
        return Unavailable(said, reason="project_elsewhere", details=details)

    def others(self) -> dict[str, str]:
        """Return the projects that other daemons own, with their addresses, as of a second ago at most."""
        return {key: state.owner_url for key, state in self._known.items() if not self._is_free(key)}

    # -- for the loader ---------------------------------------------------------------------

    async def claim(self, project_id: str, root: Path) -> LeaseClaim | None:
        """Return what takes the lease of a project; None when this daemon has it. Raises `Unavailable`."""
        if project_id in self._leases.projects:
            return None
        state = self._known.get(project_id)
        marker = await asyncio.to_thread(agreed_marker, root, state.marker if state is not None else "")

        def problem() -> KagedError:
            return self.problem(project_id) or NotFound(f"There is no project {project_id}.")

        return LeaseClaim(self._leases, project_id, marker, problem)

    async def take_up(self, project_id: str) -> None:
        """Load a stored project that nobody owns, and recover it. Raises `Unavailable` when somebody does."""
        async with self._lock:
            if project_id in self._served:
                return
            if not self._is_free(project_id):
                await self._read_states()  # what is known may be a second old
            if not self._is_free(project_id) and (problem := self.problem(project_id)) is not None:
                raise problem
            # Recovered before it is there: what runs must not be taken for what a crash has left.
            if not await self._loader.restore_one(project_id, lambda: self._sessions.recover(project_id)):
                return
            try:
                await self._management.take_up(self._sessions, project_id)
            except Exception as failure:
                # A second try would begin some of it twice.
                self._leases.give_up(f"the project {project_id} could not be taken up ({failure})")
                raise
            self.serves(project_id)
            log.warning("project %s is owned by this daemon now", project_id)

    def serves(self, project_id: str) -> None:
        """Note that a project is complete: requests for it are answered."""
        self._problems.pop(project_id, None)
        self._failures.pop(project_id, None)
        self._served.add(project_id)
        self._taken_over(project_id)

    # -- inside -----------------------------------------------------------------------------

    async def _read_states(self) -> list[LeaseState]:
        states = await self._storage.read(lambda uow: uow.leases.states())
        self._known = {state.project_id: state for state in states}
        return states

    def _is_free(self, project_id: str) -> bool:
        state = self._known.get(project_id)
        return state is not None and (state.expired or state.owner_id == self._leases.owner.id)

    async def _look_forever(self) -> None:
        failing = False
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                await self._look()
                failing = False
            except KagedError as problem:
                if not failing:
                    log.error("projects without an owner are not looked for: %s", problem.message)
                failing = True

    async def _look(self) -> None:
        if not self.tends_database:
            await self._take_database()
        for state in await self._read_states():
            if state.project_id not in self._served and self._is_free(state.project_id):
                await self._try(state)

    async def _take_database(self) -> None:
        owner = self._leases.owner
        if not await self._storage.read(lambda uow: uow.leases.is_free(WHOLE_DATABASE, owner.id)):
            return
        fence = await self._storage.write(
            lambda uow: uow.leases.take(WHOLE_DATABASE, owner, ""), durable=True
        )
        if fence is not None:
            self._leases.add(WHOLE_DATABASE, fence)

    async def _try(self, state: LeaseState) -> None:
        try:
            await self.take_up(state.project_id)
        except Unavailable as problem:
            elsewhere = problem.details.get("reason") == "files_elsewhere"
            if elsewhere and state.project_id not in self._problems:
                log.error("project %s is not served: %s", state.project_id, problem.message)
            if elsewhere:
                self._problems[state.project_id] = problem
        except Exception as problem:  # noqa: BLE001 - the edge of a project: the others are taken all the same
            said = f"{type(problem).__name__}: {problem}"
            if self._failures.get(state.project_id) != said:
                log.error("project %s could not be taken over: %s", state.project_id, said)
            self._failures[state.project_id] = said
