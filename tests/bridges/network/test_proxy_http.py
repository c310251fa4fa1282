"""The proxy by its HTTP side: CONNECT and whole addresses, strictly."""

from __future__ import annotations

import asyncio
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.bridges.network.exchange import Refusal
from app.bridges.network.http_exchange import MAX_HEAD, parse_head
from app.bridges.network.proxy import ProxyLimits
from tests.bridges.network.conftest import Host, Running, echo, running

pytestmark = pytest.mark.requirement("cages.net.proxy")


def connect(target: str, *fields: str) -> bytes:
    return "\r\n".join([f"CONNECT {target} HTTP/1.1", *fields, "", ""]).encode("latin-1")


async def test_a_tunnel_to_an_allowed_host_carries_bytes_both_ways(cage: Running, host: Host) -> None:
    answer = await cage.say(connect(f"api.test:{host.port}"), b"\x16\x03 anything", half_close=True)
    assert answer == b"HTTP/1.1 200 Connection Established\r\n\r\n\x16\x03 anything"
    (told,) = cage.events("cage.connected")
    assert told == {"host": "api.test", "port": host.port, "address": "127.0.0.1", "protocol": "http"}


async def test_bytes_that_come_with_the_request_are_not_lost(cage: Running, host: Host) -> None:
    answer = await cage.say(connect(f"API.test.:{host.port}", "Host: x") + b"early", half_close=True)
    assert answer.endswith(b"\r\n\r\nearly")


@pytest.mark.parametrize(
    ("target", "status", "reason"),
    [
        ("api.test:1", 403, "not_allowed"),
        ("other.test:{port}", 403, "not_allowed"),
        ("wide.test:{port}", 403, "not_allowed"),
        ("evilwide.test:{port}", 403, "not_allowed"),
        ("localhost:{port}", 403, "not_allowed"),
        ("inside.wide.test:{port}", 403, "not_public"),
        ("nowhere.wide.test:{port}", 502, "unresolvable"),
        ("127.0.0.1:{port}", 403, "numeric"),
        ("2130706433:{port}", 403, "numeric"),
        ("127.1:{port}", 403, "numeric"),
        ("0x7f.1:{port}", 403, "numeric"),
        ("[::1]:{port}", 403, "numeric"),
        ("[::ffff:127.0.0.1]:{port}", 403, "numeric"),
        ("api.test%00.wide.test:{port}", 400, "malformed"),
        ("api.test@wide.test:{port}", 400, "malformed"),
        ("http://api.test:{port}/", 400, "malformed"),
    ],
)
async def test_nobody_else_is_reached(
    cage: Running, host: Host, target: str, status: int, reason: str
) -> None:
    answer = await cage.say(connect(target.replace("{port}", str(host.port))))
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert host.connections == 0
    (told,) = cage.events("cage.connection_refused")
    assert (told["reason"], told["protocol"]) == (reason, "http")


async def test_a_name_that_is_not_allowed_is_not_even_looked_up(cage: Running, host: Host) -> None:
    await cage.say(connect(f"secret-text.other.test:{host.port}"))
    assert cage.names.asked == []
    await cage.say(connect(f"nowhere.wide.test:{host.port}"))
    assert cage.names.asked == ["nowhere.wide.test"]


async def test_the_refusal_says_what_is_allowed(cage: Running, host: Host) -> None:
    answer = await cage.say(connect("example.org:443"))
    body = answer.partition(b"\r\n\r\n")[2].decode()
    assert body == (
        f"kaged: this cage does not allow example.org:443; it allows api.test:{host.port}, *.wide.test\n"
    )


@pytest.mark.parametrize(
    "head",
    [
        b"CONNECT a.wide.test:PORT HTTP/1.1\n\n",
        b"CONNECT a.wide.test:PORT HTTP/1.1\r\nA: b\nHost: x\r\n\r\n",
        b"CONNECT a.wide.test:PORT HTTP/1.1\r\n folded\r\n\r\n",
        b"CONNECT a.wide.test:PORT HTTP/1.1\r\nName : value\r\n\r\n",
        b"CONNECT a.wide.test:PORT HTTP/1.1\r\nA: b\0c\r\n\r\n",
        b"CONNECT a.wide.test\0.test:PORT HTTP/1.1\r\n\r\n",
        b"CONNECT a.wide.test:PORT\r\n\r\n",
        b"CONNECT  a.wide.test:PORT HTTP/1.1\r\n\r\n",
        b"CONNECT a.wide.test:PORT HTTP/2.0\r\n\r\n",
        b"CONNECT a.wide.test HTTP/1.1\r\n\r\n",
        b"CONNECT a.wide.test: HTTP/1.1\r\n\r\n",
        b"CONNECT a.wide.test:0 HTTP/1.1\r\n\r\n",
        b"CONNECT a.wide.test:+PORT HTTP/1.1\r\n\r\n",
        b"CONNECT a.wide.test:0PORT HTTP/1.1\r\n\r\n",
        b"CONNECT a.wide.test:65536 HTTP/1.1\r\n\r\n",
        b"CONNECT a.wide.test:PORT HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
        b"GET / HTTP/1.1\r\nHost: a.wide.test:PORT\r\n\r\n",
        b"GET https://a.wide.test:PORT/ HTTP/1.1\r\n\r\n",
        b"GET http://user@a.wide.test:PORT/ HTTP/1.1\r\n\r\n",
        b"GET http://a.wide.test:PORT@other.test/ HTTP/1.1\r\n\r\n",
        b"GET http://a.wide.test:PORT\\@other.test/ HTTP/1.1\r\n\r\n",
        b"GET http://a.wide.test:PORT#/ HTTP/1.1\r\n\r\n",
        b"POST http://a.wide.test:PORT/ HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST http://a.wide.test:PORT/ HTTP/1.1\r\nContent-Length: -3\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n",
        b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00\r\n\r\n",
    ],
)
async def test_what_is_not_strictly_a_request_is_refused(cage: Running, host: Host, head: bytes) -> None:
    answer = await cage.say(head.replace(b"PORT", b"%d" % host.port))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert host.connections == 0


async def test_a_head_has_bounds_of_length_and_fields(cage: Running, host: Host) -> None:
    target = f"api.test:{host.port}"
    assert (await cage.say(connect(target, "A: " + "x" * MAX_HEAD))).startswith(b"HTTP/1.1 431 ")
    assert (await cage.say(connect(target, *["A: b"] * 101))).startswith(b"HTTP/1.1 431 ")
    assert host.connections == 0
    assert (await cage.say(connect(target, *["A: b"] * 100), half_close=True)).startswith(b"HTTP/1.1 200")


async def test_a_request_has_to_come_in_time(host: Host) -> None:
    limits = ProxyLimits(request_seconds=0.2)
    async with running(["api.test"], {"api.test": ["127.0.0.1"]}, limits=limits) as cage:
        assert (await cage.say(connect(f"api.test:{host.port}")[:-2])).startswith(b"HTTP/1.1 408 ")
        assert (await cage.say(b"")).startswith(b"HTTP/1.1 408 ")
        assert (await cage.say(b"\x05")) == b"\x05\xff"
    assert host.connections == 0


async def test_a_whole_address_is_sent_on_to_its_host_and_to_nobody_else(cage: Running) -> None:
    async with echo(last=b"body") as host:
        lines = [
            f"POST http://a.wide.test:{host.port}?q=1 HTTP/1.1",
            "Host: other.test",
            "X-Mine: é",
            "Proxy-Authorization: Basic c2VjcmV0",
            "Connection: X-Hop, keep-alive",
            "X-Hop: 1",
            "Content-Length: 4",
        ]
        after = "\r\n\r\nbodyGET http://other.test/ HTTP/1.1\r\n\r\n"
        answer = await cage.say(("\r\n".join(lines) + after).encode("latin-1"))
        expected = [
            "POST /?q=1 HTTP/1.1",
            f"Host: a.wide.test:{host.port}",
            "X-Mine: é",
            "Content-Length: 4",
            "Connection: close",
        ]
        assert answer == ("\r\n".join(expected) + "\r\n\r\nbody").encode("latin-1")
    assert cage.events("cage.connected")[0]["host"] == "a.wide.test"


async def test_a_body_without_a_length_is_not_sent_on(cage: Running, host: Host) -> None:
    answer = await cage.say(
        b"POST http://a.wide.test:%d/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % host.port
    )
    assert answer.startswith(b"HTTP/1.1 501 ")
    assert host.connections == 0


async def test_a_host_where_nobody_listens_is_not_reachable(cage: Running) -> None:
    async with echo() as gone:
        port = gone.port
    answer = await cage.say(connect(f"a.wide.test:{port}"))
    assert answer.startswith(b"HTTP/1.1 502 Host Not Reachable")
    assert b"Connection refused" in answer


@given(st.binary(max_size=300) | st.from_regex(rb"\A[A-Z]{3,8} [ -~]{0,80} HTTP/1\.[01](\r\n[ -~]*: .*)*"))
@settings(max_examples=300, deadline=None)
def test_any_head_is_a_request_or_a_refusal(head: bytes) -> None:
    try:
        request = parse_head(head)
    except Refusal:
        return
    assert 1 <= request.port <= 65_535
    assert request.body is None or request.onward.endswith(b"\r\n\r\n")
    # Nothing that is sent on holds a second head, or a line that a server might read otherwise.
    assert request.onward.count(b"\r\n\r\n") == (0 if request.body is None else 1)
    assert not re.search(rb"(?<!\r)\n|\r(?!\n)|\0", request.onward)


async def test_who_does_nothing_but_knock_is_taken_slowly_after_a_while(host: Host) -> None:
    limits = ProxyLimits(at_once=5, a_second=20)
    async with running(["api.test"], {"api.test": ["127.0.0.1"]}, limits=limits) as cage:
        began = asyncio.get_running_loop().time()
        for _ in range(15):
            assert (await cage.say(connect("x.test:1"))).startswith(b"HTTP/1.1 403")
        assert asyncio.get_running_loop().time() - began >= 9 / 20


async def test_connections_have_a_bound_and_those_beyond_it_wait(host: Host) -> None:
    async with running(["api.test"], {"api.test": ["127.0.0.1"]}, limits=ProxyLimits(connections=2)) as cage:
        open_ones = [await asyncio.open_connection("127.0.0.1", cage.port) for _ in range(3)]
        for _, writer in open_ones:
            writer.write(connect(f"api.test:{host.port}"))
        for reader, _ in open_ones[:2]:
            async with asyncio.timeout(60):
                assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        third = asyncio.create_task(open_ones[2][0].readline())
        await asyncio.wait([third], timeout=0.2)
        assert not third.done() and host.connections == 2
        open_ones[0][1].close()
        async with asyncio.timeout(60):
            assert (await third).startswith(b"HTTP/1.1 200")
        for _, writer in open_ones:
            writer.close()
