"""`kaged issue todo`, `accept` and `decline`: an issue's checklist and its sign-off.

Owns: those commands, and which entry their words mean. Never: what a change means.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from app.cli.client import DaemonClient
from app.cli.connected import Connected, in_project
from app.cli.daemon_address import path_part
from app.cli.issue_view import path_of_issue, print_checklist
from app.cli.output import CommandFailed

_STATUS_OF = {"start": "in_progress", "done": "completed", "drop": "abandoned", "reopen": "pending"}
_ACTIONS = ("add", *_STATUS_OF, "note", "edit", "list")


@click.command(name="todo", short_help="Show or change the checklist of an issue.")
@click.argument("number", type=click.IntRange(min=1))
@click.argument("action", type=click.Choice(_ACTIONS), default="list")
@click.argument("words", nargs=-1)
@click.option("--criterion", is_flag=True, help="With add: an acceptance criterion instead of a step.")
@click.option("--phase", help="With add: the phase of the entries.")
@in_project
async def todo(
    daemon: Connected,
    number: int,
    action: str,
    words: tuple[str, ...],
    criterion: bool,
    phase: str | None,
) -> None:
    """Show or change the checklist of issue NUMBER.

    \b
    kaged issue todo 7                        show it
    kaged issue todo 7 add TEXT...            append entries
    kaged issue todo 7 start|done|drop|reopen ENTRY
    kaged issue todo 7 note ENTRY TEXT        add a note to an entry
    kaged issue todo 7 edit ENTRY TEXT        change the text of an entry

    ENTRY is its number in the list, its id, its text, or a part that no other has.
    """
    if (criterion or phase is not None) and action != "add":
        raise click.UsageError("--criterion and --phase go with add.")
    _check_words(action, words)

    client, path = daemon.client, f"{await path_of_issue(daemon, number)}/todos"
    if action == "add":
        kind = "criterion" if criterion else "step"
        more = {"phase": phase} if phase is not None else {}
        for text in words:
            await client.request("POST", path, body={"content": text, "kind": kind, **more})
    elif action != "list":
        entry = find_entry(await _entries(client, path), words[0])
        await _change(client, path, entry, _wanted(action, words))
    _show(daemon, await _entries(client, path), number)


@click.command(name="accept", short_help="Sign off a criterion of the checklist.")
@click.argument("number", type=click.IntRange(min=1))
@click.argument("entry")
@click.option(
    "--resolve", "-r", metavar="COMMENT", help="With the last criterion: resolve the issue with this comment."
)
@in_project
async def accept(daemon: Connected, number: int, entry: str, resolve: str | None) -> None:
    """Accept the criterion ENTRY of issue NUMBER."""
    changes: dict[str, Any] = {"accept": True}
    if resolve is not None:
        changes["resolve"] = {"comment": resolve}
    await _settle(daemon, number, entry, changes)


@click.command(name="decline", short_help="Decline a criterion that is not met yet.")
@click.argument("number", type=click.IntRange(min=1))
@click.argument("entry")
@click.option("--comment", "-m", required=True, help="What is missing; the agent reads this.")
@in_project
async def decline(daemon: Connected, number: int, entry: str, comment: str) -> None:
    """Decline the criterion ENTRY of issue NUMBER: it is not met yet."""
    await _settle(daemon, number, entry, {"reject": {"comment": comment}})


CHECKLIST = (todo, accept, decline)


def find_entry(todos: Sequence[dict[str, Any]], words: str) -> dict[str, Any]:
    """Return the entry that the words mean: by id, text, number from 1, or a part of one text only.

    What was dropped is meant only when nothing else is. Raises `CommandFailed`."""
    wanted = words.strip().casefold()
    for one in todos:
        if one["id"] == words.strip():
            return one
    live = [one for one in todos if one["status"] != "abandoned"]
    for candidates in (live, todos):
        exact = [one for one in candidates if one["content"].strip().casefold() == wanted]
        if len(exact) == 1:
            return exact[0]
    if wanted.isdecimal() and 1 <= int(wanted) <= len(todos):
        return todos[int(wanted) - 1]
    parts = [one for one in live if wanted and wanted in one["content"].casefold()]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        raise CommandFailed("todo_not_found", f"the checklist has no entry {words!r}")
    found = "; ".join(one["content"] for one in parts[:5])
    raise CommandFailed("ambiguous_todo", f"{len(parts)} entries have {words!r} in them: {found}")


def _check_words(action: str, words: Sequence[str]) -> None:
    needed = {"list": 0, "add": None, "note": 2, "edit": 2}.get(action, 1)
    if needed is None and not words:
        raise click.UsageError("say what to add.")
    if needed is not None and len(words) != needed:
        what = {0: "nothing", 1: "one ENTRY (quote it)", 2: "an ENTRY and a TEXT (quote both)"}[needed]
        raise click.UsageError(f"`{action}` takes {what}.")


def _wanted(action: str, words: Sequence[str]) -> dict[str, Any]:
    if action in _STATUS_OF:
        return {"status": _STATUS_OF[action]}
    return {"note" if action == "note" else "content": words[1]}


async def _settle(daemon: Connected, number: int, entry: str, changes: dict[str, Any]) -> None:
    client, path = daemon.client, f"{await path_of_issue(daemon, number)}/todos"
    todos = await _entries(client, path)
    criteria = [one for one in todos if one["kind"] == "criterion"]
    by_number = entry.strip().isdecimal()
    await _change(client, path, find_entry(todos if by_number else criteria, entry), changes)
    _show(daemon, await _entries(client, path), number)


async def _entries(client: DaemonClient, path: str) -> list[dict[str, Any]]:
    return list((await client.request("GET", path))["items"])


async def _change(client: DaemonClient, path: str, entry: dict[str, Any], changes: dict[str, Any]) -> None:
    await client.request("PATCH", f"{path}/{path_part(entry['id'])}", body=changes)


def _show(daemon: Connected, todos: list[dict[str, Any]], number: int) -> None:
    if daemon.as_json or not todos:
        start = f"`kaged issue todo {number} add TEXT`"
        daemon.show({"items": todos}, f"#{number} has no checklist; start one with {start}")
    else:
        print_checklist(todos)
