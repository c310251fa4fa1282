"""Connections to adapters over their own streams and over ports, and what is left when they end."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.bridges.dap.adapter_behaviour import Transport
from app.bridges.dap.adapter_process import MAX_LAST_WORDS, AdapterCommand, AdapterEnded, Channel
from app.bridges.dap.adapters_scripting import BEHAVIOURS
from app.bridges.dap.connection import AdapterConnection, Handlers
from app.bridges.dap.peer import RequestRefused
from app.bridges.dap.transport import MAX_ANNOUNCEMENT, Announcement
from app.bridges.processes.loopback import free_port
from app.bridges.processes.process import ChildProcesses
from app.bridges.rpc.message_stream import PeerClosed
from tests.bridges.conftest import ENVIRONMENT, alive, descriptors, until
from tests.driver.language_servers import ROOT

HOSTILE = ROOT / "tests" / "fakes" / "hostile_debug_adapter.py"
PATTERN = r"listening at (?:(?P<host>\S+):)?(?P<port>\d+)"
TRANSPORTS: dict[Transport, tuple[str, ...]] = {
    "stdio": (),
    "chosen": ("--port", "{port}"),
    "announced": ("--announce", "\x1b[32mlistening at 127.0.0.1:PORT\x1b[0m"),
}


class Place:
    """Opens connections to the hostile adapter, and knows what they told."""

    def __init__(self, children: ChildProcesses, folder: Path) -> None:
        self.children = children
        self.folder = folder
        self.log = folder / "adapter.log"
        self.events: list[tuple[str, Any]] = []
        self.output: list[tuple[str, str]] = []
        self.handlers = Handlers(self._event, self._request, self._output)

    def _event(self, event: str, body: dict[str, Any]) -> None:
        self.events.append((event, body))

    async def _request(self, command: str, _given: dict[str, Any]) -> dict[str, Any]:
        raise RequestRefused(f"no {command}")

    def _output(self, channel: Channel, text: str) -> None:
        self.output.append((channel, text))

    def said(self, event: str) -> list[dict[str, Any]]:
        whole = self.log.read_bytes().rpartition(b"\n")[0] if self.log.exists() else b""
        return [one for one in map(orjson.loads, whole.splitlines()) if one["event"] == event]

    def command(self, *arguments: str, transport: Transport = "stdio") -> AdapterCommand:
        argv = (sys.executable, "-I", str(HOSTILE), "--log", str(self.log))
        return AdapterCommand(
            name="hostile",
            argv=(*argv, *TRANSPORTS[transport], *arguments),
            cwd=self.folder,
            env=ENVIRONMENT,
            transport=transport,
            port_pattern=PATTERN if transport == "announced" else "",
        )

    async def open(
        self, *arguments: str, transport: Transport = "stdio", seconds: float = 30
    ) -> AdapterConnection:
        command = self.command(*arguments, transport=transport)
        return await AdapterConnection.open(self.children, command, self.handlers, seconds=seconds)


@pytest.fixture
async def place(
    children: ChildProcesses, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[Place]:
    """After a test no task, no descriptor and no process of an adapter is left."""
    async with await children.start(["true"], owner="test", cwd=tmp_path, env=ENVIRONMENT) as first:
        await first.wait()  # by now the guardian of the children has its descriptors
    before, open_before = asyncio.all_tasks(), descriptors()
    place = Place(children, tmp_path)
    yield place
    gc.collect()
    assert asyncio.all_tasks() <= before | {asyncio.current_task()}
    await until(lambda: descriptors().keys() <= open_before.keys())
    assert not [one for one in place.said("started") if alive(one["pid"])]
    assert not [record for record in caplog.records if record.name == "asyncio"]


@pytest.mark.requirement("debugger.adapters.transports")
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_an_adapter_is_spoken_with_by_each_transport(place: Place, transport: Transport) -> None:
    async with await place.open(transport=transport) as connection:
        assert (await connection.peer.request("initialize"))["supportsConfigurationDoneRequest"] is True
        await until(lambda: place.events == [("initialized", {})])
        assert not connection.ended
        [pid] = [one["pid"] for one in place.said("started")]
    assert connection.ended and not alive(pid)
    with pytest.raises(PeerClosed, match="the session was ended"):
        await connection.peer.request("threads")


@pytest.mark.requirement("debugger.adapters.transports")
@pytest.mark.parametrize("transport", ["chosen", "announced"])
async def test_an_adapter_that_is_slow_to_listen_is_waited_for(place: Place, transport: Transport) -> None:
    async with await place.open("--late", "0.5", transport=transport) as connection:
        assert await connection.peer.request("initialize")


@pytest.mark.requirement("debugger.adapters.transports")
@pytest.mark.parametrize("transport", ["chosen", "announced"])
async def test_an_adapter_that_never_listens_is_given_up(place: Place, transport: Transport) -> None:
    with pytest.raises(AdapterEnded, match=r"hostile failed \(it did not listen within 6 s\): eee"):
        await place.open("--late", "60", "--stderr-bytes", "100", "--deaf", transport=transport, seconds=6)


@pytest.mark.requirement("debugger.failure.launch")
@pytest.mark.parametrize("transport", ["chosen", "announced"])
async def test_an_adapter_that_ends_before_it_listens_says_why(place: Place, transport: Transport) -> None:
    async with asyncio.timeout(30):
        with pytest.raises(AdapterEnded, match="cannot start: something is missing") as ended:
            await place.open("--crash-at-start", transport=transport, seconds=60)
    assert ended.value.exit_code == 4 and "exit code 4" in ended.value.reason


async def test_an_adapter_that_cannot_be_started_says_why(place: Place) -> None:
    command = AdapterCommand("absent", (str(place.folder / "absent"),), place.folder, ENVIRONMENT)
    with pytest.raises(AdapterEnded, match="absent cannot be started: No such file"):
        await AdapterConnection.open(place.children, command, place.handlers, seconds=5)


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_crash_is_reported_with_exit_code_and_last_words(place: Place, transport: Transport) -> None:
    async with await place.open("--crash-at", "threads", transport=transport) as connection:
        await connection.peer.request("initialize")
        with pytest.raises(PeerClosed):
            await connection.peer.request("threads")
        account = await connection.wait_until_ended()
        assert account.reason.startswith("hostile ended (exit code 3): ")
        assert account.reason.endswith("the adapter has crashed")
        assert account.exit_code == 3
        assert await connection.process_ended_within(30)


async def test_half_an_answer_and_garbage_are_reported_as_what_they_are(place: Place) -> None:
    async with await place.open("--crash-at", "threads", "--half-answer") as connection:
        with pytest.raises(PeerClosed):
            await connection.peer.request("threads")
        assert connection.peer.reason is not None and "within a message" in connection.peer.reason
        assert (await connection.wait_until_ended()).exit_code == 3
    async with await place.open("--garbage-at", "threads") as connection:
        with pytest.raises(PeerClosed):
            await connection.peer.request("threads")
        account = await connection.wait_until_ended()
        assert "does not keep to the protocol" in account.reason and account.exit_code is None


@pytest.mark.parametrize("transport", ["chosen", "announced"])
async def test_several_conversations_with_one_adapter(place: Place, transport: Transport) -> None:
    async with await place.open(transport=transport) as first:
        async with await first.another(place.handlers, seconds=30) as second:
            assert await first.peer.request("initialize") == await second.peer.request("initialize")
        assert second.ended and not first.ended
        third = await first.another(place.handlers, seconds=30)
        assert await third.peer.request("initialize") == await first.peer.request("initialize")
        assert len(place.said("started")) == 1
        assert first.process is not None
        os.kill(first.process.child.pid, signal.SIGKILL)
        assert (await third.wait_until_ended()).exit_code == 137
        assert await first.ended_within(30)
        with pytest.raises(AdapterEnded, match="exit code 137"):
            await first.another(place.handlers, seconds=5)
        await third.aclose()


async def test_an_adapter_on_its_own_streams_takes_no_second_conversation(place: Place) -> None:
    async with await place.open() as connection:
        with pytest.raises(AdapterEnded, match="one connection only"):
            await connection.another(place.handlers, seconds=5)


async def test_an_adapter_that_runs_already_is_left_running(place: Place) -> None:
    async with await place.open(transport="chosen") as there:
        assert there.process is not None and there.process.address is not None
        port = there.process.address.port
        for _ in range(2):
            async with await AdapterConnection.dial(
                "localhost", port, place.handlers, name="there", seconds=30
            ) as connection:
                assert await connection.peer.request("initialize")
                assert connection.last_words == ""
                with pytest.raises(AdapterEnded, match="one connection only"):
                    await connection.another(place.handlers, seconds=5)
        assert not there.ended
        async with await AdapterConnection.dial(
            "127.0.0.1", port, place.handlers, name="there", seconds=30
        ) as connection:
            os.kill(there.process.child.pid, signal.SIGKILL)
            account = await connection.wait_until_ended()
            assert account.reason.startswith("there failed (it") and account.exit_code is None
            assert await connection.process_ended_within(1)


@pytest.mark.parametrize(
    ("host", "port"), [("127.0.0.1", 0), ("a b", 1), ("x" * 300, 5), ("localhost", 70_000), ("\0", 1)]
)
async def test_where_nobody_listens_a_dial_says_so(place: Place, host: str, port: int) -> None:
    with pytest.raises(AdapterEnded, match=r"cannot be connected to|did not take a connection"):
        await AdapterConnection.dial(host, port, place.handlers, name="nobody", seconds=5)


async def test_a_dial_that_nobody_answers_is_given_up(place: Place) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        port = deaf.getsockname()[1]
        with pytest.raises(AdapterEnded, match="cannot be connected to"):
            await AdapterConnection.dial("127.0.0.1", port, place.handlers, name="nobody", seconds=5)


async def test_output_beside_the_protocol_is_reported_and_its_end_kept(place: Place) -> None:
    async with await place.open("--stderr-bytes", "3000000", transport="announced") as connection:
        await connection.peer.request("initialize")
        await until(
            lambda: sum(len(text) for channel, text in place.output if channel == "stderr") == 3_000_000
        )
        assert "listening at" in "".join(text for channel, text in place.output if channel == "stdout")
        assert len(connection.last_words) <= MAX_LAST_WORDS


async def test_a_handler_of_output_that_fails_does_no_harm(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_channel: str, _text: str) -> None:
        raise KeyError("output")

    handlers = Handlers(place.handlers.on_event, place.handlers.on_request, fail)
    command = place.command("--stderr-bytes", "1000000")
    async with await AdapterConnection.open(place.children, command, handlers, seconds=5) as connection:
        assert await connection.peer.request("initialize")
        await until(lambda: connection.last_words.endswith("ee"))
    assert "output of hostile was not taken" in caplog.text


@pytest.mark.requirement("debugger.session.descendants")
@pytest.mark.parametrize("mark", [(), ("--no-mark",)])
@pytest.mark.parametrize("transport", ["stdio", "chosen"])
async def test_leaving_kills_what_left_the_group_too(
    place: Place, transport: Transport, mark: tuple[str, ...]
) -> None:
    way = ("--children", "3", "--deaf", "--exit", "never", *mark)
    async with await place.open(*way, transport=transport) as connection:
        await connection.peer.request("initialize")
        left = [one["pid"] for one in place.said("child")]
        assert len(left) == 3 and all(alive(pid) for pid in left)
    assert not any(alive(pid) for pid in left)


@pytest.mark.requirement("debugger.session.descendants")
async def test_a_crash_takes_what_the_adapter_started_with_it(place: Place) -> None:
    async with await place.open("--children", "3", "--crash-at", "threads") as connection:
        await connection.peer.request("initialize")
        left = [one["pid"] for one in place.said("child")]
        with pytest.raises(PeerClosed):
            await connection.peer.request("threads")
        # The children have the adapter's output, and keep it open until they are gone.
        await until(lambda: not any(alive(pid) for pid in left))
        assert (await connection.wait_until_ended()).exit_code == 3


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_cancelling_at_any_moment_of_a_start_leaves_nothing(place: Place, transport: Transport) -> None:
    for number in range(12):
        opening = asyncio.create_task(place.open("--late", "0.02", transport=transport))
        await asyncio.sleep(number * 0.012)
        opening.cancel()
        try:
            connection = await opening
        except asyncio.CancelledError:
            continue
        await connection.aclose()


async def test_leaving_with_much_unsent_and_unread_does_not_wait(place: Place) -> None:
    way = ("--stop-reading", "initialize", "--deaf")
    for transport in TRANSPORTS:
        async with asyncio.timeout(30), await place.open(*way, transport=transport) as connection:
            await connection.peer.request("initialize")
            for _ in range(20):
                connection.peer.send("evaluate", {"expression": "x" * 1_000_000})
            assert connection.peer.bytes_waiting > 1_000_000


async def test_a_port_is_announced_on_a_whole_line_within_bounds_and_on_this_machine() -> None:
    async def found(*chunks: bytes, stream: str = "stdout") -> str | None:
        announcement = Announcement(PATTERN)
        for chunk in chunks:
            announcement.take(stream, chunk)
        return str(announcement.address.result()) if announcement.address.done() else None

    assert await found(b"listening at 127.0.0.1:12", b"34\n", b"listening at 5:99\n") == "127.0.0.1:1234"
    assert await found(b"words\nlistening ", b"at ::1:4711\r\n") == "[::1]:4711"
    assert await found(b"listening at 10.1.2.3:80\n") == "127.0.0.1:80"
    assert await found(b"listening at \x1b[1m4711\x1b[0m\n") == "127.0.0.1:4711"
    assert await found(b"listening at 127.0.0.1:99999\n") is None
    assert await found(b"listening at 127.0.0.1:0\n") is None
    assert await found(b"listening at 4711") is None
    assert await found(b"x" * MAX_ANNOUNCEMENT, b"\nlistening at 4711\n") is None
    assert await found(b"x" * (MAX_ANNOUNCEMENT - 30), b"\nlistening at 4711\n") == "127.0.0.1:4711"
    announcement = Announcement(PATTERN)
    announcement.take("stdout", b"listening ")
    announcement.take("stderr", b"at 4711\n")
    assert not announcement.address.done()


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("turned", [True, False])
async def test_an_announcement_may_be_two_lines(at_once: bool, turned: bool) -> None:
    [behaviour] = [one for one in BEHAVIOURS if one.name == "rdbg"]
    lines = [
        b"DEBUGGER: can attach via TCP/IP (127.0.0.1:4711)\n",
        b"DEBUGGER: wait for debugger connection...\n",
    ]
    lines = lines[::-1] if turned else lines
    announcement = Announcement(behaviour.reach.port_pattern)
    for chunk in [b"".join(lines)] if at_once else [b"DEBUGGER: more\n", *lines]:
        assert not announcement.address.done()
        announcement.take("stderr", chunk)
    assert announcement.address.result().port == 4711


@asynccontextmanager
async def port_in_use() -> AsyncIterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


async def test_a_free_port_is_one_that_nobody_uses() -> None:
    async with port_in_use() as used:
        ports = {free_port() for _ in range(50)}
        assert used not in ports and all(0 < port < 65536 for port in ports)
