"""Why a provider cannot be used, in plain words: what is wrong, and what to do.

Owns: the causes, their words and advice, and how a failure's own facts (status, codes, exceptions below it)
tell one from the other. Pure. Never: asking the server anything (`examination`).
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import httpx2

from app.config import ProviderSettings, Proxies, without_credentials
from app.harness.providers.errors import ProviderError

Cause = Literal[
    "no_key",
    "refused_key",
    "no_permission",
    "quota",
    "rate_limited",
    "unknown_model",
    "no_network",
    "no_server",
    "tls",
    "proxy",
    "time_out",
    "wrong_address",
    "wrong_type",
    "refused_request",
    "overloaded",
    "other",
]
"""One word for each reason why a test of a provider fails."""

_QUOTA_CODES = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})
_QUOTA_WORDS = (
    "credit balance",
    "exceeded your current quota",
    "insufficient balance",
    "insufficient credit",
)
_PROXY_STATUS = 407


@dataclass(frozen=True, slots=True)
class Explanation:
    """`words` say what is wrong, `advice` what to do. Neither has a credential."""

    cause: Cause
    words: str
    advice: str


@dataclass(frozen=True, slots=True)
class Place:
    """The provider that was asked. `base_url` is shown: it has no credential."""

    name: str
    base_url: str
    has_key: bool
    trust_env: bool

    @classmethod
    def of(cls, name: str, settings: ProviderSettings, base_url: str) -> Place:
        trust_env = bool(settings.options.get("trust_env", False))
        return cls(name, without_credentials(base_url), settings.api_key is not None, trust_env)

    @property
    def host(self) -> str:
        return httpx2.URL(self.base_url).host

    def setting(self, key: str) -> str:
        """Return the name of a setting of this provider."""
        return f"providers.{self.name}.{key}"


def no_key(problem: str) -> Explanation:
    """Explain a credential that is not configured; `problem` names the variable to set."""
    return Explanation("no_key", "No key is configured, so nothing was sent.", _sentence(problem))


def explain(error: ProviderError, place: Place, proxies: Proxies) -> Explanation:
    """Explain a failed call by what is known of it without asking again."""
    if error.kind == "network":
        return _network(error, place, proxies)
    if error.status == _PROXY_STATUS:
        return _proxy("The proxy wants a user name and a password (HTTP 407).")
    words = error.message.casefold()
    if error.status == 402 or _QUOTA_CODES & set(error.codes) or any(one in words for one in _QUOTA_WORDS):
        return Explanation(
            "quota",
            "The key works, but its account has no credit or has used up its quota.",
            "Look at plan and billing of the account that the key belongs to.",
        )
    if error.kind == "auth":
        return _refused(error, place)
    if error.kind == "rate_limited":
        wait = "" if error.retry_after is None else f" The server asks to wait {error.retry_after:g} s."
        return Explanation(
            "rate_limited",
            "The server answers, but takes no more requests at the moment." + wait,
            "Test again later, or look at the rate limits of the account.",
        )
    if error.kind in ("overloaded", "truncated_stream"):
        return Explanation(
            "overloaded",
            "The server answers, but cannot serve this request at the moment.",
            "Test again later. If it lasts, look at the server's own log or its status page.",
        )
    if error.kind == "bad_request":
        return Explanation(
            "refused_request",
            "The server refuses the request for a reason of its own, which the message has.",
            f"If the message names a parameter, look at {place.setting('options')}.",
        )
    return Explanation("other", "The call failed.", "The message has what the server said.")


def unknown_model(model: str, place: Place, near: list[str]) -> Explanation:
    """Explain a model that the server does not have; `near` are its models that are most like it."""
    alike = f"The nearest of its names: {_listed(near)}." if near else "It has no name like it."
    return Explanation(
        "unknown_model",
        f"The server has no model {model!r}. {alike}",
        f"Use one of the server's names behind `{place.name}:`, or pull the model onto the server.",
    )


def wrong_address(place: Place, found: str | None, seen: str) -> Explanation:
    """Explain a `base_url` at which the protocol is not served; `found` is where it is."""
    if found is not None:
        advice = f'Set {place.setting("base_url")} = "{without_credentials(found)}".'
    else:
        advice = f"Correct {place.setting('base_url')}: it ends with the version, as in the server's manual."
    return Explanation("wrong_address", f"A server answers at {place.base_url}, but {seen}.", advice)


def wrong_type(place: Place, driver: str, found: str, speaks: str) -> Explanation:
    """Explain a server that speaks the protocol of another driver."""
    return Explanation(
        "wrong_type",
        f"The server does not speak the protocol of the driver {driver!r}. It speaks that of {speaks!r}.",
        f'Set {place.setting("driver")} = "{speaks}" and '
        f'{place.setting("base_url")} = "{without_credentials(found)}".',
    )


def _refused(error: ProviderError, place: Place) -> Explanation:
    if not place.has_key:
        advice = (
            f"Run `kaged providers key {place.name}`, or set {place.setting('api_key')} or "
            f"{place.setting('api_key_env')}."
        )
        return Explanation("no_key", "The server wants a key, and none is configured.", advice)
    if error.status == 403 and "api_key_invalid" not in error.codes:
        return Explanation(
            "no_permission",
            "The server knows the key, but does not allow this call with it (HTTP 403).",
            "Look at what the key may do: its project, its region, and the models that it is for.",
        )
    return Explanation(
        "refused_key",
        "The server refuses the key.",
        f"Look for a key that is wrong, expired, of another vendor, or cut off at {place.setting('api_key')} "
        "or in its variable.",
    )


def _network(error: ProviderError, place: Place, proxies: Proxies) -> Explanation:
    below = list(_below(error))
    if tls := next((one for one in below if isinstance(one, ssl.SSLError) and not _waits(one)), None):
        return _tls(tls, place)
    if proxy := next((one for one in below if isinstance(one, httpx2.ProxyError)), None):
        return _proxy(f"The proxy of the environment does not pass the request on: {proxy}.")
    url = httpx2.URL(place.base_url)
    port = url.port or (443 if url.scheme == "https" else 80)
    behind = proxies.of(url.scheme, url.host, port)
    if behind is not None and not place.trust_env:
        return Explanation(
            "proxy",
            f"{place.host} cannot be reached directly, and the environment names a proxy that is not used.",
            f"Set {place.setting('options.trust_env')} = true.",
        )
    if any(isinstance(one, socket.gaierror) for one in below):
        return Explanation(
            "no_network",
            f"The name {place.host} cannot be resolved.",
            f"Look for a misspelt {place.setting('base_url')}, and whether this machine has a network.",
        )
    if any(isinstance(one, ConnectionRefusedError) for one in below):
        return Explanation(
            "no_server",
            f"Nothing accepts connections at {place.host}, port {port}.",
            "Start that server, or correct the port.",
        )
    if any(isinstance(one, httpx2.RemoteProtocolError) for one in below):
        return wrong_address(place, None, "it does not answer with HTTP, or closes the connection")
    if any(isinstance(one, TimeoutError | httpx2.TimeoutException) for one in below):
        return Explanation(
            "time_out",
            f"{place.host} did not answer in time.",
            "Look for a firewall in between. A model that loads first needs a longer "
            f"{place.setting('options.first_byte_timeout_seconds')}.",
        )
    return Explanation(
        "no_network",
        f"No connection to {place.host} came about, or it broke off.",
        "Look whether this machine has a network, and for a firewall in between.",
    )


def _tls(error: ssl.SSLError, place: Place) -> Explanation:
    if not isinstance(error, ssl.SSLCertVerificationError):
        return Explanation(
            "tls",
            f"The server at {place.host} does not answer with TLS that this machine knows: {_reason(error)}.",
            f'If it is one without TLS, begin {place.setting("base_url")} with "http:".',
        )
    why = error.verify_message or _reason(error)
    advice = (
        "If an authority of your own signs it, or a proxy of your company replaces it, name the file of that "
        "authority in the variable SSL_CERT_FILE and restart."
    )
    if "mismatch" in why.casefold():
        advice = f"Use the name of the certificate in {place.setting('base_url')}."
    elif "expired" in why.casefold() or "not yet valid" in why.casefold():
        advice = "Renew the server's certificate, or set this machine's clock."
    return Explanation("tls", f"The certificate of {place.host} is not accepted: {why}.", advice)


def _waits(error: ssl.SSLError) -> bool:
    """Tell whether an error only says that the other side has not answered yet."""
    return isinstance(error, ssl.SSLWantReadError | ssl.SSLWantWriteError)


def _proxy(words: str) -> Explanation:
    return Explanation("proxy", words, "Look at HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the daemon.")


def _below(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and all that it came from, those of groups too."""
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
        waiting += [other for other in (one.__cause__, one.__context__) if other is not None]


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()


def _listed(names: list[str]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
