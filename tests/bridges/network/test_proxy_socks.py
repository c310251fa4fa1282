"""The proxy by its SOCKS 5 side."""

from __future__ import annotations

import pytest

from tests.bridges.network.conftest import Host, Running

pytestmark = pytest.mark.requirement("cages.net.proxy")

HELLO = b"\x05\x01\x00"
WELCOME = b"\x05\x00"


def to(name: bytes, port: int, command: int = 1) -> bytes:
    return b"\x05%c\x00\x03%c%b%b" % (command, len(name), name, port.to_bytes(2, "big"))


def code(answer: bytes) -> int:
    assert answer[:2] == WELCOME
    assert answer[2] == 5 and answer[4:12] == b"\x00\x01" + bytes(6)
    return answer[3]


async def test_a_name_that_is_allowed_is_reached(cage: Running, host: Host) -> None:
    answer = await cage.say(b"\x05\x02\x02\x00" + to(b"api.test", host.port) + b"hello", half_close=True)
    assert code(answer) == 0
    assert answer[12:] == b"hello"
    (told,) = cage.events("cage.connected")
    assert told == {"host": "api.test", "port": host.port, "address": "127.0.0.1", "protocol": "socks5"}


@pytest.mark.parametrize(
    ("name", "expected", "reason"),
    [
        (b"other.test", 2, "not_allowed"),
        (b"wide.test", 2, "not_allowed"),
        (b"localhost", 2, "not_allowed"),
        (b"inside.wide.test", 2, "not_public"),
        (b"127.0.0.1", 2, "numeric"),
        (b"0x7f.1", 2, "numeric"),
        (b"::1", 2, "numeric"),
        (b"nowhere.wide.test", 4, "unresolvable"),
        (b"a.wide.test\0.api.test", 1, "malformed"),
        (b"", 1, "malformed"),
        ("bücher.wide.test".encode(), 1, "malformed"),
        (b"a" * 255, 1, "malformed"),
    ],
)
async def test_another_name_is_not(
    cage: Running, host: Host, name: bytes, expected: int, reason: str
) -> None:
    assert code(await cage.say(HELLO, to(name, host.port))) == expected
    assert host.connections == 0
    assert [one["reason"] for one in cage.events("cage.connection_refused")] == [reason]


@pytest.mark.parametrize(
    ("request_bytes", "expected"),
    [
        (b"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", 2),
        (b"\x05\x01\x00\x04" + bytes(15) + b"\x01\x00\x50", 2),
        (to(b"api.test", 80, command=2), 7),
        (to(b"api.test", 80, command=3), 7),
        (to(b"api.test", 0), 1),
        (b"\x05\x01\x01\x03\x01a\x00\x50", 1),
        (b"\x05\x01\x00\x02", 1),
        (b"\x04\x01\x00\x03", 1),
    ],
)
async def test_addresses_other_commands_and_what_is_malformed_are_refused(
    cage: Running, host: Host, request_bytes: bytes, expected: int
) -> None:
    assert code(await cage.say(HELLO, request_bytes)) == expected
    assert host.connections == 0


@pytest.mark.parametrize("hello", [b"\x05\x01\x02", b"\x05\x00"])
async def test_without_the_method_none_the_conversation_ends(cage: Running, hello: bytes) -> None:
    assert await cage.say(hello) == b"\x05\xff"


async def test_a_client_that_goes_away_in_the_middle_leaves_nothing(cage: Running, host: Host) -> None:
    for count in range(len(HELLO) + 8):
        await cage.say((HELLO + to(b"api.test", host.port))[:count], half_close=True)
    assert host.connections == 0
    assert code(await cage.say(HELLO, to(b"api.test", host.port), half_close=True)) == 0
