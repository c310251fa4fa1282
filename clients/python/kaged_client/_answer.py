"""What an answer of the daemon means, for both clients: an error, a retry, a model."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from kaged_client._call import RETRIED_STATUSES, Call, Settings, retry_after
from kaged_client.errors import ApiError, ConnectionFailed, api_error

_CONNECT_SECONDS = 5.0


def client_options(settings: Settings) -> dict[str, Any]:
    """Return how both HTTP clients are made. Proxies of the environment are not used."""
    return {
        "base_url": settings.url,
        "headers": settings.headers(),
        "timeout": httpx2.Timeout(settings.timeout, connect=_CONNECT_SECONDS),
        "trust_env": False,
        # Loading certificates takes tens of milliseconds: only for a daemon that speaks TLS.
        "verify": settings.url.startswith("https:"),
    }


def refusal(response: httpx2.Response) -> ApiError | None:
    """Return the error of an answer, or None. The body must have been read."""
    if response.status_code < 400:
        return None
    try:
        body = json.loads(response.content)
    except ValueError:
        body = None
    return api_error(response.status_code, body, response.headers.get("x-request-id"))


def pause_after(call: Call, response: httpx2.Response) -> float | None:
    """Return the least pause before the same call is sent again; None when it is not."""
    if response.status_code not in RETRIED_STATUSES:
        return None
    # 429 refuses before anything is done; a 503 may come late.
    if response.status_code == 503 and not call.repeatable:
        return None
    return retry_after(response.headers.get("retry-after"))


def may_repeat(call: Call, failure: httpx2.TransportError) -> bool:
    """Whether a call whose connection failed is sent again."""
    return call.repeatable or isinstance(failure, httpx2.ConnectError | httpx2.ConnectTimeout)


def unreachable(settings: Settings, failure: BaseException) -> ConnectionFailed:
    """Return the error of a daemon that does not answer."""
    return ConnectionFailed(
        f"The daemon at {settings.url} does not answer ({type(failure).__name__}). Is it running? "
        f"`retry_seconds` ({settings.retry_seconds:g}) is how long the client tries."
    )


def decoded(response: httpx2.Response) -> Any:
    """Return the JSON of an answer."""
    try:
        return json.loads(response.content)
    except ValueError:
        raise ConnectionFailed(
            "The answer is not JSON. Is the address that of a kaged daemon, with its base path and no other?"
        ) from None
