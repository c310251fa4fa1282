"""What `kaged doctor` says of notifications.

Owns: these findings. Never: sending one (`kaged notify test`).
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from app.cli.diagnosis import Finding
from app.config import Settings, child_environment, is_loopback
from app.programs import on_path


def notify_findings(settings: Settings) -> Iterator[Finding]:
    """Return one finding for each channel, and one for links that open on this machine alone."""
    notify = settings.notify
    kinds = ", ".join(notify.on) or "nothing"
    for channel in notify.channels:
        if channel == "command" and on_path(notify.command.argv[0], child_environment()) is None:
            advice = "correct notify.command.argv"
            yield Finding("notify", channel, "problem", f"{notify.command.argv[0]} is not found", advice)
        else:
            yield Finding("notify", channel, "ok", f"tells {kinds}; `kaged notify test` tries it")
    page = urlsplit(notify.page_url or "").hostname or settings.daemon.host
    if notify.channels and is_loopback(page):
        yield Finding(
            "notify",
            "links",
            "absent",
            "links of notifications open on this machine only",
            "set notify.page_url to the address at which you reach the page",
        )
