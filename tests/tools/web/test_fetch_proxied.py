"""Proxies of the environment: they resolve names, so what is written is all that can be vetted."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address

import pytest

from app.config import Proxies
from tests.fakes.web_server import answer
from tests.tools.web.conftest import operators

pytestmark = pytest.mark.requirement("locked.web_fetch.hosts")


def proxies(proxy, without: str = "") -> Proxies:
    address = f"http://user:pass%20word@{proxy.place}"
    return Proxies.of_environment({"HTTP_PROXY": address, "https_proxy": address, "NO_PROXY": without})


async def test_a_proxy_resolves_names_and_gets_whole_addresses(web, server):
    async def page(request, writer):
        await answer(request.target, Content_Type="text/plain")(request, writer)

    server.pages["http://site.test/a"] = page
    assert (
        await web.with_access(proxies=proxies(server)).text("http://site.test/a?b=1")
        == "http://site.test/a?b=1"
    )
    assert server.requests[0].headers["proxy-authorization"] == "Basic dXNlcjpwYXNzIHdvcmQ="
    assert server.requests[0].headers["host"] == "site.test"
    assert web.names.asked == []


async def test_https_is_asked_of_a_proxy_as_a_tunnel(web, server):
    refused = await web.with_access(proxies=proxies(server)).refused("https://site.test/a")
    assert (refused.code, "pass" in repr(refused)) == ("host_unreachable", False)
    (request,) = server.requests
    assert (request.method, request.target) == ("CONNECT", "site.test:443")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "localhost",
        "a.localhost",
        "LOCALHOST.",
        "metadata.google.internal",
    ],
)
async def test_literal_addresses_and_names_of_this_machine_are_refused_before_the_proxy(web, server, host):
    through = web.with_access(proxies=proxies(server))
    assert (await through.refused(f"http://{host}/")).code == "address_refused"
    named = through.ruled(operators("metadata.google.internal:80"), operators("169.254.169.254:80"))
    if "metadata" in host or "169.254" in host:
        assert (await named.refused(f"http://{host}/")).code == "address_refused"
    assert server.connections == 0


async def test_rules_cages_and_redirects_count_behind_a_proxy(web, server):
    for path in ("http://in.test/", "http://out.test/"):
        server.pages[path] = answer("", "302 Found", Location="http://out.test/end")
    through = web.with_access(proxies=proxies(server))
    assert (await through.caged("in.test:80").refused("http://in.test/")).code == "capability_denied"
    server.pages["http://in.test/"] = answer("", "302 Found", Location="http://127.0.0.1/")
    assert (await through.refused("http://in.test/")).code == "address_refused"
    assert [one.target for one in server.requests] == ["http://in.test/"] * 2


async def test_hosts_without_a_proxy_are_vetted_and_this_machine_is_never_asked_for_there(web, server, inner):
    inner.pages["/"] = answer("direct", Content_Type="text/plain")
    web.names.table["direct.test"] = [ip_address("127.0.0.2")]
    through = web.with_access(proxies=proxies(server, "direct.test, .lan"))
    assert (await through.refused(f"http://direct.test:{inner.port}/")).code == "address_refused"
    opened = through.ruled(operators(f"direct.test:{inner.port}"), operators(inner.place))
    assert await opened.text(f"http://direct.test:{inner.port}/") == "direct"
    assert await opened.text(inner.url()) == "direct"
    assert server.connections == 0


async def test_a_proxy_of_another_kind_is_refused(web):
    socks = Proxies.of_environment({"ALL_PROXY": "socks5://127.0.0.1:1080"})
    refused = await web.with_access(proxies=socks).refused("http://site.test/")
    assert "no HTTP proxy" in refused.error_text


async def test_a_proxy_that_says_nothing_is_left(web, server, monkeypatch):
    monkeypatch.setattr("app.tools.web.fetch.SECONDS", 0.5)

    async def page(_request, writer):
        await asyncio.Event().wait()

    server.pages["http://site.test/"] = page
    assert (await web.with_access(proxies=proxies(server)).refused("http://site.test/")).code == "timed_out"


@pytest.mark.parametrize(
    ("without", "host", "port", "direct"),
    [
        ("*", "a.test", 80, True),
        ("a.test", "a.test", 80, True),
        ("a.test", "b.a.test", 80, True),
        (".a.test", "b.a.test", 80, True),
        ("*.a.test", "b.a.test", 80, True),
        ("a.test", "ba.test", 80, False),
        ("a.test:8080", "a.test", 8080, True),
        ("a.test:8080", "a.test", 80, False),
        ("10.0.0.0/8, c.test", "10.1.2.3", 80, True),
        ("10.0.0.0/8", "11.1.2.3", 80, False),
        ("::1", "::1", 80, True),
        ("", "a.test", 80, False),
    ],
)
def test_no_proxy_means_hosts_networks_and_ports(without, host, port, direct):
    found = Proxies.of_environment(
        {"http_proxy": "proxy.test:3128", "HTTP_PROXY": "http://x", "NO_PROXY": without}
    )
    assert found.of("http", host, port) == (None if direct else "http://proxy.test:3128")
    assert found.of("https", host, port) is None
