"""The live view of a session in a terminal: text as it arrives, one line for each tool call. In a pipe only
the answer goes to standard output, and the rest to standard error.

Owns: how frames look. Never: the connection, or deciding when to stop.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from app.cli.client import ReceivedFrame
from app.cli.output import printable
from app.cli.streams import dumb_terminal
from app.cli.subagent_view import SubagentView, indented, short_name

_ARGUMENT_NAMES = (
    *("path", "file", "pattern", "query", "script", "expression", "expand"),
    *("command", "title", "name", "url"),
)
_SUMMARY_WIDTH = 60
_ERROR_WIDTH = 100
_ERASE_LINE = "\r\x1b[2K"


@dataclass(slots=True)
class _Shown:
    """What of one message is on the screen."""

    attempt: int = 1
    text: str = ""
    thinking: str = ""


@dataclass(slots=True)
class StreamView:
    """Draws frames. `interactive`: standard output is a terminal. `text_aside` sends the answer to standard
    error in a pipe, because the command prints another result."""

    interactive: bool = field(default_factory=sys.stdout.isatty)
    text_aside: bool = False
    hidden_messages: set[str] = field(default_factory=set)
    _shown: dict[str, _Shown] = field(default_factory=dict)
    _calls: dict[str, tuple[str, str]] = field(default_factory=dict)
    _mode: str = ""
    _at_line_start: bool = True
    _status: bool = False
    _failed_with: str | None = None
    _cancelling: bool = False
    _workspace_line: str = ""
    _subagents: SubagentView = field(default_factory=SubagentView)

    def show(self, frame: ReceivedFrame) -> None:
        payload = frame.payload
        if frame.of_subagent:
            self._subagent(frame)
            return
        if payload.get("messageId") in self.hidden_messages and payload.get("toolCallId") not in self._calls:
            return
        match frame.type:
            case "message.start":
                self._start(payload)
            case "message.delta":
                self._delta(payload["messageId"], payload["kind"], payload["delta"])
            case "message.snapshot":
                self.catch_up(payload["messageId"], payload.get("text", ""), payload.get("thinking", ""))
                for call in payload.get("tool_calls", ()):
                    self._call(call)
            case "message.tool_call":
                self._call(payload)
            case "message.tool_result":
                self._tool_result(payload)
            case "message.end" if payload.get("errorMessage"):
                self._failure(payload["errorMessage"])
            case _:
                self._event(frame.type, payload)

    def is_incomplete(self, message_id: str) -> bool:
        """Tell whether nothing of a message was shown, as after a reconnect."""
        shown = self._shown.get(message_id)
        return message_id not in self.hidden_messages and (
            shown is None or not (shown.text or shown.thinking)
        )

    def catch_up(self, message_id: str, text: str, thinking: str = "") -> None:
        """Show the part of a message that is not on the screen yet."""
        shown = self._shown.setdefault(message_id, _Shown())
        for kind, whole, seen in (("thinking", thinking, shown.thinking), ("text", text, shown.text)):
            rest = whole[len(seen) :] if whole.startswith(seen) else f"\n{whole}"
            if whole and rest:
                self._delta(message_id, kind, rest)

    def _subagent(self, frame: ReceivedFrame) -> None:
        """Show the messages of a subagent, each at once and indented: several may speak in parallel."""
        payload, speakers, lines = frame.payload, self._subagents, list[str]()
        said = payload.get("messageId", "")
        if said in self.hidden_messages:
            return
        match frame.type:
            case "message.delta" if payload["kind"] == "text":
                speakers.text(said, payload["delta"])
            case "message.snapshot":
                calls = [_call_line(call) for call in payload.get("tool_calls", ())]
                speakers.whole(said, payload.get("text", ""), calls)
            case "message.tool_call":
                speakers.call(said, _call_line(payload))
            case "message.end":
                lines = speakers.end(frame, said)
            case "run.ended":
                failed = payload.get("state") != "succeeded"
                lines = speakers.end_run(
                    frame, f"{payload.get('state')}: {payload.get('reason')}" if failed else None
                )
        for line in lines:
            self.note(line, dim=True)

    def show_stored(self, message: Mapping[str, Any]) -> None:
        """Show a stored message; later frames about it are ignored."""
        if message.get("agent_path", "primary") != "primary":
            if message["role"] == "primary":
                for line in indented(
                    short_name(message["agent_path"]), message["content"].strip().splitlines()
                ):
                    self.note(line, dim=True)
            self.hidden_messages.add(message["id"])
            return
        details = message["details"]
        match message["role"]:
            case "operator":
                self.operator(message["content"])
            case "tool":
                self._tool_result(
                    {
                        "toolCallId": details.get("toolCallId"),
                        "name": details.get("toolName", "tool"),
                        "content": message["content"],
                        "isError": details.get("isError", False),
                        "durationMs": (details.get("metadata") or {}).get("duration_ms"),
                    }
                )
            case "system":
                self.note(message["content"], dim=True)
            case _:
                blocks = details.get("contentBlocks") or [{"type": "text", "text": message["content"]}]
                self._blocks(message["id"], blocks)
        self.hidden_messages.add(message["id"])

    def operator(self, text: str) -> None:
        self._leave("operator")
        self._aside(f"▌ {text}", bold=True)

    def note(self, text: str, *, dim: bool = False, color: str | None = None) -> None:
        """Show one line beside the conversation."""
        self._leave("note")
        self._aside(text, dim=dim, color=color)

    def cancelling(self) -> None:
        """Note that the run is being cancelled. The rest of the answer is not drawn: it would start within a
        word."""
        self._cancelling = True
        self._erase_status()
        if self.interactive:
            self._write("\n", aside=False)
            self._at_line_start = True
        self.note("cancelling; Ctrl-C again leaves at once", dim=True)

    def finish(self) -> None:
        """End the last line, so that the prompt begins on its own."""
        self._leave("")

    def summary(self, payload: Mapping[str, Any]) -> None:
        """Show how a run ended, from `run.ended`."""
        usage = payload.get("usage") or {}
        tokens = sum(
            int(usage.get(f"{kind}_tokens") or 0) for kind in ("input", "output", "cache_read", "cache_write")
        )
        parts = [f"run {payload.get('state')}"]
        if payload.get("state") != "succeeded" and payload.get("reason") not in (None, payload.get("state")):
            parts.append(str(payload["reason"]).replace("_", " "))
        steps = int(payload.get("steps") or 0)
        parts.append(f"{steps} step{'' if steps == 1 else 's'}")
        parts.append(f"{tokens:,} tokens")
        if payload.get("cost_usd") is not None:
            parts.append(f"${payload['cost_usd']:.4f}")
        if (payload.get("total_cost_usd") or 0) > (payload.get("cost_usd") or 0):
            parts.append(f"${payload['total_cost_usd']:.4f} with subagents")
        if payload.get("duration_ms") is not None:
            parts.append(_duration(payload["duration_ms"]))
        error = payload.get("error") or {}
        if error.get("message"):
            self._failure(error["message"])
        self.note(" · ".join(parts), dim=True)

    def _failure(self, message: str) -> None:
        """Show an error once: the end of the message and the end of the run both have it."""
        if message != self._failed_with:
            self.note(f"✗ {message}", color="red")
            self._failed_with = message

    def _blocks(self, message_id: str, blocks: Sequence[Mapping[str, Any]]) -> None:
        for block in blocks:
            if block["type"] == "tool_call":
                self._calls[block["id"]] = (block["name"], _summary(block.get("arguments")))
            elif block.get("text"):
                self._delta(message_id, block["type"], block["text"])

    def _start(self, payload: Mapping[str, Any]) -> None:
        message_id, attempt = payload["messageId"], int(payload.get("attempt", 1))
        before = self._shown.get(message_id)
        if before is not None and attempt > before.attempt and (before.text or before.thinking):
            self.note("↻ the answer starts again", dim=True)
        if before is None or attempt > before.attempt:
            self._shown[message_id] = _Shown(attempt=attempt)

    def _delta(self, message_id: str, kind: str, text: str) -> None:
        shown = self._shown.setdefault(message_id, _Shown())
        if kind == "thinking":
            shown.thinking += text
        else:
            shown.text += text
        if self._cancelling:
            return
        self._leave(kind)
        text = printable(text)
        self._write(text, aside=self._is_aside(kind))
        self._at_line_start = text.endswith("\n") if text else self._at_line_start

    def _call(self, call: Mapping[str, Any]) -> None:
        self._calls[call["id"]] = (call["name"], _summary(call.get("arguments")))
        self._draw_status()

    def _tool_result(self, payload: Mapping[str, Any]) -> None:
        name, summary = self._calls.pop(payload["toolCallId"], (payload.get("name", "tool"), ""))
        failed = bool(payload.get("isError"))
        line = f"{'✗' if failed else '✓'} {name}"
        if summary:
            line += f" {summary}"
        if payload.get("durationMs") is not None:
            line += f" {_duration(payload['durationMs'])}"
        self._leave("tool")
        self._aside(line, color="red" if failed else "green")
        if failed:
            self._aside(f"  {_shortened(str(payload.get('content', '')), _ERROR_WIDTH)}", dim=True)
        self._draw_status()

    def _event(self, kind: str, payload: Mapping[str, Any]) -> None:
        match kind:
            case "model.retry":
                self._retry(payload)
            case "run.queued":
                self.note(f"… queued ({payload.get('reason')})", dim=True)
            case "workspace.updated":
                self._workspace(payload)
            case "session.state" if payload.get("reason") == "cannot_run":
                self.note(f"✗ the message cannot be run: {payload.get('detail')}", color="red")
            case "hook.ended" if payload.get("decision") not in ("continue", "ask"):
                what, reason = payload.get("decision"), payload.get("reason")
                self.note(
                    f"! hook {payload.get('hook')} ({payload.get('event')}): {what}: {reason}", color="yellow"
                )
            case "budget.warning" if payload.get("unpriced_model"):
                model = payload.get("unpriced_model")
                self.note(f"! the cost limit has no effect: {model} has no known price", color="yellow")
            case "budget.warning":
                state = "reached" if payload.get("reached") else "near"
                self.note(
                    f"! limit {state}: {payload.get('used')} of {payload.get('limit')} {payload.get('unit')}",
                    color="yellow",
                )
            case "checkpoint.created":
                self.note(f"‖ checkpoint: {payload.get('reason')}", color="yellow")
            case _:
                return

    def _workspace(self, payload: Mapping[str, Any]) -> None:
        state, detail = str(payload.get("state")), payload.get("detail")
        if state == "broken":
            self.note(f"✗ the workspace is broken: {detail}", color="red")
        elif state in ("creating", "ready"):
            step = f" ({payload['step']})" if payload.get("step") else ""
            line = f"… workspace {state}{step}" + (f": {detail}" if detail else "")
            if line != self._workspace_line:  # its size and log are noted by further events
                self._workspace_line = line
                self.note(line, dim=True)

    def _retry(self, payload: Mapping[str, Any]) -> None:
        target, delay = payload.get("fallback_to"), payload.get("delay_ms")
        if target is None and delay is None:
            return  # nothing follows; the end of the message shows the failure
        action = f"trying {target}" if target else f"retrying in {_duration(delay or 0)}"
        self.note(f"↻ {payload.get('message')}; {action}", dim=True)

    def _leave(self, mode: str) -> None:
        """End the present line when text of another kind follows."""
        self._erase_status()
        if mode != self._mode and not self._at_line_start:
            self._write("\n", aside=self._is_aside(self._mode))
            self._at_line_start = True
        self._mode = mode

    def _is_aside(self, mode: str) -> bool:
        return mode == "thinking" or (self.text_aside and not self.interactive)

    def _write(self, text: str, *, aside: bool) -> None:
        if aside:
            click.secho(text, nl=False, dim=True, err=not self.interactive)
        else:
            click.echo(text, nl=False)
        (sys.stdout if self.interactive or not aside else sys.stderr).flush()

    def _aside(self, text: str, *, bold: bool = False, dim: bool = False, color: str | None = None) -> None:
        click.secho(printable(text), bold=bold or None, dim=dim or None, fg=color, err=not self.interactive)

    def _draw_status(self) -> None:
        """On a terminal, show the running call in a line that is erased before other output."""
        if not self.interactive or not self._calls or dumb_terminal():
            return
        self._leave("tool")
        name, summary = next(iter(self._calls.values()))
        more = f" (+{len(self._calls) - 1})" if len(self._calls) > 1 else ""
        # A line that wraps could not be erased whole.
        room = shutil.get_terminal_size().columns - len(more) - 1
        shown = _shortened(printable(f"… {name} {summary}"), max(room, 1)) + more
        click.secho(shown, nl=False, dim=True)
        sys.stdout.flush()
        self._status = True

    def _erase_status(self) -> None:
        if self._status:
            sys.stdout.write(_ERASE_LINE)  # not by click, which takes it for a colour
            self._status = False


def _call_line(call: Mapping[str, Any]) -> str:
    return f"{call['name']} {_summary(call.get('arguments'))}".rstrip()


def _summary(arguments: Any) -> str:
    """Return the most telling argument of a call, after its action."""
    if not isinstance(arguments, Mapping):
        return ""
    rest = {name: value for name, value in arguments.items() if name != "action"}
    telling = (rest[name] for name in _ARGUMENT_NAMES if isinstance(rest.get(name), str))
    first = next((value for value in rest.values() if isinstance(value, str | int | float)), "")
    return _shortened(f"{arguments.get('action', '')} {next(telling, first)}", _SUMMARY_WIDTH)


def _shortened(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _duration(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
