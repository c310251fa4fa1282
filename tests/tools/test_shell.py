"""`shell.bash` and `shell.background`, called as agents call them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.tools.contract.rules import PermissionRule
from app.tools.shell.bash import LIVE_SECONDS
from tests.bridges.conftest import descriptors
from tests.driver.loop_clock import put_forward
from tests.tools.conftest import Desk

DEADLINE = 60.0


def there(pid: int) -> bool:
    """Tell whether a process exists and is not merely waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def written(file: Path, count: int = 1) -> list[int]:
    """Return the numbers that a command has written to a file, once there are so many."""
    async with asyncio.timeout(DEADLINE):
        while not file.exists() or len(file.read_text().split()) < count:  # noqa: ASYNC110  (a real file)
            await asyncio.sleep(0.01)
    return [int(word) for word in file.read_text().split()]


async def shown(desk: Desk) -> None:
    """Wait until some of a command's output has been shown. Its time has begun by then; when it has written a
    file, it need not have."""
    async with asyncio.timeout(DEADLINE):
        while not desk.ports.shown:  # noqa: ASYNC110  (what another process writes)
            await asyncio.sleep(0.01)


async def gone(pids: list[int]) -> None:
    async with asyncio.timeout(DEADLINE):
        while any(there(pid) for pid in pids):  # noqa: ASYNC110  (real processes)
            await asyncio.sleep(0.01)


@pytest.mark.requirement("shell.happy")
async def test_echo_hello(desk: Desk) -> None:
    result = await desk.ok("shell.bash", command="echo hello; echo wrong >&2")
    assert result == {"stdout": "hello\nwrong\n", "stderr": "", "exit_code": 0, "timed_out": False}


@pytest.mark.requirement("shell.exit")
async def test_an_exit_code_is_data(desk: Desk) -> None:
    assert (await desk.ok("shell.bash", command="exit 42"))["exit_code"] == 42
    assert (await desk.ok("shell.bash", command="no-such-command"))["exit_code"] == 127


@pytest.mark.requirement("shell.cwd")
async def test_the_working_folder_is_below_the_project(desk: Desk) -> None:
    folder = desk.root / "packages" / "daemon"
    folder.mkdir(parents=True)
    for cwd in ("./packages/daemon", "packages/../packages/daemon/", str(folder)):
        assert (await desk.ok("shell.bash", command="pwd", cwd=cwd))["stdout"] == f"{folder}\n"
    assert (await desk.ok("shell.bash", command="pwd"))["stdout"] == f"{desk.root}\n"


@pytest.mark.requirement("shell.cwd_escape")
async def test_a_working_folder_outside_the_project_is_refused(desk: Desk) -> None:
    (desk.root / "out").symlink_to(desk.base)
    desk.put("file.txt", "no folder")
    scratch = str(desk.context.scratch_dir)
    rule = PermissionRule("shell.bash", "curl *", "deny", "session")
    for one in (desk, desk.ruled(rule)):
        for cwd in ("", "../../", "a/../../b", "/etc", "out", "missing", "file.txt", scratch):
            envelope = await one.call("shell.bash", command="touch ran", cwd=cwd)
            assert envelope.code == "invalid_params", cwd
            assert envelope.detail is not None
    caged = desk.caged(("rw", "."), capabilities=["shell"])
    for cwd in ("../../", "/etc"):
        assert await caged.code("shell.bash", command="touch ran", cwd=cwd) == "invalid_params", cwd
    assert not list(desk.base.rglob("ran"))


@pytest.mark.requirement("shell.timeout")
async def test_what_takes_too_long_is_stopped(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    call = asyncio.create_task(desk.ok("shell.bash", command="echo begun; sleep 6000", timeout=300_000))
    await shown(desk)
    put_forward(monkeypatch, 301)
    assert await call == {"stdout": "begun\n", "stderr": "", "exit_code": 137, "timed_out": True}


@pytest.mark.requirement("shell.clamp_low")
async def test_a_short_timeout_is_lengthened(desk: Desk) -> None:
    for timeout in (500, -5):
        envelope = await desk.call("shell.bash", command="sleep 600", timeout=timeout)
        assert envelope.data["timed_out"] and envelope.metadata.duration_ms >= 1_000


@pytest.mark.requirement("shell.clamp_high")
async def test_a_long_timeout_is_shortened(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of asyncio's timeouts is put forward by ten minutes while the command sleeps."""
    call = asyncio.create_task(desk.call("shell.bash", command="echo begun; sleep 6000", timeout=999_999))
    await shown(desk)
    put_forward(monkeypatch, 540)  # the rest is what starting the command may have taken
    await asyncio.sleep(0.05)
    assert not call.done()
    put_forward(monkeypatch, 61)
    envelope = await call
    assert envelope.data["timed_out"]


@pytest.mark.requirement("shell.empty")
async def test_an_empty_command_is_refused(desk: Desk) -> None:
    for command in ("", "  \n"):
        envelope = await desk.call("shell.bash", command=command)
        assert envelope.code == "invalid_params"
        assert "command is required" in (envelope.error_text or "")


@pytest.mark.parametrize(
    "command",
    ["echo a\0b", "echo \ud800", "#" * 65_537, "é" * 40_000],
    ids=["nul", "surrogate", "long", "wide"],
)
async def test_a_command_that_no_shell_can_take_is_refused(desk: Desk, command: str) -> None:
    assert await desk.code("shell.bash", command=command) == "invalid_params"


async def test_a_command_of_64_kilobytes_runs(desk: Desk) -> None:
    command = "true ".ljust(65_000, "x") + "\necho done"
    assert (await desk.ok("shell.bash", command=command))["stdout"] == "done\n"


@pytest.mark.requirement("shell.env")
async def test_variables_are_merged_over_those_of_the_daemon(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = await desk.ok(
        "shell.bash", command="echo $FOO $HOME; which sh", env={"FOO": "bar", "HOME": "/h"}
    )
    assert result["stdout"].splitlines()[0] == "bar /h"
    assert result["exit_code"] == 0


@pytest.mark.requirement("shell.env_invalid")
@pytest.mark.parametrize(
    "env",
    [
        {"": "value"},
        {"A=B": "value"},
        {"A": 1},
        {"A\0": "x"},
        {"A": "\ud800"},
        {str(n): "" for n in range(65)},
    ],
)
async def test_variables_that_cannot_be_are_refused(desk: Desk, env: dict[str, Any]) -> None:
    assert await desk.code("shell.bash", command="true", env=env) == "invalid_params"


@pytest.mark.requirement("shell.truncation")
async def test_over_a_megabyte_is_cut_and_kept_whole_in_a_file(desk: Desk) -> None:
    envelope = await desk.call("shell.bash", command="seq 1 200000; printf '\\033[31mend'")
    text = envelope.data["stdout"]
    marker = "\n[output truncated — 1 MB limit]"
    assert text.endswith(marker)
    assert text.startswith("1\n2\n3\n")
    assert len(text.encode()) == 1024 * 1024 + len(marker.encode())
    assert envelope.metadata.truncated
    assert envelope.metadata.output_path is not None
    whole = Path(envelope.metadata.output_path)
    assert whole.read_text() == "".join(f"{number}\n" for number in range(1, 200_001)) + "end"
    lines = await desk.ok("file.read", path=str(whole), offset=199_999, limit=5)
    assert "200000" in lines["content"]


async def test_output_that_is_no_text_is_cut_to_its_bounds_and_whole_in_the_file_named(desk: Desk) -> None:
    written = 1_200_000
    command = f"head -c {written} /dev/zero | tr '\\0' '\\377'; echo"
    envelope = await desk.call("shell.bash", command=command)
    shown = envelope.data["stdout"].removesuffix("\n[output truncated — 1 MB limit]")
    assert set(shown) == {"\N{REPLACEMENT CHARACTER}"}
    assert len(shown.encode()) <= 1024 * 1024
    assert envelope.metadata.output_path is not None
    assert Path(envelope.metadata.output_path).read_bytes() == b"\xff" * written + b"\n"


@pytest.mark.requirement("shell.spawn")
async def test_a_command_that_cannot_be_started_says_why(desk: Desk) -> None:
    env = {f"V{number}": "x" * 120_000 for number in range(60)}
    envelope = await desk.call("shell.bash", command="echo ran", env=env)
    assert envelope.code == "shell_spawn_failed"
    assert "too long" in (envelope.error_text or "")
    assert "shell.executed" not in desk.ports.names()
    assert (await desk.ok("shell.bash", command="echo fine"))["stdout"] == "fine\n"


@pytest.mark.requirement("shell.stream")
async def test_output_is_shown_while_it_comes_and_the_model_gets_plain_text(desk: Desk) -> None:
    go = desk.root / "go"
    command = (
        "printf '\\033[32mfirst\\033[0m\\r\\n'; until test -e go; do sleep 0.02; done; printf '9%%\\r10%%\\n'"
    )
    call = asyncio.create_task(desk.call("shell.bash", command=command))
    await shown(desk)
    assert desk.ports.shown == ["\x1b[32mfirst\x1b[0m\r\n"]
    assert not call.done()
    go.touch()
    envelope = await call
    assert envelope.data["stdout"] == "first\n10%\n"
    assert "".join(desk.ports.shown) == "\x1b[32mfirst\x1b[0m\r\n9%\r10%\n"


async def test_a_flood_is_shown_in_few_and_bounded_parts(desk: Desk) -> None:
    envelope = await desk.call("shell.bash", command="seq 1 100000; echo '\u00e9nd'")
    assert len(desk.ports.shown) < 20 + envelope.metadata.duration_ms / (LIVE_SECONDS * 1000)
    assert all(len(text) <= 16 * 1024 for text in desk.ports.shown)
    assert desk.ports.shown[-1].endswith("énd\n")


async def test_bytes_that_are_no_text_are_replaced(desk: Desk) -> None:
    result = await desk.ok("shell.bash", command="printf 'a\\377b\\n'")
    assert result["stdout"] == "a\ufffdb\n"


@pytest.mark.requirement("shell.terminal")
async def test_the_terminal_is_a_sane_one(desk: Desk) -> None:
    command = (
        "stty size < /dev/tty; echo $TERM; tty < /dev/tty; test -t 1 && test -t 2 && ! test -t 0; echo $?"
    )
    size, term, name, kinds = (await desk.ok("shell.bash", command=command))["stdout"].splitlines()
    assert (size, term, kinds) == ("40 120", "xterm-256color", "0")
    assert name.startswith("/dev/")


async def test_pagers_and_prompts_do_not_wait_for_anybody(desk: Desk) -> None:
    await desk.ok("shell.bash", command="git init -q && git config user.email a@b && git config user.name n")
    desk.put("long.txt", "line\n" * 500)
    command = "git add . && git commit -qm 'a message' && git log -p && git fetch https://127.0.0.1:9/x.git"
    result = await desk.ok("shell.bash", command=command, timeout=30_000)
    assert result["stdout"].count("+line") == 500
    assert not result["timed_out"]


@pytest.mark.requirement("shell.group")
@pytest.mark.parametrize("end", ["timeout", "cancellation"])
async def test_everything_that_a_command_started_ends_with_it(
    desk: Desk, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = """
        trap '' TERM
        echo $$ >> pids
        sh -c 'trap "" TERM; echo $$ >> pids; sleep 600; sleep 600' &
        setsid sh -c 'echo $$ >> pids; exec sleep 600' &
        (setsid sh -c 'trap "" TERM HUP; echo $$ >> pids; sleep 600; sleep 600' &)
        echo begun
        sleep 600
        sleep 600
    """
    call = asyncio.create_task(desk.call("shell.bash", command=command, timeout=300_000))
    pids = await written(desk.root / "pids", 4)
    await shown(desk)
    if end == "cancellation":
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not any(there(pid) for pid in pids)
    else:
        put_forward(monkeypatch, 301)
        envelope = await call
        assert (envelope.data["exit_code"], envelope.data["timed_out"]) == (137, True)
        assert not any(there(pid) for pid in pids)
    assert desk.ports.of("shell.executed")["command"] == command[:200]


@pytest.mark.requirement("audit.shell")
async def test_every_command_is_in_the_audit_trail(desk: Desk) -> None:
    (desk.root / "sub").mkdir()
    command = "exit 3 # " + "x" * 300
    await desk.as_agent("primary.subagents.worker").ok("shell.bash", command=command, cwd="sub")
    event = desk.ports.of("shell.executed")
    assert event.pop("duration_ms") >= 0
    assert event == {
        "command": command[:200],
        "cwd": "sub",
        "exit_code": 3,
        "timed_out": False,
        "caller": "primary.subagents.worker",
        "request_id": "req_1",
    }


async def test_a_caged_agent_needs_the_capability_and_a_folder_it_may_write(desk: Desk) -> None:
    (desk.root / "src").mkdir()
    (desk.root / "docs").mkdir()
    (desk.root / "src" / "link").symlink_to("../docs")
    able = desk.caged(("rw", "./src"), ("ro", "./docs"), capabilities=["shell"])
    assert (await able.ok("shell.bash", command="echo yes", cwd="src"))["stdout"] == "yes\n"
    for cwd in (".", "docs", "src/link"):
        assert await able.code("shell.bash", command="touch ran", cwd=cwd) == "capability_denied"
    unable = desk.caged(("rw", "./src"), capabilities=["exec"])
    assert await unable.code("shell.bash", command="touch ran", cwd="src") == "capability_denied"
    assert await unable.code("shell.background", action="list") == "capability_denied"
    assert not list(desk.base.rglob("ran"))


@pytest.mark.requirement("shell.background")
@pytest.mark.parametrize(
    "start",
    ["{} &", "nohup {} | cat &", "({} &)", "setsid {} &", "setsid setsid {} & exit"],
    ids=["job", "nohup", "twice", "session", "orphan"],
)
async def test_what_outlives_its_call_is_listed_read_and_stopped(desk: Desk, start: str) -> None:
    server = "sh -c 'echo $$ > pid; echo up; until test -e go; do sleep 0.02; done; echo later; sleep 600'"
    result = await desk.ok("shell.bash", command=start.format(server) + "\necho started")
    (entry,) = result["background"]
    assert entry["state"] == "background"
    assert result["exit_code"] == 0
    (pid,) = await written(desk.root / "pid")
    assert (await desk.ok("shell.background", action="list"))["commands"][0]["id"] == entry["id"]

    (desk.root / "go").touch()
    read = ""
    async with asyncio.timeout(DEADLINE):
        while "later" not in read:
            read += (await desk.ok("shell.background", action="read", id=entry["id"]))["output"]
            await asyncio.sleep(0.01)
    assert (result["stdout"] + read).count("later") == 1
    assert (await desk.ok("shell.background", action="read", id=entry["id"]))["output"] == ""

    stopped = await desk.ok("shell.background", action="stop", id=entry["id"])
    assert stopped["commands"][0]["state"] == "ended"
    assert not there(pid)
    assert desk.ports.of("shell.stopped")["id"] == entry["id"]


async def test_a_call_returns_at_once_when_only_the_background_goes_on(desk: Desk) -> None:
    envelope = await desk.call("shell.bash", command="sleep 600 & echo started", timeout=60_000)
    assert envelope.metadata.duration_ms < 30_000
    assert envelope.data["stdout"] == "started\n"


async def test_too_many_commands_are_refused_by_name(desk: Desk) -> None:
    for number in range(4):
        await desk.ok("shell.bash", command=f"sleep 60{number} &")
    envelope = await desk.call("shell.bash", command="touch ran")
    assert envelope.code == "too_many_commands"
    listed = (await desk.ok("shell.background", action="list"))["commands"]
    for number, command in enumerate(listed):
        assert f"{command['id']} (background): sleep 60{number} &" in (envelope.error_text or "")
    await desk.ok("shell.background", action="stop", id=listed[0]["id"])
    await desk.ok("shell.bash", command="touch ran")


async def test_agents_look_after_their_own_commands_and_those_below(desk: Desk) -> None:
    worker, helper = desk.as_agent("primary.subagents.a"), desk.as_agent("primary.subagents.a.subagents.b")
    other = desk.as_agent("primary.subagents.ab")
    (entry,) = (await helper.ok("shell.bash", command="sleep 600 &"))["background"]
    for agent, sees in ((desk, True), (worker, True), (helper, True), (other, False)):
        assert bool((await agent.ok("shell.background", action="list"))["commands"]) is sees
    assert await other.code("shell.background", action="stop", id=entry["id"]) == "command_not_found"
    assert await desk.code("shell.background", action="read") == "invalid_params"
    await worker.ok("shell.background", action="stop", id=entry["id"])


async def test_calls_leave_no_descriptor_behind(desk: Desk) -> None:
    await desk.ok("shell.bash", command="true")
    before = descriptors()
    for command in ("true", "seq 1 300000", "sleep 600 &", "exit 1"):
        result = await desk.ok("shell.bash", command=command)
        for entry in result.get("background", ()):
            await desk.ok("shell.background", action="stop", id=entry["id"])
    await desk.code("shell.bash", command="true", cwd="missing")
    left = {number: what for number, what in descriptors().items() if before.get(number) != what}
    assert not left
