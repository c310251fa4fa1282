"""What the tools of the web have from the daemon's settings.

Owns: the bundle, and how a refused connection is reported. Never: connecting.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from app.bridges.network.dialling import Resolve
from app.bridges.network.exchange import Refusal, RefusalKind
from app.bridges.network.web_target import Exchanges
from app.config import Proxies, SearchSettings
from app.errors import ToolError

_CODES: dict[RefusalKind, str] = {
    "not_public": "address_refused",
    "numeric": "address_refused",
    "too_large": "response_too_large",
    "unsupported": "unsupported_content",
    "malformed": "bad_response",
}
UNREACHABLE = "host_unreachable"


@dataclass(slots=True)
class WebAccess:
    """One for each daemon. `resolve` looks names up, by default with the system's resolver."""

    search: SearchSettings = field(default_factory=SearchSettings)
    proxies: Proxies = field(default_factory=Proxies)
    resolve: Resolve | None = None
    _client: Exchanges | None = None

    @property
    def client(self) -> Exchanges:
        """The client, made at the first use: its library is not needed before."""
        if self._client is None:
            from app.bridges.network.web_client import WebClient

            self._client = WebClient(self.proxies, resolve=self.resolve)
        return self._client


def as_tool_error(refusal: Refusal) -> ToolError:
    """Return the error of a call whose exchange was refused."""
    code = _CODES.get(refusal.kind, UNREACHABLE)
    detail = {"needed": "a host of the open internet"} if code == "address_refused" else {}
    return ToolError(code, f"{refusal.message[:1].upper()}{refusal.message[1:]}.", detail=detail)
