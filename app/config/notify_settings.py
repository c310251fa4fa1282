"""The section `[notify]` of `config.toml`: notifications to a person who has no page open.

Owns: names, types, defaults and bounds. Never: sending anything.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from app.config.section import Section

NotifyKind = Literal["question", "failure", "budget", "finish"]
KINDS: tuple[NotifyKind, ...] = get_args(NotifyKind)
SHORTEST_SECRET = 16


def _as_list(value: object) -> object:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _secret_url(url: SecretStr) -> SecretStr:
    text = url.get_secret_value()
    if not text.startswith(("https://", "http://")) or any(one.isspace() for one in text):
        raise ValueError("must be an address that begins with https:// or http://")
    return url


def _long_enough(secret: SecretStr) -> SecretStr:
    if len(secret.get_secret_value()) < SHORTEST_SECRET:
        raise ValueError(f"must have at least {SHORTEST_SECRET} characters")
    return secret


class NotifyWebhookSettings(Section):
    """A web server that is sent a signed POST. It is on when `url` is set, and needs `secret`."""

    url: Annotated[SecretStr, AfterValidator(_secret_url)] | None = None
    secret: Annotated[SecretStr, AfterValidator(_long_enough)] | None = None
    secret_env: str | None = None
    timeout_seconds: float = Field(default=10.0, gt=0, le=60)


class NotifyNtfySettings(Section):
    """A topic of an ntfy server, on when `topic` is set."""

    url: str = Field(default="https://ntfy.sh", pattern=r"^https?://[^\s]+$")
    topic: str | None = Field(default=None, pattern=r"^[-_A-Za-z0-9]{1,64}$")
    token: SecretStr | None = None
    token_env: str | None = None
    timeout_seconds: float = Field(default=10.0, gt=0, le=60)


class NotifyCommandSettings(Section):
    """A program of the operator, on when `argv` is set. No shell reads the list."""

    argv: tuple[str, ...] = ()
    timeout_seconds: float = Field(default=30.0, gt=0, le=600)


class NotifySettings(Section):
    """`on` names the events that send a notification. `projects` limits them to these slugs or ids; without
    any, all projects send. `while_followed` also sends while somebody follows the session. `page_url` is the
    address of the page; None: where the daemon listens."""

    on: Annotated[tuple[NotifyKind, ...], BeforeValidator(_as_list)] = KINDS
    projects: Annotated[tuple[str, ...], BeforeValidator(_as_list)] = ()
    while_followed: bool = False
    page_url: str | None = Field(default=None, pattern=r"^https?://[^\s]+$")
    titles: bool = False
    retry_seconds: float = Field(default=5.0, gt=0, le=3600)
    webhook: NotifyWebhookSettings = NotifyWebhookSettings()
    ntfy: NotifyNtfySettings = NotifyNtfySettings()
    command: NotifyCommandSettings = NotifyCommandSettings()

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that are on."""
        on = {
            "webhook": self.webhook.url is not None and self.webhook.secret is not None,
            "ntfy": self.ntfy.topic is not None,
            "command": bool(self.command.argv),
        }
        return tuple(name for name, is_on in on.items() if is_on)
