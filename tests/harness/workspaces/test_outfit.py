"""A new workspace is fitted out as the project file says, by what cannot reach beyond it."""

from __future__ import annotations

import asyncio
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.driver.daemon import Daemon, running_daemon
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.sessions import PROJECT_YAML, Driver
from tests.driver.workspaces import Workplace, git, new_workplace, write_repository
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("workspaces.outfit")


async def made(daemon: Daemon, root: Path, section: str, *, committed: bool = True) -> Workplace:
    file = root / ".kaged" / "project.yaml"
    file.write_text(PROJECT_YAML + f"workspace:\n{section}")
    if committed:
        git(root, "commit", "-qam", "workspaces")
    async with daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(root)
        return await new_workplace(client, driver.project_id)


async def test_files_and_folders_that_git_does_not_have_come_along(daemon: Daemon, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    (root / ".gitignore").write_text("*.log\n.env\n*.local\nnode_modules/\nvenv/\nlinked\n")
    (root / ".env").write_text("KEY=1\n"), (root / ".env").chmod(0o600)
    (root / "src" / "a.local").write_text("a\n"), (root / "src" / "b.local").write_text("b\n")
    (tmp_path / "secret").write_text("outside\n")
    (root / "src" / "c.local").symlink_to(tmp_path / "secret")
    (root / "linked").symlink_to(tmp_path)
    (root / "node_modules" / "one").mkdir(parents=True)
    (root / "node_modules" / "one" / "index.js").write_text("1\n")
    (root / "venv").mkdir(), (root / "venv" / "pyvenv.cfg").write_text("home = /usr\n")
    git(root, "add", ".gitignore")
    section = (
        "  copy: ['.env', 'src/*.local', 'linked/secret', 'missing']\n"
        "  link: [node_modules, venv]\n"
        "  ports: 3\n"
    )
    place = await made(daemon, root, section)
    assert (place.root / ".env").read_text() == "KEY=1\n"
    assert (place.root / ".env").stat().st_mode & 0o777 == 0o600
    assert sorted(one.name for one in (place.root / "src").glob("*.local")) == ["a.local", "b.local"]
    assert not (place.root / "linked").exists() and not (place.root / "venv").exists()
    assert (place.root / "node_modules" / "one" / "index.js").read_text() == "1\n"
    (place.root / "node_modules" / "one" / "index.js").write_text("2\n")
    assert (root / "node_modules" / "one" / "index.js").read_text() == "1\n"
    found = place.workspace
    assert found["ports"] == 3 and 42_000 <= found["first_port"] < 48_000
    said = ("`copy: missing` names no file.", "`copy: linked/secret` names no file.", "Python environment")
    assert [one for one in said if one not in found["detail"]] == [], found["detail"]
    other = await made(daemon, root, section, committed=False)
    assert abs(other.workspace["first_port"] - found["first_port"]) >= 3


@pytest.mark.needs("cages")
async def test_the_setup_writes_the_workspace_only(daemon: Daemon, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    line = (
        "echo made > made.txt; echo told; "
        f"echo no > {root}/broken.txt; echo no > .git/hooks/pre-commit; ls {root}; "
        'test "$KAGED_WORKSPACE_PORT" -gt 0 && echo "$KAGED_WORKSPACE"; exit 7'
    )
    place = await made(daemon, root, f"  setup: {json.dumps(line)}\n  ports: 1\n")
    found = place.workspace
    assert found["state"] == "ready"
    assert "`setup` ended with 7" in found["detail"]
    assert found["setup_log"].startswith("told\n") and found["id"] in found["setup_log"]
    assert (place.root / "made.txt").read_text() == "made\n"
    assert not (root / "broken.txt").exists() and "src" not in found["setup_log"].split()
    assert not (place.root / ".git" / "hooks" / "pre-commit").exists()


@pytest.mark.needs("cages")
async def test_an_installed_package_that_is_the_checkout_is_reported(daemon: Daemon, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    packages = f".venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    setup = (
        f"mkdir -p {packages} && touch .venv/pyvenv.cfg && echo {root}/src > {packages}/__editable__.shop.pth"
        f" && pwd > {packages}/own.pth"
    )
    place = await made(daemon, root, f"  setup: '{setup}'\n")
    assert "files of the checkout, not those here: __editable__.shop." in place.workspace["detail"]
    assert "own" not in place.workspace["detail"].partition("here:")[2].replace("shop", "")


async def test_a_session_works_where_the_project_file_says(daemon: Daemon, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    await made(daemon, root, "  default: worktree\n")
    async with daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(root)
        for wish, kind in (({}, "worktree"), ({"workspace": "shared"}, "shared")):
            answer = await client.post("/api/v1/sessions", json={"project_id": driver.project_id, **wish})
            place = Workplace(client, answer.json()["id"], {})
            assert (await place.until("ready"))["kind"] == kind


async def test_the_first_run_waits_for_the_workspace(
    fake: FakeProvider, settings_overrides: dict[str, Any], tmp_path: Path
) -> None:
    root = write_repository(tmp_path / "shop")
    file = root / ".kaged" / "project.yaml"
    setup = "touch begun; until test -e go; do sleep 0.05; done"
    file.write_text(PROJECT_YAML + f"workspace: {{setup: {json.dumps(setup)}}}\n")
    fake.script(text_reply("Done."))
    async with running_daemon(tmp_path / "data", **settings_overrides) as daemon, daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(root)
        body = {"project_id": driver.project_id, "workspace": "worktree"}
        place = Workplace(client, (await client.post("/api/v1/sessions", json=body)).json()["id"], {})
        session = f"/api/v1/sessions/{place.session_id}"
        posted = await client.post(f"{session}/messages", json={"content": "Begin"})
        assert posted.status_code == 202 and posted.json()["queued"] is True, posted.text
        assert (await client.get(session)).json()["state"] == "queued"
        root = Path((await place.look())["root"])
    # What begins from now on begins in the next life.
    (root / "begun").unlink(missing_ok=True)
    # It waits in the next life of the daemon, too, which begins to make the workspace again.
    async with running_daemon(tmp_path / "data", **settings_overrides) as daemon, daemon.client() as client:
        again = await client.get(session)
        assert again.status_code == 200 and again.json()["state"] == "queued", again.text
        place = Workplace(client, place.session_id, {})
        async with asyncio.timeout(WAIT_SECONDS):
            while (await place.look())["state"] != "ready":
                if (root / "begun").exists():
                    (root / "go").touch()
                await asyncio.sleep(0.02)
            while (await client.get(session)).json()["state"] != "idle":  # noqa: ASYNC110 - as a client
                await asyncio.sleep(0.05)
        messages = (await client.get(f"{session}/messages")).json()["items"]
        assert [one["content"] for one in messages] == ["Begin", "Done."]
        seen = (await client.get(f"/api/v1/sync?sessions={place.session_id}:0")).json()
        assert '"reason":"workspace"' in json.dumps(seen, separators=(",", ":"))


async def test_workspaces_that_are_made_at_once_have_ports_of_their_own(
    daemon: Daemon, tmp_path: Path
) -> None:
    root = write_repository(tmp_path / "shop")
    await made(daemon, root, "  ports: 3\n")
    async with daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(root)
        places = await asyncio.gather(*(new_workplace(client, driver.project_id) for _ in range(4)))
    first = sorted(one.workspace["first_port"] for one in places)
    assert [b - a >= 3 for a, b in pairwise(first)] == [True] * 3, first
