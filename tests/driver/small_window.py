"""A daemon whose model has a small window, and words for what its compactions did.

Owns: projects with a `compaction` block, long answers and results, and reading what a provider received.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.driver.sessions import FEW_TOOLS_YAML, Driver, driven, write_project
from tests.fakes.provider_script import RecordedRequest, Reply, Text, ToolCall
from tests.fakes.provider_server import FakeProvider

WINDOW = 8_000
SUMMARIZER_WINDOW = 6_000
PRICES = {
    "fake:small": {"context_window": WINDOW, "input": 1.0, "output": 2.0},
    "fake:sum": {"context_window": SUMMARIZER_WINDOW, "input": 3.0, "output": 4.0},
}
MODELS = {"main": ["fake:small"], "short": ["fake:sum"]}
LIMITS = "limits: { max_output_tokens: 500 }\n"
SUMMARIZE = "summarize: { model: short, prompt: project:/prompts/summarizer.md }"


def project(root: Path, compaction: str = "", more: str = LIMITS) -> Path:
    """Write a project whose agent has the `compaction` block given (YAML in one line)."""
    block = f"  compaction: {{ {compaction} }}\n" if compaction else ""
    write_project(root, FEW_TOOLS_YAML + block + more)
    (root / "prompts" / "summarizer.md").write_text("You summarize.\n")
    for number in range(40):
        (root / f"file{number}.txt").write_text(f"content of {number}: " + "word " * 300)
    return root


@asynccontextmanager
async def small(
    tmp_path: Path,
    overrides: dict[str, Any],
    compaction: str = "",
    more: str = LIMITS,
    *,
    session: dict[str, Any] | None = None,
    **settings: Any,
) -> AsyncIterator[Driver]:
    """A daemon with a session of a project whose model has a window of 8,000 tokens."""
    root = project(tmp_path / "small", compaction, more)
    merged = {**overrides, "models": MODELS, "prices": PRICES, **settings}
    async with driven(tmp_path / "data", root, session=session, **merged) as driver:
        yield driver


def runs_of(driver: Driver) -> Any:
    """Return the runs of the driver's session."""
    return driver.daemon.services.sessions._live.find(driver.session_id).runs


def reads(count: int, *, first: int = 0) -> list[Reply]:
    """Return answers that read one file each, as their ids say."""
    return [
        Reply(
            (Text(f"Reading {n}."), ToolCall("file_read", {"path": f"file{n}.txt"}, id=f"c{n}")), usage=None
        )
        for n in range(first, first + count)
    ]


def to(model: str, fake: FakeProvider) -> list[RecordedRequest]:
    """Return what a model was sent."""
    return [request for request in fake.requests if request.json.get("model") == model]


def asked_and_answered(request: RecordedRequest) -> tuple[list[str], list[str]]:
    """Return the ids of the calls, and of the results, in a request of the chat completions wire."""
    messages = request.json["messages"]
    asked = [call["id"] for m in messages for call in m.get("tool_calls") or ()]
    return asked, [m["tool_call_id"] for m in messages if m["role"] == "tool"]


def texts(request: RecordedRequest) -> list[str]:
    return [str(message.get("content")) for message in request.json["messages"]]


async def events(driver: Driver, *names: str) -> list[dict[str, Any]]:
    """Return the audit rows of these names, the oldest first."""
    rows = (await driver.call("GET", "/audit?limit=100"))["items"]
    return [row for row in reversed(rows) if row["event"] in names]


async def compactions(driver: Driver) -> list[dict[str, Any]]:
    """Return the session's compactions, the oldest first."""
    found = (await driver.session_call("GET", "/compactions"))["items"]
    return list(reversed(found))


async def verified(
    driver: Driver, fake: FakeProvider, model: str = "small", *, agent: str = "primary"
) -> None:
    """Read every request of an agent's runs back and compare it with what its model received."""
    runs = (await driver.session_call("GET", "/runs?limit=100&all=true"))["items"]
    bodies = []
    for run in (run for run in reversed(runs) if run["agent_path"] == agent):
        for step in (await driver.call("GET", f"/runs/{run['id']}"))["steps"]:
            path = f"/api/v1/runs/{run['id']}/steps/{step['number']}/request"
            answer = await driver.client.get(path)
            assert answer.json()["verified"] is True, (run["id"], step["number"])
            bodies.append(answer.content.partition(b'"body":')[2].removesuffix(b"}"))
    assert bodies == [request.body for request in to(f"{model}", fake)]
