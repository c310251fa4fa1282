"""Finds the daemon that a command talks to, its token, and the settings of commands without a daemon.

Owns: the options `--url`, `--token`, `--data-dir`, `--config`; what may stand in an address. Never: requests
(`client`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit

import click

from app.cli.given_path import GivenPath
from app.cli.output import CommandFailed

if TYPE_CHECKING:
    from app.config import Settings

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

PROJECT_FILE = Path(".kaged") / "project.yaml"
_STEPS = frozenset({".", ".."})


@dataclass(frozen=True, slots=True)
class DaemonAddress:
    url: str
    token: str | None


def local_options(command: Decorated) -> Decorated:
    """Give a command `--config` and `--data-dir`."""
    for option in (
        click.option("--data-dir", type=GivenPath(), help="The daemon's data folder."),
        click.option("--config", "config_file", type=GivenPath(), help="The config file."),
    ):
        command = option(command)
    return command


def local_settings(data_dir: Path | None, config_file: Path | None) -> Settings:
    """Return the settings that the options of `local_options` mean."""
    from app.config import load_settings  # pydantic takes longer than the rest of a short command

    overrides = {} if data_dir is None else {"daemon.data_dir": data_dir}
    return load_settings(config_file=config_file, overrides=overrides)


def data_folder(data_dir: Path | None, config_file: Path | None) -> Path:
    """Return the data folder that the options of `local_options` mean."""
    if data_dir is not None:
        return data_dir.expanduser().absolute()
    return local_settings(None, config_file).daemon.data_dir


def daemon_options(command: Decorated) -> Decorated:
    """Give a command the options that say which daemon it talks to."""
    for option in (
        click.option("--token", envvar="KAGED_TOKEN", help="The access token (default: the local daemon's)."),
        click.option("--url", envvar="KAGED_URL", help="The daemon's address (default: the local daemon's)."),
    ):
        command = option(command)
    return local_options(command)


def find_daemon(
    *, url: str | None, token: str | None, data_dir: Path | None, config_file: Path | None
) -> DaemonAddress:
    """Return where the daemon is. The local daemon is found by its data folder, and its token is
    sent to no other address. Raises `CommandFailed` when no daemon is running there."""
    if url is not None and token is not None:
        return DaemonAddress(_checked(url), _sound(token))
    from app.storage.lock import read_lock  # the file lock alone; no database code

    folder = data_folder(data_dir, config_file)
    holder = read_lock(folder)
    running = holder.url.rstrip("/") if holder is not None and holder.url else None
    if url is None and running is None:
        from app.cli.local_daemon import find_local_daemon

        find_local_daemon(folder)  # of another user it says so
        raise CommandFailed(
            "no_daemon", f"no daemon is running on the data folder {folder}; start one with `kaged serve`"
        )
    chosen = _checked(url) if url is not None else running
    assert chosen is not None
    if token is None and chosen == running:
        token = _token_in(folder)
    return DaemonAddress(chosen, None if token is None else _sound(token))


def find_project_root(start: Path | None = None) -> Path | None:
    """Return the nearest folder at or above `start` (default: this one) that has a project file."""
    here = (start or Path.cwd()).absolute()
    return next((folder for folder in (here, *here.parents) if (folder / PROJECT_FILE).is_file()), None)


def require_project_root(folder: Path) -> Path:
    """Return `folder` as an absolute path; `CommandFailed` when there is none, or no project file in it."""
    root = folder.expanduser().absolute()
    if not root.is_dir():
        raise CommandFailed("no_project", f"there is no folder {root}")
    if not (root / PROJECT_FILE).is_file():
        raise CommandFailed("no_project", f"{root} has no {PROJECT_FILE}; write one with `kaged init {root}`")
    return root


def path_part(text: str) -> str:
    """Return an id or a name as one part of an address. Raises `CommandFailed` for a text that would lead to
    another address."""
    if not text or text in _STEPS or "/" in text:
        raise CommandFailed("not_found", f"{text!r} is no id or name; the lists of `kaged` have them")
    return quote(text, safe="")


def _checked(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise CommandFailed("usage", f"--url must begin with http:// or https://, not {url!r}", exit_code=2)
    if not _is_address(url):
        raise CommandFailed(
            "usage", f"--url must be an address such as http://127.0.0.1:7777, not {url!r}", exit_code=2
        )
    return url.rstrip("/")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.port != 0  # both raise ValueError for what is malformed
    except ValueError:
        return False
    return named and url.isprintable() and not parts.query and not parts.fragment


def _sound(token: str) -> str:
    """Return a token without the newline that a file may end with."""
    token = token.strip()
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise CommandFailed(
            "usage",
            "the token (--token, KAGED_TOKEN) contains characters that no token contains",
            exit_code=2,
        )
    return token


def _token_in(folder: Path) -> str | None:
    try:
        return (folder / "token").read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CommandFailed(
            "failed", f"the token file {folder / 'token'} cannot be read: {error.strerror}"
        ) from error
