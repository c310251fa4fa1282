"""`kaged notify test`: send a test notification by each channel that is on.

Owns: the command and its layout. It needs no daemon. Never: the channels (`app.harness.notifications`).
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.daemon_address import local_options, local_settings
from app.cli.output import CommandFailed, CommandGroup, json_option, print_json, print_text

if TYPE_CHECKING:
    from app.config import Settings

command = CommandGroup(name="notify", help="Try how kaged tells you that a session needs you.")


@command.command(name="test")
@local_options
@json_option
def test_channels(data_dir: Path | None, config_file: Path | None, as_json: bool) -> int:
    """Send a test notification by each channel of [notify], once.

    It uses the configuration and the variables of this shell, and needs no daemon. Exits with 1 when a
    channel fails.
    """
    settings = local_settings(data_dir, config_file)
    if not settings.notify.channels:
        raise CommandFailed(
            "not_configured",
            "No channel is on. Set notify.webhook.url with its secret, notify.ntfy.topic or "
            "notify.command.argv; see docs/notifications.md.",
        )
    results = asyncio.run(_tried(settings))
    if as_json:
        print_json(
            {
                "ok": not any(results.values()),
                "results": [{"channel": name, "problem": problem} for name, problem in results.items()],
            }
        )
    else:
        for name, problem in results.items():
            if problem is None:
                print_text(f"✓ {name}: delivered", color="green")
            else:
                print_text(f"✗ {name}: {problem}", color="red")
    return 1 if any(results.values()) else 0


async def _tried(settings: Settings) -> dict[str, str | None]:
    """Return what went wrong by channel; None when nothing did."""
    from app.bridges.processes.process import ChildProcesses
    from app.config import child_environment
    from app.harness.notifications.channels import channels_of
    from app.harness.notifications.notice import trial_notice
    from app.ids import new_id, now_ms

    daemon = settings.daemon
    page = settings.notify.page_url or f"http://{daemon.host}:{daemon.port}{daemon.base_path}"
    notice = trial_notice(page.rstrip("/"), new_id("ntf"), now_ms())
    processes = ChildProcesses()
    channels = channels_of(settings.notify, processes, child_environment(), Path.cwd())
    try:
        outcomes = await asyncio.gather(*(channel.send(notice) for channel in channels))
        names = [channel.name for channel in channels]
        return {name: outcome.problem for name, outcome in zip(names, outcomes, strict=True)}
    finally:
        for channel in channels:
            await channel.aclose()
        await processes.aclose()
