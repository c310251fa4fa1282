"""What the daemon refuses arrives as an error of its kind, on both ways, and never with the token."""

from __future__ import annotations

import traceback

import pytest
from kaged_client import AsyncKaged, Kaged, errors

from tests.clients.python.conftest import Desk

SECRET = "kgd_not-a-token-of-this-daemon"


async def test_a_stream_and_a_request_without_a_valid_token_are_refused(desk: Desk) -> None:
    async with AsyncKaged(desk.daemon.url, token=SECRET) as kaged:
        with pytest.raises(errors.Unauthenticated, match="token_unknown") as refused:
            await kaged.sessions.get("ses_absent")
        with pytest.raises(errors.Unauthenticated) as closed:
            async for _ in kaged.events():
                pass
        for error in (refused.value, closed.value):
            assert SECRET not in "".join(traceback.format_exception(error))
        assert SECRET not in f"{kaged!r} {vars(kaged)!r} {kaged.settings!r}"


async def test_a_token_that_is_revoked_ends_the_stream(desk: Desk) -> None:
    async with AsyncKaged(desk.daemon.url, token=desk.daemon.token) as operator:
        created = await operator.access.create_token(name="reader", scope="read-only")
        assert created.token not in repr(created)
        session = await operator.sessions.create(project_id=desk.daemon.project_id)
        async with AsyncKaged(desk.daemon.url, token=created.token) as reader:
            with pytest.raises(errors.Forbidden) as forbidden:
                await reader.sessions.create(project_id=desk.daemon.project_id)
            stream = (await reader.sessions.get(session.id)).events(timeout=60)
            assert (await anext(stream)).type == "sync"
            await operator.access.revoke_token(created.id)
            with pytest.raises(errors.Unauthenticated):
                async for _ in stream:
                    pass
        with pytest.raises(errors.NotFound):
            await anext(operator.follow("/api/v1/sessions/ses_absent/ws", 0, 60))
    assert forbidden.value.reason == "read_only"


async def test_a_daemon_that_is_not_there_is_named_without_the_token() -> None:
    async with AsyncKaged("http://127.0.0.1:9", token=SECRET, retry_seconds=0.2) as kaged:
        with pytest.raises(errors.ConnectionFailed, match=r"127\.0\.0\.1:9 does not answer") as failed:
            await kaged.health.get()
        with pytest.raises(errors.ConnectionFailed) as lost:
            await anext(kaged.events())
    for error in (failed.value, lost.value):
        assert SECRET not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "http://me:secret@127.0.0.1", "127.0.0.1:7777"])
def test_an_address_that_cannot_be_one_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="address") as refused:
        Kaged(url)
    assert "secret" not in str(refused.value)
