"""`kaged acp`: the agent for editors that speak the Agent Client Protocol, on standard input and output.

Owns: its options, starting and ending. Never: the protocol (`editor`).
"""

from __future__ import annotations

import asyncio
import functools
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

import click

from app.cli.daemon_address import DaemonAddress, daemon_options, find_daemon
from app.cli.output import json_option


@click.command(name="acp")
@click.option("--no-start", is_flag=True, help="Fail when no daemon runs, instead of starting one.")
@daemon_options
@json_option
def command(
    url: str | None,
    token: str | None,
    data_dir: Path | None,
    config_file: Path | None,
    no_start: bool,
    as_json: bool,
) -> None:
    """Serve an editor by the Agent Client Protocol on standard input and output.

    Editors start this command. A daemon that it starts ends with it; one that runs already continues.
    """
    find = functools.partial(find_daemon, url=url, token=token, data_dir=data_dir, config_file=config_file)
    options: list[str] = []
    for name, value in (("--data-dir", data_dir), ("--config", config_file)):
        options += [] if value is None else [name, str(value.expanduser().absolute())]
    asyncio.run(_serve(find, options, starts=not no_start and url is None))


async def _serve(find: Callable[[], DaemonAddress], options: list[str], *, starts: bool) -> None:
    from acp import Agent, run_agent  # some 800 ms that no other command pays for

    from app.cli.editor.agent import EditorAgent
    from app.cli.editor.daemon_link import DaemonLink
    from app.cli.editor.stdio import StdioTransport

    transport = await StdioTransport.open()
    link = DaemonLink(find, options, starts=starts)
    agent = EditorAgent(link, transport)
    # Its methods take no further keywords: the transport drops what would become some.
    serving = asyncio.ensure_future(
        run_agent(cast(Agent, agent), transport, use_unstable_protocol=True)  # for resume and close
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    try:
        with suppress(asyncio.CancelledError):
            await serving
    finally:
        await agent.aclose()
        await link.aclose()
