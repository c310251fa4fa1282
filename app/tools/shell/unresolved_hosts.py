"""Finds in the output of a command which hosts its programs could not look up. A cage has no name server, and
without hosts in `net` no proxy either, so that a program says that a host does not exist.

Owns: reading the messages of programs, in linear time. Never: deciding: the text is untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from app.cages.network_rules import NetworkRules, host_name, port_number
from app.workspace.package_registries import installed_with, registries_for

MAX_HOSTS = 5
MAX_LINES = 50
_NAME = r"([A-Za-z0-9][A-Za-z0-9.-]{0,252})"
_HOST = rf"{_NAME}(?::([0-9]{{1,5}}))?"
_FAILED = re.compile(
    r"could not resolve host|name resolution|name or service not known|getaddrinfo(?::| failed)"
    r"|eai_again|enotfound|failed to lookup address|temporary failure resolving|unable to resolve host"
    r"|failed to resolve|: lookup |unknownhostexception",
    re.IGNORECASE,
)
"""What a program says when the name of a host leads nowhere."""
_URL = re.compile(rf"(https?)://{_HOST}")
_PLACES = (
    re.compile(rf"resolve host(?:name| address)?:? ['‘\"]?{_HOST}", re.IGNORECASE),
    re.compile(rf"(?:EAI_AGAIN|ENOTFOUND) {_HOST}"),
    re.compile(rf": lookup {_HOST}"),
    re.compile(rf"host='{_NAME}', port=([0-9]{{1,5}})"),
    re.compile(rf"failed to resolve '{_HOST}", re.IGNORECASE),
    re.compile(rf"failure resolving '{_HOST}"),
    re.compile(rf"UnknownHostException: {_HOST}"),
    re.compile(rf"connection to {_HOST} \(getaddrinfo"),
    re.compile(rf"(?:name resolution|service not known) \({_HOST}\)", re.IGNORECASE),
    re.compile(rf"(?:^| ){_HOST}: (?:temporary failure in name|name or service not)", re.IGNORECASE),
    re.compile(rf"https?://{_HOST}"),
)
"""Where a message has the host, the surest place first."""


def unresolved_hosts(lines: Iterable[str], command: str, rules: NetworkRules, root: Path) -> Iterator[str]:
    """Yield the notes on hosts that the output of `command` says were not found, for a cage with these rules.

    Where no message names a host, the package registries of the project at `root` are offered. Blocks: looks
    for the manifests there."""
    failed = list(dict.fromkeys(line for line in lines if _FAILED.search(line)))[:MAX_LINES]
    if not failed:
        return
    called = _ports_in(command)
    found = dict.fromkeys(place for line in failed if (place := _place_in(line, called)) is not None)
    named = [f"{host}:{port}" for host, port in list(found)[:MAX_HOSTS] if not rules.allows(host, port)]
    if named:
        yield _not_allowed(named, rules)
    elif rules:
        yield (
            "not_connected: a program looked a host up by itself. This cage reaches its hosts through the "
            "proxy in HTTPS_PROXY only."
        )
    else:
        line = _line(registries_for(root) or ("HOST:443",))
        yield (
            "not_connected: this cage has no network. Work without it, or ask the operator to allow the host "
            f"by name, as in `{line}`."
        )


def _not_allowed(named: Sequence[str], rules: NetworkRules) -> str:
    because = "is not among the hosts that this cage may reach" if rules else "is out of reach: no network"
    wanted = dict.fromkeys(one for place in named for one in installed_with(place))
    line = _line([one for one in wanted if one in named or not rules.covers(one)])
    return (
        f"not_connected: {', '.join(named)} {because}. Work without it, or ask the operator to allow it by "
        f"name: `{line}`."
    )


def _line(hosts: Sequence[str]) -> str:
    listed = ", ".join(f'"{host}"' for host in hosts)
    return f"net: {{ allow: [{listed}] }}"


def _place_in(line: str, called: Mapping[str, int]) -> tuple[str, int] | None:
    """Return the host that a message says was not found, and the port that was meant."""
    for pattern in _PLACES:
        found = pattern.search(line)
        if found is None:
            continue
        try:
            host = host_name(found[1].rstrip("."))
            port = port_number(found[2] or str(_port_in(line, called, host)))
        except ValueError:
            continue
        if "." in host:
            return host, port
    return None


def _port_in(line: str, called: Mapping[str, int], host: str) -> int:
    usual = 22 if line.startswith("ssh: ") else 443
    return {**called, **_ports_in(line)}.get(host, usual)


def _ports_in(text: str) -> dict[str, int]:
    """Return the hosts of the addresses in a text, each with its port."""
    return {
        name.lower(): int(port) if port else 80 if scheme == "http" else 443
        for scheme, name, port in _URL.findall(text)
    }
