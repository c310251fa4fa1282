"""Health, readiness and versions, without a token.

Owns: the three routes for monitoring. Never: anything about projects or sessions.
"""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from fastapi import APIRouter, Request, Response

from app import __version__
from app.api.dependencies import ServicesDep
from app.api.kaged_route import noun_router
from app.api.schemas.operations import Check, Health, Readiness, Versions
from app.daemon.services import Services
from app.errors import KagedError
from app.release import commit
from app.storage.file_failures import check_room
from app.storage.revisions import HEAD
from app.storage.schema_version import current_revision, is_usable
from app.workspace.writable import access_to

root_router: APIRouter = noun_router("Health", prefix="")
router: APIRouter = noun_router("Health")

API_VERSION = "v1"

READINESS_SECONDS = 1.0
ANSWER_SECONDS = 1.5
"""How long the checks may take; monitors give up after two seconds or more."""


class RecentReadiness:
    """The last answer, cached because anybody may ask and each check reads the database. A check that takes
    too long continues, and no second one starts meanwhile."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._looking: asyncio.Task[Readiness] | None = None
        self._found: Readiness | None = None
        self._until = 0.0

    async def get(self, services: Services) -> Readiness:
        async with self._lock:
            if self._found is None or time.monotonic() >= self._until:
                self._found = await self._look(services)
                self._until = time.monotonic() + READINESS_SECONDS
            return self._found

    async def _look(self, services: Services) -> Readiness:
        if self._looking is None or self._looking.done():  # nobody knows how old a late answer is
            self._looking = asyncio.create_task(_look(services), name="readiness")
            self._looking.add_done_callback(lambda done: done.cancelled() or done.exception())
        done, _ = await asyncio.wait({self._looking}, timeout=ANSWER_SECONDS)
        if not done:
            silent = Check(status="failed", detail=f"It did not answer within {ANSWER_SECONDS} s.")
            checks = {"storage": silent, "migrations": silent, "sandbox": _check_sandbox(services)}
            return Readiness(ready=False, checks=checks)
        looked, self._looking = self._looking, None
        return looked.result()


@root_router.get("/healthz", summary="Check that the process is up")
async def get_health() -> Health:
    return Health(status="ok", version=__version__)


@root_router.get("/readyz", summary="Check that the daemon is ready")
async def get_readiness(request: Request, services: ServicesDep, response: Response) -> Readiness:
    """Checks the database, its schema, the free disk space, the sandbox and whether projects can be written,
    at most once per second. The status is 503 when a required check failed. The answer comes within two
    seconds."""
    recent: RecentReadiness = request.app.state.readiness
    found = await recent.get(services)
    response.status_code = 200 if found.ready else 503
    return found


@router.get("/versions", summary="Get the versions of the daemon and its API")
async def get_versions() -> Versions:
    return Versions(
        kaged=__version__,
        commit=commit(),
        database_schema=HEAD,
        api=API_VERSION,
        python=platform.python_version(),
        platform=platform.system().lower(),
    )


async def _look(services: Services) -> Readiness:
    checks = {
        "storage": await _checked(_problem_of_storage, services),
        "migrations": await _checked(_problem_of_schema, services),
        "sandbox": _check_sandbox(services),
        "projects": await asyncio.to_thread(_check_projects, [one.root for one in services.projects.all()]),
    }
    if services.decisions.ownership is not None:
        checks["replicas"] = _check_replicas(services)
    return Readiness(ready=all(check.status != "failed" for check in checks.values()), checks=checks)


def _check_replicas(services: Services) -> Check:
    """A daemon that owns nothing stands by, and is ready."""
    ownership, forwarding = services.decisions.ownership, services.decisions.forwarding
    assert ownership is not None and forwarding is not None
    detail = (
        f"This daemon owns {len(ownership.served)} projects; other daemons own {ownership.of_others}; "
        f"nobody owns {ownership.unserved}."
    )
    unreachable = len(forwarding.unreachable)
    if unreachable:
        detail += f" {unreachable} of the other daemons cannot be reached; the log says where."
    return Check(status="warning" if ownership.unserved or unreachable else "ok", detail=detail)


def _check_sandbox(services: Services) -> Check:
    """Missing cages fail the check only when the settings require a kind of them."""
    tier, mode = services.machine.tier, services.settings.sandbox.mode
    detail = f"{tier.name}: {tier.reason}" + (f". {tier.advice}" if tier.advice else "")
    if tier.name in ("full", "landlock"):
        return Check(status="ok", detail=detail)
    return Check(status="failed" if mode in ("full", "landlock") else "absent", detail=detail)


def _check_projects(roots: Sequence[Path]) -> Check:
    """A project that is read-only may be meant so: it never fails the check. Anybody may ask, so no folder is
    named. Blocks."""
    found = [access_to(root) for root in roots]
    closed = sum(one is not None and one.problem is not None for one in found)
    if not closed:
        return Check(status="ok")
    of_all = f"{closed} of {len(roots)} loaded projects"
    detail = f"The daemon's user cannot write to {of_all}; `kaged doctor` in a project says why."
    return Check(status="warning", detail=detail)


async def _checked(check: Callable[[Services], Awaitable[str | None]], services: Services) -> Check:
    try:
        problem = await check(services)
    except KagedError as error:
        problem = error.message
    return Check(status="ok") if problem is None else Check(status="failed", detail=problem)


async def _problem_of_storage(services: Services) -> str | None:
    await services.storage.read(lambda uow: uow.projects.list(limit=1, cursor=None))
    await asyncio.to_thread(check_room, services.settings.daemon.data_dir)
    return None


async def _problem_of_schema(services: Services) -> str | None:
    revision = await services.storage.read(lambda uow: current_revision(uow.connection))
    return (
        None
        if is_usable(services.storage.database, revision)
        else f"The schema is {revision}; this version needs {HEAD}."
    )
