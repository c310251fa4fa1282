"""What the clients of one session were told, kept beside the daemon and held against it.

Owns: the acknowledged messages and runs, every durable frame that arrived, and the comparison of
all that with what a restarted daemon says. Never: the daemon.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx2
import orjson

from app.events.union import EVENT_TYPES
from tests.driver.daemon_process import DaemonProcess

TRANSIENT = {payload.TYPE for payload in EVENT_TYPES if not payload.DURABLE}
ABORTED = "aborted by daemon restart; it may have partly run"
NOT_STARTED = "not started (daemon restart)"
Frame = dict[str, Any]


@dataclass
class Ledger:
    """One session, over all lives of its daemon."""

    session_id: str
    outages: bool = False
    """Whether the database was away at times: runs may have failed of that."""
    messages: dict[str, str] = field(default_factory=dict)
    runs: set[str] = field(default_factory=set)
    frames: dict[int, str] = field(default_factory=dict)
    highest_seq: int = 0

    def acknowledged(self, answer: Frame) -> None:
        """A post was answered with 201 or 202."""
        self.messages[answer["message"]["id"]] = answer["message"]["content"]
        if answer["run"] is not None:
            self.runs.add(answer["run"]["id"])

    def received(self, frame: Frame, text: str) -> None:
        """A client got this frame. The answer to one of its own is no part of the log: it says that the
        outcome is unknown when a daemon was killed before it answered."""
        if frame["type"] in ("sync", "resync", "error"):
            return
        self.highest_seq = max(self.highest_seq, frame["seq"])
        if frame["type"] not in TRANSIENT:
            before = self.frames.setdefault(frame["seq"], text)
            assert before == text, f"frame {frame['seq']} was {before}, is {text}"

    async def check(self, daemon: DaemonProcess, client: httpx2.AsyncClient) -> Frame:
        """Hold everything that was told against what the daemon says now, before it does anything
        else; return the session."""
        session = await get(client, f"/sessions/{self.session_id}")
        texts = await self._replay(daemon, session["last_seq"])
        self._check_log(texts)
        replayed = [orjson.loads(text) for text in texts]
        check_closed(replayed, outages=self.outages)
        messages = await get_all(
            client, f"/sessions/{self.session_id}/messages", "limit=100&include_superseded=true"
        )
        self._check_messages(messages)
        runs = await get_all(client, f"/sessions/{self.session_id}/runs")
        assert self.runs <= {run["id"] for run in runs}
        for run in runs:
            check_run(
                await get(client, f"/runs/{run['id']}"),
                {row["id"]: row for row in messages},
                outages=self.outages,
            )
        checkpoints = await get_all(client, f"/sessions/{self.session_id}/checkpoints")
        check_state(session, replayed, checkpoints)
        for frame, text in zip(replayed, texts, strict=True):
            self.received(frame, text)
        return session

    async def _replay(self, daemon: DaemonProcess, last_seq: int) -> list[str]:
        """Return the durable frames as a client gets them that begins at 0."""
        texts: list[str] = []
        path = f"/sessions/{self.session_id}/ws?after_seq=0"
        async with daemon.websocket(path) as socket:
            first = orjson.loads(await socket.recv())
            assert (first["type"], first["payload"]["from_seq"]) == ("sync", 1)
            assert first["payload"]["through_seq"] >= last_seq
            seq = 0
            while seq < last_seq:
                text = await socket.recv()
                assert isinstance(text, str)
                seq = orjson.loads(text)["seq"]
                texts.append(text)
        return texts

    def _check_log(self, texts: list[str]) -> None:
        numbers = [orjson.loads(text)["seq"] for text in texts]
        assert numbers == sorted(set(numbers)), f"out of order or doubled: {numbers}"
        # A client saw every frame up to the highest: the log holds those, and only those.
        seen = {n: text for n, text in zip(numbers, texts, strict=True) if n <= self.highest_seq}
        assert seen.keys() == self.frames.keys(), sorted(seen.keys() ^ self.frames.keys())
        assert seen == self.frames

    def _check_messages(self, messages: list[Frame]) -> None:
        stored = {row["id"]: row for row in messages}
        assert len(stored) == len(messages), "a message is listed twice"
        lost = {key: text for key, text in self.messages.items() if key not in stored}
        assert not lost, f"acknowledged, and gone: {lost}"
        for key, content in self.messages.items():
            assert stored[key]["content"] == content
        positions = [row["position"] for row in messages if row["position"] is not None]
        assert len(positions) == len(set(positions)), positions
        contents = Counter(row["content"] for row in messages if row["role"] == "operator")
        assert set(contents.values()) <= {1}, contents
        assert all(row["complete"] for row in messages)


def check_closed(frames: list[Frame], *, outages: bool = False) -> None:
    """Everything that was opened is closed exactly once, and so is what an outage kept from being opened."""
    for opened, closed in (
        (of(frames, "message.start", "messageId"), of(frames, "message.end", "messageId")),
        (of(frames, "message.tool_call", "id"), of(frames, "message.tool_result", "toolCallId")),
        (of(frames, "run.started", "run_id"), of(frames, "run.ended", "run_id")),
        (of(frames, "step.started", "message_id"), of(frames, "step.ended", "message_id")),
    ):
        assert opened == closed or (outages and opened < closed), (opened - closed, closed - opened)
        assert set(opened.values()) <= {1}, [key for key, number in opened.items() if number > 1]
    posted = [frame["payload"] for frame in frames if frame["type"] == "message.posted"]
    told = Counter((payload["message_id"], payload["queued"]) for payload in posted)
    assert set(told.values()) <= {1}, told  # once when it began to wait, once when it got its place


def of(frames: list[Frame], event: str, name: str) -> Counter[str]:
    return Counter(frame["payload"][name] for frame in frames if frame["type"] == event)


def check_run(run: Frame, messages: dict[str, Frame], *, outages: bool = False) -> None:
    """No run, step or call is left open; what was cut off says so."""
    lost = outages and (run["state"], run["reason"]) == ("failed", "unavailable")
    assert run["state"] in ("succeeded", "interrupted", "cancelled") or lost, run
    assert run["ended_at"] is not None
    assert all(step["ended_at"] is not None for step in run["steps"]), run
    for call in run["tool_calls"]:
        assert call["state"] in ("succeeded", "failed", "interrupted"), call
        result = messages[call["result_message_id"]]
        assert result["details"]["toolCallId"] == call["call_id"]
        if call["state"] == "interrupted":
            assert result["details"]["isError"]
            assert ABORTED in result["content"] or NOT_STARTED in result["content"]


def check_state(session: Frame, frames: list[Frame], checkpoints: list[Frame]) -> None:
    """The state is the one last told; a session that was running has one checkpoint to go on from."""
    states = [frame["payload"] for frame in frames if frame["type"] == "session.state"]
    assert session["state"] in ("idle", "paused")
    assert session["state"] == (states[-1]["state"] if states else "idle")
    still_open = [row for row in checkpoints if row["resumed_at"] is None]
    assert [row["reason"] for row in still_open] == ["daemon_restart"] * (session["state"] == "paused")
    restarts = [state for state in states if state["reason"] == "daemon_restart"]
    assert len(restarts) == len(checkpoints)
    if session["state"] == "paused":
        told = {"state": "paused", "previous": "running", "reason": "daemon_restart", "detail": None}
        assert states[-1] == told


async def get(client: httpx2.AsyncClient, path: str) -> Frame:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    value: Frame = answer.json()
    return value


async def get_all(client: httpx2.AsyncClient, path: str, query: str = "limit=100") -> list[Frame]:
    """Return all items of a list, page by page."""
    items: list[Frame] = []
    cursor: str | None = ""
    while cursor is not None:
        page = await get(client, f"{path}?{query}" + (f"&cursor={cursor}" if cursor else ""))
        items += page["items"]
        cursor = page["next_cursor"]
    return items
