"""The cage of an agent lives as long as its run, and is never wider than that of who calls it."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.bridges.sandbox.tier import Tier
from app.daemon import cage_setup
from app.harness.delegation import hooks
from tests.driver.family import Cast, agent, calling, enabled, write_family
from tests.driver.sessions import Driver, driven
from tests.fakes.provider_script import Reply, Stall, Text, text_reply
from tests.fakes.provider_server import FakeProvider

CODER = "primary.subagents.coder"
BASH = enabled("shell.bash")
CAGE: dict[str, Any] = {
    "fs": [{"mode": "rw", "path": "."}, {"mode": "deny", "path": "secret"}],
    "capabilities": ["shell"],
}
Drive = Callable[..., AbstractAsyncContextManager[Driver]]
SLEEP = f"sleep 98765.{os.getpid():07}"
"""Sleeps as no other test does: they run at the same time, and all processes of the machine are looked at."""


def family(**cage: Any) -> dict[str, Any]:
    return agent("primary", tools=BASH, subagents={"coder": agent("coder", tools=BASH, cage=CAGE | cage)})


@pytest.fixture
def cast(fake: FakeProvider) -> Cast:
    cast = Cast()
    fake.respond = cast.respond
    return cast


@pytest.fixture
def drive(tmp_path: Path, settings_overrides: dict[str, Any]) -> Drive:
    @asynccontextmanager
    async def drive(primary: dict[str, Any]) -> AsyncIterator[Driver]:
        root = write_family(tmp_path / "family", primary)
        (root / "secret").mkdir()
        (root / "secret" / "a.txt").write_text("canary")
        async with driven(tmp_path / "data", root, **settings_overrides) as driver:
            yield driver

    return drive


def running(command: str) -> list[int]:
    """Return the processes, in cages too, whose command line holds `command`."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path("/proc", name, "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        if command.encode() in line and int(name) != os.getpid():
            found.append(int(name))
    return found


def told(cast: Cast, name: str) -> str:
    """Return the result of an agent's last tool call."""
    return str(cast.messages(name)[-1]["content"])


@pytest.mark.needs("cages")
@pytest.mark.requirement("cages.where.shell", "cages.kernel.holder")
async def test_what_an_agent_leaves_behind_ends_with_its_run(drive: Drive, cast: Cast) -> None:
    seen: list[int] = []

    def look(_: Any) -> Reply:
        seen.extend(running(SLEEP))
        return text_reply("Coded.")

    command = f"cat secret/a.txt; echo $HOME; (setsid {SLEEP} &); sleep 0.1"
    cast.script("primary", calling(("agent-coder", {"task": "Go"})), text_reply("Done."))
    cast.script("coder", calling(("shell_bash", {"command": command})), look)
    async with drive(family()) as driver:
        await driver.run("Go")
        assert seen and not running(SLEEP)
        assert not running(f"{driver.session_id}")
    assert "/home/agent" in told(cast, "coder") and "canary" not in told(cast, "coder")


@pytest.mark.needs("cages")
@pytest.mark.requirement("cages.where.shell", "cages.kernel.holder")
async def test_a_cancelled_run_takes_its_cage_with_it(drive: Drive, cast: Cast) -> None:
    cast.script("primary", calling(("agent-coder", {"task": "Go"})))
    start = calling(("shell_bash", {"command": f"{SLEEP} & sleep 0.1"}))
    cast.script("coder", start, Reply((Text("Sleeping."), Stall())))
    async with drive(family()) as driver:
        async with driver.watching() as watch:
            await driver.post("Go")
            await watch.until_text("Sleeping.")
            assert running(SLEEP)
            await driver.session_call("POST", "/cancel")
            await watch.until_type("run.ended")
        assert not running(SLEEP)


@pytest.mark.needs("cages")
@pytest.mark.requirement("cages.where.shell", "cages.kernel.holder")
async def test_a_daemon_that_stops_leaves_no_cage(drive: Drive, cast: Cast) -> None:
    async with drive(family()) as driver:
        params = {"command": f"{SLEEP} & sleep 0.1"}
        body = {"params": params, "agent_path": CODER}
        done = await driver.session_call("POST", "/tools/shell.bash", body)
        assert done["type"] == "output", done
        assert running(SLEEP)
    assert not running(SLEEP)


@pytest.mark.requirement("cages.policy.narrower")
async def test_a_denial_above_is_a_denial_below(drive: Drive, cast: Cast) -> None:
    below = agent("tester", tools=BASH, cage=CAGE | {"fs": [{"mode": "rw", "path": "secret"}]})
    coder = agent("coder", tools=BASH, cage=CAGE, subagents={"tester": below})
    cast.script("primary", calling(("agent-coder", {"task": "Go"})))
    cast.script("coder", calling(("agent-tester", {"task": "Go"})))
    cast.script("tester", calling(("shell_bash", {"command": "cat secret/a.txt; ls -a", "cwd": "."})))
    async with drive(agent("primary", subagents={"coder": coder})) as driver:
        await driver.run("Go")
    assert "canary" not in told(cast, "tester")


@pytest.mark.requirement("cages.policy.narrower")
async def test_a_child_with_a_wider_cage_is_refused(
    drive: Drive, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler narrows the cage of a child; this is what happens when it should not have."""
    tester = agent("tester", cage=CAGE)
    coder = agent("coder", cage=CAGE, subagents={"tester": tester})
    cast.script("primary", calling(("agent-coder", {"task": "Go"})))
    cast.script("coder", calling(("agent-tester", {"task": "Go"})))
    ready = hooks.CageReady.on_start

    async def on_start(self: Any, delegation: hooks.Delegation) -> hooks.StartVerdict | None:
        if delegation.path.endswith("tester"):
            child = delegation.child.model_copy(update={"cage": "disabled"})
            delegation = replace(delegation, child=child)
        return await ready(self, delegation)

    monkeypatch.setattr(hooks.CageReady, "on_start", on_start)
    async with drive(agent("primary", subagents={"coder": coder})) as driver:
        await driver.run("Go")
    assert "its cage grants more than its parent's: it is not caged at all" in told(cast, "coder")
    assert not cast.requests["tester"]


@pytest.mark.needs("cages")
@pytest.mark.requirement("cages.where.shell")
async def test_two_runs_of_an_agent_at_once_have_cages_of_their_own(drive: Drive, cast: Cast) -> None:
    """The end of one is not the end of the other."""
    cast.script("primary", calling(*(("agent-coder", {"task": f"Task {n}"}) for n in (1, 2))))
    wait = "while [ $(ls began.* | wc -l) -lt 2 ]; do sleep 0.02; done"
    command = f"ls /tmp; touch /tmp/mine; mktemp -qp . began.XXXXXX; {wait}"
    one = calling(("shell_bash", {"command": f"{command}; echo both"}))
    cast.script("coder", one, one)
    async with drive(family()) as driver, asyncio.timeout(60):
        await driver.run("Go")
    results = [cast.messages("coder", index)[-1] for index in (-1, -2)]
    assert ["both" in str(result["content"]) for result in results] == [True, True]
    assert not any("mine" in str(result["content"]) for result in results)


@pytest.mark.needs("cages")
@pytest.mark.requirement("security.root_cage")
async def test_commands_of_a_caged_root_agent_run_in_its_cage_and_commit_nothing(
    drive: Drive, cast: Cast, tmp_path: Path
) -> None:
    """In there are its home, which is kept, and its processes; not what it is denied, nor a new commit."""
    look = "cat secret/a.txt; echo home $HOME; echo note >> $HOME/note; wc -l < $HOME/note"
    commit = (
        "touch file && git -c user.name=a -c user.email=a@example.org commit -qm x --allow-empty; git log"
    )
    one = calling(("shell_bash", {"command": look}), ("shell_bash", {"command": commit}))
    cast.script("primary", one, text_reply("Done."), one, text_reply("Done again."))
    async with drive(agent("primary", tools=BASH, cage=CAGE | {"state": "persistent"})) as driver:
        root = tmp_path / "family"
        await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(root)], check=True)
        await driver.run("Go")
        await driver.run("Again")
    seen = [str(message["content"]) for message in cast.messages("primary")]
    told_of_home = [text for text in seen if "home /home/agent" in text]
    assert len(told_of_home) == 2 and "\n2" in told_of_home[-1].replace("\\n", "\n")
    assert "canary" not in "".join(seen)
    assert not await asyncio.to_thread(list, (root / ".git/objects").glob("??"))


@pytest.mark.needs("cages")
@pytest.mark.requirement("security.root_cage")
async def test_a_subagent_of_a_caged_root_agent_is_held_by_the_cage_of_the_root_agent(
    drive: Drive, cast: Cast
) -> None:
    wide = agent("coder", tools=BASH)
    cast.script("primary", calling(("agent-coder", {"task": "Go"})), text_reply("Done."))
    cast.script("coder", calling(("shell_bash", {"command": "cat secret/a.txt; echo $HOME"})))
    async with drive(agent("primary", tools=BASH, cage=CAGE, subagents={"coder": wide})) as driver:
        await driver.run("Go")
    assert "/home/agent" in told(cast, "coder") and "canary" not in told(cast, "coder")


@pytest.mark.requirement("security.root_cage")
async def test_where_no_cage_can_be_held_the_error_gives_the_lines_that_do_without(
    drive: Drive, cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cage_setup._found, "auto", Tier("none", "bubblewrap is not installed", "Install it"))
    coder = agent("coder", tools=BASH, cage=CAGE)
    async with drive(agent("primary", tools=BASH, cage=CAGE, subagents={"coder": coder})) as driver:
        for path, lines in (("primary", True), (CODER, False)):
            body = {"params": {"command": "touch made"}, "agent_path": path}
            refused = await driver.session_call("POST", "/tools/shell.bash", body)
            assert refused["code"] == "cage_unavailable"
            assert (".kaged/project.local.yaml" in refused["error_text"]) is lines
            assert ("primary:\n  cage: disabled\n" in refused["error_text"]) is lines
            if lines:
                detail = refused["detail"]
        (tmp_path / "family" / detail["file"]).write_text(detail["lines"])
        await driver.call("POST", f"/projects/{driver.project_id}/reload")
        await driver.new_session()
        body = {"params": {"command": "touch made"}, "agent_path": "primary"}
        assert (await driver.session_call("POST", "/tools/shell.bash", body))["type"] == "output"
    assert (tmp_path / "family/made").exists()
