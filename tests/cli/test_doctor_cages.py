"""`kaged doctor` makes a cage as the daemon does, and says what holds, what does not, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from app.bridges.sandbox.tier import Tier
from app.cli import diagnosis
from app.config import load_settings
from app.daemon import cage_setup
from tests.driver.kaged import Home

pytestmark = pytest.mark.requirement("cages.kernel.tier")


def cages_of(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in report["findings"] if one["group"] == "sandbox"}


def test_the_doctor_tries_a_cage(home: Home) -> None:
    found = cages_of(home.json("doctor"))
    tier = found["cages"]["detail"].split(":")[0]
    assert found["cages"]["status"] == ("ok" if tier == "full" else "absent")
    assert {"bubblewrap", "user namespaces", "landlock", "container", "bounds", "user"} <= found.keys()
    assert found["cages"]["advice"] is None or tier == "none"


def test_the_doctor_says_that_the_sandbox_is_switched_off(home: Home) -> None:
    home.config.write_text(home.config.read_text() + '\n[sandbox]\nmode = "off"\n')
    found = cages_of(home.json("doctor"))
    assert found.keys() == {"cages"}
    assert found["cages"]["status"] == "absent"
    assert "--no-sandbox" in found["cages"]["advice"]


@pytest.mark.parametrize(
    ("mode", "status"), [("auto", "absent"), ("full", "problem"), ("landlock", "problem")]
)
async def test_what_the_operator_asked_for_and_is_not_there_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, mode: str, status: str
) -> None:
    tier = Tier("none", "bubblewrap is not installed", "Install it", (("bubblewrap", "not installed"),))
    monkeypatch.setitem(cage_setup._found, mode, tier)
    settings = load_settings(environ={}, overrides={"sandbox.mode": mode})
    cages, bubblewrap = await diagnosis._sandbox(settings)
    assert (cages.status, cages.detail, cages.advice) == (
        status,
        "none: bubblewrap is not installed",
        "Install it",
    )
    assert bubblewrap.status == "absent"
    assert "bubblewrap" in (bubblewrap.advice or "")


@pytest.mark.requirement("security.root_cage")
def test_the_doctor_offers_toolchains_that_no_cage_shows(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "toolchains/bin"
    folder.mkdir(parents=True)
    for name in ("rustup", "go"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    (folder / "cargo").symlink_to("rustup")
    path = f"{folder}:/usr/bin:/bin"

    def found_by_doctor() -> dict[str, dict[str, Any]]:
        done = home.run("doctor", "--json", PATH=path, RUSTUP_HOME="/opt/rust")
        return cages_of(orjson.loads(done.stdout))

    found = found_by_doctor()
    assert found["go"]["advice"] == f'[sandbox] read_only = ["{folder}"]'
    assert found["cargo"]["advice"] == (
        f'[sandbox] read_only = ["{folder}", "/opt/rust"], and in the cage env: {{ RUSTUP_HOME: /opt/rust }}'
    )
    shown = f'\n[sandbox]\nread_only = ["{folder}", "/opt/rust"]\n'
    home.config.write_text(home.config.read_text() + shown)
    assert not {"go", "cargo"} & found_by_doctor().keys()
