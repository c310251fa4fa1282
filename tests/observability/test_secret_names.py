"""One list of names tells what is left out, whoever asks."""

from __future__ import annotations

import pytest

from app.observability import MASK, Redactor, names_secret
from app.tools.dispatch.redaction import redacted

SECRET = (
    "password", "dbPassword", "DB_PASSWD", "passphrase", "client_secret", "apiKey", "API-KEY", "privatekey",
    "Proxy-Authorization", "aws_credentials", "Set-Cookie", "token", "access_token", "token_2", "accessToken",
    "signing_key", "key_id_key_id", "nonce", "request-nonce", "smtp_pass", "DATABASE_DSN",
    "x" * 100 + "_secret",
)  # fmt: skip
PLAIN = (
    "path", "compass", "keyboard", "tokens", "max_tokens", "token_count", "monkey", "key", "idempotency_key",
    "cache-key", "primary_key", "author", "nonces_seen", "bypass", "x" * 100,
)  # fmt: skip


@pytest.mark.parametrize("name", SECRET)
def test_what_has_this_name_is_left_out_of_logs_and_of_the_audit_trail(name: str) -> None:
    assert names_secret(name)
    assert Redactor().data({name: "hunter2"}) == {name: MASK}
    assert "hunter2" not in str(redacted({name: "hunter2"}))


def test_renewed_secrets_replace_those_of_their_owner_alone() -> None:
    redactor = Redactor(["a-lasting-secret"])
    redactor.renew("one", "first-token-of-one", "second-of-one")
    redactor.renew("two", "first-token-of-two")
    redactor.renew("one", "third-token-of-one")
    said = "a-lasting-secret first-token-of-one first-token-of-two third-token-of-one"
    assert redactor.text(said) == f"{MASK} first-token-of-one {MASK} {MASK}"


@pytest.mark.parametrize("name", PLAIN)
def test_an_ordinary_name_hides_nothing(name: str) -> None:
    assert not names_secret(name)
    assert Redactor().data({name: "hunter2"}) == {name: "hunter2"}
    assert redacted({name: "hunter2"}) == {name[:80]: "hunter2"}
