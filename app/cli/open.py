"""`kaged open`: open the page in a browser, signed in.

Owns: the command. Never: the link, which the daemon makes.
"""

from __future__ import annotations

import asyncio

import click

from app.cli.browser import find_browser
from app.cli.connected import Connected, connected


@click.command(name="open")
@click.option("--print", "only_print", is_flag=True, help="Only print the link, for another browser.")
@connected
async def command(daemon: Connected, only_print: bool) -> None:
    """Open the page of the running daemon in a browser, signed in.

    The link signs in one browser, once. Without a browser it is printed. `kaged token link --base-url` prints
    a link at the address of a proxy.
    """
    link = (await daemon.client.request("POST", "/tokens/launch-link"))["url"]
    browser = None if only_print else find_browser()
    opened = browser is not None and await asyncio.to_thread(browser.open, link)
    page = link.rpartition("/launch?")[0]
    if opened:  # the link is used up
        daemon.show({"url": page, "opened": True}, f"opened {page} in a browser")
        return
    if not only_print:
        click.echo("no browser can be opened here; open this link in one, it works once:", err=True)
    daemon.show({"url": link, "opened": False}, link)
