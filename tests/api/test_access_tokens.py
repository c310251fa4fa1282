"""Tokens over real storage: the first start, expiry, the token file."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.access.tokens import AccessControl, token_digest
from app.config import AuthSettings
from app.errors import ConfigError, Unauthenticated, ValidationFailed
from app.storage.storage import Storage

AT = 1_767_225_600_000


class Clock:
    def __init__(self) -> None:
        self.now = AT

    def __call__(self) -> int:
        return self.now


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    opened = await Storage.open(None, tmp_path)
    yield opened
    await opened.close()


async def opened(storage: Storage, data_dir: Path, clock: Clock | None = None) -> AccessControl:
    return await AccessControl.open(storage, AuthSettings(), data_dir, clock=clock or Clock())


async def test_the_first_start_writes_a_token_file_that_only_its_owner_reads(
    storage: Storage, tmp_path: Path
) -> None:
    access = await opened(storage, tmp_path)
    secret = access.token_file.read_text().strip()
    assert access.token_file.stat().st_mode & 0o777 == 0o600
    assert (await access.verify(secret)).actor == "operator"
    assert [entry for entry in os.listdir(tmp_path) if entry.startswith("token")] == ["token"]


async def test_later_starts_keep_the_token(storage: Storage, tmp_path: Path) -> None:
    first = (await opened(storage, tmp_path)).token_file.read_text()
    second = (await opened(storage, tmp_path)).token_file.read_text()
    assert first == second


async def test_no_secret_is_stored(storage: Storage, tmp_path: Path) -> None:
    access = await opened(storage, tmp_path)
    created = await access.create("ci")
    daemon_secret = access.token_file.read_text().strip()
    rows = await access.tokens()
    assert {row.digest for row in rows} == {token_digest(created.secret), token_digest(daemon_secret)}
    assert created.secret not in repr(rows)
    assert daemon_secret not in repr(rows)


async def test_a_token_file_that_others_may_read_is_closed_to_them(storage: Storage, tmp_path: Path) -> None:
    access = await opened(storage, tmp_path)
    access.token_file.chmod(0o644)
    await opened(storage, tmp_path)
    assert access.token_file.stat().st_mode & 0o777 == 0o600


async def test_a_replaced_token_file_ends_the_token_before(storage: Storage, tmp_path: Path) -> None:
    access = await opened(storage, tmp_path)
    old = access.token_file.read_text().strip()
    access.token_file.write_text("my-own-token-of-enough-letters\n")
    access = await opened(storage, tmp_path)
    assert (await access.verify("my-own-token-of-enough-letters")).may_write
    with pytest.raises(Unauthenticated, match="revoked"):
        await access.verify(old)


async def test_a_revoked_daemon_token_is_replaced_at_the_next_start(storage: Storage, tmp_path: Path) -> None:
    access = await opened(storage, tmp_path)
    old = access.token_file.read_text()
    await access.revoke((await access.tokens())[0].id)
    access = await opened(storage, tmp_path)
    assert access.token_file.read_text() != old
    assert (await access.verify(access.token_file.read_text().strip())).may_write


@pytest.mark.parametrize("content", ["", "short", "two words that are long enough"])
async def test_a_token_file_without_a_token_stops_the_start(
    storage: Storage, tmp_path: Path, content: str
) -> None:
    (tmp_path / "token").write_text(content)
    with pytest.raises(ConfigError, match="does not hold a token"):
        await opened(storage, tmp_path)


async def test_a_token_is_good_until_its_time(storage: Storage, tmp_path: Path) -> None:
    clock = Clock()
    access = await opened(storage, tmp_path, clock)
    created = await access.create("short", expires_at=AT + 1_000)
    clock.now = AT + 999
    assert (await access.verify(created.secret)).actor == "token:short"
    clock.now = AT + 1_000
    with pytest.raises(Unauthenticated) as caught:
        await access.verify(created.secret)
    assert caught.value.details["reason"] == "token_expired"


async def test_each_start_has_its_own_launch_code(storage: Storage, tmp_path: Path) -> None:
    first, second = await opened(storage, tmp_path), await opened(storage, tmp_path)
    assert first.launch_code() != second.launch_code()
    with pytest.raises(Unauthenticated):
        await second.exchange(first.launch_code())
    await second.exchange(second.launch_code())


@pytest.mark.parametrize("name", ["daemon", "browser"])
async def test_the_names_of_the_daemons_own_tokens_are_not_given_away(
    storage: Storage, tmp_path: Path, name: str
) -> None:
    access = await opened(storage, tmp_path)
    with pytest.raises(ValidationFailed):
        await access.create(name)
