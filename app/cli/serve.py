"""`kaged serve`: start the daemon in this process.

Owns: flags, and the projects to load. Never: the daemon itself (`app.main`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from app.cli.daemon_address import find_project_root, local_options, require_project_root
from app.cli.given_path import GivenPath
from app.cli.output import json_option
from app.cli.trust_question import ask_for_trust, at_terminal


@click.command(name="serve")
@click.option(
    "--project",
    "projects",
    type=GivenPath(),
    multiple=True,
    help="A project to load, repeatable (default: the folder at or above this one that has a .kaged/).",
)
@click.option(
    "--trust", is_flag=True, help="Trust the projects loaded at the start, in their present version."
)
@click.option("--host", help="The address to listen on (default 127.0.0.1).")
@click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on; 0 takes a free one.")
@click.option("--auth", type=click.Choice(["token", "proxy", "insecure"]), help="Who may use the daemon.")
@click.option(
    "--allow-insecure-remote", is_flag=True, help="With --auth insecure: also listen beyond this machine."
)
@click.option(
    "--no-sandbox",
    is_flag=True,
    help="Run what caged agents start without a cage, with the daemon's own rights; every answer warns.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="The lowest level that is logged.",
)
@click.option("--log-format", type=click.Choice(["auto", "json", "human"]), help="The format of log lines.")
@local_options
@json_option
def command(
    projects: tuple[Path, ...],
    trust: bool,
    host: str | None,
    port: int | None,
    auth: str | None,
    allow_insecure_remote: bool,
    no_sandbox: bool,
    log_level: str | None,
    log_format: str | None,
    data_dir: Path | None,
    config_file: Path | None,
    as_json: bool,
) -> int:
    """Start the daemon and print its address.

    With --json exactly one line appears on standard output, when the daemon is ready. The log goes to
    standard error. SIGTERM lets running work finish; a second one stops at once.
    """
    from app.config import load_settings

    overrides: dict[str, Any] = {
        "daemon.host": host,
        "daemon.port": port,
        "daemon.data_dir": data_dir,
        "auth.mode": auth,
        "auth.allow_insecure_remote": allow_insecure_remote or None,
        "sandbox.mode": "off" if no_sandbox else None,
        "log.level": log_level,
        "log.format": log_format,
    }
    settings = load_settings(
        config_file=config_file,
        overrides={key: value for key, value in overrides.items() if value is not None},
    )
    if projects:
        roots = [require_project_root(folder) for folder in projects]
    else:
        here = find_project_root()
        roots = [] if here is None else [here]

    from app.main import run_server  # the whole daemon; no other command pays for it

    asks = None if as_json or not at_terminal() else ask_for_trust
    return run_server(settings, project_paths=roots, json_ready=as_json, trust=trust, when_ready=asks)
