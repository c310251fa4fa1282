"""Which addresses belong to the open internet. The tables are written out (IANA's registries of special
purposes), so that they do not change with the version of Python.

Owns: the addresses to which no agent or plugin is connected. Never: resolving or connecting.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

_IPV4: tuple[tuple[IPv4Network, str], ...] = tuple(
    (IPv4Network(network), what)
    for network, what in (
        ("0.0.0.0/8", "this machine"),
        ("10.0.0.0/8", "a private address"),
        ("100.64.0.0/10", "an address of the provider's own network"),
        ("127.0.0.0/8", "this machine"),
        ("168.63.129.16/32", "a cloud's metadata service"),
        ("169.254.0.0/16", "a link-local address, where clouds have their metadata"),
        ("172.16.0.0/12", "a private address"),
        ("192.0.0.0/24", "an address with a special purpose"),
        ("192.0.2.0/24", "an address for documentation"),
        ("192.31.196.0/24", "an address with a special purpose"),
        ("192.52.193.0/24", "an address with a special purpose"),
        ("192.88.99.0/24", "an address of a tunnel"),
        ("192.168.0.0/16", "a private address"),
        ("192.175.48.0/24", "an address with a special purpose"),
        ("198.18.0.0/15", "an address for measurements"),
        ("198.51.100.0/24", "an address for documentation"),
        ("203.0.113.0/24", "an address for documentation"),
        ("224.0.0.0/4", "a multicast address"),
        ("240.0.0.0/4", "a reserved address"),
    )
)
_IPV6: tuple[tuple[IPv6Network, str], ...] = tuple(
    (IPv6Network(network), what)
    for network, what in (
        ("::/128", "this machine"),
        ("::1/128", "this machine"),
        ("::ffff:0:0/96", "an IPv4 address in another form"),
        ("64:ff9b::/96", "an IPv4 address in another form"),
        ("64:ff9b:1::/48", "an IPv4 address in another form"),
        ("2001::/23", "an address with a special purpose"),
        ("2001:db8::/32", "an address for documentation"),
        ("2002::/16", "an IPv4 address in another form"),
        ("2620:4f:8000::/48", "an address with a special purpose"),
        ("3fff::/20", "an address for documentation"),
        ("fc00::/7", "a private address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a private address"),
        ("ff00::/8", "a multicast address"),
    )
)
_GIVEN_OUT = IPv6Network("2000::/3")
_METADATA_IPV4 = tuple(
    map(IPv4Network, ("169.254.0.0/16", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32"))
)
_METADATA_IPV6 = tuple(map(IPv6Network, ("fd00:ec2::/32", "fd20:ce::/32", "fe80::a9fe:a9fe/128")))
_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))


def why_not_public(address: Address) -> str | None:
    """Return what else an address is when it is not one of the open internet, else None."""
    if isinstance(address, IPv4Address):
        return next((what for network, what in _IPV4 if address in network), None)
    if address.scope_id is not None:
        return "an address of one of this machine's links"
    found = next((what for network, what in _IPV6 if address in network), None)
    if found is None and address not in _GIVEN_OUT:
        return "a reserved address"
    return found


def is_metadata(address: Address) -> bool:
    """Tell whether a cloud serves its machine's metadata and credentials there, in any form of the address.
    No rule of an operator opens such an address."""
    return any(
        one in network
        for one in _forms(address)
        for network in (_METADATA_IPV4 if isinstance(one, IPv4Address) else _METADATA_IPV6)
    )


def _forms(address: Address) -> tuple[Address, ...]:
    """Return the address without its link, and the IPv4 addresses that stand in it."""
    if isinstance(address, IPv4Address):
        return (address,)
    plain = IPv6Address(int(address))
    inner = [one for one in (plain.ipv4_mapped, plain.sixtofour) if one is not None]
    if any(plain in network for network in _NAT64) or int(plain) >> 32 == 0:
        inner.append(IPv4Address(int(plain) & 0xFFFF_FFFF))
    return (plain, *inner)


def literal_address(host: str) -> Address | None:
    """Return the address that a host is, written plainly (`192.0.2.1`, `2001:db8::1`), or None."""
    try:
        return ip_address(host)
    except ValueError:
        return None
