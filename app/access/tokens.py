"""Who may talk to the daemon: tokens, the one-time launch code, browser sessions.

Owns: making, verifying and revoking tokens, and the token file of the first start. Never: HTTP, or storing
more of a token than its SHA-256 digest.
Keeps S13 of docs/security.md.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from app.access.scopes import UNBOUND, Binding, Principal, Scope
from app.config import AuthSettings
from app.errors import ConfigError, Conflict, NotFound, Unauthenticated, ValidationFailed
from app.ids import new_id, now_ms
from app.storage.file_failures import file_error
from app.storage.models import AccessToken
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

TOKEN_PREFIX = "kgd_"
BROWSER_SESSION_DAYS = 30
DAEMON_TOKEN_NAME = "daemon"
BROWSER_TOKEN_NAME = "browser"
_RESERVED_NAMES = (DAEMON_TOKEN_NAME, BROWSER_TOKEN_NAME)

_CACHE_SECONDS = 5.0
_CACHE_ENTRIES = 1_024
_DAY_MS = 24 * 60 * 60 * 1000
_MIN_TOKEN_CHARACTERS = 20


@dataclass(frozen=True, slots=True)
class CreatedToken:
    """A new token. `secret` is known only here and is never stored."""

    row: AccessToken
    secret: str


def token_digest(secret: str) -> str:
    """Return the hexadecimal SHA-256 digest under which a token is stored."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def new_secret() -> str:
    """Return a fresh token: 256 random bits in characters that any header or subprotocol takes."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def csrf_token(session_secret: str) -> str:
    """Return the CSRF token that belongs to one browser session."""
    return _keyed_digest(session_secret, b"kaged csrf")


def _keyed_digest(key: str, purpose: bytes) -> str:
    digest = hmac.new(key.encode(), purpose, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class AccessControl:
    """Verifies tokens and makes new ones. Build it with `open`.

    `launch_code()` is derived from the daemon's token and a value drawn at each start; it is good
    for one exchange, after which the next one is derived."""

    def __init__(
        self,
        storage: Storage,
        settings: AuthSettings,
        *,
        token_file: Path,
        daemon_secret: str,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self.settings = settings
        self.token_file = token_file
        self._storage = storage
        self._daemon_secret = daemon_secret
        self._clock = clock
        self._boot_nonce = secrets.token_bytes(16)
        self._launches = 0
        self._cache: dict[str, tuple[float, AccessToken | None]] = {}
        self._changes = 0
        self._watched: dict[str, set[asyncio.Event]] = {}

    @classmethod
    async def open(
        cls,
        storage: Storage,
        settings: AuthSettings,
        data_dir: Path,
        *,
        clock: Callable[[], int] = now_ms,
    ) -> AccessControl:
        """Read the daemon's token from `data_dir/token`, or make it there at the first start.

        Raises `ConfigError` when the file holds something that cannot be a token, `StorageError` when it
        cannot be read or written."""
        token_file = data_dir / "token"
        try:
            secret = await asyncio.to_thread(_read_token_file, token_file)
            if secret is None or await _is_revoked(storage, secret):
                secret = new_secret()
                await asyncio.to_thread(_write_token_file, token_file, secret)
        except OSError as problem:
            raise file_error(problem, f"the token file {token_file} cannot be used") from problem
        await _keep_daemon_row(storage, secret, clock())
        return cls(storage, settings, token_file=token_file, daemon_secret=secret, clock=clock)

    async def verify(self, secret: str, *, via: Literal["bearer", "cookie"] = "bearer") -> Principal:
        """Return who bears `secret`; raise `Unauthenticated` with the reason."""
        row = await self._find(token_digest(secret))
        if row is None:
            raise Unauthenticated("This token is not known here.", reason="token_unknown")
        self._check_validity(row)
        return _principal(row, via)

    async def confirm(self, principal: Principal, secret: str | None) -> None:
        """Raise `Unauthenticated` when `principal` lost its access since it was verified."""
        if secret is not None and principal.via in ("bearer", "cookie"):
            await self.verify(secret)

    async def create(
        self,
        name: str,
        *,
        scope: Scope = "operator",
        bound: Binding = UNBOUND,
        expires_at: int | None = None,
    ) -> CreatedToken:
        """Make a token. `expires_at` is milliseconds since the epoch; None never expires. `bound` is for
        the scopes `agent`, `plugin` and `chat`; the caller has looked that what it names exists.

        Raises `ValidationFailed` for a name that the daemon's own tokens bear."""
        if name in _RESERVED_NAMES:
            raise ValidationFailed(
                "This name is the daemon's own.", fields={"name": f"choose another than {name!r}"}
            )
        return await self._create(name, scope=scope, bound=bound, expires_at=expires_at)

    async def _create(
        self, name: str, *, scope: Scope, expires_at: int | None, bound: Binding = UNBOUND
    ) -> CreatedToken:
        secret = new_secret()
        row = AccessToken(
            id=new_id("tok"),
            name=name,
            digest=token_digest(secret),
            scope=scope,
            created_at=self._clock(),
            expires_at=expires_at,
            **asdict(bound),
        )
        stored = row.model_copy()
        await self._storage.write(lambda uow: uow.access.add_token(stored), durable=True)
        self._forget()
        return CreatedToken(row, secret)

    async def tokens(self) -> list[AccessToken]:
        """Return all tokens, without their secrets (which nobody has)."""
        return await self._storage.read(lambda uow: uow.access.tokens())

    async def revoke(self, token_id: str) -> AccessToken:
        """Make a token useless from now on. Raises `NotFound`, or `Conflict` when it already is."""
        row = next((token for token in await self.tokens() if token.id == token_id), None)
        if row is None:
            raise NotFound(f"There is no token {token_id}.")
        if row.revoked_at is not None:
            raise Conflict("This token is revoked already.", details={"state": "revoked"})
        at = self._clock()
        await self._storage.write(lambda uow: uow.access.revoke(token_id, at), durable=True)
        self._forget()
        for revoked in self._watched.get(token_id, ()):
            revoked.set()
        return row.model_copy(update={"revoked_at": at})

    @contextmanager
    def watched(self, principal: Principal) -> Iterator[asyncio.Event]:
        """Give an event that is set in the moment in which `principal`'s token is revoked."""
        revoked, key = asyncio.Event(), principal.key
        self._watched.setdefault(key, set()).add(revoked)
        try:
            yield revoked
        finally:
            self._watched[key].discard(revoked)
            if not self._watched[key]:
                del self._watched[key]

    def launch_code(self) -> str:
        """Return the code that the next exchange takes."""
        purpose = b"kaged launch" + self._boot_nonce + self._launches.to_bytes(8, "big")
        return _keyed_digest(self._daemon_secret, purpose)

    def launch_url(self, base: str) -> str:
        """Return the address that signs a browser in, for the daemon at `base` (no slash at the end)."""
        return f"{base}/launch?token={self.launch_code()}" if self.settings.mode == "token" else f"{base}/"

    async def exchange(self, code: str) -> CreatedToken:
        """Trade the launch code, once, for a browser session of thirty days."""
        if not hmac.compare_digest(code.encode(), self.launch_code().encode()):
            raise Unauthenticated(
                "This launch link was used already, or the daemon has restarted since it was printed.",
                reason="launch_code_invalid",
            )
        self._launches += 1
        expires_at = self._clock() + BROWSER_SESSION_DAYS * _DAY_MS
        return await self._create(BROWSER_TOKEN_NAME, scope="operator", expires_at=expires_at)

    async def _find(self, digest: str) -> AccessToken | None:
        cached = self._cache.get(digest)
        moment = time.monotonic()
        if cached is not None and cached[0] > moment:
            return cached[1]
        changes = self._changes
        row = await self._storage.read(lambda uow: uow.access.token_by_digest(digest))
        if changes != self._changes:
            return row  # it was read while a token changed: this once, and not for the seconds to come
        if len(self._cache) >= _CACHE_ENTRIES:
            self._cache.clear()
        self._cache[digest] = (moment + _CACHE_SECONDS, row)
        return row

    def _forget(self) -> None:
        self._changes += 1
        self._cache.clear()

    def _check_validity(self, row: AccessToken) -> None:
        if row.revoked_at is not None:
            raise Unauthenticated("This token was revoked.", reason="token_revoked")
        if row.expires_at is not None and row.expires_at <= self._clock():
            raise Unauthenticated("This token has expired.", reason="token_expired")


def _principal(row: AccessToken, via: Literal["bearer", "cookie"]) -> Principal:
    """Return who bears the token of `row`. A scope that this version does not know opens nothing, nor
    does one whose binding is not whole."""
    bound = Binding(row.project_id, row.session_id, row.agent_path, row.plugin)
    match row.scope:
        case "operator" if row.name in _RESERVED_NAMES:
            return Principal("operator", "operator", via, row.id)
        case "operator" | "read-only":
            return Principal(f"token:{row.name}", row.scope, via, row.id)
        case "agent" if bound.project_id and bound.session_id and bound.agent_path:
            return Principal(f"agent-token:{row.name}", "agent", via, row.id, bound)
        case "plugin" if bound.project_id:
            return Principal(f"plugin-token:{row.name}", "plugin", via, row.id, bound)
        case "chat" if bound.project_id:
            return Principal(f"chat-token:{row.name}:{row.id}", "chat", via, row.id, bound)
        case _:
            raise Unauthenticated("This token is for nothing that exists here.", reason="token_unusable")


async def _is_revoked(storage: Storage, secret: str) -> bool:
    row = await storage.read(lambda uow: uow.access.token_by_digest(token_digest(secret)))
    return row is not None and row.revoked_at is not None


async def _keep_daemon_row(storage: Storage, secret: str, at: int) -> None:
    """Make the stored tokens agree with the file: its token counts, an earlier one does not. Where several
    daemons share the database, the others' tokens count as well."""
    digest = token_digest(secret)
    if await storage.read(lambda uow: uow.access.token_by_digest(digest)) is not None:
        return

    def replace(uow: UnitOfWork) -> None:
        for row in uow.access.tokens() if storage.leases is None else ():
            if row.name == DAEMON_TOKEN_NAME and row.revoked_at is None:
                uow.access.revoke(row.id, at)
        uow.access.add_token(
            AccessToken(id=new_id("tok"), name=DAEMON_TOKEN_NAME, digest=digest, created_at=at)
        )

    await storage.write(replace, durable=True)


def _read_token_file(path: Path) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        content = os.read(descriptor, 1_024)
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
    secret = content.decode("ascii", "replace").strip()
    if len(secret) < _MIN_TOKEN_CHARACTERS or not all("!" <= character <= "~" for character in secret):
        raise ConfigError(
            f"{path} does not hold a token. Delete the file, and the next start makes a new one."
        )
    return secret


def _write_token_file(path: Path, secret: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secret + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
