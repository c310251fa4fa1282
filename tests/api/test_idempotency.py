"""`Idempotency-Key`: one effect and one answer for the same request sent again."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import text as sql

from app.api.application import NOUNS
from app.api.kaged_route import CLAIMED, KagedRoute
from app.ids import now_ms
from app.storage.models import IdempotencyKey
from tests.driver.daemon import Daemon, running_daemon, write_project

KEY = {"idempotency-key": "order-66"}
REPOSITORY = Path(__file__).parents[2]


@pytest.mark.requirement("http.idempotency")
async def test_the_same_request_again_gives_the_first_answer(
    client: httpx2.AsyncClient, project_id: str
) -> None:
    body = {"project_id": project_id, "title": "Once"}
    first = await client.post("/api/v1/sessions", json=body, headers=KEY)
    second = await client.post("/api/v1/sessions", json=body, headers=KEY)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert (await client.get("/api/v1/sessions")).json()["total"] == 1


async def test_the_same_key_with_another_body_is_a_conflict(
    client: httpx2.AsyncClient, project_id: str
) -> None:
    await client.post("/api/v1/sessions", json={"project_id": project_id}, headers=KEY)
    other = await client.post("/api/v1/sessions", json={"project_id": project_id, "title": "x"}, headers=KEY)
    assert other.status_code == 409
    assert other.json()["error"]["details"]["reason"] == "idempotency_key_reused"


async def test_keys_of_different_routes_and_tokens_do_not_meet(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str, tmp_path: Path
) -> None:
    other = (await client.post("/api/v1/tokens", json={"name": "other"})).json()["token"]
    body = {"project_id": project_id}
    assert (await client.post("/api/v1/sessions", json=body, headers=KEY)).status_code == 201
    load = await client.post("/api/v1/projects/load", json={"path": str(tmp_path / "shop")}, headers=KEY)
    assert load.status_code == 200
    async with daemon.client(token=other) as second:
        assert (await second.post("/api/v1/sessions", json=body, headers=KEY)).status_code == 201
    assert (await client.get("/api/v1/sessions")).json()["total"] == 2


async def test_ten_at_once_take_effect_once(client: httpx2.AsyncClient, project_id: str) -> None:
    body = {"project_id": project_id}
    answers = await asyncio.gather(
        *(client.post("/api/v1/sessions", json=body, headers=KEY) for _ in range(10))
    )
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert (await client.get("/api/v1/sessions")).json()["total"] == 1


async def test_a_refused_request_may_be_sent_again(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    body = {"path": str(tmp_path / "later")}
    refused = await client.post("/api/v1/projects/load", json=body, headers=KEY)
    write_project(tmp_path / "later")
    loaded = await client.post("/api/v1/projects/load", json=body, headers=KEY)
    assert (refused.status_code, loaded.status_code) == (404, 200)


async def test_a_body_with_wrong_fields_gets_the_same_error_again_and_can_be_mended(
    client: httpx2.AsyncClient, project_id: str
) -> None:
    wrong = {"project_id": project_id, "titel": "A slip"}
    refused = [await client.post("/api/v1/sessions", json=wrong, headers=KEY) for _ in range(2)]
    mended = await client.post("/api/v1/sessions", json={"project_id": project_id}, headers=KEY)
    assert [answer.json()["error"]["code"] for answer in refused] == ["validation_failed"] * 2
    assert mended.status_code == 201


@pytest.mark.requirement("http.idempotency")
async def test_what_has_happened_is_not_done_again_when_its_audit_row_could_not_be_stored(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str
) -> None:
    refuse = (
        "CREATE TRIGGER full_disk BEFORE INSERT ON audit_events WHEN new.event = 'operator.create_session' "
        "BEGIN SELECT RAISE(ABORT, 'no room'); END"
    )

    async def run(statement: str) -> None:
        storage = daemon.services.storage
        await storage.write(lambda uow: uow.connection.execute(sql(statement)).close())

    await run(refuse)
    body = {"project_id": project_id}
    first = await client.post("/api/v1/sessions", json=body, headers=KEY)
    await run("DROP TRIGGER full_disk")
    second = await client.post("/api/v1/sessions", json=body, headers=KEY)
    assert (first.status_code, second.status_code) == (503, 201)
    assert second.headers["idempotency-replayed"] == "true"
    assert (await client.get("/api/v1/sessions")).json()["total"] == 1


async def test_the_answer_is_remembered_over_a_restart(
    tmp_path: Path, model_settings: dict[str, Any]
) -> None:
    root = write_project(tmp_path / "shop")
    async with running_daemon(tmp_path / "data", **model_settings) as daemon, daemon.client() as client:
        project = (await client.post("/api/v1/projects/load", json={"path": str(root)})).json()["id"]
        first = await client.post("/api/v1/sessions", json={"project_id": project}, headers=KEY)
    async with running_daemon(tmp_path / "data", **model_settings) as daemon, daemon.client() as client:
        second = await client.post("/api/v1/sessions", json={"project_id": project}, headers=KEY)
        assert second.content == first.content
        assert (await client.get("/api/v1/sessions")).json()["total"] == 1


async def scope_of(daemon: Daemon, path: str = "/api/v1/sessions") -> str:
    """Under which the keys of the tests' token are kept, for a route."""
    principal = await daemon.services.access.verify(daemon.token)
    return f"{principal.key} POST {path}"


async def test_a_tool_call_that_a_crash_cut_off_is_not_done_a_second_time(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str, tmp_path: Path
) -> None:
    path = f"/api/v1/sessions/{session_id}/tools/file.write"
    body = {"params": {"path": "notes.txt", "content": "hello\n"}}
    done = await client.post(path, json=body, headers=KEY)
    scope = await scope_of(daemon, path)
    (tmp_path / "shop" / "notes.txt").unlink()

    def forget_the_answer(uow: Any) -> None:
        row = uow.access.get_key(scope, KEY["idempotency-key"])
        uow.access.put_key(row.model_copy(update={"status": None, "response": None}))

    await daemon.services.storage.write(forget_the_answer)
    again = await client.post(path, json=body, headers=KEY)
    assert done.json()["type"] == "output"
    assert again.status_code == 409
    assert again.json()["error"]["details"]["reason"] == "outcome_unknown"
    assert not (tmp_path / "shop" / "notes.txt").exists()


@pytest.mark.requirement("operations.idempotency")
def test_the_documentation_names_the_operations_that_may_answer_outcome_unknown() -> None:
    routes = [route for noun in NOUNS for route in noun.router.routes if isinstance(route, KagedRoute)]
    claimed = {f"`{route.operation_id}`" for route in routes if CLAIMED in route.dependencies}
    text = (REPOSITORY / "docs" / "api.md").read_text()
    _, _, named = text.partition("a repeat answers `outcome_unknown` and does nothing: ")
    assert claimed
    assert set(re.findall("`[a-z_]+`", named.partition("\n\n")[0])) == claimed


async def test_a_key_is_forgotten_after_a_day(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str
) -> None:
    old = IdempotencyKey(
        scope=await scope_of(daemon),
        key=KEY["idempotency-key"],
        body_digest="of another body",
        status=201,
        response=b"{}",
        created_at=now_ms() - 25 * 60 * 60 * 1000,
    )
    await daemon.services.storage.write(lambda uow: uow.access.put_key(old))
    answer = await client.post("/api/v1/sessions", json={"project_id": project_id}, headers=KEY)
    assert answer.status_code == 201
    assert answer.json()["project_id"] == project_id


@pytest.mark.parametrize("key", ["", "x" * 256, "with space"])
async def test_a_malformed_key_is_refused(client: httpx2.AsyncClient, project_id: str, key: str) -> None:
    answer = await client.post(
        "/api/v1/sessions", json={"project_id": project_id}, headers={"idempotency-key": key}
    )
    assert answer.status_code == 400
