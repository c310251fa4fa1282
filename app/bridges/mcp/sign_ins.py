"""The sign-ins at MCP servers that `kaged mcp login` has made.

Owns: their files in the data folder, which only its owner can read; one writer at a time, also of several
processes. Never: OAuth (`oauth`), or what is sent.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.bridges.mcp.added_servers import FOLDER, write_private
from app.bridges.mcp.problems import ServerEnded
from app.keyed_locks import KeyedLocks

SignInState = Literal["signed_in", "needs_login", "expired"]
SIGN_INS = "sign-ins"
_MOST_BYTES = 1024 * 1024
_LOCK_SECONDS = 60.0
_LOCK_AGAIN_SECONDS = 0.05


class SignIn(BaseModel):
    """What is known of the sign-in at one address. Without `tokens` a server asks for one that nobody has
    made. `client` is the client as the authorization server knows it; `server` and `resource` are the
    metadata of both servers; `allowed` are the hosts that the operator has allowed for it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    url: str
    tokens: dict[str, Any] | None = Field(default=None, repr=False)
    expires_at: float | None = None
    client: dict[str, Any] | None = Field(default=None, repr=False)
    server: dict[str, Any] | None = None
    resource: dict[str, Any] | None = None
    allowed: list[str] = []
    refused: bool = False
    """Whether the server has refused the tokens when they were sent last."""

    @property
    def access_token(self) -> str | None:
        return None if self.tokens is None else self.tokens.get("access_token")

    @property
    def can_refresh(self) -> bool:
        return self.tokens is not None and self.client is not None and bool(self.tokens.get("refresh_token"))

    @property
    def is_past(self) -> bool:
        return self.expires_at is not None and self.expires_at <= time.time()

    @property
    def state(self) -> SignInState:
        if self.access_token is None or self.refused:
            return "needs_login"
        return "expired" if self.is_past and not self.can_refresh else "signed_in"

    def secrets(self) -> list[str]:
        """Return the values that nobody else may see."""
        values = [(self.tokens or {}).get(name) for name in ("access_token", "refresh_token")]
        values.append((self.client or {}).get("client_secret"))
        return [value for value in values if value]


class SignIns:
    """The sign-ins of one data folder, each for one name and one address: a server that is declared with
    another address has none. Methods that are not `async` block."""

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / FOLDER / SIGN_INS
        self._locks = KeyedLocks[Path]()

    def of(self, name: str, url: str) -> SignIn | None:
        """Return what is known of the sign-in. A file that cannot be read is none."""
        return self._read(self._file(name, url), name, url)

    def put(self, sign_in: SignIn) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(self._file(sign_in.name, sign_in.url), orjson.dumps(sign_in.model_dump(mode="json")))

    def named(self, name: str) -> list[SignIn]:
        """Return the sign-ins of all servers that have this name."""
        files = sorted(self.folder.glob(f"{name}.*.json"))
        return [one for file in files if (one := self._read(file, name, None)) is not None]

    def remove(self, sign_in: SignIn) -> None:
        self._file(sign_in.name, sign_in.url).unlink(missing_ok=True)

    @asynccontextmanager
    async def changing(self, name: str, url: str) -> AsyncIterator[None]:
        """Keep others from changing this sign-in, in this process and in others. Raises ServerEnded when
        another process does not finish."""
        file = self._file(name, url).with_suffix(".lock")
        async with self._locks.holding(file):
            descriptor = await asyncio.to_thread(_opened, file)
            try:
                await _locked(descriptor)
                yield
            finally:
                os.close(descriptor)

    def _file(self, name: str, url: str) -> Path:
        return self.folder / f"{name}.{hashlib.sha256(url.encode()).hexdigest()[:32]}.json"

    def _read(self, file: Path, name: str, url: str | None) -> SignIn | None:
        try:
            with file.open("rb") as stream:
                found = SignIn.model_validate(orjson.loads(stream.read(_MOST_BYTES)))
        except (OSError, orjson.JSONDecodeError, ValidationError):
            return None
        return found if found.name == name and url in (None, found.url) else None


def _opened(file: Path) -> int:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


async def _locked(descriptor: int) -> None:
    """Take the lock of the file. It ends with the descriptor."""
    try:
        async with asyncio.timeout(_LOCK_SECONDS):
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    await asyncio.sleep(_LOCK_AGAIN_SECONDS)
                else:
                    return
    except TimeoutError:
        raise ServerEnded("another process is changing its sign-in, and does not finish") from None
