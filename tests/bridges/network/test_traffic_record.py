"""What the audit is told of a cage's connections."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest

from app.bridges.network.traffic_record import MAX_EVENTS, TrafficRecord
from tests.bridges.network.conftest import Host, running
from tests.bridges.network.test_proxy_http import connect

pytestmark = pytest.mark.requirement("cages.net.proxy")


def record() -> tuple[TrafficRecord, list[tuple[str, dict[str, Any]]]]:
    told: list[tuple[str, dict[str, Any]]] = []
    return TrafficRecord(lambda event, data: told.append((event, data))), told


def test_what_repeats_is_counted_and_reported_once_more_at_the_end() -> None:
    kept, told = record()
    for _ in range(3):
        kept.connected("http", "a.test", 443, ip_address("1.1.1.1"))
        kept.carried("a.test", 443, 10, 20)
        kept.refused("socks5", "b.test", 80, "not_allowed")
    assert [event for event, _ in told] == ["cage.connected", "cage.connection_refused"]
    kept.close()
    assert told[2:] == [
        (
            "cage.traffic",
            {
                "hosts": [
                    {
                        "host": "a.test",
                        "port": 443,
                        "connections": 3,
                        "bytes_sent": 30,
                        "bytes_received": 60,
                    }
                ],
                "refused": 3,
            },
        )
    ]


def test_nobody_floods_the_audit_and_the_numbers_stay_right() -> None:
    kept, told = record()
    for number in range(MAX_EVENTS * 3):
        kept.connected("http", f"{number}.test", 443, ip_address("1.1.1.1"))
        kept.carried(f"{number}.test", 443, 1, 2)
        kept.refused("http", f"{number}.test", 80, "not_allowed")
    kept.close()
    assert len(told) == MAX_EVENTS * 2 + 1
    event, data = told[-1]
    assert event == "cage.traffic"
    assert data["refused"] == MAX_EVENTS * 3
    assert data["others"] == {
        "connections": MAX_EVENTS * 2,
        "bytes_sent": MAX_EVENTS * 2,
        "bytes_received": MAX_EVENTS * 4,
    }


def test_a_cage_that_never_tried_is_not_reported() -> None:
    kept, told = record()
    kept.close()
    assert told == []


def test_what_was_asked_for_is_shown_without_controls_and_short() -> None:
    kept, told = record()
    kept.refused("http", "a\x1b[31m\n" + "b" * 1000, 80, "malformed")
    assert told[0][1]["host"].startswith("a?[31m?bbb")
    assert len(told[0][1]["host"]) <= 260


async def test_the_end_of_a_proxy_shows_what_was_carried(host: Host) -> None:
    async with running(["api.test"], {"api.test": ["127.0.0.1"]}) as cage:
        await cage.say(connect(f"api.test:{host.port}"), b"12345", half_close=True)
        await cage.say(connect(f"other.test:{host.port}"))
    (traffic,) = cage.events("cage.traffic")
    assert traffic["refused"] == 1
    assert traffic["hosts"] == [
        {"host": "api.test", "port": host.port, "connections": 1, "bytes_sent": 5, "bytes_received": 5}
    ]
