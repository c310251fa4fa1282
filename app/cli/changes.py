"""`kaged changes`: list the files that a session changed.

Owns: the command, and what it shares with `diff` and `revert`. Never: comparing files (the daemon).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import click

from app.cli.client import DaemonClient
from app.cli.connected import Connected, in_project
from app.cli.conversation import LAST, path_of
from app.cli.output import CommandFailed

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_MOST = 1_000
"""So many pages of a hundred: a loop has an end."""
_LONG_NUMBER = 9
"""Digits that are a digest, and no number of a hunk."""


def since_option(command: Decorated) -> Decorated:
    """Give a command the option `--since`."""
    text = "The baseline: start, checkpoint:ID, head (the last commit) or base (the branch point)."
    return click.option("--since", default="start", show_default=True, metavar="BASELINE", help=text)(command)


def session_and_path(words: Sequence[str]) -> tuple[str, str | None]:
    """Return the session and path of `[SESSION] [PATH]`; one word is a session when it looks so."""
    if len(words) > 2:
        raise click.UsageError("give at most SESSION and PATH.")
    if len(words) == 2:
        return words[0], words[1]
    if words and (words[0] == LAST or words[0].startswith("ses_")):
        return words[0], None
    return LAST, words[0] if words else None


async def changes_path(client: DaemonClient, session: str, project: Path | None) -> str:
    """Return the address of a session's changes."""
    return f"{await path_of(client, session, project)}/changes"


def listed_path(path: str) -> str:
    """Return a path of the caller's as the list of changes shows it. Raises `CommandFailed` for one that no
    list has."""
    from app.workspace.any_names import PREFIX, address_of

    if path.startswith(PREFIX):
        return path
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or path.startswith("/") or ".." in parts:
        raise CommandFailed(
            "usage",
            f"{path!r} is not a path as `kaged changes` lists it; give it relative to the project's folder, "
            "such as src/app.py",
            exit_code=2,
        )
    return address_of("/".join(parts))


def diff_path(changes: str, path: str) -> str:
    """Return the address of one file's difference, by its listed path."""
    return f"{changes}/{quote(path)}"


async def all_changes(client: DaemonClient, changes: str, since: str) -> dict[str, Any]:
    """Return the list with the items of all its pages."""
    params: dict[str, Any] = {"since": since, "limit": 100}
    page: dict[str, Any] = await client.request("GET", changes, params=params)
    items = list(page["items"])
    for _ in range(_MOST):
        if page["next_cursor"] is None:
            return {**page, "items": items}
        page = await client.request("GET", changes, params={**params, "cursor": page["next_cursor"]})
        items += page["items"]
    raise CommandFailed("too_many", "there are too many changes to list")


def shown_name(item: dict[str, Any]) -> str:
    """Return the path of a change, with that from which it was renamed."""
    return item["path"] if item["old_path"] is None else f"{item['old_path']} => {item['path']}"


def shown_counts(item: dict[str, Any]) -> str:
    """Return the lines of a change."""
    if item["additions"] is None:
        return "binary" if item["binary"] else "-"
    return f"+{item['additions']} -{item['deletions']}"


def summary(answer: dict[str, Any]) -> str:
    """Return the line below a list of changes."""
    files = "1 file" if answer["total"] == 1 else f"{answer['total']} files"
    text = f"{files}, +{answer['additions']} -{answer['deletions']}"
    return text if answer["incomplete"] is None else f"{text}; {answer['incomplete']}"


def digests_of(diff: dict[str, Any], wanted: Sequence[str]) -> list[str]:
    """Return the digests of hunks that are named by their number in a difference, or by digest."""
    known = [one["digest"] for one in diff["hunks"] or []]
    found = []
    for one in dict.fromkeys(wanted):
        if not one.isdecimal() or len(one) >= _LONG_NUMBER:
            found.append(one)  # of another state of the file, the daemon refuses it
            continue
        if not 0 < int(one) <= len(known):
            raise CommandFailed("not_found", f"{diff['path']} has no hunk {one}, only {len(known)}")
        found.append(known[int(one) - 1])
    return found


@click.command(name="changes")
@click.argument("session", default=LAST)
@since_option
@in_project
async def command(daemon: Connected, session: str, since: str) -> None:
    """List the files that SESSION (an id, or `last`) changed, with lines and authors."""
    changes = await changes_path(daemon.client, session, daemon.project)
    answer = await all_changes(daemon.client, changes, since)
    rows = [(one["status"], shown_counts(one), _authors(one), shown_name(one)) for one in answer["items"]]
    empty = answer["incomplete"] or f"nothing differs from the baseline {since}"
    daemon.show_rows(answer, ("STATUS", "LINES", "BY", "FILE"), rows, empty=empty, more=summary(answer))


def _authors(item: dict[str, Any]) -> str:
    agents = list(dict.fromkeys(one["agent_path"].rpartition(".")[2] for one in item["by"]))
    return ", ".join([*agents, *(["others"] if item["others"] else [])])
