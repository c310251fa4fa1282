"""What `send` and `attach` show of subagents: whole messages, indented, under their names."""

from __future__ import annotations

from typing import Any

import pytest

from app.cli.client import ReceivedFrame
from app.cli.stream_view import StreamView

CODER = "primary.subagents.coder"


def frame(event: str, agent_path: str | None = CODER, **payload: Any) -> ReceivedFrame:
    return ReceivedFrame("", 1, event, payload, "run_1", agent_path)


@pytest.mark.requirement("delegation.stream")
def test_two_that_speak_at_once_are_not_mixed(capsys: pytest.CaptureFixture[str]) -> None:
    view = StreamView(interactive=False)
    writer = "primary.subagents.writer"
    for text in ("Two ", "lines.\nHere."):
        view.show(frame("message.delta", messageId="a", kind="text", delta=text))
        view.show(frame("message.delta", writer, messageId="b", kind="text", delta=text.upper()))
    view.show(frame("message.tool_call", messageId="a", id="c", name="file.read", arguments={"path": "x"}))
    view.show(frame("message.end", writer, messageId="b"))
    view.show(frame("message.delta", None, messageId="r", kind="text", delta="Root."))
    view.show(frame("message.end", messageId="a"))
    view.show(frame("run.ended", state="failed", reason="provider"))
    view.finish()

    shown = capsys.readouterr()
    assert shown.out.strip() == "Root."
    lines = [line.strip() for line in shown.err.splitlines() if line.strip()]
    assert lines[:4] == ["writer │ TWO LINES.", "writer │ HERE.", "coder │ Two lines.", "coder │ Here."]
    assert lines[4].startswith("coder │ file.read")
    assert len(lines) == 6
    assert "failed" in lines[5]


def test_one_that_is_joined_in_the_middle_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    view = StreamView(interactive=False)
    call = {"id": "c", "name": "file.read", "arguments": {"path": "x"}}
    for _ in ("attached", "connected again"):
        view.show(frame("message.snapshot", messageId="a", text="One", thinking="", tool_calls=[call]))
        view.show(frame("message.snapshot", None, messageId="r", text="Root", thinking="", tool_calls=[call]))
    view.show(frame("message.delta", messageId="a", kind="text", delta=", two."))
    view.show(frame("message.delta", None, messageId="r", kind="text", delta=" too."))
    view.show(frame("message.end", messageId="a"))
    view.show(frame("message.tool_result", None, messageId="r", toolCallId="c", name="file.read", content=""))
    view.finish()
    shown = capsys.readouterr()
    assert shown.out.strip() == "Root too."
    lines = [line.strip() for line in shown.err.splitlines() if line.strip()]
    assert lines == ["coder │ One, two.", "coder │ file.read x", "✓ file.read x"]


def test_stored_messages_of_subagents_are_indented_too(capsys: pytest.CaptureFixture[str]) -> None:
    view = StreamView(interactive=False)
    base = {"details": {}, "agent_path": CODER}
    view.show_stored({"id": "a", "role": "system", "content": "the task", **base})
    view.show_stored({"id": "b", "role": "primary", "content": "My answer.", **base})
    view.finish()
    shown = capsys.readouterr()
    assert not shown.out.strip() and "coder │ My answer." in shown.err and "the task" not in shown.err
