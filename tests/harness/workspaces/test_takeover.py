"""A daemon that takes a project over ends what the one before had begun with its workspaces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.harness.workspaces.creation import Creation
from app.harness.workspaces.merging import MergeWish
from app.storage.backup import upgrade
from tests.driver.attempts import Attempted
from tests.driver.daemon import Daemon, running_daemon
from tests.driver.sessions import Driver
from tests.driver.workspaces import Workplace, git, new_workplace
from tests.harness.workspaces.test_recovery import under_way

pytestmark = pytest.mark.requirement("workspaces.recovery", "replicas.takeover")


async def never(*_: Any) -> None:
    await asyncio.Event().wait()


class Shared:
    """Daemons on one database, one after the other, each with a data folder of its own."""

    def __init__(self, folder: Path, url: str, settings: dict[str, Any]) -> None:
        self.folder, self.url, self.settings = folder, url, settings

    @asynccontextmanager
    async def daemon(self, name: str) -> AsyncIterator[tuple[Daemon, Driver]]:
        storage = {"url": self.url, "replicas": True, "replica_url": "http://127.0.0.1:1"}
        async with (
            running_daemon(self.folder / name, storage=storage, **self.settings) as daemon,
            daemon.client() as client,
        ):
            yield daemon, Driver(daemon, client)

    def folders(self, name: str) -> set[str]:
        """Return the names of the folders of workspaces, and of what they begin with."""
        return {one.name for one in (self.folder / name / "workspaces").glob("*/*")}


@pytest.fixture
async def shared(tmp_path: Path, postgres_url: str, settings_overrides: dict[str, Any]) -> Shared:
    await upgrade(postgres_url, tmp_path)
    return Shared(tmp_path, postgres_url, settings_overrides)


@pytest.mark.parametrize("reached", [True, False], ids=["one-machine", "other-machines"])
async def test_what_the_owner_before_had_begun_is_ended(
    shared: Shared, project_root: Path, reached: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shared.daemon("first") as (daemon, driver):
        await driver.load(project_root)
        project_id = driver.project_id
        merging, ready = [await new_workplace(driver.client, project_id) for _ in range(2)]
        (merging.root / "one.py").write_text("one\n"), (merging.root / "two.py").write_text("two\n")
        (ready.root / "ready.py").write_text("ready\n")
        await under_way(daemon, merging, MergeWish())
        (project_root / "one.py").write_text("one\n")
        with monkeypatch.context() as patch:
            patch.setattr(Creation, "make", never)
            making = await new_workplace(driver.client, project_id, state="creating")
            half = Path((await making.look())["root"])
            group = Attempted(driver.client)
            await group.start(project_id, "Fix it.", n=2, base="working")
            await daemon.services.management.folders.workspaces.aclose()
        half.mkdir(parents=True)
    places = {one.workspace["id"] for one in (merging, ready, making)}
    assert {group.group["id"], *places} <= shared.folders("first")
    if not reached:
        (shared.folder / "first").rename(shared.folder / "away")

    async with shared.daemon("second") as (daemon, driver):
        merging, ready, making = (
            Workplace(driver.client, one.session_id, {}) for one in (merging, ready, making)
        )
        made = await making.until("ready")
        assert Path(made["root"]).is_relative_to(shared.folder / "second")
        group = Attempted(driver.client, group.group)
        attempted = [Workplace(driver.client, one, {}) for one in group.ids]
        for one in attempted:
            await one.until("ready" if reached else "broken")
        if reached:
            assert (await merging.until("merged"))["merged"]["into"] == "working_tree"
            assert (project_root / "two.py").read_text() == "two\n"
            assert (await merging.merge())["into"] == "working_tree"  # nothing is left to bring
            await ready.post("keep")
            await ready.until_removed()
            assert git(project_root, "show", f"{ready.workspace['branch']}:ready.py") == "ready"
            assert shared.folders("first") == {merging.workspace["id"]}
            for one in attempted:
                assert (one.root / "one.py").read_text() == "one\n"  # as the checkout was then
        else:
            assert "data folder of another daemon" in (await merging.until("merging"))["detail"]
            assert not (project_root / "two.py").exists()
            for one in attempted:
                assert "uncommitted changes" in one.workspace["detail"]
            refused = await ready.post("keep", 409)
            assert refused["error"]["details"]["reason"] == "workspace_elsewhere"
            assert (await ready.post("discard"))["state"] == "discarded"
        body = {"content": "Go on."}
        said = await driver.client.post(f"/api/v1/sessions/{merging.session_id}/messages", json=body)
        assert said.json()["error"]["details"]["reason"] == "workspace_elsewhere", said.text
        found = await driver.client.get(f"/api/v1/projects/{project_id}/workspaces")
        held = {one["id"] for one in found.json()["items"] if one["removed_at"] is None}
        assert (
            set(git(project_root, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/kaged").split())
            == held
        )
