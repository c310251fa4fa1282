"""Who is let in: hosts, origins, tokens, cookies, CSRF, the three modes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from tests.driver.daemon import Daemon, running_daemon

PROTECTED = [
    ("GET", "/api/v1/projects"),
    ("POST", "/api/v1/projects/load"),
    ("GET", "/api/v1/sessions"),
    ("GET", "/api/v1/tokens"),
    ("GET", "/"),
    ("GET", "/api/v1/nothing-here"),
]


@pytest.mark.parametrize(("method", "path"), PROTECTED)
@pytest.mark.requirement("http.access")
async def test_nothing_but_the_open_paths_answers_without_a_token(
    daemon: Daemon, method: str, path: str
) -> None:
    async with daemon.client(token="") as client:
        answer = await client.request(method, path)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthenticated"
    assert answer.json()["error"]["details"]["reason"] == "token_missing"
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("Bearer kgd_wrong", "token_unknown"),
        ("Basic abc", "authorization_malformed"),
        ("Bearer", "authorization_malformed"),
    ],
)
async def test_a_wrong_token_is_refused_with_the_reason(daemon: Daemon, header: str, reason: str) -> None:
    async with daemon.client(token="", headers={"authorization": header}) as client:
        answer = await client.get("/api/v1/projects")
    assert (answer.status_code, answer.json()["error"]["details"]["reason"]) == (401, reason)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7777", "127.0.0.1.evil.example", ""])
@pytest.mark.requirement("http.origins")
async def test_a_host_that_is_not_allowed_is_refused_on_every_path(daemon: Daemon, host: str) -> None:
    async with daemon.client() as client:
        for path in ("/api/v1/projects", "/healthz"):
            answer = await client.get(path, headers={"host": host})
            assert answer.status_code in (400, 403)
            if host:
                assert answer.json()["error"]["details"]["reason"] == "host_not_allowed"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:7777", "LOCALHOST:80", "kaged.lan"])
async def test_loopback_and_configured_hosts_are_allowed(tmp_path: Path, host: str) -> None:
    async with (
        running_daemon(tmp_path, auth={"allowed_hosts": ["kaged.lan"]}) as daemon,
        daemon.client() as client,
    ):
        answer = await client.get("/api/v1/projects", headers={"host": host})
    assert answer.status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"])
@pytest.mark.requirement("http.origins", "bad_input.origin")
async def test_a_foreign_origin_may_not_change_anything(daemon: Daemon, origin: str) -> None:
    async with daemon.client() as client:
        answer = await client.post("/api/v1/tokens", json={"name": "x"}, headers={"origin": origin})
        tokens = await client.get("/api/v1/tokens")
    assert answer.status_code == 403
    assert answer.json()["error"]["details"]["reason"] == "origin_not_allowed"
    assert [token["name"] for token in tokens.json()["items"]] == ["daemon"]


async def test_own_and_configured_origins_may_write(tmp_path: Path) -> None:
    async with (
        running_daemon(tmp_path, auth={"allowed_origins": ["https://kaged.example/"]}) as daemon,
        daemon.client() as client,
    ):
        for number, origin in enumerate((daemon.url, "https://kaged.example")):
            answer = await client.post(
                "/api/v1/tokens", json={"name": f"n{number}"}, headers={"origin": origin}
            )
            assert answer.status_code == 201


async def test_a_cross_site_form_without_an_origin_may_not_write(daemon: Daemon) -> None:
    async with daemon.client() as client:
        answer = await client.post(
            "/api/v1/tokens", json={"name": "x"}, headers={"sec-fetch-site": "cross-site"}
        )
    assert answer.status_code == 403


@asynccontextmanager
async def launched(daemon: Daemon) -> AsyncIterator[httpx2.AsyncClient]:
    """Give a client that has followed the launch link as a browser would."""
    async with daemon.client(token="") as browser:
        answer = await browser.get(daemon.services.access.launch_url(daemon.url))
        assert answer.status_code == 303
        assert answer.headers["location"] == "./"
        yield browser


def csrf_of(browser: httpx2.AsyncClient) -> str:
    return next(cookie.value or "" for cookie in browser.cookies.jar if cookie.name.startswith("kaged_csrf"))


async def test_the_launch_link_signs_a_browser_in_once(daemon: Daemon) -> None:
    link = daemon.services.access.launch_url(daemon.url)
    async with launched(daemon) as browser:
        page = await browser.get("/")
        projects = await browser.get("/api/v1/projects")
        again = await browser.get(link)
    assert page.status_code == 200
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert projects.status_code == 200
    assert again.status_code == 401
    assert again.json()["error"]["details"]["reason"] == "launch_code_invalid"


async def test_the_session_cookie_is_hidden_from_pages_and_other_sites(daemon: Daemon) -> None:
    async with daemon.client(token="") as browser:
        answer = await browser.get(daemon.services.access.launch_url(daemon.url))
    session, csrf = answer.headers.get_list("set-cookie")
    assert session.startswith(f"kaged_session_{daemon.port}=")
    assert "HttpOnly" in session
    assert "SameSite=strict" in session
    assert csrf.startswith(f"kaged_csrf_{daemon.port}=")
    assert "HttpOnly" not in csrf


async def test_the_daemons_token_is_no_launch_code(daemon: Daemon) -> None:
    async with daemon.client(token="") as browser:
        answer = await browser.get("/launch", params={"token": daemon.token})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


@pytest.mark.requirement("http.origins")
async def test_a_write_with_the_cookie_needs_the_csrf_header(daemon: Daemon) -> None:
    async with launched(daemon) as browser:
        without = await browser.post("/api/v1/tokens", json={"name": "a"})
        wrong = await browser.post("/api/v1/tokens", json={"name": "a"}, headers={"x-kaged-csrf": "guess"})
        right = await browser.post(
            "/api/v1/tokens", json={"name": "a"}, headers={"x-kaged-csrf": csrf_of(browser)}
        )
    assert (without.status_code, without.json()["error"]["details"]["reason"]) == (403, "csrf_invalid")
    assert wrong.status_code == 403
    assert right.status_code == 201


async def test_a_second_browser_gets_its_own_link(daemon: Daemon) -> None:
    async with daemon.client() as client, launched(daemon):
        link = (await client.post("/api/v1/tokens/launch-link")).json()["url"]
        async with daemon.client(token="") as browser:
            assert (await browser.get(link)).status_code == 303
            assert (await browser.get("/api/v1/projects")).status_code == 200


async def test_a_browser_stays_signed_in_over_a_restart_of_the_daemon(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon, launched(daemon) as browser:
        value = next(c.value for c in browser.cookies.jar if c.name.startswith("kaged_session"))
    async with running_daemon(tmp_path) as daemon, daemon.client(token="") as browser:
        browser.cookies.set(f"kaged_session_{daemon.port}", value, domain="127.0.0.1")
        assert (await browser.get("/api/v1/projects")).status_code == 200


async def test_a_read_only_token_reads_and_does_not_write(daemon: Daemon) -> None:
    async with daemon.client() as client:
        created = await client.post("/api/v1/tokens", json={"name": "viewer", "scope": "read-only"})
    async with daemon.client(token=created.json()["token"]) as viewer:
        read = await viewer.get("/api/v1/projects")
        write = await viewer.post("/api/v1/projects/load", json={"path": "/tmp"})
        tokens = await viewer.get("/api/v1/tokens")
    assert read.status_code == 200
    assert (write.status_code, write.json()["error"]["details"]["reason"]) == (403, "read_only")
    assert tokens.status_code == 403


async def test_a_revoked_token_is_refused_at_once(daemon: Daemon) -> None:
    async with daemon.client() as client:
        created = (await client.post("/api/v1/tokens", json={"name": "ci"})).json()
        async with daemon.client(token=created["token"]) as other:
            assert (await other.get("/api/v1/projects")).status_code == 200
            revoked = await client.delete(f"/api/v1/tokens/{created['id']}")
            refused = await other.get("/api/v1/projects")
        twice = await client.delete(f"/api/v1/tokens/{created['id']}")
        unknown = await client.delete("/api/v1/tokens/tok_01JZ0000000000000000000000")
    assert revoked.json()["revoked_at"] is not None
    assert (refused.status_code, refused.json()["error"]["details"]["reason"]) == (401, "token_revoked")
    assert twice.status_code == 409
    assert unknown.status_code == 404


@pytest.mark.requirement("http.access")
async def test_proxy_mode_believes_the_user_id_only_with_the_nonce(tmp_path: Path) -> None:
    auth = {"mode": "proxy", "proxy_nonce": "n0nce-n0nce-n0nce-n0nce-n0nce-n0"}
    async with running_daemon(tmp_path, auth=auth) as daemon, daemon.client(token="") as client:
        right = {"x-kaged-user-id": "ada", "x-kaged-auth-nonce": auth["proxy_nonce"]}
        page = await client.get("/", headers=right)
        wrong = await client.get("/api/v1/projects", headers=right | {"x-kaged-auth-nonce": "guess"})
        missing = await client.get("/api/v1/projects", headers={"x-kaged-user-id": "ada"})
        nobody = await client.get("/api/v1/projects")
    assert "ada" in page.text
    assert (wrong.status_code, wrong.json()["error"]["details"]["reason"]) == (401, "proxy_nonce_invalid")
    assert missing.status_code == 401
    assert nobody.status_code == 401


@pytest.mark.requirement("http.access")
async def test_insecure_mode_needs_no_token_and_says_so_in_every_answer(tmp_path: Path) -> None:
    async with (
        running_daemon(tmp_path, auth={"mode": "insecure"}) as daemon,
        daemon.client(token="") as client,
    ):
        answers = [
            await client.get("/api/v1/projects"),
            await client.get("/nothing-here"),
            await client.get("/api/v1/projects", headers={"host": "evil.example"}),
            await client.post("/api/v1/projects/load", headers={"origin": "http://evil.example"}),
        ]
    assert [answer.status_code for answer in answers] == [200, 404, 403, 403]
    assert {answer.headers["x-kaged-warning"] for answer in answers} == {"insecure"}
