"""Conversations by the Debug Adapter Protocol with real processes that do not keep to the rules."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.bridges.dap.peer import MAX_REFUSAL, AdapterRefusal, DapPeer, RequestRefused
from app.bridges.processes.child import Child
from app.bridges.processes.process import ChildProcesses
from app.bridges.rpc.message_stream import PeerClosed
from tests.bridges.conftest import ENVIRONMENT, until
from tests.driver.loop_watch import LongestTurn

COUNTERPART = """
import json, os, sys, time
take, give = sys.stdin.buffer, sys.stdout.buffer
seq = 0

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

def answer(asked, body=None, **fields):
    send({"seq": 0, "type": "response", "request_seq": asked["seq"], "command": asked["command"],
          "success": True, "body": body, **fields})

def tell(event, body=None):
    send({"seq": 0, "type": "event", "event": event, "body": body})

def ask(seq, command, arguments=None):
    send({"seq": seq, "type": "request", "command": command, "arguments": arguments})

def echo():
    while True:
        message = receive()
        if message["type"] == "request":
            answer(message, message.get("arguments"))

"""


class Conversation:
    """A peer, its counterpart, and what the counterpart has told."""

    def __init__(self, child: Child) -> None:
        assert child.stdout is not None
        assert child.stdin is not None
        self.child = child
        self.told: list[tuple[str, Any]] = []
        self.on_request: Callable[[str, Any], Awaitable[Any]] = self.refuse
        self.peer = DapPeer(
            child.stdout,
            child.stdin,
            name="counterpart",
            on_event=lambda event, body: self.take(event, body),
            on_request=lambda command, given: self.on_request(command, given),
        )
        self.running = asyncio.create_task(self.peer.run())

    def take(self, event: str, body: Any) -> None:
        self.told.append((event, body))

    async def refuse(self, command: str, _given: Any) -> Any:
        raise RequestRefused(f"no command {command} {{here}}")


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
            await asyncio.sleep(0)
            assert conversation.peer.pending == 0
            assert not conversation.peer._commands

    return start


@pytest.fixture(autouse=True)
async def no_future_is_forgotten(caplog: pytest.LogCaptureFixture) -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    gc.collect()
    assert asyncio.all_tasks() <= before | {asyncio.current_task()}
    assert not [record for record in caplog.records if record.name == "asyncio"]


@pytest.mark.requirement("debugger.peer.tolerant")
async def test_bodies_that_are_missing_or_wrong_are_empty_and_missing_success_is_success(talk: Any) -> None:
    script = """
for fields in ({"success": True}, {"success": True, "body": None}, {"success": True, "body": [1]},
               {"success": True, "body": "x"}, {"body": {"a": 1}}, {"success": None, "body": {"b": 2}}):
    send({"type": "response", "request_seq": receive()["seq"], **fields})
send({"type": "event", "event": "bare"})
send({"type": "event", "event": "odd", "body": [1]})
for odd in ({"type": "event"}, {"type": "event", "event": 5}, {"type": "request", "command": None},
            {"type": "explode"}, {"type": ["event"], "event": "x"}, {}, {"type": "response"}):
    send(odd)
echo()
"""
    async with talk(script) as it:
        bodies = await asyncio.gather(*(it.peer.request("m") for _ in range(6)))
        assert bodies == [{}, {}, {}, {}, {"a": 1}, {"b": 2}]
        assert await it.peer.request("m", {"goes": "on"}) == {"goes": "on"}
        assert it.told == [("bare", {}), ("odd", {})]


@pytest.mark.requirement("debugger.peer.tolerant")
async def test_answers_out_of_order_twice_and_to_nobody_go_where_they_belong(talk: Any) -> None:
    script = """
asked = [receive() for _ in range(50)]
for strange in (10_000, "1", -1, 0, 1.5, True, None, [1], {}, 10**30):
    send({"type": "response", "request_seq": strange, "success": True, "body": {"n": "strange"}})
for message in reversed(asked):
    answer(message, message["arguments"])
    answer(message, {"n": "again"})
    answer(message, success=False)
echo()
"""
    async with talk(script) as it:
        bodies = await asyncio.gather(*(it.peer.request("m", {"n": number}) for number in range(50)))
        assert [body["n"] for body in bodies] == list(range(50))
        assert await it.peer.request("m", {"n": -1}) == {"n": -1}


@pytest.mark.requirement("debugger.peer.tolerant")
async def test_events_come_in_order_and_before_the_answer_to_initialize_too(talk: Any) -> None:
    script = """
message = receive()
tell("output", {"n": 1})
tell("initialized")
answer(message, {"supportsX": True})
tell("output", {"n": 2})
echo()
"""
    async with talk(script) as it:
        assert await it.peer.request("initialize", {"adapterID": "x"}) == {"supportsX": True}
        await until(lambda: len(it.told) == 3)
        assert it.told == [("output", {"n": 1}), ("initialized", {}), ("output", {"n": 2})]


async def test_messages_leave_in_the_order_of_the_calls_with_numbers_of_their_own(talk: Any) -> None:
    script = """
seen = []
while True:
    message = receive()
    seen.append(message["arguments"]["n"] if "arguments" in message else None)
    assert set(message) <= {"seq", "type", "command", "arguments"} and message["type"] == "request"
    assert message["seq"] == len(seen)
    if message["command"] == "last":
        answer(message, {"seen": seen})
"""
    async with talk(script) as it:
        launch = it.peer.send("launch", {"n": 0})
        for number in range(1, 100):
            it.peer.send("m", {"n": number})
            await asyncio.sleep(0)
        it.peer.send("m")
        assert await it.peer.request("last", {"n": 100}) == {"seen": [*range(100), None, 100]}
        assert not launch.done()


async def test_a_refusal_says_what_the_adapter_says(talk: Any) -> None:
    script = """
long = "x" * 100_000
for fields in (
    {"message": "plain words"},
    {"message": "cancelled", "body": {"error": {"id": 1, "format": "cannot {what}: {why}",
                                                "variables": {"what": "read", "why": "no {file}"}}}},
    {"message": "cannot read", "body": {"error": {"format": "cannot read: gone"}}},
    {"message": "cannot read: gone", "body": {"error": {"format": "gone"}}},
    {"body": {"error": {"format": "only {a} {b}", "variables": {"a": 5}}}},
    {"message": 5, "body": {"error": "all wrong"}},
    {"message": " ", "body": [1]},
    {"success": "no"}, {"success": 0}, {"success": {}},
    {"message": long, "body": {"error": {"format": "{a}" * 50_000, "variables": {"a": long}}}},
):
    message = receive()
    send({"type": "response", "request_seq": message["seq"], "success": False, "command": "other", **fields})
echo()
"""
    async with talk(script) as it:
        found = await asyncio.gather(*(it.peer.request("m") for _ in range(11)), return_exceptions=True)
        assert all(isinstance(one, AdapterRefusal) and one.command == "m" for one in found), found
        words = [one.message for one in found]
        without = "an error without a message"
        assert words[:6] == [
            "plain words",
            "cancelled: cannot read: no {file}",
            "cannot read: gone",
            "cannot read: gone",
            "only {a} {b}",
            without,
        ]
        assert words[6:10] == [without] * 4
        assert len(words[10]) == MAX_REFUSAL
        assert found[1].body["error"]["id"] == 1
        assert found[6].body == {}
        assert str(found[0]) == "m: plain words"


async def test_what_cannot_be_sent_is_refused_and_does_no_harm(talk: Any) -> None:
    deep: list[Any] = []
    for _ in range(2_000):
        deep = [deep]
    async with talk("echo()") as it:
        for wrong in (deep, 2**70, "\ud83d", object()):
            with pytest.raises(AdapterRefusal, match="cannot be sent"):
                await it.peer.request("m", {"n": wrong})
        assert await it.peer.request("m", {"n": 1}) == {"n": 1}


@pytest.mark.requirement("debugger.peer.hostile")
@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("Debugger listening on 5678\\n", "something else came"),
        ("Content-Length: -1\\r\\n\\r\\n", "is no number"),
        ("Content-Length: 99999999999\\r\\n\\r\\n", "longer than"),
        ("Content-Length: 5\\r\\n\\r\\n[1,2]", "no object"),
        ("Content-Length: 5\\r\\n\\r\\n{{{{{", "no JSON"),
        ("Content-Length: 50\\r\\n\\r\\n{", "within a message"),
        ("Content-Le", "within a header"),
        ("", "ended its output"),
    ],
)
async def test_garbage_and_the_end_fail_every_request_at_once(talk: Any, raw: str, reason: str) -> None:
    async with talk(f"receive(); give.write(b'{raw}'); give.flush(); os._exit(1)") as it:
        sent = it.peer.send("launch")
        asked = [asyncio.ensure_future(it.peer.request("m")) for _ in range(20)]
        assert reason in await it.running
        for one in asked:
            with pytest.raises(PeerClosed, match=reason):
                await one
        with pytest.raises(PeerClosed, match=reason):
            await it.peer.request("late")
        late = it.peer.send("late")
        assert isinstance(late.exception(), PeerClosed)
        assert isinstance(sent.exception(), PeerClosed)


async def test_a_launch_that_nobody_waits_for_fails_silently(talk: Any) -> None:
    async with talk("answer(receive(), success=False, message='no'); tell('done'); echo()") as it:
        it.peer.send("launch", {})
        await until(lambda: bool(it.told))
        gc.collect()
        it.peer.send("launch", {})
        it.peer.close("enough")
        it.peer.send("launch", {})
        gc.collect()


async def test_a_cancelled_request_is_forgotten_and_sent_to_adapters_that_want_it(talk: Any) -> None:
    script = """
first = receive()
second = receive()
assert second["command"] == "second", second
told = receive()
answer(first, {"late": True})
answer(second, {"late": True})
answer(told)
tell("cancelled", {"command": told["command"], "right": told["arguments"]["requestId"] == second["seq"]})
echo()
"""
    async with talk(script) as it:
        for command in ("first", "second"):
            it.peer.cancels = command == "second"
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await it.peer.request(command)
        await until(lambda: len(it.told) == 1)
        assert it.told[0] == ("cancelled", {"command": "cancel", "right": True})
        assert await it.peer.request("m", {"n": 5}) == {"n": 5}


@pytest.mark.requirement("debugger.peer.hostile")
async def test_what_the_adapter_asks_is_answered_however_it_numbers_it(
    talk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    script = """
for seq, command in ((0, "ok"), (0, "ok"), (9, "refused"), (10, "broken"), (11, "odd"), ("x", "ok"),
                     (None, "ok"), (1.5, "ok"), (True, "ok")):
    ask(seq, command, {"a": 1})
ask(12, "bare")
got = [receive() for _ in range(10)]
tell("got", {"all": got})
echo()
"""
    caplog.set_level(logging.CRITICAL, "asyncio")

    async def respond(command: str, given: Any) -> Any:
        match command:
            case "ok" | "bare":
                return {"given": given}
            case "odd":
                return {"x": object()}
            case "refused":
                raise RequestRefused("no {such} thing")
        raise KeyError(command)

    async with talk(script) as it:
        it.on_request = respond
        await until(lambda: bool(it.told))
        got = it.told[0][1]["all"]
        assert [one["type"] for one in got] == ["response"] * 10
        assert len({one["seq"] for one in got}) == 10
        assert [one["request_seq"] for one in got if one["success"]] == [0] * 6 + [12]
        assert [one["body"] for one in got if one["success"]] == [{"given": {"a": 1}}] * 6 + [{"given": {}}]
        refused = {one["request_seq"]: one for one in got if not one["success"]}
        assert {number: one["message"] for number, one in refused.items()} == {
            9: "no {such} thing",
            10: "the request could not be answered",
            11: "the request could not be answered",
        }
        assert refused[9]["body"]["error"]["format"] == "no (such) thing"


@pytest.mark.requirement("debugger.peer.hostile")
async def test_what_the_adapter_asks_is_worked_on_side_by_side_up_to_a_bound(talk: Any) -> None:
    script = """
for number in range(70):
    ask(number + 1, "slow")
got = [receive() for _ in range(6)]
tell("got", {"refused": [[one["request_seq"], one["success"]] for one in got]})
got = [receive() for _ in range(64)]
tell("rest", {"good": sum(one["success"] for one in got)})
echo()
"""
    async with talk(script) as it:
        free = asyncio.Event()

        async def slow(_command: str, _given: Any) -> Any:
            await free.wait()
            return {}

        it.on_request = slow
        await until(lambda: len(it.told) == 1)
        assert it.told[0][1] == {"refused": [[number, False] for number in range(65, 71)]}
        free.set()
        await until(lambda: it.told[1:] == [("rest", {"good": 64})])


@pytest.mark.requirement("debugger.peer.hostile")
async def test_a_flood_of_events_lets_others_have_the_loop(talk: Any) -> None:
    script = """
receive()
raw = b'{"type": "event", "event": "output", "body": {"output": "flood"}}'
give.write((b"Content-Length: %d\\r\\n\\r\\n%b" % (len(raw), raw)) * 10_000)
tell("end")
echo()
"""
    async with talk(script) as it:
        it.peer.send("begin")
        longest = LongestTurn()
        await until(lambda: ("end", {}) in it.told[-1:])
        assert len(it.told) == 10_001
        assert longest.stop() < 0.05


@pytest.mark.requirement("debugger.peer.hostile")
async def test_an_adapter_that_does_not_read_is_given_up_within_bounds(talk: Any) -> None:
    async with talk("time.sleep(600)") as it:
        asked = it.peer.send("m")
        for _ in range(200):
            it.peer.send("n", {"text": "x" * 1_000_000})
        with pytest.raises(PeerClosed, match="does not read"):
            await asked
        assert "does not read" in await it.running
        assert it.peer.bytes_waiting == 0


async def test_a_handler_that_fails_does_not_end_it(talk: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with talk("tell('bad', {'a': 'secret'}); tell('good'); echo()") as it:

        def take(event: str, _body: Any) -> None:
            if event == "bad":
                raise KeyError(event)
            it.told.append((event, None))

        it.take = take
        await until(lambda: it.told == [("good", None)])
        assert await it.peer.request("m", {"n": 1}) == {"n": 1}
    assert "an event of counterpart was not taken" in caplog.text
    assert "secret" not in caplog.text


async def test_closing_ends_requests_and_answers_and_what_was_sent_leaves(talk: Any, tmp_path: Path) -> None:
    script = f"""
ask(1, "slow")
receive()
with open({str(tmp_path / "got")!r}, "wb") as file:
    file.write(take.read())
"""
    async with talk(script) as it:
        cancelled, begun = asyncio.Event(), asyncio.Event()

        async def slow(_command: str, _given: Any) -> Any:
            begun.set()
            try:
                await asyncio.sleep(600)
            finally:
                cancelled.set()

        it.on_request = slow
        await begun.wait()
        asked = [asyncio.ensure_future(it.peer.request("m")) for _ in range(3)]
        await asyncio.sleep(0)
        it.peer.send("disconnect", {"text": "x" * 500_000})
        it.peer.close("enough")
        it.peer.close("another reason")
        for one in asked:
            with pytest.raises(PeerClosed, match="enough"):
                await one
        assert await it.running == "enough"
        assert cancelled.is_set()
        assert await it.child.wait() == 0
        assert (tmp_path / "got").stat().st_size > 500_000
