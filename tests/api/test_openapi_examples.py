"""The examples of the OpenAPI document: every body and answer has one, and each is what the daemon means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx2
import jsonschema_rs
import orjson
import pytest

from app.cli.openapi import openapi_document
from app.ids import is_id

DOCUMENT: dict[str, Any] = orjson.loads(openapi_document())
JSON = "application/json"
ULID = re.compile(r"\b([a-z]{3,4})_[0-9A-Z]{26}\b")

Case = tuple[str, dict[str, Any]]


def media() -> Iterator[Case]:
    """Yield every JSON body, and every JSON answer of a success or a failure, with its operation."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            name = f"{method.upper()} {path}"
            parts = {"body": operation.get("requestBody", {}), **operation["responses"]}
            for status, part in parts.items():
                found = resolved(part)
                if JSON in found.get("content", {}):
                    yield f"{name} {status}", found["content"][JSON]


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in part:
        found: Any = DOCUMENT
        for step in part["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        part = found
    return part


def examples(content: dict[str, Any]) -> list[Any]:
    several = [resolved(one)["value"] for one in content.get("examples", {}).values()]
    return several + ([content["example"]] if "example" in content else [])


def validator(schema: dict[str, Any]) -> Any:
    whole = {**schema, "components": DOCUMENT["components"]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


def texts(value: Any) -> Iterator[tuple[str, str]]:
    """Yield every text with the name of its field."""
    pairs = value.items() if isinstance(value, dict) else [("", one) for one in value]
    for name, one in pairs:
        if isinstance(one, str):
            yield name, one
        elif isinstance(one, dict | list):
            yield from texts(one)


@pytest.mark.requirement("http.document")
def test_every_body_and_every_answer_has_an_example_that_its_schema_allows() -> None:
    without, wrong = [], []
    for name, content in media():
        found = examples(content)
        if not found:
            without.append(name)
        check = validator(content["schema"])
        wrong += [f"{name}: {error.message}" for one in found for error in check.iter_errors(one)]
    assert without == []
    assert wrong == []


def test_a_page_counts_what_is_in_it() -> None:
    for name, content in media():
        for one in examples(content):
            if isinstance(one, dict) and "next_cursor" in one:
                assert isinstance(one["items"], list), name
                assert one["total"] == len(one["items"]), name


def test_ids_in_examples_have_the_prefix_of_their_noun() -> None:
    nouns = {"project_id": "prj", "session_id": "ses", "run_id": "run", "request_id": "req", "call_id": "tcl"}
    for case, content in media():
        for one in examples(content):
            for name, text in texts(one):
                if name in nouns:
                    assert is_id(text, nouns[name]), (case, name, text)  # type: ignore[arg-type]
                elif ULID.fullmatch(text):
                    assert is_id(text), (case, name, text)


REAL = {
    "get_versions": "/api/v1/versions",
    "get_readiness": "/readyz",
    "list_projects": "/api/v1/projects",
    "get_project": "/api/v1/projects/{project_id}",
    "get_project_dsl": "/api/v1/projects/{project_id}/dsl",
    "get_capabilities": "/api/v1/projects/{project_id}/capabilities",
    "list_agent_tools": "/api/v1/projects/{project_id}/agents/primary/tools",
    "list_issues": "/api/v1/projects/{project_id}/issues",
    "get_issue": "/api/v1/projects/{project_id}/issues/1",
    "list_sessions": "/api/v1/sessions",
    "get_session": "/api/v1/sessions/{session_id}",
    "list_messages": "/api/v1/sessions/{session_id}/messages",
    "list_runs": "/api/v1/sessions/{session_id}/runs",
    "list_models": "/api/v1/models",
    "list_modes": "/api/v1/modes",
    "list_providers": "/api/v1/providers",
    "list_tools": "/api/v1/tools",
    "list_tokens": "/api/v1/tokens",
    "list_audit": "/api/v1/audit",
    "list_logs": "/api/v1/logs",
}


@pytest.mark.requirement("http.document")
async def test_answers_of_the_daemon_have_the_fields_of_their_examples(
    client: httpx2.AsyncClient, project_id: str, session_id: str
) -> None:
    made = await client.post(f"/api/v1/projects/{project_id}/issues", json=BODIES["create_issue"])
    assert made.status_code == 201, made.text
    assert made.json().keys() == ANSWERS["create_issue"].keys()
    for operation, path in REAL.items():
        answer = await client.get(path.format(project_id=project_id, session_id=session_id))
        assert answer.status_code == 200, (operation, answer.text)
        validator(SCHEMAS[operation]).validate(answer.json())
        assert same_fields(answer.json(), ANSWERS[operation]), (operation, answer.json(), ANSWERS[operation])


async def test_the_examples_of_bodies_are_taken(
    client: httpx2.AsyncClient, project_id: str, session_id: str
) -> None:
    issues = f"/api/v1/projects/{project_id}/issues"
    assert (await client.post(issues, json=BODIES["create_issue"])).status_code == 201
    for operation, path in {
        "comment_on_issue": f"{issues}/1/comments",
        "create_todo": f"{issues}/1/todos",
        "create_project_permission": f"/api/v1/projects/{project_id}/permissions",
    }.items():
        answer = await client.post(path, json=BODIES[operation])
        assert answer.status_code == 201, (operation, answer.text)
        assert answer.json().keys() == ANSWERS[operation].keys(), operation


async def test_a_real_error_has_the_fields_of_its_example(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/api/v1/sessions/ses_01JZ0000000000000000000000")
    example = examples(resolved({"$ref": "#/components/responses/Error404"})["content"][JSON])[0]
    assert answer.status_code == 404
    assert answer.json()["error"].keys() - {"details"} == example["error"].keys() - {"details"}
    assert answer.json()["error"]["code"] == example["error"]["code"]


def same_fields(real: Any, example: Any) -> bool:
    """Tell whether objects of both have the same fields, as deep as both go."""
    if isinstance(real, dict) and isinstance(example, dict):
        return real.keys() == example.keys() and all(
            name in FREE or same_fields(real[name], example[name]) for name in real
        )
    if isinstance(real, list) and isinstance(example, list) and real and example:
        return same_fields(real[0], example[0])
    return True


FREE = frozenset({"checks", "data", "details", "fields", "overrides", "parameters", "requires", "result"})
"""Objects whose fields no model names, or one of several."""
_OPERATIONS = {
    operation["operationId"]: operation
    for methods in DOCUMENT["paths"].values()
    for operation in methods.values()
}
BODIES = {
    name: examples(operation["requestBody"]["content"][JSON])[0]
    for name, operation in _OPERATIONS.items()
    if JSON in operation.get("requestBody", {}).get("content", {})
}
SCHEMAS = {
    name: operation["responses"][status]["content"][JSON]["schema"]
    for name, operation in _OPERATIONS.items()
    for status in ("200", "201")
    if JSON in operation["responses"].get(status, {}).get("content", {})
}
ANSWERS = {
    name: examples(operation["responses"][status]["content"][JSON])[0]
    for name, operation in _OPERATIONS.items()
    for status in ("200", "201")
    if JSON in operation["responses"].get(status, {}).get("content", {})
}
