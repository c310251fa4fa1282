"""`kaged providers key`: store or delete the key of a provider.

Owns: the command. A running daemon uses the key at once; without one it is written for the next start. Never:
printing a key, or taking one as an argument, which other users of the machine can read.
"""

from __future__ import annotations

import asyncio
import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli.daemon_address import daemon_options, find_daemon, local_settings, path_part
from app.cli.output import CommandFailed, json_option, print_json, print_text

if TYPE_CHECKING:
    from app.config import Settings

_MOST = 4096


@click.command(name="key")
@click.argument("name")
@click.option("--delete", is_flag=True, help="Delete the stored key.")
@daemon_options
@json_option
def command(
    name: str,
    delete: bool,
    url: str | None,
    token: str | None,
    data_dir: Path | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Store the key of the provider NAME; it is asked for, or read from standard input.

    A running daemon uses it from the next call on. Without a daemon it is stored for the next start.
    """
    key = None if delete else _asked(name)
    find = functools.partial(find_daemon, url=url, token=token, data_dir=data_dir, config_file=config_file)
    try:
        answer = asyncio.run(_at_daemon(find, name, key))
    except CommandFailed as failure:
        if failure.code != "no_daemon" or url is not None:
            raise
        answer = _in_file(local_settings(data_dir, config_file), name, key)
    if as_json:
        print_json(answer)
    else:
        print_text(f"The key of {name} is {'deleted' if delete else 'stored'}.")


def _asked(name: str) -> str:
    if sys.stdin.isatty():
        key: str = click.prompt(f"Key of {name}", hide_input=True, err=True)
    else:
        key = sys.stdin.read(_MOST + 2)
    key = key.strip()
    if not key or len(key) > _MOST or not key.isascii() or not key.isprintable() or " " in key:
        raise CommandFailed("usage", "a key consists of visible ASCII characters without spaces", exit_code=2)
    return key


async def _at_daemon(find: Any, name: str, key: str | None) -> dict[str, Any]:
    from app.cli.client import DaemonClient

    path = f"/providers/{path_part(name)}/key"
    async with DaemonClient(find) as client:
        if key is None:
            answer = await client.request("DELETE", path)
        else:
            answer = await client.request("PUT", path, body={"key": key})
    assert isinstance(answer, dict)
    return answer


def _in_file(settings: Settings, name: str, key: str | None) -> dict[str, Any]:
    from app.harness.providers.key_file import put_key

    provider = settings.providers.get(name)
    if provider is None:
        known = ", ".join(sorted(settings.providers))
        raise CommandFailed("not_found", f"there is no provider {name!r}; known providers: {known}")
    if key is not None and provider.key_from == "settings":
        raise CommandFailed(
            "conflict", f"the settings give {name} its key; change it under [providers.{name}]"
        )
    if not put_key(settings.daemon.data_dir, name, key) and key is None:
        raise CommandFailed("not_found", f"no key of {name} is stored")
    return {"name": name, "key_from": None if key is None else "stored"}
