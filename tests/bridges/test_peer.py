"""Conversations with a real process that does not keep to the rules."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.bridges.processes.child import Child
from app.bridges.processes.process import ChildProcesses
from app.bridges.rpc.message_stream import PeerClosed
from app.bridges.rpc.peer import JsonRpcPeer, ResponseError
from tests.bridges.conftest import ENVIRONMENT, children_of, until
from tests.driver.loop_watch import LongestTurn

COUNTERPART = """
import json, os, sys, time
take, give = sys.stdin.buffer, sys.stdout.buffer

def send(raw):
    if not isinstance(raw, bytes):
        raw = json.dumps(raw).encode()
    give.write(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(raw), raw))
    give.flush()

def receive():
    length = None
    while line := take.readline().strip():
        name, _, value = line.partition(b":")
        if name == b"Content-Length":
            length = int(value)
    if length is None:
        sys.exit()
    return json.loads(take.read(length))

def answer(message, result=None):
    send({"jsonrpc": "2.0", "id": message["id"], "result": result})

def tell(method, params=None):
    send({"jsonrpc": "2.0", "method": method, "params": params})

def echo():
    while True:
        message = receive()
        if "id" in message and "method" in message:
            answer(message, message.get("params"))

"""


class Conversation:
    """A peer, its counterpart, and what the counterpart has told."""

    def __init__(self, child: Child) -> None:
        assert child.stdout is not None
        assert child.stdin is not None
        self.child = child
        self.told: list[tuple[str, Any]] = []
        self.on_request: Callable[[str, Any], Awaitable[Any]] = self.refuse
        self.peer = JsonRpcPeer(
            child.stdout,
            child.stdin,
            name="counterpart",
            on_notification=lambda method, params: self.take(method, params),
            on_request=lambda method, params: self.on_request(method, params),
        )
        self.running = asyncio.create_task(self.peer.run())

    def take(self, method: str, params: Any) -> None:
        self.told.append((method, params))

    async def refuse(self, method: str, _params: Any) -> Any:
        raise ResponseError(-32601, f"no method {method}", {"method": method})


@pytest.fixture
def talk(children: ChildProcesses, tmp_path: Path) -> Any:
    """Start a counterpart that does what a script says, and talk with it."""

    @asynccontextmanager
    async def start(script: str) -> AsyncIterator[Conversation]:
        async with await children.start(
            [sys.executable, "-I", "-S", "-c", COUNTERPART + script],
            owner="test",
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdin="pipe",
            stderr="null",
        ) as child:
            conversation = Conversation(child)
            yield conversation
            conversation.peer.close("the test is over")
            async with asyncio.timeout(10):
                await conversation.running
            assert conversation.peer.pending == 0

    return start


@pytest.fixture(autouse=True)
async def no_future_is_forgotten(caplog: pytest.LogCaptureFixture) -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    gc.collect()
    assert asyncio.all_tasks() <= before | {asyncio.current_task()}
    assert not [record for record in caplog.records if record.name == "asyncio"]


async def test_requests_are_answered_and_errors_are_raised_whole(talk: Any) -> None:
    script = """
first, second, third = receive(), receive(), receive()
send({"jsonrpc": "2.0", "id": first["id"], "result": 1, "error": None})
send({"id": second["id"], "error": {"code": -7, "message": "no", "data": [1]}})
send({"id": third["id"], "error": "all wrong"})
receive()
"""
    async with talk(script) as it:
        results = await asyncio.gather(*(it.peer.request("m") for _ in range(3)), return_exceptions=True)
        assert results[0] == 1
        assert (results[1].code, results[1].message, results[1].data) == (-7, "no", [1])
        assert (results[2].code, results[2].message, results[2].data) == (
            -32001,
            "an error without a message",
            None,
        )


async def test_answers_out_of_order_twice_and_to_nobody_go_where_they_belong(talk: Any) -> None:
    script = """
asked = [receive() for _ in range(50)]
for strange in (10_000, "1", -1, 1.5, True, None, [1], {}, 10**30):
    send({"id": strange, "result": "strange"})
for message in reversed(asked):
    answer(message, message["params"])
    answer(message, "again")
echo()
"""
    async with talk(script) as it:
        results = await asyncio.gather(*(it.peer.request("m", number) for number in range(50)))
        assert results == list(range(50))
        assert await it.peer.request("m", "goes on") == "goes on"


async def test_messages_leave_in_the_order_of_the_calls(talk: Any) -> None:
    script = """
seen = []
while True:
    message = receive()
    seen.append(message["params"])
    if message["method"] == "last":
        answer(message, seen)
"""
    async with talk(script) as it:
        asked = []
        for number in range(0, 200, 2):
            it.peer.notify("n", [number])
            asked.append(asyncio.ensure_future(it.peer.request("m", [number + 1])))
            await asyncio.sleep(0)
        assert await it.peer.request("last", [200]) == [[number] for number in range(201)]
        for one in asked:
            one.cancel()
        await asyncio.gather(*asked, return_exceptions=True)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (rb'b"not json at all"', "no JSON"),
        (rb'b""', "no JSON"),
        (rb'b"{\"id\": NaN}"', "no JSON"),
        (rb'b"[" * 1_000_000', "no JSON"),
        (rb'b"{\"a\":" * 100_000', "no JSON"),
        (rb'b"[1, 2]"', "no object"),
        (rb'b"\"text\""', "no object"),
        (rb'b"[{\"id\": 1, \"result\": 1}]"', "no object"),
    ],
)
async def test_a_body_that_is_no_message_ends_it_with_a_reason(talk: Any, body: bytes, reason: str) -> None:
    async with talk(f"receive(); send({body.decode()}); echo()") as it:
        with pytest.raises(PeerClosed, match=reason):
            await it.peer.request("m")
        assert reason in await it.running


@pytest.mark.requirement("language_servers.peer.hostile")
@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("Debugger attached\\n", "something else came"),
        ("Content-Length: -1\\r\\n\\r\\n", "is no number"),
        ("Content-Length: 99999999999\\r\\n\\r\\n", "longer than"),
        ("Content-Length: 50\\r\\n\\r\\n{", "within a message"),
        ("Content-Le", "within a header"),
        ("", "ended its output"),
    ],
)
async def test_garbage_and_the_end_fail_every_request_at_once(talk: Any, raw: str, reason: str) -> None:
    async with talk(f"receive(); give.write(b'{raw}'); give.flush(); os._exit(1)") as it:
        asked = [asyncio.ensure_future(it.peer.request("m", number)) for number in range(20)]
        assert reason in await it.running
        for one in asked:
            with pytest.raises(PeerClosed, match=reason):
                await one
        with pytest.raises(PeerClosed, match=reason):
            await it.peer.request("late")
        it.peer.notify("late")
        assert it.peer.pending == 0


async def test_texts_cut_within_a_character_are_taken_with_a_mark_in_place(talk: Any) -> None:
    script = """
message = receive()
send(b'{"id": %d, "result": ["a\\\\ud83d", "caf\\xe9"]}' % message["id"])
echo()
"""
    async with talk(script) as it:
        assert await it.peer.request("m") == ["a?", "caf\ufffd"]
        assert await it.peer.request("m", "goes on") == "goes on"


async def test_a_body_of_megabytes_goes_both_ways(talk: Any) -> None:
    async with talk("echo()") as it:
        content = "é" * 2_500_000
        assert await it.peer.request("m", {"text": content}) == {"text": content}


async def test_a_burst_of_notifications_lets_others_have_the_loop(talk: Any) -> None:
    script = """
receive()
raw = b'{"method": "n", "params": 1}'
give.write((b"Content-Length: %d\\r\\n\\r\\n%b" % (len(raw), raw)) * 10_000)
tell("end")
echo()
"""
    async with talk(script) as it:
        it.peer.notify("begin")
        longest = LongestTurn()
        await until(lambda: ("end", None) in it.told[-1:])
        assert len(it.told) == 10_001
        assert longest.stop() < 0.05


async def test_a_handler_that_fails_does_not_end_it(talk: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with talk("tell('bad', 'secret'); tell('good'); echo()") as it:

        def take(method: str, _params: Any) -> None:
            if method == "bad":
                raise KeyError(method)
            it.told.append((method, None))

        it.take = take
        await until(lambda: it.told == [("good", None)])
        assert await it.peer.request("m", 1) == 1
    assert "a notification of counterpart was not taken" in caplog.text
    assert "secret" not in caplog.text


async def test_what_the_counterpart_asks_is_answered_by_id_of_either_kind(
    talk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    script = """
for id, method in ((7, "ok"), ("s", "ok"), (8, "refused"), (9, "broken"), (10, "odd"), (None, "note"),
                   (1.5, "never"), ([], "never"), (True, "never")):
    send({"jsonrpc": "2.0", "id": id, "method": method, "params": [1]})
got = [receive() for _ in range(5)]
tell("got", got)
echo()
"""
    caplog.set_level(logging.CRITICAL, "asyncio")

    async def respond(method: str, params: Any) -> Any:
        match method:
            case "ok":
                return params
            case "odd":
                return object()
            case "refused":
                raise ResponseError(-32601, "no", {"a": 1})
        raise KeyError(method)

    async with talk(script) as it:
        it.on_request = respond
        await until(lambda: len(it.told) == 2)
        assert it.told[0] == ("note", [1])
        answers = {one["id"]: one.get("result", one.get("error")) for one in it.told[1][1]}
        broken = {"code": -32603, "message": "the request could not be answered"}
        assert answers == {
            7: [1],
            "s": [1],
            8: {"code": -32601, "message": "no", "data": {"a": 1}},
            9: broken,
            10: broken,
        }


async def test_questions_are_answered_side_by_side_up_to_a_bound_and_can_be_withdrawn(talk: Any) -> None:
    script = """
for number in range(70):
    send({"id": number, "method": "slow"})
tell("$/cancelRequest", {"id": 3})
tell("$/cancelRequest", {"id": 300})
tell("$/cancelRequest", "nonsense")
got = [receive() for _ in range(7)]
tell("got", sorted((one["id"], one["error"]["code"]) for one in got))
got = [receive() for _ in range(63)]
tell("rest", len(got))
echo()
"""
    async with talk(script) as it:
        free = asyncio.Event()

        async def slow(_method: str, _params: Any) -> Any:
            await free.wait()

        it.on_request = slow
        await until(lambda: len(it.told) == 1)
        assert it.told[0][1] == [[3, -32800]] + [[number, -32000] for number in range(64, 70)]
        free.set()
        await until(lambda: it.told[1:] == [("rest", 63)])


async def test_a_counterpart_that_does_not_read_is_given_up_within_bounds(talk: Any) -> None:
    async with talk("time.sleep(600)") as it:
        asked = asyncio.ensure_future(it.peer.request("m"))
        await asyncio.sleep(0)
        highest = 0
        for _ in range(200):
            it.peer.notify("n", "x" * 1_000_000)
            highest = max(highest, it.peer.bytes_waiting)
        with pytest.raises(PeerClosed, match="does not read"):
            await asked
        assert "does not read" in await it.running
        assert 60_000_000 < highest < 70_000_000
        assert it.peer.bytes_waiting == 0


async def test_a_counterpart_that_closes_its_input_is_given_up(talk: Any) -> None:
    async with talk("receive(); os.close(0); tell('closed'); time.sleep(600)") as it:
        it.peer.notify("n")
        await until(lambda: bool(it.told))
        with pytest.raises(PeerClosed, match="closed its input"):
            async with asyncio.timeout(10):
                while True:
                    it.peer.notify("n")
                    await asyncio.sleep(0.01)
                    if it.running.done():
                        await it.peer.request("m")


async def test_what_a_counterpart_has_said_before_its_end_is_taken_though_it_reads_no_more(
    talk: Any,
) -> None:
    """The end of its input is noticed by a write, that of its output by the reading, which is often later."""
    async with talk("answer(receive(), 'last'); os._exit(3)") as it:
        asked = asyncio.ensure_future(it.peer.request("m"))
        await asyncio.sleep(0)
        while children_of(os.getpid())[it.child.pid] != "Z":
            time.sleep(0.01)  # noqa: ASYNC251  (the loop is to notice nothing before the writes)
        for _ in range(3):
            it.peer.notify("n")
        assert await asked == "last"
        assert await it.running == "it has ended its output"


@pytest.mark.requirement("language_servers.peer.cancel")
async def test_cancelling_a_request_notifies_the_counterpart_and_its_late_answer_is_dropped(
    talk: Any,
) -> None:
    script = """
asked = receive()
told = receive()
answer(asked, "late")
tell("cancelled", [told["method"], told["params"]["id"] == asked["id"]])
echo()
"""
    async with talk(script) as it:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await it.peer.request("slow")
        assert it.peer.pending == 0
        await until(lambda: bool(it.told))
        assert it.told == [("cancelled", ["$/cancelRequest", True])]
        assert await it.peer.request("m", 5) == 5


async def test_closing_ends_waiting_requests_answers_and_the_reading_and_what_was_sent_leaves(
    talk: Any, tmp_path: Path
) -> None:
    script = f"""
send({{"id": 1, "method": "slow"}})
receive()
with open({str(tmp_path / "got")!r}, "wb") as file:
    file.write(take.read())
"""
    async with talk(script) as it:
        cancelled = asyncio.Event()
        begun = asyncio.Event()

        async def slow(_method: str, _params: Any) -> Any:
            begun.set()
            try:
                await asyncio.sleep(600)
            finally:
                cancelled.set()

        it.on_request = slow
        await begun.wait()
        asked = [asyncio.ensure_future(it.peer.request("m")) for _ in range(3)]
        await asyncio.sleep(0)
        it.peer.notify("exit", "x" * 500_000)
        it.peer.close("enough")
        it.peer.close("another reason")
        for one in asked:
            with pytest.raises(PeerClosed, match="enough"):
                await one
        assert await it.running == "enough"
        assert cancelled.is_set()
        assert await it.child.wait() == 0
        assert (tmp_path / "got").stat().st_size > 500_000


async def test_cancelling_the_run_ends_the_conversation(talk: Any) -> None:
    async with talk("echo()") as it:
        asked = asyncio.ensure_future(it.peer.request("m"))
        await asyncio.sleep(0)
        it.running.cancel()
        with pytest.raises(PeerClosed, match="stopped"):
            await asked
        await asyncio.gather(it.running, return_exceptions=True)
        assert it.running.cancelled()
        it.running = asyncio.create_task(asyncio.sleep(0))
