"""Models that ask people something, and the people's answers over HTTP."""

from __future__ import annotations

from typing import Any

from tests.driver.sessions import PROJECT_YAML, Driver, Watch
from tests.fakes.provider_script import ToolCall
from tests.fakes.provider_server import FakeProvider

ASKING_YAML = PROJECT_YAML + '    "question": { enabled: true }\n    "lab.*": { enabled: true }\n'

DATABASE = {
    "id": "database",
    "title": "Which database?",
    "description": "Both are there.",
    "options": [{"label": "SQLite", "description": "a file"}, {"label": "PostgreSQL"}],
}
TESTS = {
    "id": "tests",
    "title": "Which tests?",
    "options": [{"label": "unit"}, {"label": "end to end"}, {"label": "load"}],
    "multiple": True,
}
NAME = {"id": "name", "title": "What name?", "options": [{"label": "shop"}], "allow_other": True}


def ask(*questions: dict[str, Any], call_id: str = "call_1") -> ToolCall:
    arguments = {"summary": "Before I write.", "questions": list(questions or [DATABASE])}
    return ToolCall("kaged_ask", arguments, call_id)


def form(*fields: dict[str, Any], call_id: str = "call_1") -> ToolCall:
    return ToolCall("kaged_form", {"summary": "For the sale.", "fields": list(fields)}, call_id)


def field(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "label": name.title(), "type": kind, **more}


def question(*questions: dict[str, Any], call_id: str = "call_1") -> ToolCall:
    return ToolCall("question", {"questions": list(questions)}, call_id)


async def until_asked(watch: Watch, count: int = 1) -> list[dict[str, Any]]:
    """Wait for so many questions and return their payloads."""
    await watch.until(lambda _: len(watch.of("interaction.requested")) >= count)
    return [frame["payload"] for frame in watch.of("interaction.requested")]


async def answer(driver: Driver, asked: dict[str, Any], *, status: int = 200, **body: Any) -> Any:
    path = f"/interactions/{asked['interaction_id']}/answer"
    return await driver.session_call("POST", path, body, status=status)


def read_by_model(fake: FakeProvider, number: int = -1) -> list[str]:
    """Return the tool results in a request."""
    sent = fake.requests[number].json["messages"]
    return [message["content"] for message in sent if message["role"] == "tool"]
