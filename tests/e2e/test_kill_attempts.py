"""kill -9 at any moment of a start of attempts, of their checks and of a pick: nothing is left half done."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon_process import WAIT_SECONDS, DaemonProcess, write_config
from tests.driver.rounds import SEED, rounds
from tests.driver.workspaces import digest_of, git, write_repository
from tests.fakes.provider_script import Answer, RecordedRequest, Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = [pytest.mark.requirement("attempts.recovery"), pytest.mark.needs("cages")]

KILLS = rounds(3, 100)
PICKS = rounds(3, 100)
FILES = 8
LONGEST = {"start": 3.0, "check": 1.5}
"""Within how many seconds of a step the daemon is killed; the step may have ended before."""
CHECK = "echo begun >> checks.log; sleep 0.3; ls made-*"


def answer(request: RecordedRequest) -> Answer:
    """Write the files of the round that the message names, and once more those whose write a kill cut off."""
    messages: list[dict[str, Any]] = request.json["messages"]
    asked = max(at for at, one in enumerate(messages) if one["role"] == "user")
    number = str(messages[asked]["content"]).split()[1]
    since = messages[asked:]
    said = " ".join(str(one["content"]) for one in since if one["role"] == "tool")
    names = [f"made-{number}-{one}.txt" for one in range(FILES)]
    wanted = [name for name in names if name not in said]
    if not wanted or sum(one["role"] == "assistant" for one in since) > 2:
        return text_reply("Done.")
    calls = [ToolCall("file_write", {"path": name, "content": f"{name}\n"}, id=f"c{name}") for name in wanted]
    return Reply(tuple(calls))


async def groups(client: httpx2.AsyncClient, project_id: str) -> list[dict[str, Any]]:
    answer = await client.get(f"/projects/{project_id}/attempts", params={"limit": 100})
    found: list[dict[str, Any]] = answer.raise_for_status().json()["items"]
    return found


async def listed(client: httpx2.AsyncClient, project_id: str) -> list[dict[str, Any]]:
    """Return all workspaces of the project."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        path = f"/projects/{project_id}/workspaces"
        page = (await client.get(path, params={"limit": 100, **cursor})).raise_for_status().json()
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


async def settled(client: httpx2.AsyncClient, project_id: str) -> list[dict[str, Any]]:
    """Return all groups once none of them has anything to do."""
    found: list[dict[str, Any]] = []
    try:
        async with asyncio.timeout(WAIT_SECONDS * 3):
            while True:
                found = await groups(client, project_id)
                if all(one["state"] in ("done", "picked") for one in found):
                    return found
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(found) from None


async def check(client: httpx2.AsyncClient, project_id: str, root: Path, data: Path) -> None:
    """Compare what is on disk, and what the daemon says of sessions and workspaces."""
    found = await listed(client, project_id)
    held = {one["id"] for one in found if one["removed_at"] is None}
    assert {one.name for one in (data / "workspaces").glob("prj_*/*")} == held, found
    assert set(git(root, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/kaged").split()) == held
    assert not list(root.rglob("*.lock")), "a lock of git's is left"
    sessions = {one["session_id"] for group in await groups(client, project_id) for one in group["attempts"]}
    assert {one["session_id"] for one in found} == sessions


async def start(client: httpx2.AsyncClient, project_id: str, number: int, base: str) -> dict[str, Any]:
    asked = {"n": 2, "check": CHECK, "base": base}
    body = {"content": f"Round {number}", "attempts": asked}
    made = await client.post(f"/projects/{project_id}/attempts", json=body)
    answer: dict[str, Any] = made.raise_for_status().json()
    return answer


async def killed_within(daemon: DaemonProcess, step: Any, seconds: float) -> None:
    """Kill the daemon a while after a step has begun."""
    task = asyncio.create_task(step)
    await asyncio.sleep(seconds)
    await daemon.kill()
    with contextlib.suppress(httpx2.HTTPError):
        await task


@pytest.mark.timeout(7200)
async def test_kills_while_attempts_start_and_are_checked_orphan_nothing(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    root = write_repository(tmp_path / "shop")
    before = digest_of(root, without=(".git/",))
    data = tmp_path / "data"
    async with FakeProvider() as fake:
        fake.script(*[answer] * 10_000)
        config = write_config(tmp_path / "config.toml", int(fake.base_url.rpartition(":")[2]))
        daemon = await DaemonProcess.start(data, config, root)
        try:
            for number in range(KILLS):
                base = chance.choice(["head", "working"])
                async with daemon.client() as client:
                    begun = start(client, daemon.project_id, number, base)
                    if chance.random() < 0.5:
                        await killed_within(daemon, begun, chance.uniform(0, LONGEST["start"]))
                    else:
                        group = await begun
                        await until_checking(client, group["id"])
                        await killed_within(daemon, asyncio.sleep(0), chance.uniform(0, LONGEST["check"]))
                daemon = await DaemonProcess.start(data, config, root)
                async with daemon.client() as client:
                    found = await settled(client, daemon.project_id)
                    for group in found:
                        states = [(one["state"], one["check"]["state"]) for one in group["attempts"]]
                        assert states == [("succeeded", "passed")] * 2, group
                    await check(client, daemon.project_id, root, data)
                assert digest_of(root, without=(".git/",)) == before
        finally:
            await daemon.kill()


async def until_checking(client: httpx2.AsyncClient, group_id: str) -> None:
    async with asyncio.timeout(WAIT_SECONDS * 2):
        while True:
            group = (await client.get(f"/attempts/{group_id}")).raise_for_status().json()
            if any(one["check"]["state"] != "none" for one in group["attempts"]):
                return
            await asyncio.sleep(0.05)


@pytest.mark.timeout(7200)
async def test_a_killed_pick_is_finished_or_taken_back(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    root = write_repository(tmp_path / "shop")
    data = tmp_path / "data"
    ends, longest = {"old": 0, "new": 0}, 1.5
    async with FakeProvider() as fake:
        fake.script(*[answer] * 10_000)
        config = write_config(tmp_path / "config.toml", int(fake.base_url.rpartition(":")[2]))
        daemon = await DaemonProcess.start(data, config, root)
        try:
            for number in range(PICKS):
                async with daemon.client() as client:
                    group = await start(client, daemon.project_id, number, "head")
                    await settled(client, daemon.project_id)
                    picked = group["attempts"][number % 2]["session_id"]
                    path, body = f"/attempts/{group['id']}/pick", {"session_id": picked}
                    await killed_within(daemon, client.post(path, json=body), chance.uniform(0, longest))
                daemon = await DaemonProcess.start(data, config, root)
                async with daemon.client() as client:
                    await settled(client, daemon.project_id)
                    after = (await client.get(f"/attempts/{group['id']}")).raise_for_status().json()
                    made = len(list(root.glob(f"made-{number}-*")))
                    states = {one["session_id"]: one["workspace_state"] for one in after["attempts"]}
                    mine = states.pop(picked)
                    seen = (after["state"], made, mine, *states.values())
                    old, new = ("done", 0, "ready", "ready"), ("picked", FILES, "merged", "discarded")
                    assert seen in (old, new), seen
                    ends["new" if seen == new else "old"] += 1
                    await check(client, daemon.project_id, root, data)
                    began = time.monotonic()
                    again = await client.post(path, json=body)
                    assert again.status_code == 200, again.text
                    if seen == old:  # how long a pick takes here and now
                        longest = 1.2 * (time.monotonic() - began)
                    assert len(list(root.glob(f"made-{number}-*"))) == FILES
                git(root, "add", "-A")
                git(root, "commit", "-qm", f"round {number}")
        finally:
            await daemon.kill()
    assert PICKS < 50 or min(ends.values()) > 5, ends
