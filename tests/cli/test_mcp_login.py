"""`kaged mcp login` and `logout`, with a real authorization server and a program as the browser."""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from tests.driver.kaged import Home
from tests.driver.oauth_server import OAuthServer, write_browser
from tests.driver.ports import steady_port

pytestmark = pytest.mark.requirement("mcp.client.sign_in")


@pytest.fixture(scope="module")
def running() -> Iterator[OAuthServer]:
    with OAuthServer() as server:
        yield server


@pytest.fixture
def server(running: OAuthServer) -> OAuthServer:
    """Return the server in its first state."""
    running.control(deny=False, down=False, revoke=True)
    return running


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def added(home: Home, url: str, *more: str) -> None:
    assert home.run("mcp", "add", "signed", "--url", url, *more).returncode == 0


def sign_in_of(home: Home) -> str | None:
    (row,) = home.json("mcp", "list")["items"]
    state: str | None = row["sign_in"]
    return state


def files(home: Home) -> list[Path]:
    return list(home.data_dir.glob("mcp/sign-ins/*.json"))


def browser(home: Home) -> dict[str, str]:
    return {"BROWSER": str(write_browser(home.folder / "browser", home.folder / "pages"))}


def test_the_browser_signs_in_and_logout_revokes_the_tokens(home: Home, server: OAuthServer) -> None:
    added(home, server.url)
    done = home.run("mcp", "login", "signed", **browser(home))
    assert done.returncode == 0, done.stderr
    assert f"signed in at signed ({server.url})" in done.stdout
    seen = home.folder / "pages"
    while not seen.exists() or not seen.read_text():  # the browser goes on beside the command
        time.sleep(0.05)
    assert seen.read_text().startswith("200 ")
    (file,) = files(home)
    assert file.stat().st_mode & 0o777 == 0o600
    assert "signed in" in home.run("mcp", "list").stdout
    issued = server.control()["issued"]
    ended = home.run("mcp", "logout", "signed")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert files(home) == []
    assert server.control()["revoked"] == [issued[-1]]
    assert home.run("mcp", "logout", "signed").returncode == 1
    printed = done.stdout + done.stderr + ended.stdout
    assert not any(token in printed for token in issued)


def test_the_list_shows_the_state_of_a_sign_in(home: Home, server: OAuthServer) -> None:
    added(home, server.url)
    assert sign_in_of(home) is None
    tested = home.run("mcp", "test", "signed")
    assert tested.returncode == 1
    assert "`kaged mcp login signed`" in tested.stdout
    assert sign_in_of(home) == "needs_login"
    done = home.run("mcp", "login", "signed", "--json", **browser(home))
    assert orjson.loads(done.stdout) == {"name": "signed", "url": server.url, "sign_in": "signed_in"}
    assert sign_in_of(home) == "signed_in"
    assert [one["name"] for one in home.json("mcp", "test", "signed")["tools"]] == ["echo"]
    (file,) = files(home)
    kept = orjson.loads(file.read_bytes())
    kept["tokens"].pop("refresh_token")
    file.write_bytes(orjson.dumps({**kept, "expires_at": 1.0}))
    assert sign_in_of(home) == "expired"


def test_a_sign_in_that_is_denied_leaves_nothing(home: Home, server: OAuthServer) -> None:
    added(home, server.url)
    server.control(deny=True)
    refused = home.run("mcp", "login", "signed", "--json", **browser(home))
    assert refused.returncode == 1
    error = orjson.loads(refused.stderr.splitlines()[-1])["error"]
    assert error["code"] == "denied"
    assert "access_denied: the owner said no" in error["message"]
    assert files(home) == []


def test_without_a_browser_the_page_is_printed_and_the_time_is_bounded(
    home: Home, server: OAuthServer
) -> None:
    added(home, server.url)
    refused = home.run("mcp", "login", "signed", "--no-browser", "--timeout", "1", **browser(home))
    assert refused.returncode == 1
    assert f"http://127.0.0.1:{server.port}/authorize?" in refused.stdout
    assert "within 1 s" in refused.stderr
    assert not (home.folder / "pages").exists()
    assert files(home) == []


def test_another_state_is_not_taken_and_the_address_can_be_pasted(home: Home, server: OAuthServer) -> None:
    added(home, server.url)
    terminal = home.terminal("mcp", "login", "signed", "--no-browser", COLUMNS="4000")
    terminal.setwinsize(40, 4000)
    terminal.expect(r"(http://127\.0\.0\.1:\d+/authorize\?\S+)\s")
    page = terminal.match[1]
    terminal.expect("paste here")
    callback = httpx2.get(page, trust_env=False, verify=False, timeout=60).headers["location"]
    wrong = re.sub(r"state=[^&]+", "state=guessed", callback)
    assert httpx2.get(wrong, trust_env=False, verify=False, timeout=60).status_code == 400
    elsewhere = callback.replace("/callback", "/other")
    assert httpx2.get(elsewhere, trust_env=False, verify=False, timeout=60).status_code == 404
    terminal.sendline(wrong)
    terminal.expect("not the address at which this sign-in ends")
    terminal.sendline(callback)
    terminal.expect("signed in at signed")
    terminal.expect_exact(["\r\n"])
    terminal.wait()
    assert terminal.exitstatus == 0
    assert sign_in_of(home) == "signed_in"


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "none"])
def test_a_client_that_is_registered_already_is_used(home: Home, server: OAuthServer, method: str) -> None:
    added(home, server.url)
    secret = home.folder / "secret"
    secret.write_text("the-secret-of-the-client\n")
    port = steady_port()
    client = {
        "client_id": f"known-{method}",
        "redirect_uris": [f"http://127.0.0.1:{port}/callback"],
        "token_endpoint_auth_method": method,
        "scope": "notes",
        "grant_types": ["authorization_code", "refresh_token"],
    }
    options = ["--client-id", client["client_id"], "--port", str(port)]
    if method != "none":
        client["client_secret"] = secret.read_text().strip()
        options += ["--client-secret-file", str(secret)]
    known = server.control(static_client=client, methods=[method])["clients"]
    done = home.run("mcp", "login", "signed", *options, **browser(home))
    server.control(methods=None)
    assert done.returncode == 0, done.stderr
    assert server.control()["clients"] == known
    assert sign_in_of(home) == "signed_in"


def test_servers_without_a_sign_in_say_so(home: Home, server: OAuthServer) -> None:
    with OAuthServer("static") as static:
        added(home, static.url)
        refused = home.run("mcp", "login", "signed", "--no-browser")
        assert refused.returncode == 1
        assert "none by OAuth; give its token with `--header`" in refused.stderr
    with OAuthServer("open") as plain:
        added(home, plain.url)
        refused = home.run("mcp", "login", "signed", "--no-browser")
        assert refused.returncode == 1
        assert "asks for no sign-in" in refused.stderr
    added(home, server.url, "--header", "Authorization=Bearer mine")
    refused = home.run("mcp", "login", "signed", "--no-browser")
    assert refused.returncode == 2
    assert "remove the header first" in refused.stderr
    assert home.run("mcp", "remove", "signed").returncode == 0
    assert home.run("mcp", "add", "signed", "--", "true").returncode == 0
    refused = home.run("mcp", "login", "signed")
    assert refused.returncode == 2
    assert "is a command" in refused.stderr
    assert files(home) == []


def test_removing_a_server_removes_its_sign_in(home: Home, server: OAuthServer) -> None:
    added(home, server.url)
    assert home.run("mcp", "login", "signed", **browser(home)).returncode == 0
    assert len(files(home)) == 1
    assert home.run("mcp", "remove", "signed").returncode == 0
    assert files(home) == []


def test_an_untrusted_project_gets_no_sign_in_and_a_changed_address_a_new_one(
    tmp_path: Path, server: OAuthServer
) -> None:
    home = Home(tmp_path, trusted=False)
    file = home.project / ".kaged" / "project.yaml"
    text = file.read_text()

    def declared(url: str) -> None:
        file.write_text(f"{text}mcp:\n  signed:\n    url: {url}\n")

    declared(server.url)
    refused = home.run("mcp", "login", "signed", **browser(home))
    assert refused.returncode == 1
    assert "is not trusted" in refused.stderr
    assert home.run("trust").returncode == 0
    assert home.run("mcp", "login", "signed", **browser(home)).returncode == 0
    assert sign_in_of(home) == "signed_in"
    assert not any(b"access-" in one.read_bytes() for one in home.project.rglob("*") if one.is_file())
    declared(server.url.replace("127.0.0.1", "localhost"))
    assert sign_in_of(home) is None


def test_requests_that_are_no_redirect_do_no_harm(home: Home, server: OAuthServer) -> None:
    added(home, server.url)
    port = steady_port()
    waiting: Any = home.background("mcp", "login", "signed", "--no-browser", "--port", str(port))
    lines = [waiting.stdout.readline() for _ in range(2)]
    address = ("127.0.0.1", port)
    for junk in (
        b"\x00\xff\r\n\r\n",
        b"GET " + b"x" * 40_000,
        b"GET /callback?code=1 HTTP/1.1\r\n\r\n",
        b"\r\n",
    ):
        # What is too long is not read to its end; after the reset of that, there is nothing to shut down.
        with socket.create_connection(address) as one, contextlib.suppress(OSError):
            one.sendall(junk)
            one.shutdown(socket.SHUT_WR)
            one.recv(100)
    answer = httpx2.get(lines[1].strip(), follow_redirects=True, trust_env=False, verify=False, timeout=60)
    assert answer.status_code == 200
    assert waiting.wait(timeout=60) == 0
    waiting.stdout.close()
    waiting.stderr.close()
