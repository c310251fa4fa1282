"""A session works in the workspace that the daemon has made for it, and nothing is left of it afterwards."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.errors import Conflict
from app.harness.workspaces.creation import Creation
from tests.driver.sessions import Driver, driven
from tests.driver.workspaces import PINS, Workplace, digest_of, git, new_workplace, write_repository
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.workspaces.placing import called
from tests.harness.workspaces.test_repository import CAGED, YAML

pytestmark = pytest.mark.requirement("workspace.roots")


@pytest.mark.needs("cages")
async def test_agents_commit_in_a_workspace_that_the_daemon_has_made(
    tmp_path: Path, settings_overrides: dict[str, Any], fake: FakeProvider
) -> None:
    project = write_repository(tmp_path / "shop")
    ports = "workspace: { ports: 2 }\n"
    (project / ".kaged" / "project.yaml").write_text(f"{YAML}{ports}")
    git(project, "commit", "-qam", "agents")
    before = digest_of(project, without=(".git/",))
    async with driven(tmp_path / "data", project, **settings_overrides) as driver:
        place = await new_workplace(driver.client, driver.project_id)
        kept = digest_of(project / ".git", without=PINS)
        own = Driver(driver.daemon, driver.client)
        own.project_id, own.session_id = driver.project_id, place.session_id
        commit = "echo 1 > new.txt && git add -A && git commit -qm 'by an agent' && git gc -q --prune=now"
        for agent, line in ((CAGED, commit), ("primary", f"{commit.replace('1', '2')}; git branch -D main")):
            done = await called(own, "shell.bash", agent_path=agent, command=line, timeout=120_000)
            assert done["exit_code"] == 0, done["stdout"]
        said = await called(own, "shell.bash", command='echo "$KAGED_WORKSPACE $KAGED_WORKSPACE_PORT"')
        assert said["stdout"].split() == [str(place.root), str(place.workspace["first_port"])]
        fake.script(Reply((ToolCall("file_read", {"path": "new.txt"}, id="c1"),)), text_reply("Done."))
        watch = await own.run("Go")
        assert watch.of("message.tool_result")[0]["payload"]["content"].endswith("1: 2")
        system = fake.requests[0].json["messages"][0]["content"]
        assert f"on the branch {place.workspace['branch']}," in system
        assert f"({place.workspace['base_commit'][:12]})" in system
        assert git(place.root, "log", "--format=%s %an").splitlines()[:2] == ["by an agent Ada"] * 2
        assert digest_of(project / ".git", without=PINS) == kept
        assert digest_of(project, without=(".git/",)) == before
        await place.post("keep")
        await place.until_removed()
        assert (
            not place.root.exists()
            and driver.daemon.services.projects.workspaces.first_port(place.root) is None
        )


async def test_a_message_that_waits_for_a_workspace_learns_why_that_is_broken(
    tmp_path: Path,
    settings_overrides: dict[str, Any],
    fake: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project, may_fail = write_repository(tmp_path / "shop"), asyncio.Event()
    has_room: list[bool] = []
    make = Creation.make

    async def fails(*given: Any) -> Any:
        await may_fail.wait()
        if has_room:
            return await make(*given)
        raise Conflict("There is no room.")

    monkeypatch.setattr(Creation, "make", fails)
    async with driven(tmp_path / "data", project, **settings_overrides) as driver:
        await driver.new_session(workspace="worktree")
        async with driver.watching() as watch:
            assert (await driver.post("Begin"))["queued"]
            assert (await watch.until_type("run.queued"))["payload"]["reason"] == "workspace"
            may_fail.set()
            ended = (await watch.until_state("idle"))["payload"]
        why = (
            "The session's workspace could not be created: There is no room. Create it again with `kaged "
            "workspace retry`, or open another session."
        )
        assert (ended["reason"], ended["detail"]) == ("cannot_run", why)
        assert [one["content"] for one in await driver.messages()] == ["Begin"]
        for method, path, body in (("POST", "/messages", {"content": "Go on"}), ("GET", "/changes", None)):
            refused = (await driver.session_call(method, path, body, status=409))["error"]
            assert (refused["message"], refused["details"]["state"]) == (why, "broken")
        assert not fake.requests
        again = await driver.session_call("POST", "/workspace/retry", status=202)
        assert (again["state"], again["detail"], again["removed_at"]) == ("creating", None, None)
        place = Workplace(driver.client, driver.session_id, {})
        assert (await place.until("broken"))["detail"] == "There is no room."
        has_room.append(True)
        await driver.session_call("POST", "/workspace/retry", status=202)
        await place.until("ready")
        assert git(place.root, "rev-parse", "HEAD") == git(project, "rev-parse", "HEAD")
        await driver.session_call("POST", "/workspace/retry", status=409)  # it is not broken
        fake.script(text_reply("Done."))
        await driver.run("Go on")
        asked = [one["content"] for one in fake.requests[0].json["messages"] if one["role"] == "user"]
        assert "Begin" in str(asked) and "Go on" in str(asked)
