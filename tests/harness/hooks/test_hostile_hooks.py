"""Hooks that hang, flood, fork, vanish or write nonsense: the session goes on, nothing of them is left."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import driven
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.hooks.hooked import PRIMARY, WRITES, ended, for_, hook, result_of, write_hooked
from tests.harness.hooks.plugged import until

pytestmark = pytest.mark.requirement("hooks.hostile")

MARK = f"600.{os.getpid()}"
"""Seconds that only processes of these tests sleep, and not those of another run of them."""
BOMB = f"bomb-{os.getpid()}.sh"
WRITE = ToolCall("file_write", {"path": "a.txt", "content": "x\n"}, id="c1")
BROKEN = {
    "hangs": (f"exec sleep {MARK}", "it was killed after 1 seconds"),
    "ignores-signals": ("trap '' TERM INT HUP; while :; do :; done", "it was killed after 1 seconds"),
    "floods-stdout": ("exec cat /dev/zero", "it was killed because it wrote more than 1024 KB"),
    "floods-stderr": ("exec cat /dev/zero >&2", "it was killed because it wrote more than 1024 KB"),
    "fails": ("echo broken >&2; exit 1", "it ended with exit code 1: broken"),
    "killed": ("kill -9 $$", "it ended with exit code 137"),
    "absent": ("./hooks/absent.sh", "it ended with exit code 127"),
    "unknown-decision": ("""echo '{"decision": "dney"}'""", "it answered the unknown decision 'dney'"),
    "odd-decision": ("""echo '{"decision": [1]}'""", "it answered a decision that is no text"),
}


def processes_with(mark: str) -> list[str]:
    """Return the command lines of processes of this machine, in cages too, that hold `mark`."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if mark in line and int(name) != os.getpid():
            found.append(line)
    return found


@pytest.mark.parametrize("kind", BROKEN)
async def test_a_broken_hook_before_a_call_denies_it_and_says_why(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], kind: str
) -> None:
    command, why = BROKEN[kind]
    seconds = 1.0 if "killed after" in why else 60.0
    root = write_hooked(tmp_path / "shop", before_tool=[hook("broken", command, timeout_seconds=seconds)])
    fake.script(Reply((WRITE,)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Write it")

    content = result_of(watch)["content"]
    assert content.startswith("Error hook_denied: The hook broken did not decide about this call"), content
    assert why in content
    assert not (root / "a.txt").exists()
    (event,) = ended(watch)
    assert event["decision"] == "deny"
    assert event.get("timed_out", False) is ("killed after" in why)
    await until(lambda: processes_with(MARK) == [])


@pytest.mark.parametrize("event", ["after_tool", "on_prompt", "on_stop"])
async def test_a_broken_hook_anywhere_else_is_a_warning(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], event: str
) -> None:
    root = write_hooked(tmp_path / "shop", **{event: [hook("broken", "echo half; exit 7")]})
    fake.script(Reply((WRITE,)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Write it")

    assert (root / "a.txt").exists()
    assert watch.of("run.ended")[0]["payload"]["state"] == "succeeded"
    (told,) = ended(watch)
    assert (told["decision"], told["reason"]) == ("warning", "it ended with exit code 7")
    assert "half" not in json.dumps(fake.requests[-1].json)


async def test_what_a_hook_leaves_behind_ends_with_it_and_holds_up_nothing(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    leave = f"setsid sleep {MARK} & (sleep {MARK} &) ; echo left"
    root = write_hooked(
        tmp_path / "shop", before_tool=[hook("caged", leave), hook("uncaged", leave, cage="disabled")]
    )
    fake.script(Reply((WRITE,)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Write it")
        await until(lambda: processes_with(MARK) == [])

    assert [one["decision"] for one in ended(watch)] == ["continue", "continue"]
    assert "left" in result_of(watch)["content"]


async def test_a_hook_that_starts_itself_again_and_again_is_stopped(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_hooked(tmp_path / "shop", before_tool=[hook("bomb", [f"hooks/{BOMB}"], timeout_seconds=2)])
    (root / "hooks").mkdir()
    (root / "hooks" / BOMB).write_text('#!/bin/sh\n"$0" & "$0" &\nwait\nexec sleep 60\n')
    (root / "hooks" / BOMB).chmod(0o755)
    fake.script(Reply((WRITE,)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Write it")
        await until(lambda: processes_with(BOMB) == [])

    assert "hook_denied" in result_of(watch)["content"]


async def test_bytes_that_are_no_text_and_controls_reach_the_model_as_text(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_hooked(
        tmp_path / "shop", after_tool=[hook("odd", r"printf 'a\377\376b\033[31m\000c\342\200\256d'")]
    )
    fake.script(Reply((WRITE,)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Write it")

    assert "\na\ufffd\ufffdb[31mcd\n</hook>" in result_of(watch)["content"]


async def test_long_words_of_a_hook_are_cut_in_the_middle(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_hooked(tmp_path / "shop", after_tool=[hook("long", "echo begin; seq 30000; echo end")])
    fake.script(Reply((WRITE,)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Write it")

    content = result_of(watch)["content"]
    assert "begin\n1\n2\n" in content
    assert "30000\nend\n</hook>" in content
    assert "[cut: " in content
    assert len(content) < 9_000


async def test_a_hook_that_reads_nothing_does_not_hold_up_a_long_call(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_hooked(tmp_path / "shop", before_tool=[hook("deaf", "exec <&-; exit 0")])
    long = ToolCall("file_write", {"path": "a.txt", "content": "x" * 900_000}, id="c1")
    longer = ToolCall("file_write", {"path": "b.txt", "content": "x" * 1_100_000}, id="c2")
    fake.script(Reply((long,)), Reply((longer,)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Write it")

    assert (root / "a.txt").stat().st_size == 900_000
    # Its end could hold anything, so a hook that cannot be shown the whole denies.
    assert "longer than a hook can be given" in result_of(watch, "c2")["content"]
    assert not (root / "b.txt").exists()


async def test_a_caged_agent_and_a_hook_cannot_change_the_hook(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    caged = {**WRITES, "capabilities": ["shell"]}
    root = write_hooked(
        tmp_path / "shop",
        {**PRIMARY, "cage": caged},
        before_tool=[hook("guard", ["./hooks/guard.sh"], match=for_("fs.write", "kept.txt"))],
        after_tool=[hook("weaken", "echo 'exit 0' > hooks/guard.sh", cage=WRITES)],
    )
    (root / "hooks").mkdir()
    guard = root / "hooks" / "guard.sh"
    guard.write_text("#!/bin/sh\nexit 2\n")
    guard.chmod(0o755)
    weak = "#!/bin/sh\nexit 0\n"
    fake.script(
        Reply(
            (
                ToolCall("file_write", {"path": "hooks/guard.sh", "content": weak}, id="c1"),
                ToolCall(
                    "shell_bash", {"command": "echo 'exit 0' > hooks/guard.sh || rm hooks/guard.sh"}, id="c2"
                ),
                ToolCall("shell_bash", {"command": "mv hooks old; mkdir hooks"}, id="c3"),
            )
        ),
        Reply((ToolCall("file_write", {"path": "kept.txt", "content": "x"}, id="c4"),)),
        text_reply("Done."),
    )
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Weaken it")

    assert guard.read_text() == "#!/bin/sh\nexit 2\n"
    assert result_of(watch, "c1")["isError"]
    assert "hook_denied" in result_of(watch, "c4")["content"]
    assert not (root / "kept.txt").exists()


async def test_a_hook_that_is_deleted_in_the_middle_denies_from_then_on(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    guard = hook("guard", ["./hooks/guard.sh"], match=for_("fs.write"))
    root = write_hooked(tmp_path / "shop", before_tool=[guard])
    (root / "hooks").mkdir()
    (root / "hooks" / "guard.sh").write_text("#!/bin/sh\nexit 0\n")
    (root / "hooks" / "guard.sh").chmod(0o755)
    fake.script(
        Reply((WRITE,)),
        Reply((ToolCall("shell_bash", {"command": "rm hooks/guard.sh"}, id="c2"),)),
        Reply((ToolCall("file_write", {"path": "b.txt", "content": "x"}, id="c3"),)),
        text_reply("Done."),
    )
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Delete it")

    assert not result_of(watch)["isError"]
    assert not result_of(watch, "c2")["isError"]
    assert "hook_denied: The hook guard did not decide" in result_of(watch, "c3")["content"]
    assert not (root / "b.txt").exists()


async def test_a_hook_reaches_no_network_and_writes_nothing_by_default(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("canary")
    tries = f"""
        echo x > written.txt && echo wrote
        cat {outside} 2>/dev/null
        cat {tmp_path}/data/token 2>/dev/null && echo token
        ls /sys/class/net 2>/dev/null | grep -v '^lo$' && echo network
        cat README.md | head -1
    """
    root = write_hooked(tmp_path / "shop", after_tool=[hook("curious", tries)])
    fake.script(Reply((WRITE,)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Write it")

    assert '<hook name="curious" event="after_tool">\n# Shop\n</hook>' in result_of(watch)["content"]
    assert not (root / "written.txt").exists()
