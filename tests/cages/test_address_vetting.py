"""Addresses that nobody is connected to on behalf of an agent or a plugin."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cages.address_vetting import why_not_public

pytestmark = pytest.mark.requirement("cages.net.vetted")

INSIDE = """
    0.0.0.0 10.1.2.3 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254 168.63.129.16
    169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.168.1.1 198.18.0.1
    198.51.100.7 203.0.113.9 224.0.0.251 240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1
    ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 64:ff9b:1::1 64:ff9b::808:808 100::1 2001::1
    2001:db8::1 2002:7f00:1:: 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fd20:ce::254 fe80::1
    fe80::1%1 fec0::1 ff02::1 ::ffff:0:127.0.0.1 2620:4f:8000::1 2606:4700::1%1
"""
OUTSIDE = """
    1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.0 169.253.0.1 172.15.0.1 172.32.0.1 192.167.0.1
    223.255.255.255 2606:4700::1 2a00:1450:4001::1 2001:4860:4860::8888
"""


@pytest.mark.parametrize(
    "address",
    INSIDE.split(),
)
def test_an_address_that_is_not_on_the_open_internet_is_refused(address: str) -> None:
    assert why_not_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    OUTSIDE.split(),
)
def test_the_neighbour_on_the_open_internet_is_not(address: str) -> None:
    assert why_not_public(ip_address(address)) is None


@given(st.integers(0, 2**32 - 1).map(IPv4Address) | st.integers(0, 2**128 - 1).map(IPv6Address))
def test_nothing_passes_that_the_standard_library_calls_not_global(
    address: IPv4Address | IPv6Address,
) -> None:
    if why_not_public(address) is None:
        assert address.is_global
        assert not address.is_multicast
