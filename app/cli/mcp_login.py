"""`kaged mcp login|logout`: the operator's sign-in at an MCP server, by OAuth.

Owns: these commands. Never: OAuth (`bridges/mcp/oauth_login`), or the daemon: it
reads the sign-ins when it uses them.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.cli.browser import find_browser
from app.cli.daemon_address import find_project_root, local_options, local_settings
from app.cli.given_path import GivenPath
from app.cli.output import CommandFailed, json_option, print_json, print_text, print_warning, printable

if TYPE_CHECKING:
    from app.bridges.mcp.entries import ServerEntry
    from app.bridges.mcp.oauth_login import KnownClient
    from app.bridges.mcp.sign_ins import SignIn, SignIns
    from app.config import Settings

_MOST_SECRET = 10_000
_SERVERS_SECONDS = 120.0


@click.command(name="login")
@click.argument("name")
@click.argument("folder", type=GivenPath(), required=False)
@click.option("--no-browser", is_flag=True, help="Only print the address of the page.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port for the redirect (default: free)."
)
@click.option(
    "--client-id", help="A client that is registered at the authorization server (default: registers one)."
)
@click.option("--client-secret-file", type=GivenPath(), help="The file with its secret, where it has one.")
@click.option(
    "--allow",
    "hosts",
    multiple=True,
    metavar="HOST[:PORT]",
    help="An authorization server on this machine or in a private network.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=300.0,
    show_default=True,
    help="Seconds to wait for the sign-in.",
)
@local_options
@json_option
def login(
    name: str,
    folder: Path | None,
    no_browser: bool,
    port: int,
    client_id: str | None,
    client_secret_file: Path | None,
    hosts: tuple[str, ...],
    timeout: float,
    data_dir: Path | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Sign in at the MCP server NAME, which a session in FOLDER would use.

    The browser opens a page of the server's authorization server, and returns to a port of this machine. When
    the browser runs on another machine, paste the address at which it ends. The tokens are kept in the data
    folder, for this server at its present address. A running daemon uses them at once.
    """
    from app.bridges.mcp.sign_ins import SignIns

    settings = local_settings(data_dir, config_file)
    known = _known_client(client_id, client_secret_file)
    allowed = [_host(one) for one in hosts]
    root = folder.expanduser().absolute() if folder is not None else find_project_root() or Path.cwd()

    def show(address: str) -> None:
        click.echo(printable(f"open this page to sign in at {name}:\n  {address}"), err=as_json)
        if sys.stdin.isatty():
            click.echo("if the browser runs elsewhere, paste here the address at which it ends", err=True)
        if not no_browser:
            _open_browser(address)

    sign_ins = SignIns(settings.daemon.data_dir)
    made = asyncio.run(_made(settings, sign_ins, name, root, known, allowed, port, timeout, show))
    if as_json:
        print_json({"name": name, "url": made.url, "sign_in": made.state})
    else:
        print_text(f"signed in at {name} ({made.url})", color="green")


async def _made(
    settings: Settings,
    sign_ins: SignIns,
    name: str,
    root: Path,
    known: KnownClient | None,
    allowed: list[str],
    port: int,
    timeout: float,
    show: Callable[[str], None],
) -> SignIn:
    """Return the new sign-in, which is kept."""
    from app.bridges.mcp.oauth_login import SignInFailed, sign_in
    from app.cli.mcp_probe import entry_in
    from app.cli.mcp_redirect import Redirect

    entry = await entry_in(settings, name, root)
    url = _address(entry)
    async with Redirect.listening(port) as redirect:
        now = asyncio.get_running_loop().time
        deadline = asyncio.timeout(_SERVERS_SECONDS)
        late = f"the servers of {name} did not answer within {_SERVERS_SECONDS:g} s"

        async def open_page(address: str, state: str) -> None:
            nonlocal late
            redirect.expect(state)
            show(address)
            if sys.stdin.isatty():
                redirect.read_pasted()
            late = f"nobody has signed in at {name} within {timeout:g} s"
            deadline.reschedule(now() + timeout)

        async def answer() -> dict[str, str]:
            found = await redirect.answer()
            deadline.reschedule(now() + _SERVERS_SECONDS)
            return found

        try:
            async with deadline:
                made = await sign_in(name, url, redirect.uri, open_page, answer, known=known, allowed=allowed)
        except TimeoutError:
            raise CommandFailed("timeout", late) from None
        except SignInFailed as failure:
            code = "denied" if failure.denied else "failed"
            raise CommandFailed(code, f"no sign-in at {name}: {failure.reason}") from None
    async with sign_ins.changing(name, url):
        await asyncio.to_thread(sign_ins.put, made)
    return made


def _address(entry: ServerEntry) -> str:
    if entry.url is None:
        raise CommandFailed(
            "usage", f"{entry.name} is a command; a sign-in is for a server with an address", exit_code=2
        )
    if entry.brings_authorization:
        said = (
            f"the declaration of {entry.name} has a header Authorization, which a sign-in would not replace"
        )
        raise CommandFailed("usage", f"{said}; remove the header first", exit_code=2)
    return entry.url


def _known_client(identifier: str | None, secret_file: Path | None) -> KnownClient | None:
    from app.bridges.mcp.oauth_login import KnownClient

    if identifier is None:
        if secret_file is not None:
            raise click.UsageError("--client-secret-file is for --client-id.")
        return None
    secret = None
    if secret_file is not None:
        with secret_file.expanduser().open(encoding="utf-8") as file:
            secret = file.read(_MOST_SECRET).strip()
    return KnownClient(identifier, secret or None)


def _host(text: str) -> str:
    from app.bridges.mcp.oauth_requests import host_and_port

    try:
        return host_and_port(text)
    except ValueError as problem:
        raise CommandFailed("usage", f"--allow {printable(text)}: {problem}", exit_code=2) from None


def _open_browser(address: str) -> None:
    """Open a page beside the command, which goes on in any case."""
    if (browser := find_browser()) is not None:
        threading.Thread(target=browser.open, args=(address,), name="browser", daemon=True).start()


@click.command(name="logout")
@click.argument("name")
@local_options
@json_option
def logout(name: str, data_dir: Path | None, config_file: Path | None, as_json: bool) -> None:
    """Delete the sign-in at the MCP server NAME, at all its addresses, and revoke its tokens where the
    authorization server can do that."""
    from app.bridges.mcp.sign_ins import SignIns

    sign_ins = SignIns(local_settings(data_dir, config_file).daemon.data_dir)
    removed = asyncio.run(forget(sign_ins, name))
    if not removed:
        raise CommandFailed("not_found", f"there is no sign-in at {name}; `kaged mcp list` shows them")
    if as_json:
        print_json({"signed_out": name, "urls": [one.url for one in removed]})
    else:
        print_text(f"signed out at {name}")


async def forget(sign_ins: SignIns, name: str) -> list[SignIn]:
    """Delete the sign-ins of a name and return them. A running daemon has none then, even if it refreshes one
    right now."""
    from app.bridges.mcp.problems import ServerEnded

    removed = []
    for found in await asyncio.to_thread(sign_ins.named, name):
        async with sign_ins.changing(name, found.url):
            one = await asyncio.to_thread(sign_ins.of, name, found.url)
            await asyncio.to_thread(sign_ins.remove, found)
        removed.append(one or found)
        if one is None or one.tokens is None:
            continue
        from app.bridges.mcp.oauth import revoke  # imports the library

        try:
            await revoke(one)
        except ServerEnded as problem:
            print_warning(f"the tokens of {name} are deleted here, but were not revoked: {problem.reason}")
    return removed


LOGIN_COMMANDS: tuple[click.Command, ...] = (login, logout)
