"""Permission requests of a session in the editor. The first answer counts, wherever it is given.

Owns: the options, asking, sending the answer, withdrawing what was answered elsewhere. Never: what a rule
means, which is the daemon's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from acp import RequestError, text_block, tool_content
from acp.interfaces import Client
from acp.schema import AllowedOutcome, PermissionOption, PermissionOptionKind, ToolCallUpdate

from app.cli.client import ReceivedFrame
from app.cli.daemon_address import path_part
from app.cli.dialogs import visible
from app.cli.editor.frame_view import FrameView, ShownCall
from app.cli.editor.tool_view import fenced, kind_of, locations_of, title_of
from app.cli.output import CommandFailed
from app.cli.subagent_view import short_name

Request = Callable[[str, str, Any], Awaitable[Any]]
"""Method, path below `/api/v1`, body."""
_REJECT = {"answer": "reject"}
_MAX_RULES_SHOWN = 3


@dataclass(slots=True)
class Permissions:
    """The permission requests of one session. `path` is the session's, `withdraw` tells the editor that a
    call's request is answered. Close it when done."""

    session_id: str
    path: str
    editor: Client
    request: Request
    withdraw: Callable[[str], Awaitable[None]]
    view: FrameView
    cancelled: bool = False
    """Whether the turn is cancelled: requests that the editor gives up then are not rejected."""
    _asking: dict[str, tuple[str, asyncio.Task[None]]] = field(default_factory=dict)

    async def take(self, frame: ReceivedFrame) -> None:
        """Handle frames about permission requests; ignore others."""
        payload = frame.payload
        if frame.type == "permission.requested":
            agent = short_name(str(frame.agent_path)) if frame.of_subagent else ""
            await self._requested(payload["interaction_id"], payload, payload["tool_call_id"], agent)
        elif frame.type == "permission.answered":
            await self._answered(payload)

    async def catch_up(self, pending: Sequence[Mapping[str, Any]]) -> None:
        """Ask what was open before."""
        for one in reversed(pending):
            if one["kind"] == "permission":
                agent = "" if one["agent_path"] == "primary" else short_name(one["agent_path"])
                await self._requested(one["id"], one["request"], one["tool_call_id"], agent)

    async def aclose(self) -> None:
        """Stop asking; what is open stays open in the daemon."""
        asking = list(self._asking.values())
        self._asking.clear()
        for call_id, task in asking:
            await self._stop(call_id, task)
        await asyncio.gather(*(task for _, task in asking), return_exceptions=True)

    async def _stop(self, call_id: str, task: asyncio.Task[None]) -> None:
        if not task.done():
            task.cancel()
            with suppress(ConnectionError):
                await self.withdraw(call_id)

    async def _requested(
        self, interaction_id: str, asked: Mapping[str, Any], call_id: str, agent: str
    ) -> None:
        if interaction_id in self._asking:
            return
        if asked.get("request_ref"):
            whole = await self.request("GET", f"{self.path}/interactions/{path_part(interaction_id)}", None)
            asked = {**asked, **whole["request"]}
        task = asyncio.get_running_loop().create_task(self._ask(interaction_id, asked, call_id, agent))
        self._asking[interaction_id] = (call_id, task)

    async def _answered(self, payload: Mapping[str, Any]) -> None:
        asking = self._asking.pop(payload["interaction_id"], None)
        if payload.get("answer") in ("once", "always"):
            await self.view.status(payload["tool_call_id"], "in_progress")
        if asking is not None:
            await self._stop(*asking)

    async def _ask(self, interaction_id: str, asked: Mapping[str, Any], call_id: str, agent: str) -> None:
        options = options_for(asked)
        try:
            response = await self.editor.request_permission(
                session_id=self.session_id, tool_call=self._shown(asked, call_id, agent), options=options
            )
        except ConnectionError:
            return
        except (RequestError, ValueError) as problem:  # it cannot ask, or its answer is none
            await self._elsewhere(interaction_id, f"The editor cannot ask for permission ({problem}).")
            return
        chosen = response.outcome.option_id if isinstance(response.outcome, AllowedOutcome) else None
        if chosen is None and self.cancelled:
            return
        try:
            await self._send(
                interaction_id, asked, chosen if chosen in {o.option_id for o in options} else None
            )
        except CommandFailed as failure:
            if failure.details.get("reason") != "already_answered":
                await self._elsewhere(interaction_id, f"The answer was not taken: {failure.message}.")

    async def _send(self, interaction_id: str, asked: Mapping[str, Any], chosen: str | None) -> None:
        """Send the answer; anything but a known option rejects the call."""
        if chosen == "reject_always":
            for rule in asked["suggestions"]:
                body = {"permission": rule["permission"], "pattern": rule["pattern"], "action": "deny"}
                await self.request("POST", f"{self.path}/permissions", body)
        body = {"answer": chosen} if chosen in ("once", "always") else _REJECT
        await self.request("POST", f"{self.path}/interactions/{path_part(interaction_id)}/answer", body)

    async def _elsewhere(self, interaction_id: str, why: str) -> None:
        await self.view.text(
            f"\n\n{why} Answer on kaged's page, or in a terminal with `kaged answer {interaction_id}`.\n\n"
        )

    def _shown(self, asked: Mapping[str, Any], call_id: str, agent: str) -> ToolCallUpdate:
        call = self.view.calls.get(call_id) or ShownCall(asked["tool"], None, agent)
        subjects = "\n".join(visible(part) for one in asked["subjects"] for part in str(one).split("\n"))
        text = f"{visible(asked['reason'])}\n\n{fenced(subjects)}"
        return ToolCallUpdate(
            tool_call_id=call_id,
            title=title_of(call.name, call.arguments, call.agent or agent),
            kind=kind_of(call.name, call.arguments),
            status="pending",
            locations=locations_of(self.view.root, call.arguments),
            content=[*self.view.diff(call), tool_content(text_block(text))],
            raw_input=call.arguments,
        )


def options_for(asked: Mapping[str, Any]) -> list[PermissionOption]:
    """Return the options of a request; `always` only where there is a rule to store."""
    rules = [f"{rule['permission']} {rule['pattern']}" for rule in asked["suggestions"]]
    more = len(rules) - _MAX_RULES_SHOWN
    named = visible(", ".join(rules[:_MAX_RULES_SHOWN])) + (f" and {more} more" if more > 0 else "")
    always = [
        _option("always", f"Always allow in this session: {named}", "allow_always"),
        _option("reject_always", f"Always reject in this session: {named}", "reject_always"),
    ]
    once, reject = _option("once", "Allow once", "allow_once"), _option("reject", "Reject", "reject_once")
    return [once, always[0], reject, always[1]] if rules else [once, reject]


def _option(option_id: str, name: str, kind: PermissionOptionKind) -> PermissionOption:
    return PermissionOption(option_id=option_id, name=name, kind=kind)
