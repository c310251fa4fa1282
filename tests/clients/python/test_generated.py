"""The generated part of the Python client is what the documents say, and tolerates what they do not say."""

from __future__ import annotations

import json
import subprocess
import sys

from kaged_client import __version__, models
from kaged_client._position import Position, event_from
from kaged_client.events import EVENT_TYPES, UnknownEvent

import app
from tests.driver.daemon_process import REPOSITORY

CLIENT = REPOSITORY / "clients" / "python"
FRAME = {"seq": 5, "session_id": "ses_a", "channel": "events", "ts": "2026-01-02T03:04:05.678Z"}


def test_generating_again_gives_exactly_what_is_committed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "generator", "--check"],
        cwd=CLIENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_version_is_that_of_the_daemon() -> None:
    assert __version__ == app.__version__


def test_every_event_of_the_document_has_a_class() -> None:
    document = json.loads((REPOSITORY / "openapi" / "events.schema.json").read_text())
    types = {frame["properties"]["type"]["const"] for frame in document["oneOf"]}
    assert types - set(EVENT_TYPES) == {"pong", "error"}
    durable = {one["properties"]["type"]["const"] for one in document["oneOf"] if one.get("x-durable")}
    assert {name for name, event in EVENT_TYPES.items() if event.durable} == durable


def test_an_unknown_event_and_an_unknown_field_are_handed_on() -> None:
    event = event_from({**FRAME, "type": "moon.risen", "payload": {"phase": "full"}})
    assert isinstance(event, UnknownEvent)
    assert (event.name, event.payload, event.seq) == ("moon.risen", {"phase": "full"}, 5)
    usage = models.Usage.from_json({"input_tokens": 3, "dream_tokens": 4})
    assert (usage.input_tokens, usage.output_tokens, usage.extra) == (3, 0, {"dream_tokens": 4})


def test_a_stream_resumes_after_the_newest_durable_event_and_repeats_none() -> None:
    def frame(seq: int, type_: str, **payload: object) -> str:
        return json.dumps({**FRAME, "seq": seq, "type": type_, "payload": payload})

    position = Position(4)
    prompt = {"agents": ["primary"]}
    delta = {"messageId": "msg_a", "delta": "x", "kind": "text"}
    assert position.take(frame(5, "prompt.reloaded", **prompt)) is not None
    assert position.take(frame(5, "prompt.reloaded", **prompt)) is None
    assert position.take(frame(6, "message.delta", **delta)) is not None
    assert position.query() == "?after_seq=5"
    assert position.take(frame(0, "heartbeat")) is None
    assert position.take(frame(40, "resync", from_seq=41, snapshot="/x")) is not None
    assert position.query() == "?after_seq=40"
    assert Position(4, snapshots="all").query() == "?after_seq=4&snapshots=all"
