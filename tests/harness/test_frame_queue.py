"""The bounded queue of one subscriber: deltas merge, nothing else is lost, and it stays cheap."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from app.events.payload import EventPayload
from app.events.sessions import SessionUpdated
from app.events.union import Heartbeat, MessageDelta, MessageStart, encode_frame
from app.harness.stream import frames
from app.harness.stream.frames import Frame, FrameQueue, TooSlow

SESSION = "ses_00001"


def title(number: int) -> SessionUpdated:
    return SessionUpdated(title=f"title {number}")


def start(message_id: str) -> MessageStart:
    return MessageStart(run_id="run_1", message_id=message_id, provider="p", model="m")


def delta(message_id: str, text: str, *, thinking: bool = False) -> MessageDelta:
    return MessageDelta(message_id=message_id, delta=text, kind="thinking" if thinking else "text")


def framed(seq: int, payload: EventPayload) -> Frame:
    return Frame.make(seq, payload, session_id=SESSION, created_at=1)


@pytest.mark.requirement("websocket.bounds")
async def test_a_full_queue_merges_deltas_and_drops_nothing_else() -> None:
    queue = FrameQueue(max_frames=20)
    queue.push(framed(1, start("m")))
    for seq in range(2, 30):
        queue.push(framed(seq, delta("m", f"{seq},")))
    queue.push(framed(30, title(1)))
    for seq in range(31, 60):
        queue.push(framed(seq, delta("m", f"{seq},", thinking=seq > 50)))
    taken = [orjson.loads(frame.text) for frame in await queue.take()]
    assert len(taken) <= 20
    numbers = [frame["seq"] for frame in taken]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == 59
    assert [f["type"] for f in taken if f["type"] != "message.delta"] == ["message.start", "session.updated"]
    spoken = "".join(f["payload"]["delta"] for f in taken if f["type"] == "message.delta")
    assert spoken == "".join(f"{seq}," for seq in range(2, 60) if seq != 30)


@pytest.mark.requirement("websocket.bounds")
@pytest.mark.parametrize("limit", [{"max_frames": 20}, {"max_bytes": 3000}])
async def test_a_queue_full_of_durable_frames_gives_the_client_up(limit: dict[str, int]) -> None:
    queue = FrameQueue(**limit)
    for seq in range(1, 40):
        queue.push(framed(seq, title(seq)))
    with pytest.raises(TooSlow):
        await queue.take()


@pytest.mark.parametrize("durable", [100, 195])
async def test_a_stalled_listener_costs_little_however_many_frames_come(
    durable: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A merge reads the whole queue, so each one must free a good part of it."""
    encoded = 0

    def counting(seq: int, payload: EventPayload, **options: Any) -> bytes:
        nonlocal encoded
        encoded += len(payload.model_dump_json())
        return encode_frame(seq, payload, **options)

    queue = FrameQueue(max_frames=200)
    deltas = [framed(seq, delta("m", "x" * 10)) for seq in range(durable, durable + 5000)]
    for seq in range(durable):  # what merging cannot make smaller
        queue.push(framed(seq, title(seq)))
    monkeypatch.setattr(frames, "encode_frame", counting)
    for frame in deltas:
        queue.push(frame)
    assert encoded < 40 * 50_000
    if durable == 195:
        with pytest.raises(TooSlow):
            await queue.take()
    else:
        taken = await queue.take()
        assert sum(len(orjson.loads(f.text)["payload"].get("delta", "")) for f in taken) == 50_000


async def test_heartbeats_of_the_past_make_room() -> None:
    queue = FrameQueue(max_frames=20)
    for seq in range(1, 60):
        queue.push(framed(seq, Heartbeat() if seq % 6 else title(seq)))
    taken = [frame.type for frame in await queue.take()]
    assert taken.count("session.updated") == 9
    assert len(taken) <= 20
