"""Checks of settings before a daemon starts: who could reach it, and which settings have no effect.

Owns: the checks of `daemon.host` with `[auth]`, and settings without effect. Never: reading settings.
"""

from __future__ import annotations

import ipaddress

from app.config.settings import Settings
from app.errors import ConfigError

SHORTEST_NONCE = 16


def refuse_exposure(settings: Settings) -> None:
    """Raise `ConfigError` when anyone on the network could use the daemon."""
    auth, host = settings.auth, settings.daemon.host
    if auth.mode == "insecure" and not is_loopback(host) and not auth.allow_insecure_remote:
        raise ConfigError(
            f"auth.mode is insecure and daemon.host is {host}: anyone who reaches this machine could run "
            "agents on it. Listen on 127.0.0.1, or use auth.mode token. To allow it, set "
            "auth.allow_insecure_remote (--allow-insecure-remote)"
        )
    nonce = auth.proxy_nonce.get_secret_value() if auth.proxy_nonce is not None else ""
    if auth.mode == "proxy" and len(nonce) < SHORTEST_NONCE:
        raise ConfigError(
            f"auth.mode is proxy: set auth.proxy_nonce to a secret of at least {SHORTEST_NONCE} characters, "
            "which only the proxy knows and sends as X-Kaged-Auth-Nonce"
        )


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach what listens on `host`."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def settings_not_in_effect(settings: Settings) -> dict[str, str]:
    """Return the settings that have no effect, with the reason."""
    found = {
        f"mcp.{name}": "a server needs either `command` or `url`"
        for name, server in settings.mcp.items()
        if (server.command is None) == (server.url is None)
    }
    webhook = settings.notify.webhook
    if webhook.url is not None and webhook.secret is None:
        found["notify.webhook.url"] = "a webhook is signed: set notify.webhook.secret or secret_env, too"
    return found
