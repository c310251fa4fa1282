"""Commands and recipes of a caged agent, in a real cage."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from app.bridges.sandbox.bounds import bounded_together
from app.bridges.sandbox.tier import Tier
from app.tools.processes.call_processes import IDLE_SECONDS
from tests.driver.caged_machine import FULL, LANDLOCK, CagedMachine, caged_machine, until
from tests.driver.loop_clock import put_forward

SHELL = {"capabilities": ["shell"]}


@pytest.fixture
async def machine(desk: Any) -> AsyncIterator[CagedMachine]:
    async with caged_machine(desk) as machine:
        yield machine


def agent(machine: CagedMachine, *fs: tuple[str, str], run: str = "run_1", **more: Any) -> Any:
    caged = machine.desk.caged(*(fs or (("rw", "."),)), **SHELL, **more)
    return replace(caged, context=replace(caged.context, run_id=run))


async def output(desk: Any, command: str, **params: Any) -> str:
    done = await desk.ok("shell.bash", command=command, **params)
    return str(done["stdout"]).replace("\r\n", "\n").strip()


@pytest.mark.requirement("cages.where.shell", "cages.kernel.environment")
async def test_a_command_sees_what_is_granted_and_no_more(machine):
    desk = agent(machine, ("rw", "."), ("ro", "docs"), ("deny", "secret"))
    for path in ("src/a.txt", "docs/b.txt", "secret/c.txt"):
        desk.put(path, path)
    outside = desk.base / "outside.txt"
    outside.write_text("canary")
    told = await output(
        desk,
        f"cat src/a.txt docs/b.txt; echo; cat secret/c.txt {outside}; echo no > docs/b.txt;"
        " echo yes > src/a.txt; ls secret; env; pwd",
        env={"GIVEN": "by the call"},
    )
    lines = told.split("\n")
    assert lines[0] == "src/a.txtdocs/b.txt"
    assert "secret/c.txt\n" not in told and "canary" not in told
    assert told.count("No such file") >= 1 and "Read-only file system" in told
    assert (desk.root / "src/a.txt").read_text() == "yes\n"
    assert (desk.root / "docs/b.txt").read_text() == "docs/b.txt"
    assert lines[-1] == str(desk.root)
    assert "GIVEN=by the call" in lines and "HOME=/home/agent" in lines
    assert not any(line.startswith("OF_THE_DAEMON") for line in lines)


@pytest.mark.requirement("cages.where.shell", "cages.kernel.landlock")
async def test_the_weaker_tier_holds_files_and_refuses_what_it_cannot_hold(desk):
    outside = desk.base / "outside.txt"
    outside.write_text("canary")
    desk.put("docs/b.txt", "b")
    desk.put("src/a", "no")
    async with caged_machine(desk, LANDLOCK) as machine:
        caged = agent(machine, ("rw", "."), ("ro", "docs"))
        told = await output(caged, f"cat docs/b.txt {outside}; echo no > docs/b.txt; echo yes > src/a; env")
        assert told.startswith("b") and "canary" not in told and "OF_THE_DAEMON" not in told
        assert (desk.root / "src/a").read_text() == "yes\n"
        assert (desk.root / "docs/b.txt").read_text() == "b"
        for cage in ({"state": "persistent"}, {"net": {"allow": ["example.org:443"]}}):
            narrow = agent(machine, run="run_2", **cage)
            assert await narrow.code("shell.bash", command="touch never") == "cage_unavailable"
        hiding = agent(machine, ("rw", "."), ("deny", "docs"), run="run_3")
        assert await hiding.code("shell.bash", command="touch never") == "cage_unavailable"
    assert not (desk.root / "never").exists()


@pytest.mark.requirement("cages.where.shell")
async def test_the_neighbour_without_a_cage_has_the_daemons_rights(machine):
    outside = machine.desk.base / "outside.txt"
    outside.write_text("canary")
    assert await output(machine.desk, f"cat {outside}; echo $OF_THE_DAEMON") == "canarycanary"


@pytest.mark.requirement("cages.where.shell")
async def test_commands_of_a_run_share_a_cage_of_their_own(machine):
    first, second = agent(machine), agent(machine, run="run_2")
    asleep = "sleep 1000 & until grep -q sleep /proc/$!/comm; do :; done"
    await output(first, f"echo one > $HOME/kept; echo two > /tmp/kept; {asleep}; echo started")
    assert await output(first, "cat $HOME/kept /tmp/kept; ps -e -o comm= | grep -c sleep") == "one\ntwo\n1"
    assert "No such file" in await output(second, "cat $HOME/kept")
    assert "sleep" not in await output(second, "ps -e -o comm=")
    await machine.processes.end_run("ses_1", "run_1")
    assert "No such file" in await output(first, "cat $HOME/kept")
    assert not (machine.desk.base / "data" / "cages").exists()


@pytest.mark.requirement("cages.where.shell", "cages.kernel.state")
async def test_state_that_is_kept_is_there_in_the_next_run(machine):
    first = agent(machine, state="persistent")
    await output(first, "echo one > $HOME/kept; echo two > /tmp/kept")
    await machine.processes.end_run("ses_1", "run_1")
    second = agent(machine, run="run_2", state="persistent")
    assert await output(second, "cat $HOME/kept /tmp/kept") == "one\ntwo"
    kept = machine.desk.base / "data/cages/prj_1/primary.subagents.worker/home/kept"
    assert kept.read_text() == "one\n"


@pytest.mark.requirement("cages.where.shell")
async def test_what_goes_on_in_the_background_ends_with_the_run(machine):
    desk = agent(machine)
    done = await desk.ok("shell.bash", command="(while :; do sleep 1; done) & echo started")
    (background,) = done["background"]
    (shown,) = (await desk.ok("shell.background", action="list"))["commands"]
    assert shown["state"] == "background"
    (command,) = machine.terminals.list("ses_1")
    pids = command.pids
    assert pids and all(os.path.exists(f"/proc/{pid}") for pid in pids)
    await machine.processes.end_run("ses_1", "run_1")
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)
    await until(lambda: command.state == "ended")
    shown = (await desk.ok("shell.background", action="read", id=background["id"]))["commands"]
    assert shown[0]["state"] == "ended"


@pytest.mark.requirement("cages.where.shell")
async def test_a_command_has_a_terminal_and_an_exit_code(machine):
    desk = agent(machine)
    told = await output(desk, "test -t 0; echo $?; test -t 1; echo $?; stty size <&1; exit 7")
    assert told == "1\n0\n40 120"
    assert (await desk.ok("shell.bash", command="exit 7"))["exit_code"] == 7
    assert (await desk.ok("shell.bash", command="kill -9 $$"))["exit_code"] == 137


@pytest.mark.requirement("cages.where.shell")
async def test_a_command_that_takes_too_long_is_killed_with_all_it_started(machine):
    desk = agent(machine)
    done = await desk.ok(
        "shell.bash", command="trap '' TERM; (setsid sleep 1000 &) ; sleep 1000", timeout=1000
    )
    assert done["exit_code"] == 137 and done["timed_out"]
    assert "sleep" not in await output(desk, "ps -e -o comm=")


@pytest.mark.requirement("cages.where.shell")
async def test_a_cancelled_call_leaves_nothing(machine):
    desk = agent(machine)
    call = asyncio.create_task(desk.call("shell.bash", command="touch began; sleep 1000"))
    await until((desk.root / "began").exists)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert "sleep" not in await output(desk, "ps -e -o comm=")


@pytest.mark.requirement("cages.where.shell")
async def test_a_recipe_runs_in_the_cage(machine):
    desk = agent(machine, ("rw", "."), ("deny", "secret"))
    desk.put("secret/c.txt", "canary")
    desk.put("Makefile", "all:\n\t@cat secret/c.txt; echo $$HOME > made; pwd\n")
    done = await desk.ok("project.recipe", op="make:all")
    assert "canary" not in done["stdout"]
    assert (desk.root / "made").read_text() == "/home/agent\n"


@pytest.mark.requirement("cages.where.shell")
async def test_the_cage_is_the_one_that_the_agent_has_now(machine):
    desk = agent(machine, ("rw", "."))
    desk.put("a/b.txt", "b")
    await output(desk, "echo yes > a/b.txt")
    narrower = agent(machine, ("ro", "."), ("rw", "tmp"))
    (desk.root / "tmp").mkdir()
    told = await output(narrower, "echo no > ../a/b.txt; cat ../a/b.txt", cwd="tmp")
    assert "Read-only" in told and told.endswith("yes")


@pytest.mark.requirement("cages.policy.protected")
async def test_protected_names_that_a_command_makes_are_taken_away(machine):
    desk = agent(machine)
    desk.put(".git/config", "[core]\n")
    command = (
        "echo no >> .git/config; mkdir -p a/.git/hooks; echo evil > a/.git/hooks/pre-commit; echo > .envrc"
    )
    envelope = await desk.call("shell.bash", command=f"{command}; echo fine > fine; exit 0")
    assert not envelope.is_error
    refused, note = sorted(envelope.metadata.cage_notes)
    assert refused.startswith("read_only: .git/config is never written in a cage")
    assert note.startswith("taken_away: ") and "'a/.git'" in note and "'.envrc'" in note
    assert f"Note: {note}" in envelope.model_text()
    assert set(envelope.as_json()["metadata"]["cage_notes"]) == {refused, note}
    assert (desk.root / ".git/config").read_text() == "[core]\n"
    assert not (desk.root / "a/.git").exists() and not (desk.root / ".envrc").exists()
    assert (desk.root / "fine").read_text() == "fine\n"
    assert (await desk.call("shell.bash", command="true")).metadata.cage_notes is None


@pytest.mark.requirement("cages.policy.protected")
async def test_what_is_made_later_is_taken_away_at_the_end_of_the_run(machine):
    desk = agent(machine)
    await desk.ok("shell.bash", command="(sleep 0.3; mkdir .vscode; touch made; sleep 1000) & echo")
    await until((desk.root / "made").exists)
    await machine.processes.end_run("ses_1", "run_1")
    assert not (desk.root / ".vscode").exists()


@pytest.mark.requirement("cages.kernel.state")
async def test_the_cage_of_direct_calls_ends_when_nothing_has_run_in_it_for_long(machine, monkeypatch):
    caged = agent(machine)
    directly = replace(caged, context=replace(caged.context, run_id=None))
    await output(directly, "touch ~/kept; (until test -e over; do sleep 0.05; done) & echo")
    (key,) = (key for key in machine.cages._cages if "/direct" in key)
    assert machine.cages.is_busy(key)
    put_forward(monkeypatch, IDLE_SECONDS + 1)
    await asyncio.sleep(0.1)  # the loop looks at its timers
    assert await output(directly, "ls ~") == "kept"
    (caged.root / "over").touch()
    await until(lambda: not machine.cages.is_busy(key))
    put_forward(monkeypatch, IDLE_SECONDS + 1)
    await until(lambda: key not in machine.cages._cages)
    assert await output(directly, "ls ~; echo yes") == "yes"


@pytest.mark.requirement("cages.kernel.limits")
@pytest.mark.parametrize(
    ("limit", "most", "controller", "command"),
    [
        ("memory_mb", 64, "memory", "python3 -c 'print(len(bytearray(500 * 2**20)))'"),
        ("pids", 6, "pids", "for i in $(seq 30); do sleep 0.2 & done; wait"),
    ],
)
async def test_a_limit_that_is_reached_is_reported_once(machine, limit, most, controller, command):
    if controller not in bounded_together():
        pytest.skip(f"nothing counts {limit} for a whole cage here")
    caged = agent(machine, limits={limit: most})
    assert (await caged.call("shell.bash", command="echo")).metadata.cage_notes is None
    (note,) = (await caged.call("shell.bash", command=command)).metadata.cage_notes
    assert note.startswith(f"{limit}: ")
    assert (await caged.call("shell.bash", command=command)).metadata.cage_notes is None


@pytest.mark.requirement("cages.kernel.limits")
async def test_processor_time_that_is_used_up_is_reported(machine):
    if not bounded_together():
        pytest.skip("nothing counts for a whole cage here")
    caged = agent(machine, limits={"cpu_seconds": 1})
    spinning = "timeout 0.9 sh -c 'while :; do :; done'; " * 100
    (note,) = (await caged.call("shell.bash", command=spinning)).metadata.cage_notes
    assert note.startswith("cpu_seconds: ")


@pytest.mark.requirement("cages.kernel.limits")
@pytest.mark.parametrize("tier", [FULL, Tier("off", "as the tests need it")], ids=lambda tier: tier.name)
async def test_when_the_wall_time_is_over_everything_is_killed_and_reported(desk, tier, monkeypatch):
    async def in_time(one: Any, command: str) -> Any:
        """Run a command until the time is over, which begins with making the cage."""
        began = desk.root / "began"
        call = asyncio.create_task(one.call("shell.bash", command=f"touch began; {command}"))
        await until(began.exists)
        began.unlink()
        put_forward(monkeypatch, 101)
        return await call

    async with caged_machine(desk, tier) as machine:
        caged = agent(machine, limits={"walltime_seconds": 100})
        envelope = await in_time(caged, "(setsid sleep 98761 &); sleep 98761")
        assert not envelope.is_error
        assert envelope.data["exit_code"] == 137 and not envelope.data["timed_out"]
        (note,) = envelope.metadata.cage_notes
        assert note.startswith("walltime_exceeded: ")
        await until(lambda: not machine.terminals.running)
        again = await caged.call("shell.bash", command="touch never")
        assert again.code == "walltime_exceeded" and again.metadata.cage_notes is None
        assert await output(agent(machine, run="run_2", limits={"walltime_seconds": 60}), "echo yes") == "yes"
        directly = replace(caged, context=replace(caged.context, run_id=None))
        (note,) = (await in_time(directly, "sleep 98761")).metadata.cage_notes
        assert note.endswith("The next call begins with a new one.")
        assert await output(directly, "echo yes") == "yes"
    assert not (desk.root / "never").exists()
