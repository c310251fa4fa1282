"""A daemon below a path prefix: what answers there, what does not, and what its addresses and cookies are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import connect

from app.config import is_base_path, load_settings
from app.errors import ConfigError
from tests.driver.chat_client import sdk
from tests.driver.daemon import Daemon, close_code, next_frame, running_daemon
from tests.driver.mcp_client import ERAS, mcp_client, write_shop
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("deployment.base_path")

BASE = "/team/shop"


@pytest.fixture
async def daemon(tmp_path: Path, model_settings: dict[str, Any]) -> AsyncIterator[Daemon]:
    settings = {"chat_completions": {"enabled": True}, **model_settings}
    async with running_daemon(tmp_path / "data", daemon={"base_path": BASE}, **settings) as running:
        yield running


@pytest.fixture
async def project_id(client: httpx2.AsyncClient, tmp_path: Path) -> str:
    root = write_shop(tmp_path / "shop")
    answer = await client.post("/api/v1/projects/load", json={"path": str(root)})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


def at_root(daemon: Daemon, token: str = "") -> httpx2.AsyncClient:
    """Return a client that does not know the prefix."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx2.AsyncClient(base_url=f"http://127.0.0.1:{daemon.port}", headers=headers, trust_env=False)


async def test_everything_answers_below_the_prefix(daemon: Daemon, client: httpx2.AsyncClient) -> None:
    assert daemon.url.endswith(BASE)
    for path in (
        "/healthz",
        "/readyz",
        "/api/v1/versions",
        "/docs",
        "/static/icon.svg",
        "/api/v1/projects",
        "/",
    ):
        answer = await client.get(path)
        assert answer.status_code == 200, path
    async with at_root(daemon) as plain:
        bare = await plain.get(f"{BASE}?a=1")
    assert (bare.status_code, bare.headers["location"]) == (308, f"{BASE}/?a=1")
    document = (await client.get("/api/v1/openapi.json")).json()
    assert document["servers"] == [{"url": BASE}]
    assert "/api/v1/projects" in document["paths"]


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/launch?token=x", "/api/v1/projects", "/static/icon.svg", "/mcp", "/v1/models"),
        *("/team", "/team/shopping/", "//team/shop/", "/TEAM/SHOP/"),
    ],
)
async def test_an_address_without_the_prefix_is_not_found_and_the_answer_says_why(
    daemon: Daemon, path: str
) -> None:
    async with at_root(daemon, daemon.token) as plain:
        answer = await plain.get(f"http://127.0.0.1:{daemon.port}{path}")
    assert answer.status_code == 404
    assert f"This daemon is served below {BASE} (daemon.base_path)" in answer.json()["error"]["message"]
    assert answer.headers["x-request-id"]
    assert "set-cookie" not in answer.headers


async def test_an_address_without_the_prefix_has_the_error_body_and_a_foreign_host_learns_nothing(
    daemon: Daemon,
) -> None:
    async with at_root(daemon) as plain:
        error = (await plain.get("/api/v1/projects")).json()["error"]
        foreign = await plain.get("/api/v1/projects", headers={"host": "evil.example"})
    assert (error["code"], error["details"]) == (
        "not_found",
        {"reason": "outside_base_path", "base_path": BASE},
    )
    assert foreign.status_code == 403
    assert BASE not in foreign.text


async def test_probes_need_no_prefix(daemon: Daemon) -> None:
    async with at_root(daemon) as plain:
        assert (await plain.get("/healthz")).json()["status"] == "ok"
        assert (await plain.get("/readyz")).json()["ready"] is True


@pytest.mark.parametrize(
    "path", ["/shop/api/v1/projects", "/shop/launch?token=x", "/shop/static/app.js", "/a/b/healthz"]
)
async def test_a_prefix_that_is_not_set_is_named(tmp_path: Path, path: str) -> None:
    async with running_daemon(tmp_path / "data") as daemon, daemon.client(token="") as client:
        answer = await client.get(path)
    prefix = "/a/b" if "/a/b" in path else "/shop"
    assert (answer.status_code, answer.json()["error"]["details"]["reason"]) == (404, "base_path_not_set")
    assert f"begins with {prefix}, and daemon.base_path is not set." in answer.json()["error"]["message"]


async def test_a_prefix_that_comes_twice_is_named(daemon: Daemon, client: httpx2.AsyncClient) -> None:
    answer = await client.get(f"{BASE}/api/v1/projects")
    assert answer.status_code == 404
    assert f"begins with {BASE}{BASE}, and daemon.base_path is {BASE}." in answer.json()["error"]["message"]


async def test_a_launch_link_signs_in_below_the_prefix_only(
    daemon: Daemon, client: httpx2.AsyncClient
) -> None:
    link = (await client.post("/api/v1/tokens/launch-link")).json()["url"]
    assert link.startswith(f"{daemon.url}/launch?token=")
    async with daemon.client(token="") as browser:
        answer = await browser.get(link)
        assert answer.status_code == 303
        assert answer.next_request is not None
        assert str(answer.next_request.url) == f"{daemon.url}/"
        for cookie in answer.headers.get_list("set-cookie"):
            assert f"Path={BASE};" in cookie
        names = {cookie.name: cookie.value or "" for cookie in browser.cookies.jar}
        assert set(names) == {f"kaged_{kind}_{daemon.port}~team~shop" for kind in ("session", "csrf")}
        page = await browser.get("/")
        csrf = {"x-kaged-csrf": names[f"kaged_csrf_{daemon.port}~team~shop"]}
        without = await browser.post("/api/v1/tokens", json={"name": "a"})
        written = await browser.post("/api/v1/tokens", json={"name": "a"}, headers=csrf)
    assert f'data-base-path="{BASE}"' in page.text
    assert (without.status_code, written.status_code) == (403, 201)


async def test_the_session_of_one_prefix_means_nothing_below_another(tmp_path: Path) -> None:
    """Whatever the browser sends: the cookie of `/` is sent below each prefix, too."""
    async with (
        running_daemon(tmp_path / "a", daemon={"base_path": "/a"}) as one,
        running_daemon(tmp_path / "root") as root,
        one.client(token="") as browser,
    ):
        host = {"host": "localhost:8443"}
        root_link, link = root.services.access.launch_url(root.url), one.services.access.launch_url(one.url)
        cookies = []
        for address in (root_link, link):
            answer = await browser.get(address, headers=host)
            cookies += [cookie.partition(";")[0] for cookie in answer.headers.get_list("set-cookie")]
            browser.cookies.clear()
        assert [cookie.partition("=")[0] for cookie in cookies] == [
            *("kaged_session_8443", "kaged_csrf_8443"),
            *("kaged_session_8443~a", "kaged_csrf_8443~a"),
        ]
        for order in (cookies, cookies[::-1]):
            answer = await browser.get("/api/v1/projects", headers={**host, "cookie": "; ".join(order)})
            assert answer.status_code == 200
        answer = await browser.get("/api/v1/projects", headers={**host, "cookie": "; ".join(cookies[:2])})
        assert answer.json()["error"]["details"]["reason"] == "token_missing"


async def test_a_session_is_followed_below_the_prefix_and_not_outside(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str, model: FakeProvider
) -> None:
    model.script(text_reply("It sells things."))
    made = (await client.post("/api/v1/sessions", json={"project_id": project_id})).json()
    async with daemon.websocket(f"/sessions/{made['id']}/ws?after_seq=0") as socket:
        posted = await client.post(f"/api/v1/sessions/{made['id']}/messages", json={"content": "What is it?"})
        assert posted.status_code == 201
        assert (await next_frame(socket, "run.ended"))["run_id"] == posted.json()["run"]["id"]
    async with daemon.websocket("/ws", origin=f"http://127.0.0.1:{daemon.port}") as socket:
        await socket.send('{"type": "ping"}')
        await next_frame(socket, "pong")
    async with connect(f"ws://127.0.0.1:{daemon.port}/api/v1/ws", proxy=None) as socket:
        assert await close_code(socket) == 4404
        assert socket.close_reason == "outside_base_path"


async def test_clients_of_other_protocols_take_the_prefix_in_their_address(
    daemon: Daemon, project_id: str, model: FakeProvider
) -> None:
    model.script(text_reply("It sells things."))
    async with sdk(daemon.url, daemon.token) as openai:
        names = [one.id async for one in openai.models.list()]
        said = await openai.chat.completions.create(
            model=names[0], messages=[{"role": "user", "content": "What is it?"}]
        )
    assert said.choices[0].message.content == "It sells things."
    async with mcp_client(daemon, ERAS[-1]) as mcp:
        opened = (await mcp.call_tool("open_session", {})).structured_content
    assert opened["link"] == f"{daemon.url}/#{opened['session']}"


@pytest.mark.parametrize("text", ["", "/a", "/shop/v1.2_x-y", f"/{'a' * 199}"])
def test_a_base_path_is_segments_behind_single_slashes(text: str) -> None:
    assert is_base_path(text)
    settings = load_settings(environ={"KAGED_DAEMON__BASE_PATH": text})
    assert settings.daemon.base_path == text


@pytest.mark.parametrize(
    "text",
    [
        *("/", "a", "a/b", "/a/", "//a", "/a//b", "/a/../b", "/..", "/.", "/a/.", "/a b", "/a?b", "/a#b"),
        *("/a%2Fb", "/a~b", "/ä", "/a;b", "/a\n", "https://example.org/a", f"/{'a' * 200}"),
    ],
)
def test_another_base_path_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"daemon\.base_path must be empty, or begin with /"):
        load_settings(environ={}, overrides={"daemon.base_path": text})
