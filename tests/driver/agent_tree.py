"""Thirty agents on four levels, a model that lets them all work, and what must hold when they rest.

Owns: the tree, the random model, the checks of what is stored. Never: daemons.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from tests.driver.family import agent, enabled, who
from tests.fakes.provider_script import Delay, RecordedRequest, Reply, Text, ToolCall

Fetch = Callable[[str], Awaitable[dict[str, Any]]]
AGENTS, AT_ONCE = 30, 10


def tree() -> dict[str, Any]:
    """Return a root with three children, each of which has three, most of which have two."""
    left = iter(range(18))

    def leaf(n: int) -> dict[str, Any]:
        return agent(f"leaf{n}", tools=enabled("file.read"))

    def worker(a: int, b: int) -> dict[str, Any]:
        below = {f"leaf{n}": leaf(n) for n in (next(left, None), next(left, None)) if n is not None}
        return agent(f"worker{a}{b}", subagents=below, tools=enabled("file.read"))

    def lead(a: int) -> dict[str, Any]:
        return agent(f"lead{a}", subagents={f"worker{a}{b}": worker(a, b) for b in range(3)})

    return agent("primary", tools=enabled("task"), subagents={f"lead{a}": lead(a) for a in range(3)})


class Model:
    """Answers for every agent: one that has children calls them all, then says that it is done; a leaf
    reads a file or two first. How long it takes is random."""

    def __init__(self, chance: random.Random, *, slowness: float = 0.03, background: bool = False) -> None:
        self._chance = chance
        self._slowness = slowness
        self._background = background

    def _id(self) -> str:
        return f"call_{self._chance.getrandbits(64):x}"

    def __call__(self, request: RecordedRequest) -> Reply:
        name, sent = who(request), request.json["messages"]
        asked_last = sent[-1]["role"] == "user" and "task in the background" not in str(sent[-1]["content"])
        tools = [tool["function"]["name"] for tool in request.json.get("tools", [])]
        below = [tool for tool in tools if tool.startswith("agent-")]
        pause = Delay(self._chance.uniform(0, self._slowness))
        if not asked_last or (name != "primary" and not below and self._chance.random() < 0.5):
            return Reply((Text(f"{name} "), pause, Text("is done.")))
        if not below:
            return Reply(
                (Text("Let me see."), pause, ToolCall("file_read", {"path": "README.md"}, id=self._id()))
            )
        calls = [ToolCall(one, {"task": f"for {one}"}, id=self._id()) for one in below]
        if self._background and name == "primary" and not any(m["role"] == "tool" for m in sent):
            task = {"agent": below[-1].removeprefix("agent-"), "prompt": "aside", "background": True}
            calls.append(ToolCall("task", task, id=self._id()))
        return Reply((Text("All of you."), pause, *calls))


async def all_of(fetch: Fetch, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = await fetch(f"{path}{'&' if '?' in path else '?'}limit=100{cursor}")
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        cursor = f"&cursor={page['next_cursor']}"


async def check_at_rest(fetch: Fetch, session_id: str) -> list[dict[str, Any]]:
    """Nothing runs, every call has one result in its own conversation, every message is whole; return
    the runs."""
    runs = await all_of(fetch, f"/sessions/{session_id}/runs?all=true")
    messages = await all_of(fetch, f"/sessions/{session_id}/messages")
    by_id = {run["id"]: run for run in runs}
    assert all(run["state"] not in ("pending", "running") for run in runs)
    assert all(run["ended_at"] is not None for run in runs)
    for run in runs:
        above = run["parent_run_id"]
        assert above is None or run["agent_path"].startswith(f"{by_id[above]['agent_path']}.subagents.")
    assert all(message["complete"] for message in messages)
    positions = [message["position"] for message in messages if message["position"] is not None]
    assert len(positions) == len(set(positions))
    asked: Counter[tuple[str, str]] = Counter()
    answered: Counter[tuple[str, str]] = Counter()
    for message in messages:
        if message["role"] == "tool":
            answered[message["run_id"], message["details"]["toolCallId"]] += 1
        for block in message["details"].get("contentBlocks", ()):
            if block["type"] == "tool_call":
                asked[message["run_id"], block["id"]] += 1
    assert asked == answered
    return runs


def check_frames(frames: list[dict[str, Any]]) -> None:
    """Each run, message and call that was told to begin was told to end, once."""
    for opened, closed, name in (
        ("run.started", "run.ended", "run_id"),
        ("message.start", "message.end", "messageId"),
    ):
        begun = Counter(f["payload"][name] for f in frames if f["type"] == opened)
        ended = Counter(f["payload"][name] for f in frames if f["type"] == closed)
        assert begun == ended and set(begun.values()) <= {1}, opened
    calls = Counter((f["run_id"], f["payload"]["id"]) for f in frames if f["type"] == "message.tool_call")
    results = Counter(
        (f["run_id"], f["payload"]["toolCallId"]) for f in frames if f["type"] == "message.tool_result"
    )
    assert calls == results and set(calls.values()) <= {1}
