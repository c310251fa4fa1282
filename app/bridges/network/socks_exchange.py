"""One request to a SOCKS 5 proxy (RFC 1928): `CONNECT` to a name, without a password.

Owns: the conversation up to the request, and the answers. Never: deadlines.
"""

from __future__ import annotations

from app.bridges.network.exchange import ClientStream, ProxyRequest, Refusal, RefusalKind

VERSION = 5
_NO_PASSWORD = 0
_NO_METHOD = b"\x05\xff"
_CONNECT = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4
_REPLY = b"\x05%c\x00\x01\x00\x00\x00\x00\x00\x00"
_GENERAL = 1
_CODES: dict[RefusalKind, int] = {
    "not_allowed": 2,
    "numeric": 2,
    "not_public": 2,
    "unresolvable": 4,
    "unreachable": 5,
    "no_answer": 6,
    "unsupported": 7,
}


class SocksExchange:
    name = "socks5"

    def __init__(self) -> None:
        self._has_method = False

    async def read(self, stream: ClientStream) -> ProxyRequest:
        """Lead the conversation up to the request. Raises Refusal, ClientGone."""
        version, count = await stream.exactly(2)
        methods = await stream.exactly(count)
        if version != VERSION or _NO_PASSWORD not in methods:
            raise Refusal("unsupported", "this proxy has no passwords; offer the method `none`")
        self._has_method = True
        await stream.send(bytes((VERSION, _NO_PASSWORD)))
        version, command, reserved, kind = await stream.exactly(4)
        if version != VERSION or reserved:
            raise Refusal("malformed", "that is no SOCKS 5 request")
        if kind == _NAME:
            name = await stream.exactly((await stream.exactly(1))[0])
        elif kind in (_IPV4, _IPV6):
            name = await stream.exactly(4 if kind == _IPV4 else 16)
        else:
            raise Refusal("malformed", "that is no SOCKS 5 request")
        port = int.from_bytes(await stream.exactly(2), "big")
        if command != _CONNECT:
            raise Refusal("unsupported", "this proxy knows only the command CONNECT")
        if kind != _NAME:
            raise Refusal("numeric", "let the proxy look the name up (`socks5h`); addresses are not allowed")
        if not name.isascii() or not port:
            raise Refusal("malformed", "a name has ASCII letters, and a port is 1 to 65535")
        return ProxyRequest(name.decode("ascii"), port, accepted=_REPLY % 0)

    def refused(self, refusal: Refusal) -> bytes:
        """Return the answer with the code that comes nearest."""
        return _REPLY % _CODES.get(refusal.kind, _GENERAL) if self._has_method else _NO_METHOD
