"""What a client is sent keeps its shape: a golden frame for every event type, and their schema.

A golden file changes only together with `CHANGELOG.md`: clients outside this repository read it.
"""

from __future__ import annotations

from pathlib import Path

import jsonschema_rs
import orjson
import pytest

from app.events.payload import EventPayload, Origin
from app.events.union import EVENT_TYPES, MessageEnd, encode_frame
from tests.contracts.frame_samples import MESSAGE, RUN, SAMPLES

FRAMES = Path(__file__).parent / "frames"
SCHEMA = orjson.loads((Path(__file__).parents[2] / "openapi" / "events.schema.json").read_bytes())
SESSION = "ses_01JZ0000000000000000000000"


def encoded(seq: int, payload: EventPayload) -> bytes:
    return encode_frame(
        seq,
        payload,
        session_id=SESSION,
        created_at=1_767_326_645_678,
        origin=Origin(RUN, "primary.subagents.tester", "call_9"),
    )


@pytest.fixture(scope="module")
def schema() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(SCHEMA, validate_formats=True)


def test_there_is_a_sample_and_a_golden_frame_for_every_event_type() -> None:
    types = sorted(payload.TYPE for payload in EVENT_TYPES)
    assert sorted(sample.TYPE for sample in SAMPLES) == types
    assert sorted(file.stem for file in FRAMES.glob("*.json")) == types


@pytest.mark.requirement("loop.messages")
@pytest.mark.parametrize("payload", SAMPLES, ids=lambda payload: payload.TYPE)
def test_a_frame_is_what_clients_have_always_got(payload: EventPayload) -> None:
    golden = (FRAMES / f"{payload.TYPE}.json").read_bytes()
    assert encoded(orjson.loads(golden)["seq"], payload) + b"\n" == golden


@pytest.mark.parametrize("file", sorted(FRAMES.glob("*.json")), ids=lambda file: file.stem)
def test_the_published_schema_admits_every_golden_frame(
    file: Path, schema: jsonschema_rs.Draft202012Validator
) -> None:
    schema.validate(orjson.loads(file.read_bytes()))


def test_the_schema_admits_a_frame_of_the_root_agent_and_an_end_without_figures(
    schema: jsonschema_rs.Draft202012Validator,
) -> None:
    end = MessageEnd(message_id=MESSAGE, stop_reason="error", error_message="The provider is gone.")
    root = Origin(agent_path="primary")
    frame = orjson.loads(encode_frame(1, end, session_id=SESSION, created_at=1, origin=root))
    assert "agent_path" not in frame
    assert set(frame["payload"]) == {"messageId", "stopReason", "errorMessage"}
    schema.validate(frame)


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("type", "message.begin"),
        ("channel", "events"),
        ("seq", "12"),
        ("ts", "yesterday"),
        ("extra", 1),
        ("payload", {"message_id": MESSAGE, "delta": "x", "kind": "text"}),
        ("payload", {"messageId": MESSAGE, "delta": "x", "kind": "speech", "attempt": 1}),
    ],
)
def test_the_schema_refuses_a_frame_of_another_shape(
    change: str, value: object, schema: jsonschema_rs.Draft202012Validator
) -> None:
    frame = orjson.loads((FRAMES / "message.delta.json").read_bytes())
    assert not schema.is_valid({**frame, change: value})
