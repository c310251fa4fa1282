"""Tokens of a sign-in: used, refreshed once, bound to their server, refused, and never said."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.bridges.mcp.entries import ServerEntry
from app.bridges.mcp.oauth import StoredSignIn
from app.bridges.mcp.oauth_login import SignInFailed, sign_in
from app.bridges.mcp.oauth_requests import SignInTransport
from app.bridges.mcp.sign_ins import SignIn, SignIns
from app.bridges.network.exchange import Refusal
from app.bridges.processes.supervised_child import Unavailable
from app.errors import ToolError
from app.states import PluginState
from tests.bridges.conftest import until
from tests.bridges.mcp.conftest import Bench, Open
from tests.driver.oauth_server import OAuthServer, redirected

pytestmark = pytest.mark.requirement("mcp.client.sign_in")

REDIRECT = "http://127.0.0.1:9/callback"


@pytest.fixture(scope="module")
def running() -> Iterator[OAuthServer]:
    with OAuthServer() as server:
        yield server


@pytest.fixture
def server(running: OAuthServer) -> OAuthServer:
    """Return the server in its first state."""
    running.control(deny=False, down=False, revoke=True)
    return running


class Keeper:
    """The sign-ins of a data folder, as a daemon uses them."""

    def __init__(self, data_dir: Path) -> None:
        self.kept = SignIns(data_dir)
        self.secrets: dict[str, list[str]] = {}

    def credentials(self, name: str, url: str) -> StoredSignIn:
        return StoredSignIn(name, url, self.kept, self.secrets.__setitem__)

    async def login(self, entry: ServerEntry, **more: Any) -> SignIn:
        """Sign in as `kaged mcp login` does, with a browser that agrees."""
        url = entry.url or ""
        pages: list[str] = []

        async def show(page: str, _state: str) -> None:
            pages.append(page)

        async def answer() -> dict[str, str]:
            return await redirected(pages[-1])

        made = await sign_in(entry.name, url, REDIRECT, show, answer, **more)
        self.kept.put(made)
        return made

    def of(self, entry: ServerEntry) -> SignIn:
        found = self.kept.of(entry.name, entry.url or "")
        assert found is not None
        return found


@pytest.fixture
def keeper(tmp_path: Path) -> Keeper:
    return Keeper(tmp_path / "data")


def at(server: OAuthServer, **more: Any) -> ServerEntry:
    return ServerEntry("signed", "config", url=server.url, timeout_seconds=60.0, **more)


async def said(it: Bench, entry: ServerEntry, text: str = "hello", project: str = "prj_1") -> str:
    async def report(_text: str) -> None:
        pass

    def ask(connection: Any) -> Any:
        return connection.call("echo", {"text": text}, report, None)

    return (await it.servers.call(project, it.root, entry, "echo", ask)).text


async def test_tokens_are_used_and_kept_where_only_their_owner_reads_them(
    bench: Open, keeper: Keeper, server: OAuthServer
) -> None:
    entry = at(server)
    made = await keeper.login(entry)
    assert made.state == "signed_in"
    assert made.access_token not in repr(made)
    files = [one for one in keeper.kept.folder.iterdir() if one.suffix == ".json"]
    assert [one.stat().st_mode & 0o777 for one in files] == [0o600]
    assert keeper.kept.folder.stat().st_mode & 0o777 == 0o700
    async with bench(credentials=keeper.credentials) as it:
        assert await said(it, entry) == "hello"
    assert set(server.control()["sent"]) == {None, f"Bearer {made.access_token}"}


async def test_a_token_whose_time_is_over_is_refreshed_before_it_is_sent(
    bench: Open, keeper: Keeper, server: OAuthServer
) -> None:
    entry = at(server)
    made = await keeper.login(entry)
    keeper.kept.put(made.model_copy(update={"expires_at": time.time() - 1}))
    server.control()
    async with bench(credentials=keeper.credentials) as it:
        assert await said(it, entry) == "hello"
    fresh, seen = keeper.of(entry), server.control()
    assert seen["grants"] == ["refresh_token"]
    assert set(seen["sent"]) == {f"Bearer {fresh.access_token}"}
    assert fresh.access_token != made.access_token
    assert fresh.tokens is not None and made.tokens is not None
    assert fresh.tokens["refresh_token"] != made.tokens["refresh_token"]
    assert not fresh.is_past
    assert set(fresh.secrets()) == set(next(iter(keeper.secrets.values())))


async def test_calls_at_once_refresh_a_refused_token_once(
    bench: Open, keeper: Keeper, server: OAuthServer
) -> None:
    entry = at(server)
    await keeper.login(entry)
    # Each project's connection as in a process of its own, with the same data folder.
    keepers = iter([keeper, Keeper(keeper.kept.folder.parents[1])])
    async with bench(credentials=lambda name, url: next(keepers).credentials(name, url)) as it:
        await said(it, entry)
        server.control(expire=True)
        texts = [str(number) for number in range(8)]
        assert await asyncio.gather(*(said(it, entry, text) for text in texts)) == texts
        assert server.control()["grants"] == ["refresh_token"]
        await said(it, entry, project="prj_2")
        server.control(expire=True)
        both = (said(it, entry, "a"), said(it, entry, "b", "prj_2"))
        assert await asyncio.gather(*both) == ["a", "b"]
        assert server.control()["grants"] == ["refresh_token"]
        assert it.events("failed") == []


async def test_without_a_sign_in_the_error_names_the_command_and_nothing_is_disabled(
    bench: Open, keeper: Keeper, server: OAuthServer
) -> None:
    entry = at(server)
    async with bench(credentials=keeper.credentials) as it:
        for _ in range(7):
            with pytest.raises(ToolError, match="`kaged mcp login signed`") as refused:
                await said(it, entry)
            assert refused.value.code == "mcp_unavailable"
        status = it.servers.status("prj_1", entry)
        assert status.state is PluginState.STOPPED
        assert "kaged mcp login signed" in (status.reason or "")
        assert keeper.of(entry).state == "needs_login"
        assert server.control()["grants"] == []
        await keeper.login(entry)
        assert await said(it, entry) == "hello"
        assert keeper.of(entry).state == "signed_in"
        assert it.events("failed") == []


async def test_revoked_tokens_need_a_new_sign_in(bench: Open, keeper: Keeper, server: OAuthServer) -> None:
    entry = at(server)
    made = await keeper.login(entry)
    async with bench(credentials=keeper.credentials) as it:
        await said(it, entry)
        server.control(revoke=True)
        with pytest.raises(ToolError, match="`kaged mcp login signed`") as refused:
            await said(it, entry)
        assert not any(secret in str(refused.value) for secret in made.secrets())
        assert keeper.of(entry).state == "needs_login"
        assert keeper.of(entry).tokens is None
        await keeper.login(entry)
        assert await said(it, entry) == "hello"


async def test_an_authorization_server_that_is_down_costs_no_sign_in(
    bench: Open, keeper: Keeper, server: OAuthServer
) -> None:
    entry = at(server)
    made = await keeper.login(entry)
    server.control(expire=True, down=True)
    async with bench(credentials=keeper.credentials) as it:
        with pytest.raises(Unavailable, match="cannot be refreshed"):
            await it.servers.listing("prj_1", it.root, entry)
        assert keeper.of(entry).tokens == made.tokens
        server.control(down=False)
        it.clock.running.set()
        await until(lambda: it.servers.status("prj_1", entry).state is PluginState.READY, 60)
        assert await said(it, entry) == "hello"


async def test_another_address_does_not_get_the_token(
    bench: Open, keeper: Keeper, server: OAuthServer
) -> None:
    await keeper.login(at(server))
    for address in (server.url + "?x=1", server.url.replace("127.0.0.1", "localhost")):
        server.control()
        moved = ServerEntry("signed", "project", url=address, timeout_seconds=60.0)
        async with bench(credentials=keeper.credentials) as it:
            with pytest.raises(ToolError, match="kaged mcp login"):
                await said(it, moved)
        assert set(server.control()["sent"]) == {None}
    named = ServerEntry("other", "project", url=server.url, timeout_seconds=60.0)
    async with bench(credentials=keeper.credentials) as it:
        with pytest.raises(ToolError, match="kaged mcp login other"):
            await said(it, named)
    assert set(server.control()["sent"]) == {None}


async def test_a_header_of_the_declaration_goes_first(
    bench: Open, keeper: Keeper, server: OAuthServer
) -> None:
    await keeper.login(at(server))
    server.control()
    own = at(server, headers={"authorization": "Bearer mine"})
    async with bench(credentials=keeper.credentials) as it:
        with pytest.raises(ToolError):
            await said(it, own)
    assert set(server.control()["sent"]) == {"Bearer mine"}


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ("http://example.org", "needs https"),
        ("https://169.254.169.254", "only hosts of the open internet"),
        ("https://10.0.0.7", "only hosts of the open internet"),
    ],
    ids=["http", "metadata", "private"],
)
async def test_what_a_server_names_as_its_authorization_server_is_vetted(
    keeper: Keeper, named: str, reason: str
) -> None:
    with OAuthServer(f"names={named}") as hostile, pytest.raises(SignInFailed, match=reason):
        await keeper.login(at(hostile))


async def test_a_server_elsewhere_names_no_address_of_this_machine(server: OAuthServer) -> None:
    place = f"127.0.0.1:{server.port}"
    request = httpx2.Request("GET", f"http://{place}/.well-known/oauth-authorization-server")
    with pytest.raises(Refusal, match="only hosts of the open internet"):
        await SignInTransport("https://mcp.example.org/mcp").handle_async_request(request)
    allowed = SignInTransport("https://mcp.example.org/mcp", [place])
    assert (await allowed.handle_async_request(request)).status_code == 200


async def test_an_address_without_https_gets_no_sign_in(keeper: Keeper) -> None:
    with pytest.raises(SignInFailed, match="needs https"):
        await keeper.login(ServerEntry("signed", "config", url="http://mcp.example.org/mcp"))


async def test_a_state_that_is_not_the_right_one_is_refused(server: OAuthServer) -> None:
    async def show(page: str, _state: str) -> None:
        pages.append(page)

    async def answer() -> dict[str, str]:
        return {**await redirected(pages[-1]), "state": "guessed"}

    pages: list[str] = []
    with pytest.raises(SignInFailed, match="State"):
        await sign_in("signed", server.url, REDIRECT, show, answer)
    assert server.control()["grants"] == []
