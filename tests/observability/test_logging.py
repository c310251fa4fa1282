"""Logging: one line for each event, complete when closed, and without secrets."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import orjson
import pytest

from app.observability import MASK, Redactor, log_event, start_logging

LOGGER = logging.getLogger("kaged.test")


@pytest.fixture(autouse=True)
def root_level() -> Iterator[None]:
    root = logging.getLogger()
    before = root.level
    yield
    root.setLevel(before)


def test_an_event_is_one_json_line_with_its_fields() -> None:
    stream = io.StringIO()
    output = start_logging(level="info", line_format="auto", redactor=Redactor(), stream=stream)
    log_event(LOGGER, "agent.generation", session_id="ses_1", tokens_in=3)
    output.close()
    line = orjson.loads(stream.getvalue())
    assert (line["event"], line["level"], line["session_id"], line["tokens_in"]) == (
        "agent.generation",
        "info",
        "ses_1",
        3,
    )
    assert line["timestamp"].endswith("Z")


def test_closing_writes_everything_that_was_logged_before() -> None:
    stream = io.StringIO()
    output = start_logging(level="debug", line_format="json", redactor=Redactor(), stream=stream)
    for number in range(500):
        log_event(LOGGER, "tick", number=number, level=logging.DEBUG)
    output.close()
    assert [orjson.loads(line)["number"] for line in stream.getvalue().splitlines()] == list(range(500))


def test_an_exception_stays_on_one_line() -> None:
    stream = io.StringIO()
    output = start_logging(level="info", line_format="json", redactor=Redactor(["hunter22"]), stream=stream)
    try:
        raise ValueError("the password is hunter22")
    except ValueError:
        LOGGER.exception("it failed")
    output.close()
    (line,) = stream.getvalue().splitlines()
    assert "ValueError" in orjson.loads(line)["exception"]
    assert "hunter22" not in line


def test_human_lines_read_as_a_sentence() -> None:
    stream = io.StringIO()
    output = start_logging(level="info", line_format="human", redactor=Redactor(), stream=stream)
    log_event(LOGGER, "run.ended", run_id="run_1", nothing=None)
    LOGGER.warning("disk is %s", "full")
    output.close()
    first, second = stream.getvalue().splitlines()
    assert first.endswith("info    run.ended run_id=run_1")
    assert "warning disk is full" in second


def test_records_below_the_level_are_left_out() -> None:
    stream = io.StringIO()
    output = start_logging(level="warning", line_format="json", redactor=Redactor(), stream=stream)
    log_event(LOGGER, "quiet")
    output.close()
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    "text",
    [
        "authorization: Bearer kgd_abcdefgh",
        "ws subprotocol kaged.bearer.kgd_abcdefgh",
        "GET /launch?token=kgd_abcdefgh HTTP/1.1",
        "postgresql://me:kgd_abcdefgh@db/x",
        "the key is sk-proj-kgd_abcdefgh0123456789",
    ],
)
def test_what_has_the_shape_of_a_credential_is_masked(text: str) -> None:
    cleaned = Redactor().text(text)
    assert "kgd_abcdefgh" not in cleaned
    assert MASK in cleaned


def test_known_secrets_are_masked_wherever_they_stand_also_when_added_later() -> None:
    redactor = Redactor(["first-secret"])
    redactor.add("second-secret", "")
    data = redactor.data({"a": ["x first-secret y", {"b": "second-secret"}], "n": 3})
    assert data == {"a": [f"x {MASK} y", {"b": MASK}], "n": 3}


def test_fields_named_like_secrets_are_masked_and_counts_of_tokens_are_not() -> None:
    data = Redactor().data(
        {"Authorization": "anything", "api_key": "k", "input_tokens": 7, "token_count": "8"}
    )
    assert data == {"Authorization": MASK, "api_key": MASK, "input_tokens": 7, "token_count": "8"}


def test_a_bare_token_of_the_daemon_is_masked() -> None:
    assert Redactor().text("kgd_" + "a1B2" * 10 + " was sent") == f"{MASK} was sent"


def test_what_json_cannot_hold_still_becomes_a_line() -> None:
    stream = io.StringIO()
    output = start_logging(level="info", line_format="json", redactor=Redactor(), stream=stream)
    log_event(LOGGER, "odd", tokens=10**30, text="half \ud800")
    output.close()
    (line,) = stream.getvalue().splitlines()
    assert orjson.loads(line.replace("\\ud800", "?"))["event"] == "odd"


def test_nothing_that_is_logged_steers_a_terminal_or_passes_for_another_line() -> None:
    stream = io.StringIO()
    output = start_logging(level="info", line_format="human", redactor=Redactor(), stream=stream)
    LOGGER.error("unhandled error in %s", "GET /\x1b[2J\x9b31m\r\n12:00:00 error   forged")
    log_event(LOGGER, "tool", name="a\nb\x07", half="\ud800")
    output.close()
    text = stream.getvalue()
    assert not set(text) & set("\x1b\x9b\r\x07")
    first, second, third, fourth = text.splitlines()
    assert "unhandled error" in first
    assert second.startswith("    12:00:00 error   forged")
    assert "tool name=a" in third
    assert fourth.startswith("    b")
