"""Frames of a session as updates of the protocol.

Owns: what of messages, tool calls, plans and titles an editor has been sent. Never: questions (`permission`),
or deciding when a turn ends (`turn`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp import (
    image_block,
    plan_entry,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message,
    update_agent_thought,
    update_plan,
    update_tool_call,
    update_user_message,
)
from acp.schema import PlanEntry, SessionInfoUpdate

from app.cli.client import API, ReceivedFrame
from app.cli.editor.tool_view import (
    Content,
    diff_of,
    kind_of,
    locations_of,
    output,
    result_of,
    title_of,
)
from app.cli.subagent_view import short_name

Send = Callable[[Any], Awaitable[None]]
Read = Callable[[str], Awaitable[Any]]
PROGRESS_SECONDS = 0.3
"""The live output of a call is sent at most so often: each time it is sent whole."""
_STATUS = {"pending": "pending", "in_progress": "in_progress", "completed": "completed"}


@dataclass(slots=True)
class _Message:
    text: str = ""
    thinking: str = ""
    complete: bool = True
    """Whether no part of it can have been missed."""


@dataclass(slots=True)
class ShownCall:
    """A tool call that the editor knows."""

    name: str
    arguments: Any
    agent: str = ""
    progress: str = ""
    sent_at: float = 0.0
    ended: bool = False


@dataclass(slots=True)
class FrameView:
    """Turns frames and stored messages into updates. `read` gets a path below `/api/v1`; `messages` is the
    path of the session's messages; `settings` returns the updates for `session.updated`."""

    root: Path
    messages: str
    send: Send
    read: Read
    settings: Callable[[Mapping[str, Any]], Awaitable[list[Any]]]
    own: set[str] = field(default_factory=set)
    """Messages that the editor has already: its own prompts, and those of the history."""
    calls: dict[str, ShownCall] = field(default_factory=dict)
    _shown: dict[str, _Message] = field(default_factory=dict)

    async def show(self, frame: ReceivedFrame) -> None:
        """Send the updates of a frame; frames that an editor cannot show are passed over."""
        payload = frame.payload
        agent = short_name(str(frame.agent_path)) if frame.of_subagent else ""
        if payload.get("messageId") in self.own and payload.get("toolCallId") not in self.calls:
            return
        match frame.type:
            case "message.snapshot":
                await self._snapshot(payload, agent)
            case "message.tool_call":
                await self.call(payload, agent)
            case "message.tool_result":
                await self.result(payload)
            case "tool.progress":
                await self._progress(payload)
            case "todo.changed":
                await self._todos(payload)
            case "session.updated":
                await self.send(
                    SessionInfoUpdate(session_update="session_info_update", title=payload["title"])
                )
                for update in await self.settings(payload):
                    await self.send(update)
            case "sync":
                self._connected()
            case _ if not agent:
                await self._message(frame.type, payload)

    async def text(self, text: str, message_id: str | None = None) -> None:
        """Send a piece of an answer."""
        await self._chunk(update_agent_message, text, message_id)

    async def thought(self, text: str, message_id: str | None = None) -> None:
        await self._chunk(update_agent_thought, text, message_id)

    async def person(self, text: str, message_id: str | None = None) -> None:
        """Send what a person wrote."""
        await self._chunk(update_user_message, text, message_id)

    async def picture_of_person(self, media_type: str, data: str, message_id: str) -> None:
        update = update_user_message(image_block(data, media_type))
        update.message_id = message_id
        await self.send(update)

    async def call(self, payload: Mapping[str, Any], agent: str = "") -> None:
        """Send a call that begins."""
        arguments = payload.get("arguments")
        if arguments is None and payload.get("argumentsRef"):
            arguments = await self._whole_arguments(payload)
        name = payload["name"]
        shown = self.calls[payload["id"]] = ShownCall(name, arguments, agent)
        await self.send(
            start_tool_call(
                payload["id"],
                title_of(name, arguments, agent),
                kind=kind_of(name, arguments),
                status="pending",
                locations=locations_of(self.root, arguments),
                content=self.diff(shown),
                raw_input=arguments,
            )
        )

    async def result(self, payload: Mapping[str, Any]) -> None:
        """Send how a call ended."""
        call_id = payload["toolCallId"]
        shown = self.calls.get(call_id)
        if shown is None or shown.ended:
            return
        shown.ended = True
        failed = bool(payload.get("isError"))
        content: Sequence[Content] | None = result_of(shown.name, shown.arguments, payload["content"])
        if failed:
            content = [*self.diff(shown), *output(payload["content"])]
        elif self.diff(shown):
            content = None  # the diff stays
        pictures = await self._pictures(payload)
        if pictures:
            content = [*(content or ()), *pictures]
        await self.send(
            update_tool_call(call_id, status="failed" if failed else "completed", content=content)
        )
        todos = shown.arguments.get("todos") if isinstance(shown.arguments, Mapping) else None
        shown.arguments, shown.progress = None, ""  # an editor's session may last for days
        if shown.name == "todo" and not failed and isinstance(todos, list):
            await self._plan(todos)

    async def status(self, call_id: str, status: str) -> None:
        """Send the state of a call whose question was answered."""
        if call_id in self.calls and not self.calls[call_id].ended:
            await self.send(update_tool_call(call_id, status=status))  # type: ignore[arg-type]

    def diff(self, call: ShownCall) -> list[Content]:
        return diff_of(self.root, call.name, call.arguments)

    async def checklist(self, path: str) -> None:
        """Send the checklist of an issue as the plan."""
        await self._plan((await self.read(path))["items"])

    async def _message(self, kind: str, payload: Mapping[str, Any]) -> None:
        match kind:
            case "message.start":
                await self._start(payload)
            case "message.delta":
                await self._delta(payload["messageId"], payload["kind"], payload["delta"])
            case "message.end":
                await self._end(payload["messageId"])
            case "message.posted" if payload["role"] == "operator" and not payload["queued"]:
                if payload["message_id"] not in self.own:
                    self.own.add(payload["message_id"])
                    await self.person(payload["content"], payload["message_id"])
            case "model.retry":
                await self.thought(f"\n\n{payload['message']} The model call is repeated.\n\n")

    def _connected(self) -> None:
        """Of the messages in flight something may have been missed."""
        for message in self._shown.values():
            message.complete = False

    async def _snapshot(self, payload: Mapping[str, Any], agent: str) -> None:
        if not agent:
            await self._catch_up(payload["messageId"], payload["text"], payload["thinking"])
        for call in payload["tool_calls"]:
            if call["id"] not in self.calls:
                await self.call(call, agent)

    async def _start(self, payload: Mapping[str, Any]) -> None:
        before = self._shown.get(payload["messageId"])
        if before is not None and before.text:
            await self.text("\n\n(The answer starts again.)\n\n", payload["messageId"])
        self._shown[payload["messageId"]] = _Message()

    async def _delta(self, message_id: str, kind: str, delta: str) -> None:
        shown = self._shown.setdefault(message_id, _Message(complete=False))
        if kind == "thinking":
            shown.thinking += delta
            await self.thought(delta, message_id)
        else:
            shown.text += delta
            await self.text(delta, message_id)

    async def _catch_up(self, message_id: str, text: str, thinking: str = "") -> None:
        shown = self._shown.setdefault(message_id, _Message())
        for kind, whole, seen in (("thinking", thinking, shown.thinking), ("text", text, shown.text)):
            rest = whole[len(seen) :] if whole.startswith(seen) else f"\n\n{whole}"
            if whole and rest:
                await self._delta(message_id, kind, rest)
        shown.complete = True

    async def _end(self, message_id: str) -> None:
        """Send of a message that came while the connection was lost what is missing."""
        shown = self._shown.pop(message_id, _Message(complete=False))
        if shown.complete and (shown.text or shown.thinking):
            return
        self._shown[message_id] = shown
        stored = await self._stored(message_id)
        if stored is not None:
            await self._catch_up(message_id, stored["content"])
        del self._shown[message_id]

    async def _progress(self, payload: Mapping[str, Any]) -> None:
        call = self.calls.get(payload["tool_call_id"])
        if call is None or call.ended:
            return
        call.progress = f"{call.progress}{payload['text']}"[-65_536:]
        now = asyncio.get_running_loop().time()
        if now - call.sent_at >= PROGRESS_SECONDS:
            call.sent_at = now
            await self.send(
                update_tool_call(payload["tool_call_id"], status="in_progress", content=output(call.progress))
            )

    async def _todos(self, payload: Mapping[str, Any]) -> None:
        if payload.get("todos") is not None:
            await self._plan(payload["todos"])
        elif payload.get("todos_ref"):
            await self.checklist(str(payload["todos_ref"]).removeprefix(API))

    async def _plan(self, todos: Sequence[Any]) -> None:
        entries: list[PlanEntry] = [
            plan_entry(
                str(one.get("content", "")),
                status=_STATUS[one["status"]],  # type: ignore[arg-type]
                priority="high" if one.get("kind") == "criterion" else "medium",
            )
            for one in todos
            if isinstance(one, Mapping) and one.get("status") in _STATUS
        ]
        await self.send(update_plan(entries))

    async def _pictures(self, payload: Mapping[str, Any]) -> list[Content]:
        if not payload.get("images") or not payload.get("messageId"):
            return []
        stored = await self._stored(payload["messageId"])
        images = stored["details"].get("images", ()) if stored is not None else ()
        return [tool_content(image_block(one["data"], one["media_type"])) for one in images if one["data"]]

    async def _whole_arguments(self, payload: Mapping[str, Any]) -> Any:
        stored = await self._stored(payload["messageId"])
        blocks = stored["details"].get("contentBlocks", ()) if stored is not None else ()
        return next((one.get("arguments") for one in blocks if one.get("id") == payload["id"]), None)

    async def _stored(self, message_id: str) -> dict[str, Any] | None:
        """Return a stored message; None for an attempt that failed, which is not stored."""
        found: dict[str, Any] | None = await self.read(f"{self.messages}/{message_id}")
        return found

    async def _chunk(self, make: Callable[[Any], Any], text: str, message_id: str | None) -> None:
        if text:
            update = make(text_block(text))
            update.message_id = message_id
            await self.send(update)
