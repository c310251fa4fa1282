"""Queries about access tokens and idempotency keys."""

from __future__ import annotations

from sqlalchemy import delete, update

from app.storage.models import AccessToken, IdempotencyKey
from app.storage.repositories.rows import Rows, insert_or_keep, insert_or_overwrite, values_of
from app.storage.text import storable


class _KeyRows(Rows[IdempotencyKey]):
    model = IdempotencyKey

    def find(self, scope: str, key: str) -> IdempotencyKey | None:
        return self._first(self.c.scope == storable(scope), self.c.key == storable(key))


class AccessRepository(Rows[AccessToken]):
    model = AccessToken

    def add_token(self, row: AccessToken) -> None:
        """Insert a token; Conflict when its digest exists."""
        self.add(row)

    def token_by_digest(self, digest: str) -> AccessToken | None:
        """Return the token of a digest, revoked and expired ones too; None when unknown."""
        return self._first(self.c.digest == storable(digest))

    def tokens(self) -> list[AccessToken]:
        """Return every token, the oldest first."""
        return self._sorted()

    def revoke(self, token_id: str, at: int) -> bool:
        """Mark a token as revoked; False when it is unknown or was revoked before."""
        statement = update(self.table).where(self.c.id == storable(token_id), self.c.revoked_at.is_(None))
        return self.connection.execute(statement.values(revoked_at=at)).rowcount > 0

    def put_key(self, row: IdempotencyKey) -> None:
        """Insert an idempotency key, or overwrite it with its answer."""
        insert_or_overwrite(self.connection, _KeyRows(self.connection).table, values_of(row))

    def claim_key(self, row: IdempotencyKey) -> bool:
        """Insert an idempotency key unless it exists; tell whether this call was the first."""
        return insert_or_keep(self.connection, _KeyRows(self.connection).table, values_of(row))

    def release_key(self, scope: str, key: str) -> None:
        """Forget a key; nothing was done for it."""
        table = _KeyRows(self.connection).table
        self.connection.execute(
            delete(table).where(table.c.scope == storable(scope), table.c.key == storable(key))
        )

    def get_key(self, scope: str, key: str) -> IdempotencyKey | None:
        """Return the key's row; None when it was not used in this scope."""
        return _KeyRows(self.connection).find(scope, key)

    def purge_keys(self, older_than: int) -> int:
        """Delete keys created before a time in milliseconds; returns how many."""
        table = _KeyRows(self.connection).table
        return self.connection.execute(delete(table).where(table.c.created_at < older_than)).rowcount
