"""A project with agents below agents, and a model that answers for each of them from a script.

Owns: writing the project, telling by a request whose it is, the answers of each agent in turn.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fakes.provider_script import (
    Answer,
    RecordedRequest,
    Reply,
    Responder,
    Text,
    ToolCall,
    text_reply,
)


def agent(prompt: str, **more: Any) -> dict[str, Any]:
    """Return an agent of the project file; its prompt names it, so that its requests are known."""
    return {
        "model": "main",
        "system_prompt": f"project:/prompts/{prompt}.md",
        "cage": "disabled",
        "description": f"Knows what {prompt} knows.",
        **more,
    }


def enabled(*tools: str) -> dict[str, Any]:
    return {tool: {"enabled": True} for tool in tools}


def write_family(root: Path, primary: dict[str, Any], **more: Any) -> Path:
    """Write a project whose root agent is `primary` into `root` and return it."""
    (root / ".kaged").mkdir(parents=True)
    (root / "prompts").mkdir()
    project = {"version": 1, "project": "family", "primary": primary, **more}
    (root / ".kaged" / "project.yaml").write_text(json.dumps(project, indent=1))
    for one in walk(primary):
        name = one["system_prompt"].rpartition("/")[2].removesuffix(".md")
        (root / "prompts" / f"{name}.md").write_text(f"You are <{name}>.\n")
    return root


def walk(primary: dict[str, Any]) -> list[dict[str, Any]]:
    found = [primary]
    for child in primary.get("subagents", {}).values():
        found += walk(child)
    return found


class Cast:
    """The model of every agent: answers in the order of the script, each agent its own.

    Use `respond` as the fake provider's."""

    def __init__(self) -> None:
        self.requests: dict[str, list[RecordedRequest]] = defaultdict(list)
        self._parts: dict[str, deque[Answer | Responder]] = defaultdict(deque)
        self._asked = asyncio.Event()

    def script(self, name: str, *answers: Answer | Responder) -> None:
        self._parts[name].extend(answers)

    def respond(self, request: RecordedRequest) -> Answer:
        name = who(request)
        self.requests[name].append(request)
        self._asked.set()
        waiting = self._parts[name]
        answer = waiting.popleft() if waiting else text_reply(f"{name} is done.")
        return answer(request) if callable(answer) else answer

    async def until(self, condition: Callable[[], bool], seconds: float = 45.0) -> None:
        """Wait until a condition holds of what the models have been asked."""
        async with asyncio.timeout(seconds):
            while not condition():
                self._asked.clear()
                await self._asked.wait()

    def messages(self, name: str, index: int = -1) -> list[dict[str, Any]]:
        """Return what an agent was sent, without its system prompt."""
        sent: list[dict[str, Any]] = self.requests[name][index].json["messages"]
        return [message for message in sent if message["role"] != "system"]

    def tools(self, name: str, index: int = -1) -> list[str]:
        tools = self.requests[name][index].json.get("tools", [])
        return [tool["function"]["name"] for tool in tools]


def who(request: RecordedRequest) -> str:
    """Return the agent that a request is from, by its system prompt."""
    system = str(request.json["messages"][0]["content"])
    return system.partition("<")[2].partition(">")[0]


def calling(*calls: tuple[str, dict[str, Any]], text: str = "") -> Reply:
    """Return an answer that calls tools, by their wire names, all in one step."""
    parts = [Text(text)] if text else []
    blocks = [ToolCall(name, arguments, id=f"call_{n}") for n, (name, arguments) in enumerate(calls, 1)]
    return Reply((*parts, *blocks))
