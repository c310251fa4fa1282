"""The ways out: a signed webhook, ntfy, a command of the operator.

Owns: what is sent, its deadline, and whether a failure may pass. Redirects are not followed: signature and
token are for the address that the operator has set. Never: when to send, or sending again (`deliveries`).
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import orjson

from app import __version__
from app.bridges.processes.child import SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.config import NotifyCommandSettings, NotifyNtfySettings, NotifySettings, NotifyWebhookSettings
from app.harness.notifications.notice import Notice

if TYPE_CHECKING:
    import httpx2

MAX_OUTPUT = 64 * 1024
MAX_WAIT_SECONDS = 3600.0
_MAY_PASS = frozenset({408, 425, 429})
_PRIORITIES = {"question": 4, "failure": 4, "budget": 3, "finish": 3, "test": 3}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one try ended. `problem` None: it is delivered. One that is `final` is not tried again;
    `wait_seconds` is how long the server asks to wait."""

    problem: str | None = None
    final: bool = False
    wait_seconds: float = 0.0


DELIVERED = Outcome()


class Channel(Protocol):
    """One way out, by its name."""

    @property
    def name(self) -> str: ...

    async def send(self, notice: Notice) -> Outcome:
        """Try once, within the channel's time limit. Raises nothing but a cancellation."""
        ...

    async def aclose(self) -> None: ...


class Poster:
    """Sends one POST at a time and looks at the status alone."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._client: httpx2.AsyncClient | None = None

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Outcome:
        import httpx2

        sent = {"content-type": "application/json", "user-agent": f"kaged/{__version__}", **headers}
        try:
            async with asyncio.timeout(self._seconds):
                client = await self._opened()
                async with client.stream("POST", url, content=body, headers=sent) as answer:
                    return _judged(answer.status_code, answer.headers.get("retry-after", ""))
        except TimeoutError:
            return Outcome(f"the server did not answer within {self._seconds:g} seconds")
        except httpx2.InvalidURL:
            return Outcome("the address is not valid", final=True)
        except httpx2.HTTPError as problem:
            return Outcome(f"the server cannot be reached ({type(problem).__name__})")

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def _opened(self) -> httpx2.AsyncClient:
        import httpx2

        if self._client is None:
            # Loading the certificates takes tens of milliseconds: not on the loop.
            self._client = await asyncio.to_thread(
                httpx2.AsyncClient, follow_redirects=False, timeout=self._seconds
            )
        return self._client


def _judged(status: int, retry_after: str) -> Outcome:
    if 200 <= status < 300:
        return DELIVERED
    if 300 <= status < 400:
        return Outcome(f"the server redirects (status {status}); set the address that it names", final=True)
    wait = min(float(retry_after), MAX_WAIT_SECONDS) if retry_after.isdecimal() else 0.0
    final = status < 500 and status not in _MAY_PASS
    return Outcome(f"the server answered with status {status}", final=final, wait_seconds=wait)


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature of a body at a time, in seconds since the epoch."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


class Webhook:
    """Posts the notification as JSON, signed at each try."""

    name = "webhook"

    def __init__(self, settings: NotifyWebhookSettings) -> None:
        assert settings.url is not None
        assert settings.secret is not None
        self._url = settings.url.get_secret_value()
        self._secret = settings.secret.get_secret_value()
        self._poster = Poster(settings.timeout_seconds)

    async def send(self, notice: Notice) -> Outcome:
        body, timestamp = notice.body(), str(int(time.time()))
        headers = {
            "x-kaged-delivery": notice.id,
            "x-kaged-timestamp": timestamp,
            "x-kaged-signature": f"sha256={signature(self._secret, timestamp, body)}",
        }
        return await self._poster.post(self._url, body, headers)

    async def aclose(self) -> None:
        await self._poster.aclose()


class Ntfy:
    """Publishes to a topic of ntfy."""

    name = "ntfy"

    def __init__(self, settings: NotifyNtfySettings) -> None:
        self._settings = settings
        self._poster = Poster(settings.timeout_seconds)

    async def send(self, notice: Notice) -> Outcome:
        body = {
            "topic": self._settings.topic,
            "title": notice.heading,
            "message": notice.text,
            "click": notice.link,
            "priority": _PRIORITIES[notice.kind],
            "tags": ["kaged", notice.kind],
        }
        token = self._settings.token
        headers = {} if token is None else {"authorization": f"Bearer {token.get_secret_value()}"}
        return await self._poster.post(self._settings.url, orjson.dumps(body), headers)

    async def aclose(self) -> None:
        await self._poster.aclose()


class Command:
    """Runs the operator's program with the JSON on its standard input, in a process group of its own. No
    shell reads its arguments; what it leaves behind is ended with it."""

    name = "command"

    def __init__(
        self,
        settings: NotifyCommandSettings,
        processes: ChildStarter,
        environment: Mapping[str, str],
        folder: Path,
    ) -> None:
        self._settings = settings
        self._processes = processes
        self._environment = environment
        self._folder = folder

    async def send(self, notice: Notice) -> Outcome:
        seconds = self._settings.timeout_seconds
        about = {
            "KAGED_NOTICE_KIND": notice.kind,
            "KAGED_NOTICE_TITLE": notice.heading,
            "KAGED_NOTICE_TEXT": notice.text,
            "KAGED_NOTICE_LINK": notice.link,
        }
        try:
            done = await self._processes.run(
                self._settings.argv,
                owner="notify command",
                cwd=self._folder,
                env={**self._environment, **about},
                input=notice.body(),
                seconds=seconds,
                max_output=MAX_OUTPUT,
            )
        except SpawnFailed as problem:
            return Outcome(f"the command cannot be started: {problem.reason}")
        except OSError as problem:
            return Outcome(f"the command cannot be started: {problem.strerror}")
        if done.timed_out:
            return Outcome(f"the command was killed after {seconds:g} seconds")
        if done.truncated:
            return Outcome(f"the command was killed because it wrote more than {MAX_OUTPUT // 1024} KB")
        if done.exit_code:
            return Outcome(f"the command ended with {done.exit_code}")
        return DELIVERED

    async def aclose(self) -> None:
        return


def channels_of(
    settings: NotifySettings, processes: ChildStarter, environment: Mapping[str, str], folder: Path
) -> list[Channel]:
    """Return the channels that are on. Nothing is connected to; commands run in `folder`."""
    made: dict[str, Channel] = {}
    for name in settings.channels:
        match name:
            case "webhook":
                made[name] = Webhook(settings.webhook)
            case "ntfy":
                made[name] = Ntfy(settings.ntfy)
            case _:
                made[name] = Command(settings.command, processes, environment, folder)
    return list(made.values())
