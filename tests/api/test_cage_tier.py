"""Readiness, capabilities and the log say which cages this machine holds, and why."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.bridges.sandbox.tier import Tier
from app.daemon import cage_setup
from tests.driver.daemon import running_daemon, write_project

pytestmark = pytest.mark.requirement("cages.kernel.tier")

FULL = Tier("full", "11 of 11 checks hold")
WEAKER = Tier("landlock", "7 of 7 checks hold")
NONE = Tier("none", "bubblewrap is not installed", "Install bubblewrap and restart the daemon")


async def sandbox_of(client: httpx2.AsyncClient, root: Path) -> dict[str, Any]:
    loaded = await client.post("/api/v1/projects/load", json={"path": str(root)})
    answer = await client.get(f"/api/v1/projects/{loaded.json()['id']}/capabilities")
    found: dict[str, Any] = next(one for one in answer.json()["items"] if one["kind"] == "sandbox")
    return found


@pytest.mark.parametrize(
    ("mode", "tier", "status", "ready"),
    [
        ("auto", FULL, "ok", True),
        ("full", FULL, "ok", True),
        ("landlock", WEAKER, "ok", True),
        ("auto", NONE, "absent", True),
        ("full", NONE, "failed", False),
        ("landlock", NONE, "failed", False),
    ],
)
async def test_who_asks_learns_the_tier_and_why(
    tmp_path: Path,
    model_settings: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    tier: Tier,
    status: str,
    ready: bool,
) -> None:
    monkeypatch.setitem(cage_setup._found, mode, tier)
    settings = {**model_settings, "sandbox": {"mode": mode}}
    async with running_daemon(tmp_path / "data", **settings) as daemon, daemon.client() as client:
        answer = await client.get("/readyz")
        sandbox = await sandbox_of(client, write_project(tmp_path / "shop"))
    assert (answer.status_code, answer.json()["ready"]) == (200 if ready else 503, ready)
    check = answer.json()["checks"]["sandbox"]
    assert check["status"] == status
    expected = f"{tier.name}: {tier.reason}" + (f". {tier.advice}" if tier.advice else "")
    assert check["detail"] == sandbox["reason"] == expected
    assert sandbox["available"] is (tier is not NONE)


async def test_a_switched_off_sandbox_is_said_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="kaged.cages"):
        async with running_daemon(tmp_path, sandbox={"mode": "off"}) as daemon, daemon.client() as client:
            check = (await client.get("/readyz")).json()["checks"]["sandbox"]
    assert check["status"] == "absent"
    assert check["detail"].startswith("off: ")
    assert [record.levelname for record in caplog.records if "cages are disabled" in record.message] == [
        "WARNING"
    ]


async def test_the_machine_is_tried_once_in_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    async def found(mode: str, _: object) -> Tier:
        tried.append(mode)
        return NONE

    monkeypatch.setattr(cage_setup, "_found", {})
    monkeypatch.setattr(cage_setup, "find_tier", found)
    for _ in range(2):
        async with running_daemon(tmp_path / "data") as daemon:
            assert daemon.services.machine.tier == NONE
    assert tried == ["auto"]
