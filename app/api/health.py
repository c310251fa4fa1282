"""Is the daemon up, is it ready, and which version is it: open to everybody.

Owns: the three routes that monitoring asks. Never: anything about projects or sessions.
"""

from __future__ import annotations

import asyncio
import platform
import time

from fastapi import APIRouter, Request, Response

from app import __version__
from app.api.dependencies import ServicesDep
from app.api.kaged_route import noun_router
from app.api.schemas.operations import Check, Health, Readiness, Versions
from app.daemon.lifespan import Services
from app.errors import KagedError
from app.storage.file_failures import check_room
from app.storage.schema_version import HEAD, current_revision

root_router: APIRouter = noun_router("Health")
router: APIRouter = noun_router("Health")

API_VERSION = "v1"

READINESS_SECONDS = 1.0
ANSWER_SECONDS = 1.5
"""So long is waited for the database and the disk; whoever monitors gives up after two seconds or more."""


class RecentReadiness:
    """The last answer, for a while: anybody may ask, and each look reads the database. A look that takes too
    long goes on, and no other one is begun meanwhile: it would wait for the same."""

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
        if self._looking is None:
            self._looking = asyncio.create_task(_look(services), name="readiness")
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
    """Looks at the database, its schema, the room on the disk and the sandbox, at most once in a second. The
    answer is 503 when one that the daemon needs has failed; it comes within two seconds."""
    recent: RecentReadiness = request.app.state.readiness
    found = await recent.get(services)
    response.status_code = 200 if found.ready else 503
    return found


@router.get("/versions", summary="Get the versions of the daemon and its API")
async def get_versions() -> Versions:
    return Versions(
        kaged=__version__,
        api=API_VERSION,
        python=platform.python_version(),
        platform=platform.system().lower(),
    )


async def _look(services: Services) -> Readiness:
    checks = {
        "storage": await _check_storage(services),
        "migrations": await _check_migrations(services),
        "sandbox": _check_sandbox(services),
    }
    return Readiness(ready=all(check.status != "failed" for check in checks.values()), checks=checks)


def _check_sandbox(services: Services) -> Check:
    """Without cages the daemon works as far as it can, unless the operator has asked for a kind of them."""
    tier, mode = services.tier, services.settings.sandbox.mode
    detail = f"{tier.name}: {tier.reason}" + (f". {tier.advice}" if tier.advice else "")
    if tier.name in ("full", "landlock"):
        return Check(status="ok", detail=detail)
    return Check(status="failed" if mode in ("full", "landlock") else "absent", detail=detail)


async def _check_storage(services: Services) -> Check:
    try:
        await services.storage.read(lambda uow: uow.projects.list(limit=1, cursor=None))
        await asyncio.to_thread(check_room, services.settings.daemon.data_dir)
    except KagedError as error:
        return Check(status="failed", detail=error.message)
    return Check(status="ok")


async def _check_migrations(services: Services) -> Check:
    try:
        revision = await services.storage.read(lambda uow: current_revision(uow.connection))
    except KagedError as error:
        return Check(status="failed", detail=error.message)
    if revision != HEAD:
        return Check(status="failed", detail=f"The schema is {revision}; this version needs {HEAD}.")
    return Check(status="ok")
