"""What a client may do wrong, and that each mistake gets the one error body."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from app.api.client_frames import parse_client_frame
from app.errors import ValidationFailed
from app.ids import is_id
from tests.driver.daemon import Daemon, running_daemon
from tests.driver.daemon_process import WAIT_SECONDS

UNKNOWN = "ses_01JZ0000000000000000000000"


def error_of(answer: httpx2.Response, status: int, code: str, reason: str | None = None) -> dict[str, Any]:
    """Check the error body and return it."""
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert error["code"] == code
    assert error["message"]
    assert error["request_id"] == answer.headers["x-request-id"]
    assert answer.headers["content-type"] == "application/json"
    if reason is not None:
        assert error["details"]["reason"] == reason
    return error


@pytest.mark.requirement("http.errors", "bad_input.session")
@pytest.mark.parametrize(
    ("workspace", "field", "said"),
    [
        ("isolated", "workspace", "must be `shared`, `worktree`, or an object with `kind` and `base`"),
        (["worktree"], "workspace", "must be `shared`, `worktree`, or an object with `kind` and `base`"),
        ({"kind": "isolated"}, "workspace.kind", "Input should be 'shared' or 'worktree'"),
        ({"base": "-x"}, "workspace.base", "must be `head`, `working`, or a branch, tag or commit"),
        ({"from": "head"}, "workspace.from", "unknown field (known: kind, base)"),
    ],
)
async def test_a_workspace_of_no_known_form_is_named_by_its_field(
    client: httpx2.AsyncClient, workspace: Any, field: str, said: str
) -> None:
    answer = await client.post("/api/v1/sessions", json={"project_id": UNKNOWN, "workspace": workspace})
    fields = error_of(answer, 400, "validation_failed")["details"]["fields"]
    assert fields.keys() == {field}
    assert said in fields[field], fields


@pytest.mark.requirement("http.errors", "bad_input.session")
async def test_an_unknown_session_is_not_found_on_every_route(client: httpx2.AsyncClient) -> None:
    base = f"/api/v1/sessions/{UNKNOWN}"
    for method, path, body in [
        ("GET", "", None),
        ("PATCH", "", {"title": "x"}),
        ("DELETE", "", None),
        ("POST", "/archive", None),
        ("GET", "/export", None),
        ("POST", "/messages", {"content": "hello"}),
        ("GET", "/messages", None),
        ("GET", "/runs", None),
        ("POST", "/pause", None),
        ("POST", "/resume", None),
        ("POST", "/cancel", None),
        ("POST", "/continue", None),
        ("GET", "/checkpoints", None),
        ("GET", "/checkpoints/ckp_01JZ0000000000000000000000", None),
        ("GET", "/prompts", None),
        ("POST", "/tools/file.read", {"params": {}}),
    ]:
        answer = await client.request(method, base + path, json=body)
        error_of(answer, 404, "not_found")


async def test_unknown_projects_runs_and_providers_are_not_found(client: httpx2.AsyncClient) -> None:
    for path in (
        "/api/v1/projects/prj_01JZ0000000000000000000000",
        "/api/v1/projects/prj_01JZ0000000000000000000000/dsl",
        "/api/v1/projects/prj_01JZ0000000000000000000000/dsl/synthesized",
        "/api/v1/projects/prj_01JZ0000000000000000000000/capabilities",
        "/api/v1/projects/prj_01JZ0000000000000000000000/agents/primary/tools",
        "/api/v1/runs/run_01JZ0000000000000000000000",
        f"/api/v1/sync?sessions={UNKNOWN}:0",
    ):
        error_of(await client.get(path), 404, "not_found")
    error_of(await client.post("/api/v1/providers/nobody/test"), 404, "not_found")


@pytest.mark.requirement("bad_input.state")
async def test_an_event_that_the_state_forbids_is_a_conflict_that_names_the_state(
    client: httpx2.AsyncClient, session_id: str
) -> None:
    await client.post(f"/api/v1/sessions/{session_id}/archive")
    for path in ("pause", "resume", "continue", "archive"):
        error = error_of(await client.post(f"/api/v1/sessions/{session_id}/{path}"), 409, "conflict")
        assert error["details"]["state"] == "archived", path
    answer = await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "hello"})
    assert error_of(answer, 409, "conflict")["details"]["state"] == "archived"


@pytest.mark.requirement("bad_input.body")
async def test_a_body_of_20_megabytes_is_refused(client: httpx2.AsyncClient) -> None:
    body = b'{"path": "' + b"x" * (20 * 1024 * 1024) + b'"}'
    answer = await client.post(
        "/api/v1/projects/load", content=body, headers={"content-type": "application/json"}
    )
    error = error_of(answer, 413, "payload_too_large")
    assert error["details"]["max_bytes"] == 10 * 1024 * 1024
    error_of(await client.get("/api/v1/nothing-here"), 404, "not_found")


@pytest.mark.requirement("bad_input.body")
async def test_a_body_of_20_megabytes_that_is_not_announced_is_refused(client: httpx2.AsyncClient) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * 1024 * 1024

    answer = await client.post(
        "/api/v1/projects/load", content=chunks(), headers={"content-type": "application/json"}
    )
    error_of(answer, 413, "payload_too_large")


async def test_a_client_that_sends_everything_before_it_reads_gets_its_answer(daemon: Daemon) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    size = 20 * 1024 * 1024
    head = f"POST /api/v1/projects/load HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {size}\r\n\r\n"
    writer.write(head.encode())
    for _ in range(20):
        writer.write(b"x" * 1024 * 1024)
        await writer.drain()
    async with asyncio.timeout(WAIT_SECONDS):
        status = await reader.readline()
    writer.close()
    await writer.wait_closed()
    assert status.split()[1] == b"413"


async def test_a_large_body_without_a_token_still_gets_its_answer(daemon: Daemon) -> None:
    async with daemon.client(token="") as client:
        answer = await client.post("/api/v1/projects/load", content=b"x" * (5 * 1024 * 1024))
    error_of(answer, 401, "unauthenticated")


@pytest.mark.parametrize(
    ("body", "reason", "details"),
    [
        (b'{"path": "\xff"}', "invalid_utf8", {"position": 10}),
        (b'{"path": ', "invalid_json", {"line": 1, "column": 10}),
        (b'{"path": "x",}', "invalid_json", {"line": 1}),
        (b'{"path": NaN}', "invalid_json", {"line": 1}),
        (b'{"path": "a\\u0000b"}', "nul_character", {"field": "path"}),
        (b'{"path": "\\ud800"}', "invalid_json", {"line": 1}),
        (b"[" * 65 + b"]" * 65, "too_deep", {}),
        (b"[" * 100_000 + b"]" * 100_000, None, {}),
    ],
)
@pytest.mark.requirement("bad_input.utf8", "bad_input.nul")
async def test_the_error_for_a_body_that_is_not_sound_json_says_where(
    client: httpx2.AsyncClient, body: bytes, reason: str | None, details: dict[str, Any]
) -> None:
    answer = await client.post(
        "/api/v1/projects/load", content=body, headers={"content-type": "application/json"}
    )
    error = error_of(answer, 400, "bad_request", reason)
    assert {key: error["details"][key] for key in details} == details


async def test_a_body_that_is_not_called_json_is_refused(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/api/v1/projects/load", data={"path": "/tmp"})
    error_of(answer, 400, "bad_request", "unsupported_content_type")


async def test_unknown_missing_and_wrong_fields_are_named_all_at_once(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/api/v1/sessions", json={"titel": "x", "issue_number": "one"})
    error = error_of(answer, 400, "validation_failed")
    assert error["details"]["fields"] == {
        "project_id": "is required",
        "titel": "unknown field (known: project_id, title, issue_number, headless, overrides, mode, "
        "workspace); did you mean title?",
        "issue_number": "Input should be a valid integer, unable to parse string as an integer",
    }


@pytest.mark.parametrize(
    ("path", "body", "place", "known"),
    [
        ("/sessions", {"overrides": {"modle": 1}}, "overrides.modle", "model, max_steps, max_output_tokens"),
        (
            "/sessions/ses_1/messages",
            {"content": "x", "attachments": [{"zzz": 1}]},
            "attachments.0.zzz",
            "type, media_type, data",
        ),
        ("/sessions/ses_1/pause", {"zzz": 1}, "zzz", "reason)"),
        ("/sessions", {"x" * 1_000_000: 1}, "x" * 100, "project_id"),
    ],
)
async def test_beside_an_unknown_field_stand_those_that_are_known_there(
    client: httpx2.AsyncClient, path: str, body: dict[str, Any], place: str, known: str
) -> None:
    error = error_of(await client.post(f"/api/v1{path}", json=body), 400, "validation_failed")
    assert error["details"]["fields"][place].startswith(f"unknown field (known: {known}")


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "cursor=broken", "state=asleep"])
async def test_wrong_query_values_are_named(client: httpx2.AsyncClient, query: str) -> None:
    error = error_of(await client.get(f"/api/v1/sessions?{query}"), 400, "validation_failed")
    assert list(error["details"]["fields"]) == [query.partition("=")[0]]


@pytest.mark.parametrize("path", ["/api/v1/sessions/ses_%00", "/%00", "/api/v1/sessions?text=%00"])
@pytest.mark.requirement("bad_input.nul")
async def test_an_address_with_a_nul_is_refused(client: httpx2.AsyncClient, path: str) -> None:
    error_of(await client.get(path), 400, "bad_request", "nul_character")


async def test_odd_but_legal_addresses_do_no_harm(client: httpx2.AsyncClient) -> None:
    for path in ("/api/v1/sessions/%ff%fe", "/api/v1/sessions/..%2f..%2fetc", f"/api/v1/sessions/{'x' * 64}"):
        assert (await client.get(path)).status_code == 404
    assert (await client.get(f"/api/v1/sessions/{'x' * 65}")).status_code == 400
    assert (await client.get("/api/v1/sessions?text=%ff")).status_code == 200


async def test_an_unknown_route_is_not_found(client: httpx2.AsyncClient) -> None:
    error_of(await client.get("/api/v1/sessionz"), 404, "not_found", "no_such_route")
    error_of(await client.get("/redoc"), 404, "not_found", "no_such_route")


@pytest.mark.requirement("http.errors")
async def test_the_error_for_a_wrong_method_names_the_right_ones(client: httpx2.AsyncClient) -> None:
    answer = await client.put("/api/v1/sessions", json={})
    error = error_of(answer, 405, "method_not_allowed")
    assert error["details"]["allow"]
    assert answer.headers["allow"] == ", ".join(error["details"]["allow"])


@pytest.mark.requirement("http.errors")
async def test_all_methods_of_an_address_are_reported(client: httpx2.AsyncClient, session_id: str) -> None:
    answer = await client.put(f"/api/v1/sessions/{session_id}", json={})
    error = error_of(answer, 405, "method_not_allowed")
    assert error["details"]["allow"] == ["DELETE", "GET", "PATCH"]
    assert "DELETE, GET, PATCH" in error["message"]


@pytest.mark.requirement("bad_input.token")
async def test_an_expired_token_is_refused_with_the_reason(daemon: Daemon) -> None:
    created = await daemon.services.access.create("old", expires_at=1)
    async with daemon.client(token=created.secret) as client:
        error_of(await client.get("/api/v1/projects"), 401, "unauthenticated", "token_expired")


async def test_a_token_cannot_be_created_expired(client: httpx2.AsyncClient) -> None:
    for expires_at in ("2020-01-01T00:00:00Z", "2030-01-01T00:00:00", "soon"):
        answer = await client.post("/api/v1/tokens", json={"name": "x", "expires_at": expires_at})
        assert "expires_at" in error_of(answer, 400, "validation_failed")["details"]["fields"]


async def test_a_request_id_is_taken_over_when_it_is_sound(client: httpx2.AsyncClient) -> None:
    taken = await client.get("/api/v1/nothing", headers={"x-request-id": "trace-42:a.b_c"})
    made = await client.get("/api/v1/nothing", headers={"x-request-id": "x" * 65})
    assert error_of(taken, 404, "not_found")["request_id"] == "trace-42:a.b_c"
    assert is_id(error_of(made, 404, "not_found")["request_id"], "req")


@pytest.mark.requirement("http.errors")
async def test_a_defect_is_answered_without_its_inside(
    daemon: Daemon, caplog: pytest.LogCaptureFixture
) -> None:
    async def defective() -> None:
        raise ZeroDivisionError("the inside of the daemon")

    daemon.app.add_api_route("/api/v1/defective", defective)
    async with daemon.client() as client:
        answer = await client.get("/api/v1/defective")
    error = error_of(answer, 500, "internal")
    assert "inside of" not in answer.text
    assert error["request_id"] in caplog.text
    assert "the inside of the daemon" in caplog.text


PAGES = ("/healthz", "/readyz", "/api/v1/projects", "/api/v1/nothing", "/", "/static/icon.svg", "/launch")


@pytest.mark.parametrize("path", [*PAGES, "/api/v1/metrics", "/api/v1/openapi.json"])
@pytest.mark.requirement("daemon.headers")
async def test_security_headers_are_on_every_answer(client: httpx2.AsyncClient, path: str) -> None:
    headers = (await client.get(path)).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["x-permitted-cross-domain-policies"] == "none"
    assert headers["cache-control"] == ("no-cache" if path.startswith("/static/") else "no-store")
    assert "camera=()" in headers["permissions-policy"]
    assert "server" not in headers
    assert "x-kaged-warning" not in headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["font-src"] == policy["manifest-src"] == policy["worker-src"] == "'self'"
    assert policy["trusted-types"] == "svelte-trusted-html kaged-markdown kaged-worker"
    assert policy["require-trusted-types-for"] == "'script'"


@pytest.mark.requirement("daemon.headers")
async def test_a_file_that_was_handed_in_is_shown_as_nothing_that_runs(
    client: httpx2.AsyncClient, project_id: str
) -> None:
    where = {"project_id": project_id, "name": "page.html"}
    made = await client.post("/api/v1/uploads", params=where, content=b"<script>alert(1)</script>")
    fetched = await client.get(f"/api/v1/uploads/{made.json()['id']}/content")
    assert fetched.content == b"<script>alert(1)</script>"
    assert fetched.headers["content-disposition"].startswith("attachment")
    assert fetched.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'; sandbox"
    assert fetched.headers["x-content-type-options"] == "nosniff"


async def test_no_token_is_ever_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, model_settings: dict[str, Any]
) -> None:
    caplog.set_level("DEBUG")
    async with running_daemon(tmp_path, **model_settings) as daemon:
        link = daemon.services.access.launch_url(daemon.url)
        async with daemon.client() as client, daemon.client(token="") as browser:
            await browser.get(link)
            await client.get("/api/v1/sessions/unknown")
            cookies = [cookie.value or "" for cookie in browser.cookies.jar]
            audit = (await client.get("/api/v1/audit")).text
        token = daemon.token
    logged = "\n".join(
        record.getMessage() for record in caplog.records if record.name.startswith(("kaged", "app"))
    )
    for secret in (token, link.partition("=")[2], *cookies):
        assert secret not in logged
        assert secret not in audit


async def test_twenty_bad_requests_at_once_get_twenty_answers(daemon: Daemon) -> None:
    async with daemon.client(headers={"content-type": "application/json"}) as client:
        answers = await asyncio.gather(
            *(client.post("/api/v1/sessions", content=orjson.dumps({"n": number})) for number in range(20))
        )
    assert {answer.status_code for answer in answers} == {400}
    assert len({answer.headers["x-request-id"] for answer in answers}) == 20


@pytest.mark.parametrize(
    ("frame", "known"),
    [
        ('{"type": "ping", "idd": 1}', "type, id); did you mean id?"),
        ('{"type": "cancel", "zzz": 1}', "type)"),
    ],
)
def test_the_error_for_an_unknown_field_of_a_frame_names_those_of_its_type(frame: str, known: str) -> None:
    with pytest.raises(ValidationFailed) as told:
        parse_client_frame(frame)
    assert list(told.value.details["fields"].values()) == [f"unknown field (known: {known}"]
