"""Health, readiness and versions, which need no token."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from app import __version__
from app.storage.storage import Storage
from tests.driver.daemon import Daemon
from tests.driver.daemon_process import REPOSITORY
from tests.driver.machine import need


async def test_health_readiness_and_versions_need_no_token(daemon: Daemon) -> None:
    async with daemon.client(token="") as client:
        health = await client.get("/healthz")
        ready = await client.get("/readyz")
        versions = await client.get("/api/v1/versions")
        schema = await client.get("/api/v1/dsl/schema")
    assert health.json() == {"status": "ok", "version": __version__}
    assert ready.status_code == 200
    assert ready.json()["ready"] is True
    assert ready.json()["checks"]["storage"]["status"] == "ok"
    assert ready.json()["checks"]["migrations"]["status"] == "ok"
    assert ready.json()["checks"]["sandbox"]["status"] in ("ok", "absent")
    assert ready.json()["checks"]["projects"] == {"status": "ok", "detail": None}
    assert versions.json()["kaged"] == __version__
    assert schema.json()["type"] == "object"


async def test_asking_often_whether_it_is_ready_costs_one_look_at_the_database(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.api.health.READINESS_SECONDS", 60.0)
    reads = 0
    read = Storage.read

    async def counted(self: Storage, work: Callable[[Any], Any]) -> Any:
        nonlocal reads
        task = asyncio.current_task()
        if task is not None and task.get_name() == "readiness":  # not what the daemon does by the clock
            reads += 1
        return await read(self, work)

    async with daemon.client(token="") as client:
        monkeypatch.setattr(Storage, "read", counted)
        answers = await asyncio.gather(*(client.get("/readyz") for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert reads == 2  # the rows and the schema


async def test_a_daemon_whose_database_is_closed_is_not_ready(daemon: Daemon) -> None:
    await daemon.services.storage.close()
    async with daemon.client(token="") as client:
        ready = await client.get("/readyz")
    assert ready.status_code == 503
    assert ready.json()["checks"]["storage"]["status"] == "failed"


@pytest.mark.requirement("image.any_user")
def test_projects_that_cannot_be_written_are_counted_and_not_named() -> None:
    """By a process of another user: this one's may write everywhere."""
    need("root")
    script = (
        "import os; from pathlib import Path; from app.api.health import _check_projects; os.setuid(12345)\n"
    )
    script += "found = _check_projects([Path('/etc'), Path('/tmp')]); print(found.status, found.detail)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("warning The daemon's user cannot write to 1 of 2 loaded projects")
    assert "/etc" not in done.stdout
