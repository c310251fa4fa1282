"""Addresses that nobody is connected to on behalf of an agent, in every spelling.

Fetching from the web and the proxy of cages ask the same two functions; they are asked here directly.
"""

from __future__ import annotations

from ipaddress import ip_address

from app.cages.address_vetting import why_not_public
from app.cages.network_rules import NetworkRules, host_name
from tests.attacks.case import Case
from tests.attacks.scene import Scene

AREA = "web-fetch"

ADDRESSES = {
    "loopback": "127.0.0.1",
    "loopback-elsewhere": "127.255.255.254",
    "loopback-v6": "::1",
    "unspecified": "0.0.0.0",
    "unspecified-v6": "::",
    "private-ten": "10.0.0.1",
    "private-middle": "172.31.255.255",
    "private-home": "192.168.1.1",
    "carrier": "100.64.0.1",
    "metadata": "169.254.169.254",
    "metadata-v6": "fd00:ec2::254",
    "metadata-of-another-cloud": "168.63.129.16",
    "link-local-v6": "fe80::1",
    "unique-local": "fd12::1",
    "mapped": "::ffff:127.0.0.1",
    "translated": "64:ff9b::7f00:1",
    "six-to-four": "2002:7f00:1::",
    "multicast": "224.0.0.1",
    "broadcast": "255.255.255.255",
}
NAMES = {
    "a-number": "2130706433",
    "hexadecimal": "0x7f000001",
    "octal": "0177.0.0.1",
    "short": "127.1",
    "with-a-bracket": "[::1]",
    "with-nul": "allowed.example\0.evil.example",
    "with-a-user": "user@allowed.example",
    "with-a-slash": "allowed.example/..",
    "with-a-percent": "allowed%2eexample",
    "full-width-digits": "１２７.0.0.1",
    "full-width-dot": "127。0。0。1",
}
HOSTS = {
    "lookalike": "allowed.example.evil.example",
    "prefix": "evil-allowed.example",
    "apex-of-a-wildcard": "wide.example",
    "other-port": "allowed.example:80",
    "trailing-words": "allowed.examplecom",
    "greek-letters": "αllowed.example",
}


def _address(name: str, address: str) -> Case:
    def attack(_: Scene) -> None:
        assert why_not_public(ip_address(address)) is not None

    def control(_: Scene) -> None:
        assert why_not_public(ip_address("93.184.216.34")) is None
        assert why_not_public(ip_address("2606:2800:220:1:248:1893:25c8:1946")) is None

    return Case(AREA, name, attack, control)


def _name(name: str, host: str) -> Case:
    def attack(_: Scene) -> None:
        try:
            taken = host_name(host)
        except ValueError:
            return
        raise AssertionError(f"{host!r} was taken for the host {taken!r}")

    def control(_: Scene) -> None:
        assert host_name("Allowed.Example.") == "allowed.example"

    return Case(AREA, f"name-{name}", attack, control)


def _host(name: str, host: str) -> Case:
    rules = NetworkRules.of(("allowed.example:443", "*.wide.example:443"))

    def granted(host: str) -> bool:
        name, _, port = host.partition(":")
        try:
            return rules.allows(host_name(name), int(port or 443))
        except ValueError:
            return False

    def attack(_: Scene) -> None:
        assert not granted(host)

    def control(_: Scene) -> None:
        assert granted("allowed.example")
        assert granted("deep.below.wide.example")

    return Case(AREA, f"host-{name}", attack, control)


CASES: tuple[Case, ...] = (
    *(_address(name, address) for name, address in ADDRESSES.items()),
    *(_name(name, host) for name, host in NAMES.items()),
    *(_host(name, host) for name, host in HOSTS.items()),
)
