"""What a model is given of a long result, and the limits of one tool in the project file."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.errors import ToolError
from app.tools.catalog import build_registry
from tests.driver.family import Cast, agent, calling, write_family
from tests.driver.sessions import Driver, driven
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider

Drive = Callable[..., AbstractAsyncContextManager[Driver]]
MANY = "i=0; while [ $i -lt 30000 ]; do echo line $i; i=$((i+1)); done; echo the error at the end"
SLEEP = f"sleep 98763.{os.getpid():07}"
"""Sleeps as no other test does: they run at the same time, and all processes of the machine are looked at."""


@pytest.fixture
def cast(fake: FakeProvider) -> Cast:
    cast = Cast()
    fake.respond = cast.respond
    return cast


@pytest.fixture
def drive(tmp_path: Path, settings_overrides: dict[str, Any]) -> Drive:
    @asynccontextmanager
    async def drive(**limits: dict[str, Any]) -> AsyncIterator[Driver]:
        tools = {
            name.replace("__", "."): {"enabled": True} | ({"limits": one} if one else {})
            for name, one in limits.items()
        }
        root = write_family(tmp_path / "limited", agent("primary", tools=tools))
        (root / "long.txt").write_text("".join(f"row {n}\n" for n in range(20_000)))
        async with driven(tmp_path / "data", root, **settings_overrides) as driver:
            yield driver

    return drive


def sleeping() -> bool:
    """Tell whether the command of the call that ran out of time still runs."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has just ended
            if file.read_bytes().split(b"\0")[:2] == SLEEP.encode().split():
                return True
    return False


def told(cast: Cast) -> list[str]:
    """The results that the model was given."""
    return [str(one["content"]) for one in cast.messages("primary") if one["role"] == "tool"]


@pytest.mark.requirement("durability.head_and_tail")
async def test_a_model_is_given_beginning_and_end_of_a_commands_output(drive: Drive, cast: Cast) -> None:
    cast.script("primary", calling(("shell_bash", {"command": MANY})), text_reply("Seen."))
    async with drive(shell__bash={}) as driver:
        await driver.run("Go")
        (text,) = told(cast)
        assert len(text.encode()) < 31_000
        assert "\nline 0\n" in text and text.rstrip().endswith("the error at the end")
        path = re.search(r"the whole is in (\S+): read it with file\.read", text)
        assert path is not None and "line 15000\n" in Path(path[1]).read_text()
        whole = await driver.session_call("POST", "/tools/shell.bash", {"params": {"command": MANY}})
        assert "line 15000\n" in whole["data"]["stdout"]


@pytest.mark.requirement("durability.head_and_tail")
async def test_the_end_of_an_output_beyond_the_tools_own_bound_is_there(drive: Drive, cast: Cast) -> None:
    command = "yes aaaaaaaaaaaaaaa | head -c 3000000; echo; echo the error at the end"
    cast.script("primary", calling(("shell_bash", {"command": command})), text_reply("Seen."))
    async with drive(shell__bash={}) as driver:
        await driver.run("Go")
        assert told(cast)[0].rstrip().endswith("the error at the end")


@pytest.mark.requirement("durability.head_and_tail")
async def test_a_long_reading_says_where_it_goes_on(drive: Drive, cast: Cast) -> None:
    again: list[int] = []

    def read_on(_: Any) -> Any:
        found = re.search(r"go on with offset (\d+)", told(cast)[-1])
        again.append(int(found[1]) if found is not None else 0)
        return calling(("file_read", {"path": "long.txt", "offset": again[0], "limit": 1}))

    first = calling(("file_read", {"path": "long.txt", "limit": 10_000}))
    cast.script("primary", first, read_on, text_reply("Seen."))
    async with drive(file__read={}) as driver:
        await driver.run("Go")
    long, short = told(cast)
    assert len(long.encode()) < 31_000
    assert f"\n{again[0] - 1}: row {again[0] - 2}" in long and f"{again[0]}: row" not in long
    assert f"{again[0]}: row {again[0] - 1}" in short


@pytest.mark.requirement("durability.head_and_tail")
async def test_a_long_list_is_given_by_its_head(drive: Drive, cast: Cast) -> None:
    search = ("search_grep", {"pattern": "row", "path": "long.txt", "output_mode": "content"})
    cast.script("primary", calling(search), text_reply("Seen."))
    async with drive(search__grep={}) as driver:
        await driver.run("Go")
    (text,) = told(cast)
    assert len(text.encode()) < 31_000
    assert "row 0" in text and "left out" in text and "search.grep" in text


class Refusing:
    """A tool whose error is longer than what a model is given."""

    TEXT = "first\n" + "".join(f"cause {n}\n" for n in range(9_000)) + "last"

    def build_registry(self, **options: Any) -> Any:
        async def fail(*_: Any) -> Any:
            raise ToolError("refused", self.TEXT)

        registry = build_registry(**options)
        read = registry.get("file.read")
        rest = [one for one in registry.definitions() if one.name != "file.read"]
        return type(registry)((*rest, replace(read, run=fail)), registry.groups())


@pytest.mark.requirement("durability.head_and_tail")
async def test_a_long_error_is_kept_whole_in_a_file(
    drive: Drive, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.daemon.lifespan.build_registry", Refusing().build_registry)
    cast.script("primary", calling(("file_read", {"path": "long.txt"})), text_reply("Seen."))
    async with drive(file__read={}) as driver:
        await driver.run("Go")
        (text,) = told(cast)
        assert text.startswith("Error refused: first\n") and text.endswith("last")
        path = re.search(r"the whole is in (\S+): read it with file\.read", text)
        assert path is not None and Path(path[1]).read_text() == Refusing.TEXT
    assert len(text.encode()) < 31_000


@pytest.mark.requirement("operations.limits", "durability.head_and_tail")
async def test_max_output_bytes_is_what_a_model_is_given(drive: Drive, cast: Cast) -> None:
    cast.script("primary", calling(("shell_bash", {"command": MANY})), text_reply("Seen."))
    async with drive(shell__bash={"max_output_bytes": 2_000}) as driver:
        await driver.run("Go")
    (text,) = told(cast)
    assert len(text.encode()) < 2_500 and text.rstrip().endswith("the error at the end")


@pytest.mark.requirement("operations.limits")
async def test_max_calls_bounds_the_calls_of_one_run(drive: Drive, cast: Cast) -> None:
    read = ("file_read", {"path": "long.txt", "limit": 1})
    cast.script(
        "primary", calling(read), calling(read), text_reply("Twice."), calling(read), text_reply("Again.")
    )
    async with drive(file__read={"max_calls": 1}) as driver:
        await driver.run("Go")
        one, two = told(cast)
        assert "1: row 0" in one and two.startswith("Error tool_limit_reached: file.read was called 1 times")
        await driver.run("Go on")
        assert "1: row 0" in told(cast)[-1]


@pytest.mark.requirement("operations.limits")
async def test_timeout_seconds_ends_a_call_with_what_it_started(drive: Drive, cast: Cast) -> None:
    cast.script("primary", calling(("shell_bash", {"command": SLEEP})), text_reply("Seen."))
    async with drive(shell__bash={"timeout_seconds": 1}) as driver:
        await driver.run("Go")
        assert told(cast)[0].startswith("Error timed_out: shell.bash was stopped after 1 seconds")
        async with asyncio.timeout(45):
            while await asyncio.to_thread(sleeping):  # noqa: ASYNC110 - a process's end has no event
                await asyncio.sleep(0.05)


@pytest.mark.requirement("operations.limits")
async def test_limits_of_an_action_hold_for_that_action(drive: Drive, cast: Cast) -> None:
    listing = ("kaged_issue", {"action": "list"})
    cast.script("primary", calling(listing), calling(listing), text_reply("Seen."))
    async with drive(kaged__issue__list={"max_calls": 1}) as driver:
        await driver.run("Go")
    assert told(cast)[1].startswith("Error tool_limit_reached")
