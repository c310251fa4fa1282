"""Which hosts a fetch reaches: addresses, rules, cages, redirects. Each refusal has an allowed neighbour."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from app.cages.address_vetting import Address
from app.tools.contract.rules import PermissionRule
from tests.bridges.network.conftest import Names
from tests.fakes.web_server import answer, redirect, web_server
from tests.tools.web.conftest import operators

pytestmark = pytest.mark.requirement("locked.web_fetch.hosts")


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("127.0.0.1", "address_refused"),
        ("[::1]", "address_refused"),
        ("[::ffff:127.0.0.1]", "address_refused"),
        ("[64:ff9b::7f00:1]", "address_refused"),
        ("10.0.0.1", "address_refused"),
        ("192.168.1.1", "address_refused"),
        ("169.254.169.254", "address_refused"),
        ("[fe80::1]", "address_refused"),
        ("[fd00:ec2::254]", "address_refused"),
        ("0.0.0.0", "address_refused"),
        ("127.1", "invalid_params"),
        ("2130706433", "invalid_params"),
        ("0x7f000001", "invalid_params"),
        ("0177.0.0.1", "invalid_params"),
        ("[::1%25lo]", "invalid_params"),
        ("user:password@127.0.0.1", "invalid_params"),
        ("example.com\\@127.0.0.1", "invalid_params"),
        ("a b", "invalid_params"),
        ("", "invalid_params"),
    ],
)
async def test_an_address_that_is_not_public_is_refused_in_every_spelling(web, host, code):
    assert (await web.refused(f"http://{host}/")).code == code


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://a.test/", "gopher://a.test", "javascript:1", "//a.test/"]
)
async def test_only_http_is_spoken(web, url):
    assert (await web.refused(url)).code == "invalid_params"


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.2"], ["::1"], ["10.1.1.1", "fd00::1"], ["169.254.169.254"], ["::ffff:10.0.0.1"]],
)
async def test_a_name_that_leads_inside_is_refused_after_it_is_resolved(web, inner, addresses):
    web.names.table["site.test"] = [ip_address(one) for one in addresses]
    assert (await web.refused(f"http://site.test:{inner.port}/")).code == "address_refused"
    assert (web.names.asked, inner.connections) == (["site.test"], 0)


async def test_a_name_that_changes_its_mind_is_not_asked_twice(web, server, monkeypatch):
    """DNS rebinding: the address that was vetted is connected to, whatever the resolver says next."""
    server.pages["/"] = answer("first", Content_Type="text/plain")
    async with web_server("127.0.0.2", server.port) as second:

        class Rebinding(Names):
            async def __call__(self, host: str) -> list[Address]:
                found = await super().__call__(host)
                self.table[host] = [ip_address("127.0.0.2")]
                return found

        web.names.__class__ = Rebinding
        web.names.table["site.test"] = [ip_address("127.0.0.1")]
        # For this test the one address of the server counts as public, as everything else does not.
        from tests.bridges.network.conftest import vet

        web.access.client._vet = vet
        url = f"http://site.test:{server.port}/"
        assert await web.text(url) == "first"
        assert web.names.asked == ["site.test"]
        assert (await web.refused(url)).code == "address_refused"
        assert second.connections == 0
    assert server.requests[0].headers["host"] == f"site.test:{server.port}"


async def test_of_several_addresses_only_vetted_ones_are_tried(web, server, inner):
    from tests.bridges.network.conftest import vet

    server.pages["/"] = answer("here", Content_Type="text/plain")
    web.names.table["site.test"] = [ip_address(one) for one in ("127.0.0.2", "10.0.0.1", "127.0.0.1")]
    web.access.client._vet = vet
    assert await web.text(f"http://site.test:{server.port}/") == "here"
    assert inner.connections == 0


async def test_an_operators_rule_allows_exactly_its_host_and_port(web, server, inner):
    for one in (server, inner):
        one.pages["/"] = answer("inside", Content_Type="text/plain")
    allowed = web.ruled(operators(server.place))
    assert await allowed.text(server.url()) == "inside"
    assert (await allowed.refused(inner.url())).code == "address_refused"
    async with web_server("127.0.0.1") as other:
        assert (await allowed.refused(other.url())).code == "address_refused"
    web.names.table["wiki.test"] = [ip_address("127.0.0.1")]
    named = web.ruled(operators(f"wiki.test:{server.port}"))
    assert await named.text(f"http://wiki.test:{server.port}/") == "inside"
    assert (await named.refused(server.url())).code == "address_refused"


@pytest.mark.parametrize(
    "rule",
    [
        PermissionRule("net", "{place}", "allow", "manifest"),
        PermissionRule("net", "127.0.0.*", "allow", "project"),
        PermissionRule("net", "127.0.0.1", "allow", "project"),
        PermissionRule("net", "127.0.0.1:*", "allow", "project"),
        PermissionRule("net", "*", "allow", "session"),
        PermissionRule("web_fetch", "{place}", "allow", "session"),
        PermissionRule("*", "{place}", "allow", "project"),
        PermissionRule("net", "{place}", "ask", "project"),
    ],
)
async def test_no_other_rule_opens_a_private_address(web, server, rule):
    given = PermissionRule(rule.permission, rule.pattern.format(place=server.place), rule.action, rule.scope)
    web.ports.answer = "once"
    assert (await web.ruled(given).refused(server.url())).code == "address_refused"
    assert server.connections == 0


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "168.63.129.16",
        "100.100.100.200",
        "fd00:ec2::254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::",
    ],
)
async def test_no_rule_opens_a_metadata_address(web, address):
    web.names.table["site.test"] = [ip_address(address)]
    written = f"[{ip_address(address)}]" if ":" in address else address
    ruled = web.ruled(
        operators("site.test:80"), operators(f"{ip_address(address)}:80"), operators(f"{written}:80")
    )
    for url in ("http://site.test/", f"http://{written}/"):
        refused = await ruled.refused(url)
        assert (refused.code, "metadata" in refused.error_text) == ("address_refused", True)


@pytest.mark.parametrize(
    ("to", "code"),
    [
        ("http://127.0.0.2:{inner}/", "address_refused"),
        ("http://169.254.169.254/latest/meta-data/", "address_refused"),
        ("http://[::ffff:169.254.169.254]/", "address_refused"),
        ("//site.test:{inner}/", "address_refused"),
        ("http://127.1:{inner}/", "bad_response"),
        ("http://user:password@127.0.0.2:{inner}/", "bad_response"),
        ("file:///etc/passwd", "bad_response"),
        ("gopher://127.0.0.2:{inner}/", "bad_response"),
    ],
)
async def test_a_redirect_is_judged_like_the_first_address(web, server, inner, to, code):
    web.names.table["site.test"] = [ip_address("127.0.0.2")]
    server.pages["/"] = redirect(to.format(inner=inner.port))
    server.pages["/next"] = redirect("good", "308 Permanent Redirect")
    server.pages["/good"] = answer("good", Content_Type="text/plain")
    assert (await web.allowing(server).refused(server.url())).code == code
    assert inner.connections == 0
    envelope = await web.allowing(server).fetch(server.url("/next"))
    assert (envelope.data["url"], envelope.data["content"].endswith("\n\ngood")) == (
        server.url("/good"),
        True,
    )


async def test_a_redirect_may_lead_to_another_allowed_host_and_each_is_audited(web, server, inner):
    server.pages["/"] = redirect(inner.url("/end"))
    inner.pages["/end"] = answer("end", Content_Type="text/plain")
    assert await web.allowing(server, inner).text(server.url()) == "end"
    hosts = [data["host"] for event, data in web.ports.events if event == "web.fetched"]
    assert hosts == ["127.0.0.1", "127.0.0.2"]


async def test_redirects_end(web, server):
    server.pages["/"] = redirect("/")
    refused = await web.allowing(server).refused(server.url())
    assert (refused.code, server.connections) == ("too_many_redirects", 11)


async def test_permission_rules_judge_the_host_of_a_fetch_and_of_each_redirect(web, server, inner):
    server.pages["/"] = redirect(inner.url("/end"))
    inner.pages["/end"] = answer("end", Content_Type="text/plain")
    allowing = web.allowing(server, inner)
    for permission in ("net", "web_fetch", "web_*"):
        denied = allowing.ruled(
            *allowing.desk.context.rules, PermissionRule(permission, "127.0.0.2", "deny", "manifest")
        )
        assert (await denied.refused(inner.url("/end"))).code == "permission_denied"
        assert (await denied.refused(server.url())).code == "permission_denied"
    assert inner.connections == 0
    asking = web.ruled(operators(server.place), PermissionRule("web_fetch", "127.0.0.2*", "ask", "project"))
    refused = await asking.refused(server.url())
    assert refused.code == "permission_denied"
    assert "Call web_fetch with that address" in refused.error_text
    assert web.ports.asked == []
    await asking.refused(inner.url("/end"))
    assert [one.subjects for one in web.ports.asked] == [(inner.place,)]


@pytest.mark.requirement("cages.net.vetted")
async def test_a_caged_agent_reaches_only_the_hosts_of_its_cage(web, server):
    web.names.table.update({name: [ip_address("127.0.0.1")] for name in ("in.test", "out.test")})
    server.pages["/"] = redirect(f"http://out.test:{server.port}/end")
    server.pages["/end"] = answer("end", Content_Type="text/plain")
    ruled = web.ruled(
        *(operators(f"{name}.test:{server.port}") for name in ("in", "out")), operators(server.place)
    )
    caged = ruled.caged(f"in.test:{server.port}")
    assert await caged.text(f"http://in.test:{server.port}/end") == "end"
    reached = server.connections
    for url in (f"http://out.test:{server.port}/end", server.url("/end"), "https://in.test/end"):
        assert (await caged.refused(url)).code == "capability_denied"
    assert server.connections == reached
    refused = await caged.refused(f"http://in.test:{server.port}/")
    assert (refused.code, refused.detail["allow"]) == (
        "capability_denied",
        [f'net: {{ allow: ["out.test:{server.port}"] }}'],
    )
    assert (await ruled.caged().refused(server.url())).code == "capability_denied"


async def test_the_watchdog_judges_a_fetch(web, server):
    from app.tools.authorisation.watchdog import ALLOW, Verdict

    class Watch:
        async def judge(self, definition, params, context):
            return Verdict("deny", "no") if "secret" in params.url else ALLOW

    server.pages["/"] = answer("fine", Content_Type="text/plain")
    desk = web.allowing(server).desk.with_tools(watchdog=Watch())
    assert (await desk.call("web_fetch", url=server.url())).type == "output"
    assert await desk.code("web_fetch", url=server.url("/?q=secret")) == "watchdog_denied"
    assert server.connections == 1
