"""One request to an HTTP proxy: `CONNECT host:port`, or another method with a whole `http` address.

Owns: reading the head strictly, the head that is sent on, the answers. Never: deadlines.

One connection carries one request. The head is sent to the vetted host only, so it is not interpreted
further.
"""

from __future__ import annotations

import re

from app.bridges.network.exchange import ClientStream, ProxyRequest, Refusal, RefusalKind
from app.cages.network_rules import port_number, shown

MAX_HEAD = 16 * 1024
MAX_FIELDS = 100
MAX_BODY_DIGITS = 15
_TOKEN = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONNECTED = b"HTTP/1.1 200 Connection Established\r\n\r\n"
_REQUEST = re.compile(rb"([A-Za-z]{1,32}) ([\x21-\x7e]+) HTTP/1\.[01]")
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_ADDRESS = re.compile(r"http://([^/?#]*)([/?].*)?")
_OF_ONE_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"proxy-authenticate"}
    | {b"te", b"trailer", b"transfer-encoding", b"upgrade", b"host"}
)

_STATUS: dict[RefusalKind, tuple[int, str]] = {
    "malformed": (400, "Malformed Proxy Request"),
    "too_large": (431, "Request Head Too Large"),
    "too_slow": (408, "Request Too Slow"),
    "unsupported": (501, "Not Supported By This Proxy"),
    "numeric": (403, "Addresses Not Allowed, Write The Host Name"),
    "not_allowed": (403, "Host Not Allowed By This Cage"),
    "not_public": (403, "Host Not On The Open Internet"),
    "unresolvable": (502, "Host Not Found"),
    "unreachable": (502, "Host Not Reachable"),
    "no_answer": (504, "Host Did Not Answer"),
}


class HttpExchange:
    name = "http"

    async def read(self, stream: ClientStream) -> ProxyRequest:
        return parse_head(await stream.until(b"\r\n\r\n", MAX_HEAD, check_lines))

    def refused(self, refusal: Refusal) -> bytes:
        status, reason = _STATUS[refusal.kind]
        body = f"kaged: {refusal.message}\n".encode()
        return (
            f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        ).encode("ascii") + body


def check_lines(head: bytes) -> None:
    """Raise Refusal when what has come so far of a head has controls that none may have."""
    if b"\0" in head or re.search(rb"(?<!\r)\n|\r(?=[^\n])", head):
        raise Refusal("malformed", "the lines of a request's head end with CR and LF")


def parse_head(head: bytes) -> ProxyRequest:
    """Parse any head, without the empty line at its end. Raises Refusal."""
    first, *lines = head.split(b"\r\n")
    request = _REQUEST.fullmatch(first)
    if request is None:
        raise Refusal("malformed", "that is no request to a proxy; write `CONNECT host:port HTTP/1.1`")
    method, target = request[1], request[2].decode("ascii")
    fields = _fields(lines)
    if method == b"CONNECT":
        _no_body(fields)
        host, colon, port = target.rpartition(":")
        if not colon:
            raise Refusal("malformed", f"`{shown(target)}` has no port; write `CONNECT host:port`")
        return ProxyRequest(host, _port(port), accepted=_CONNECTED)
    return _whole_address(method, target, fields)


def _fields(lines: list[bytes]) -> list[tuple[bytes, bytes, bytes]]:
    if len(lines) > MAX_FIELDS:
        raise Refusal("too_large", f"the request has more than {MAX_FIELDS} fields")
    fields = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise Refusal("malformed", "a line of the request's head is no `name: value`")
        fields.append((name.lower(), name, value.strip(b" \t")))
    return fields


def _whole_address(method: bytes, target: str, fields: list[tuple[bytes, bytes, bytes]]) -> ProxyRequest:
    address = _ADDRESS.fullmatch(target)
    if address is None:
        raise Refusal("malformed", "write a whole address that begins with http://, or use CONNECT")
    authority, path = address[1], address[2] or "/"
    host, colon, port = authority.rpartition(":") if ":" in authority else (authority, "", "")
    number = _port(port) if colon else 80
    named = {
        one.strip().lower() for name, _, value in fields if name == b"connection" for one in value.split(b",")
    }
    onward = [
        b"%s %s HTTP/1.1" % (method, (path if path.startswith("/") else f"/{path}").encode("ascii")),
        b"Host: " + authority.encode("ascii"),
        *(
            name + b": " + value
            for lower, name, value in fields
            if lower not in _OF_ONE_HOP and lower not in named
        ),
        b"Connection: close",
    ]
    head = b"\r\n".join(onward) + b"\r\n\r\n"
    return ProxyRequest(host, number, onward=head, body=_body_length(fields))


def _body_length(fields: list[tuple[bytes, bytes, bytes]]) -> int:
    if any(name == b"transfer-encoding" for name, _, _ in fields):
        raise Refusal("unsupported", "send the length of the body ahead, or use CONNECT")
    lengths = {value for name, _, value in fields if name == b"content-length"}
    if not lengths:
        return 0
    length = lengths.pop()
    if lengths or not re.fullmatch(rb"[0-9]{1,%d}" % MAX_BODY_DIGITS, length):
        raise Refusal("malformed", "the length of the body is no number")
    return int(length)


def _no_body(fields: list[tuple[bytes, bytes, bytes]]) -> None:
    if _body_length(fields):
        raise Refusal("malformed", "CONNECT has no body")


def _port(text: str) -> int:
    try:
        return port_number(text)
    except ValueError as problem:
        raise Refusal("malformed", str(problem)) from None
