"""The whole life of a workspace on each tier of cages: made, worked in, brought back in each way, kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.daemon import running_daemon
from tests.driver.sessions import Driver
from tests.driver.workspaces import digest_of, git, new_workplace, write_repository
from tests.harness.workspaces.placing import called
from tests.harness.workspaces.test_repository import CAGED, DOES, YAML

pytestmark = pytest.mark.requirement("workspaces.merge")

TIERS = (
    pytest.param("auto", marks=pytest.mark.needs("cages")),
    pytest.param("landlock", marks=pytest.mark.needs("landlock")),
    "off",
)
COMMITS = {("auto", CAGED), ("auto", "primary"), ("landlock", "primary"), ("off", "primary")}
"""Who commits on which tier: in `landlock` a caged agent can only read with git."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("tier", TIERS)
async def test_a_workspace_lives_from_its_start_to_its_end(
    tier: str, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_repository(tmp_path / "shop")
    (root / ".kaged" / "project.yaml").write_text(YAML)
    (root / "a.txt").write_text("a\n")
    git(root, "add", "-A"), git(root, "commit", "-qm", "agents"), git(root, "branch", "side")
    (root / "README.md").write_text("stashed\n"), git(root, "stash", "-q")
    settings = {**settings_overrides, "sandbox": {"mode": tier}}
    async with running_daemon(tmp_path / "data", **settings) as daemon, daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(root)
        before = digest_of(root, without=(".git/refs/kaged",))
        place = await new_workplace(client, driver.project_id)
        driver.session_id = place.session_id
        for agent in ("primary",) if tier == "off" else (CAGED, "primary"):
            commits = (tier, agent) in COMMITS
            who = "-c user.name=T -c user.email=t@example.org"
            command = DOES.replace("{who}", who).replace("git branch side && git branch -D side main", "")
            command = command.replace("git tag v1 &&", "git tag -f v1 &&")
            command = command if commits else command.replace("set -e", "")
            command += "git branch -D main side; true" if agent == "primary" else ""
            done = await called(driver, "shell.bash", agent_path=agent, command=command, timeout=120_000)
            assert done["exit_code"] == 0 or not commits, done["stdout"]
            assert digest_of(root, without=(".git/refs/kaged",)) == before, agent
        git(place.root, "fsck", "--no-dangling")

        await place.merge()
        assert "kept" in (root / "a.txt").read_text()
        after = digest_of(root / ".git", without=("refs/kaged",))
        assert {f".git/{name}": one for name, one in after.items()}.items() <= before.items()
        git(root, "commit", "-qam", "first of it")
        for into in ("side", "main"):
            (place.root / f"{into}.txt").write_text(f"{into}\n")
            await place.merge(into=into)
            assert git(root, "show", f"{into}:{into}.txt") == into
            assert git(root, "status", "--porcelain") == ""
        await place.post("discard"), await place.post("undo")
        (place.root / "last.txt").write_text("last\n")
        await place.post("keep")
        await place.until_removed()
        assert git(root, "show", f"{place.workspace['branch']}:last.txt") == "last"
        assert git(root, "for-each-ref", "refs/kaged") == "" and git(root, "stash", "list") != ""
        left = [one for one in (root / ".git").rglob("*") if one.suffix == ".lock" or "kaged-" in one.name]
        assert left == [] and not list((tmp_path / "data" / "git").iterdir())
        git(root, "fsck", "--strict", "--no-dangling")
