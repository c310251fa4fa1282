"""The OpenAPI document: committed, current, complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from app.cli.openapi import events_document, openapi_document
from tests.driver.daemon import Daemon
from tests.driver.loop_watch import LongestTurn

FOLDER = Path(__file__).parents[2] / "openapi"
FILES = {"openapi.json": openapi_document(), "events.schema.json": events_document()}
DOCUMENT: dict[str, Any] = orjson.loads(FILES["openapi.json"])

NOT_JSON = ("/content", "/export", "/share", "/metrics")
"""Routes whose answers are something else."""


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.requirement("http.document")
def test_the_committed_files_are_current(name: str) -> None:
    assert (FOLDER / name).read_bytes() == FILES[name], f"openapi/{name} is stale: run `make openapi`"


def test_every_operation_has_a_unique_id_that_reads_as_a_method_name() -> None:
    ids = [operation["operationId"] for _, _, operation in operations()]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", name) for name in ids), ids


def test_every_operation_has_a_tag_a_summary_and_a_security_rule() -> None:
    known = {tag["name"] for tag in DOCUMENT["tags"]}
    for method, path, operation in operations():
        assert set(operation["tags"]) <= known, (method, path)
        assert operation["summary"][0].isupper(), (method, path)
        assert "security" in operation, (method, path)


@pytest.mark.requirement("http.document")
def test_every_operation_says_how_it_fails() -> None:
    for method, path, operation in operations():
        answers = set(operation["responses"])
        assert {"400", "403", "500"} <= answers, (method, path)
        assert ("401" in answers) or operation["security"] == [], (method, path)
        assert ("404" in answers) or "{" not in path, (method, path)
        assert ("413" in answers) or "requestBody" not in operation, (method, path)


READS_WITH_CONFLICTS: dict[str, dict[str, str]] = {
    "/api/v1/folders": {"path": "{shop}/README.md"},
    "/api/v1/projects/{project_id}/files": {"path": "README.md"},
    "/api/v1/projects/{project_id}/files/content": {"path": "prompts"},
    "/api/v1/projects/{project_id}/files/text": {"path": "{shop}"},
    "/api/v1/projects/{project_id}/files/problems": {"path": "prompts"},
    "/api/v1/projects/{project_id}/git/status": {},
    "/api/v1/projects/{project_id}/git/diff": {"path": "README.md"},
    "/api/v1/projects/{project_id}/git/branches": {},
}


async def test_a_read_that_meets_a_conflict_says_so(
    client: httpx2.AsyncClient, project_id: str, shop: Path
) -> None:
    for path, given in READS_WITH_CONFLICTS.items():
        params = {name: value.format(shop=shop) for name, value in given.items()}
        answer = await client.get(path.format(project_id=project_id), params=params)
        assert answer.status_code == 409, (path, answer.text)
        assert "409" in DOCUMENT["paths"][path]["get"]["responses"], path


def test_every_success_has_a_model() -> None:
    for method, path, operation in operations():
        for status, answer in operation["responses"].items():
            if status in ("200", "201", "202") and not path.endswith(NOT_JSON):
                schema = answer["content"]["application/json"]["schema"]
                assert "$ref" in schema or schema.get("type") == "object", (method, path, status)


def test_every_body_that_is_json_has_an_example() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    for method, path, operation in operations():
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if content is None:
            continue
        options = content["schema"].get("anyOf", [content["schema"]])
        names = [option["$ref"].rpartition("/")[2] for option in options if "$ref" in option]
        assert names, (method, path)
        assert all("example" in schemas[name] or "examples" in schemas[name] for name in names), (
            method,
            path,
        )


def test_every_reference_leads_somewhere() -> None:
    def references(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            for item in value.values():
                yield from references(item)
        elif isinstance(value, list):
            for item in value:
                yield from references(item)

    for reference in references(DOCUMENT):
        if reference.startswith("#/"):
            found: Any = DOCUMENT
            for part in reference[2:].split("/"):
                found = found[part]


async def test_the_daemon_serves_the_committed_document(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/api/v1/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.content == FILES["openapi.json"]


async def test_the_document_is_made_while_others_are_served(daemon: Daemon) -> None:
    async with daemon.client() as client:
        assert daemon.app.openapi_schema is None
        await client.get("/api/v1/projects")
        longest = LongestTurn()
        assert (await client.get("/api/v1/openapi.json")).status_code == 200
        assert longest.stop() < 0.2  # 600 ms of its own when it is made on the loop


async def test_every_route_of_the_document_is_there_and_asks_for_a_token(daemon: Daemon) -> None:
    async with daemon.client(token="") as nobody, daemon.client() as somebody:
        for method, path, operation in operations():
            address = re.sub(r"\{[a-z_]+\}", "none", path)
            refused = await nobody.request(method, address)
            assert (refused.status_code == 401) == (operation["security"] != [] or path == "/launch"), path
            if method == "get" and not path.endswith(NOT_JSON):
                answer = await somebody.get(address)
                reason = (answer.json().get("error", {}) if answer.content else {}).get("details", {})
                assert reason.get("reason") != "no_such_route", path
