"""Runs of workflows in workspaces: as the workflow says, the project, or who starts the run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.driver.daemon import running_daemon
from tests.driver.workspaces import git
from tests.fakes.provider_script import Reply, ToolCall
from tests.fakes.provider_server import FakeProvider
from tests.harness.laboratory import Laboratory
from tests.harness.workflows.working import WORKFLOWS_YAML, Shop, says, write_shop

pytestmark = pytest.mark.requirement("workspaces.workflows")
YAML = (
    WORKFLOWS_YAML.replace("  photo:\n", "  photo:\n    workspace: worktree\n")
    + "workspace: { default: worktree }\n"
)


async def test_a_run_works_where_its_workflow_the_project_or_its_start_says(
    lab: Laboratory, fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_shop(tmp_path / "shop", YAML)
    git(root, "init", "-q"), git(root, "add", "-A"), git(root, "commit", "-qm", "first")
    async with running_daemon(tmp_path / "data", **settings_overrides) as daemon, daemon.client() as client:
        shop = Shop(daemon, client)
        await shop.load(root)
        upload = await client.post(
            f"/api/v1/uploads?project_id={shop.project_id}&name=a.txt", content=b"seen\n"
        )
        uploaded = upload.json()["id"]

        def reads(request: Any) -> Reply:
            found = re.search(r"\.kaged/tmp/[^\"\\]+", str(request.json["messages"][1]["content"]))
            path = "" if found is None else found[0]
            return Reply((ToolCall("file_read", {"path": path}, id="call_1"),))

        writes = Reply((ToolCall("file_create", {"path": "made.txt", "content": "x"}, id="call_2"),))
        fake.script(reads, writes, says("Done."), says("Done."), says("Done."))
        photo = await shop.invoke("photo", {"picture": uploaded})
        done = await shop.until(photo["id"], "succeeded", "failed")
        place = await shop.call("GET", f"/sessions/{done['session_id']}/workspace")
        for wish, kind in ((None, "worktree"), ("shared", "shared")):
            run = await shop.invoke("nap", **({} if wish is None else {"workspace": wish}))
            ended = await shop.until(run["id"], "succeeded", "failed")
            assert (ended["state"], ended["workspace"]) == ("succeeded", wish), ended
            found = await shop.call("GET", f"/sessions/{ended['session_id']}/workspace")
            assert found["kind"] == kind
        merged = await shop.call("POST", f"/sessions/{done['session_id']}/workspace/merge", {})
        answers = (await shop.call("GET", f"/sessions/{done['session_id']}/messages"))["items"]
    assert (done["state"], place["kind"]) == ("succeeded", "worktree"), done
    assert any("1: seen" in str(one["content"]) for one in answers if one["role"] == "tool")
    assert [one["path"] for one in merged["files"]] == ["made.txt"]
    assert (root / "made.txt").read_text() == "x"


async def test_a_run_whose_workspace_cannot_be_had_fails_with_the_reason(
    lab: Laboratory, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    settings_overrides["workspaces"] = {"max_gb": 0.000001}
    root = write_shop(tmp_path / "shop")
    async with running_daemon(tmp_path / "data", **settings_overrides) as daemon, daemon.client() as client:
        shop = Shop(daemon, client)
        await shop.load(root)
        run = await shop.invoke("nap", workspace="worktree")
        failed = await shop.until(run["id"], "succeeded", "failed")
    assert (failed["state"], failed["error"]["code"]) == ("failed", "cannot_run")
