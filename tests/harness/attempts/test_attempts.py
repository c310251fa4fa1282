"""Attempts: three with two models, of which one breaks the check, are compared, and one is picked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.attempts import Attempted
from tests.driver.daemon import running_daemon
from tests.driver.sessions import Driver
from tests.driver.workspaces import PINS, digest_of, git, new_workplace
from tests.fakes.provider_script import Answer, RecordedRequest, Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.attempts.conftest import answer

pytestmark = pytest.mark.requirement("attempts.pick")

CHECK = "cat result.txt; echo checked >> checks.log; grep -q fixed result.txt"


@pytest.fixture
def attempts(driver: Driver) -> Attempted:
    return Attempted(driver.client)


@pytest.mark.needs("cages")
async def test_three_attempts_are_compared_and_one_is_picked(
    driver: Driver, attempts: Attempted, fake: FakeProvider, project_root: Path
) -> None:
    fake.script(*[answer] * 40)
    before, repository = digest_of(project_root, without=(".git/",)), digest_of(project_root / ".git")
    asked = {"n": 3, "models": ["main", "other"], "check": CHECK}
    started = await attempts.start(driver.project_id, "Fix it.", **asked)
    assert (started["state"], attempts.states) == ("running", ["creating"] * 3)
    found = await attempts.until_done()
    assert attempts.states == ["succeeded"] * 3
    assert [one["model"] for one in attempts.items] == ["fake:model-a", "fake:model-b", "fake:model-a"]
    checks = [(one["check"]["state"], one["check"]["exit_code"]) for one in attempts.items]
    assert checks == [("passed", 0), ("failed", 1), ("passed", 0)]
    assert [one["check"]["output"] for one in attempts.items] == ["fixed\n", "worse\n", "fixed\n"]
    assert attempts.items[0]["changes"] == {"files": 1, "additions": 1, "deletions": 0, "incomplete": None}
    assert [(one["tokens"], one["cost_usd"]) for one in attempts.items] == [(30, 20.0)] * 3
    assert (found["tokens"], found["cost_usd"]) == (90, 60.0)
    assert all(one["duration_ms"] > 0 for one in attempts.items)
    bases = {
        (await attempts.call("GET", f"/sessions/{one}/workspace"))["base_commit"] for one in attempts.ids
    }
    assert bases == {git(project_root, "rev-parse", "HEAD")} == {found["base_commit"]}
    assert digest_of(project_root, without=(".git/",)) == before
    assert digest_of(project_root / ".git", without=PINS) == repository

    first, second, third = attempts.ids
    assert ((await attempts.root(first)) / "checks.log").read_text() == "checked\n"
    dry = await attempts.pick(first, dry_run=True)
    assert [one["path"] for one in dry["merge"]["files"]] == ["result.txt"]
    assert dry["discarded"] == [second, third] and dry["attempt_group"]["state"] == "done"
    (project_root / "result.txt").write_text("mine\n")
    refused = await attempts.pick(first, 409)
    assert refused["error"]["details"]["reason"] == "checkout_in_the_way"
    assert await attempts.workspaces() == ["ready"] * 3
    assert (await attempts.look())["state"] == "done"
    (project_root / "result.txt").unlink()
    picked = await attempts.pick(first)
    assert (picked["attempt_group"]["state"], picked["discarded"]) == ("picked", [second, third])
    assert (project_root / "result.txt").read_text() == "fixed\n"
    assert await attempts.workspaces() == ["merged", "discarded", "discarded"]

    again = await attempts.pick(first)
    assert (again["merge"]["files"], again["discarded"]) == ([], [])
    await attempts.call("POST", f"/sessions/{second}/workspace/undo")
    other = (await attempts.pick(second, 409))["error"]
    assert other["details"] == {"reason": "already_picked", "picked_session_id": first}
    assert f"To have {second} as well" in other["message"]
    listed = await attempts.call("GET", f"/projects/{driver.project_id}/attempts")
    assert [one["picked_session_id"] for one in listed["items"]] == [first]
    trail = await attempts.call("GET", f"/audit?project_id={driver.project_id}&event=attempts.*")
    assert [one["event"] for one in trail["items"]] == ["attempts.picked", "attempts.started"]


async def test_attempts_go_on_from_a_session_with_what_the_checkout_holds(
    driver: Driver, attempts: Attempted, fake: FakeProvider, project_root: Path
) -> None:
    fake.script(*[answer] * 40)
    await driver.run("What is this?")
    (project_root / "result.txt").unlink()
    (project_root / "src" / "shop.py").write_text("not committed\n")
    (project_root / "new.txt").write_text("not staged\n")
    body = {"content": "Try it.", "attempts": {"n": 2, "models": ["other"]}}
    answers = [
        await driver.client.post(
            f"/api/v1/sessions/{driver.session_id}/messages", json=body, headers={"idempotency-key": "once"}
        )
        for _ in range(2)
    ]
    assert [one.status_code for one in answers] == [202, 202], answers[0].text
    assert answers[0].content == answers[1].content
    posted = answers[0].json()
    attempts.group = posted["attempt_group"]
    assert (posted["queued"], posted["run"], posted["message"]["session_id"]) == (True, None, attempts.ids[0])
    (project_root / "new.txt").write_text("written since\n")
    found = await attempts.until_done()
    assert (found["base"], found["session_id"]) == ("working", driver.session_id)
    assert attempts.states == ["succeeded"] * 2
    assert [one["changes"]["files"] for one in attempts.items] == [1, 1]
    for session_id in attempts.ids:
        root = await attempts.root(session_id)
        assert (root / "src" / "shop.py").read_text() == "not committed\n"
        assert (root / "new.txt").read_text() == "not staged\n"
        assert (root / "result.txt").read_text() == "worse\n"
        assert git(root, "rev-parse", "HEAD") == found["base_commit"]
        said = (await driver.call("GET", f"/sessions/{session_id}/messages"))["items"]
        assert [one["content"] for one in said if one["role"] == "operator"] == ["What is this?", "Try it."]
    assert len(await driver.messages()) == 4
    seeds = (project_root.parent / "data" / "workspaces").glob("*/att_*")
    assert not list(seeds)
    await attempts.pick(attempts.ids[1])
    assert (project_root / "result.txt").read_text() == "worse\n"
    assert (project_root / "new.txt").read_text() == "written since\n"


def long_answer(request: RecordedRequest) -> Answer:
    """Write eight files, one after the other."""
    done = sum(one["role"] == "tool" for one in request.json["messages"])
    if done == 8:
        return text_reply("Done.")
    return Reply((ToolCall("file_write", {"path": f"{done}.txt", "content": "x"}),))


async def test_the_budget_of_all_stops_each_of_them(
    driver: Driver, attempts: Attempted, fake: FakeProvider
) -> None:
    fake.script(*[long_answer] * 40)
    await attempts.start(driver.project_id, "Fix it.", n=3, budget={"cost_usd": 150.0})
    found = await attempts.until(lambda group: group["state"] == "done")
    assert found["budget"] == {"tokens": None, "cost_usd": 150.0}
    # Each call costs 10: when the 15th has ended nobody makes a 16th; those under way then end.
    assert 150.0 <= found["cost_usd"] < 180.0
    asked = ",".join(f"{one}:0" for one in attempts.ids)
    caught = (await driver.call("GET", f"/sync?sessions={asked}"))["sessions"]
    # One of them says it for all. Between two looks of theirs at most three calls end.
    (near,) = [
        one["payload"] for session in caught for one in session["frames"] if one["type"] == "budget.warning"
    ]
    assert (near["shared"], near["reached"], near["limit"]) == (True, False, 150.0)
    assert 120.0 <= near["used"] < 150.0
    assert "paused" in attempts.states
    paused = attempts.ids[attempts.states.index("paused")]
    assert (await driver.call("GET", f"/sessions/{paused}"))["state_reason"] == "budget"
    await driver.call("POST", f"/sessions/{paused}/resume")
    await attempts.until(lambda group: group["state"] == "done")
    assert attempts.group["cost_usd"] == found["cost_usd"]


async def test_what_cannot_be_is_refused_and_nothing_is_made(driver: Driver, attempts: Attempted) -> None:
    for given, field in (
        ({"n": 1}, "attempts.n"),
        ({"n": 9}, "attempts.n"),
        ({"n": 2, "models": ["nobody"]}, "attempts.models.0"),
        ({"n": 2, "models": ["main"] * 3}, "attempts.models"),
        ({"n": 2, "base": "no-such-branch"}, "workspace.base"),
        ({"n": 2, "check": ""}, "attempts.check"),
        ({"n": 2, "budget": {"cost_usd": 0}}, "attempts.budget.cost_usd"),
    ):
        said = await attempts.start(driver.project_id, "Fix it.", 400, **given)
        assert list(said["error"]["details"]["fields"]) == [field], said
    messages = f"/sessions/{driver.session_id}/messages"
    both = await attempts.call("POST", messages, 400, content="x", model="main", attempts={"n": 2})
    assert both["error"]["details"]["fields"] == {"model": "not with `attempts`"}
    own = await driver.new_session(workspace="worktree")
    said = await attempts.call("POST", f"/sessions/{own}/messages", 409, content="x", attempts={"n": 2})
    assert said["error"]["details"]["reason"] == "session_in_workspace"
    assert (await driver.call("GET", f"/projects/{driver.project_id}/attempts"))["total"] == 0
    assert (await driver.call("GET", f"/projects/{driver.project_id}/workspaces"))["total"] == 1
    await attempts.call("GET", "/attempts/att_01JZ0000000000000000000000", 404)


async def test_nothing_begins_in_a_project_that_is_not_trusted(
    tmp_path: Path, settings_overrides: dict[str, Any], project_root: Path
) -> None:
    settings = {**settings_overrides, "projects": {"trusted": []}}
    async with running_daemon(tmp_path / "data", **settings) as daemon, daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(project_root)
        said = await Attempted(client).start(driver.project_id, "Fix it.", 409, n=2, base="working")
        assert said["error"]["details"]["reason"] == "project_untrusted"
        assert not list((tmp_path / "data" / "workspaces").glob("*/*"))


async def test_workspaces_have_nothing_uncommitted_that_the_cage_of_their_agent_denies(
    driver: Driver, attempts: Attempted, fake: FakeProvider, project_root: Path
) -> None:
    fake.script(*[answer] * 10)
    cage = "cage: { fs: [{ mode: rw, path: . }, { mode: deny, path: notes }] }"
    (project_root / "notes").mkdir(), (project_root / "notes" / "old.txt").write_text("before\n")
    file = project_root / ".kaged" / "project.yaml"
    file.write_text(file.read_text().replace("cage: disabled", cage))
    git(project_root, "add", "-A"), git(project_root, "commit", "-qm", "notes")
    await driver.load(project_root)
    for name in ("seen.txt", "notes/private.txt", "notes/old.txt"):
        (project_root / name).write_text("not committed\n")
    place = await new_workplace(driver.client, driver.project_id, base="working")
    await attempts.start(driver.project_id, "Fix it.", n=2, base="working")
    await attempts.until_done()
    for root in (place.root, *[await attempts.root(one) for one in attempts.ids]):
        names = git(root, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
        assert "seen.txt" in names and "notes/private.txt" not in names
        assert git(root, "show", "HEAD:notes/old.txt") == "before"
