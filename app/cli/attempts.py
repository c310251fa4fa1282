"""`kaged attempts`: several sessions at one task, compared side by side.

Owns: these commands. Never: making, checking or picking attempts, which is the daemon's.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click

from app.cli.connected import Connected, in_project
from app.cli.conversation import find_session
from app.cli.daemon_address import path_part
from app.cli.merging import MergeOptions, exit_code, merge_options, print_merge
from app.cli.output import CommandFailed, CommandGroup, print_table, print_text

EVERY_SECONDS = 1.0
_MARKS = {"passed": "passed", "failed": "FAILED", "running": "...", "stopped": "stopped", "none": ""}


@click.group(name="attempts", cls=CommandGroup)
def command() -> None:
    """Let several sessions attempt one task; compare them, pick one."""


@command.command(name="new")
@click.argument("text")
@click.option("-n", "count", type=click.IntRange(min=2), default=3, show_default=True, help="How many.")
@click.option("--model", "models", multiple=True, help="A model, repeatable; the attempts use them in turn.")
@click.option("--check", help="A shell command that runs in each workspace after its run.")
@click.option("--check-seconds", type=click.IntRange(min=1), help="How long a check may take (default: 600).")
@click.option(
    "--base",
    help="`head` (the default without --session), `working` (with uncommitted changes; the default with "
    "--session), or a branch, tag or commit.",
)
@click.option("--session", help="Start the attempts as forks of this session (an id, or `last`).")
@click.option("--title", help="The start of the sessions' titles.")
@click.option(
    "--max-cost", type=click.FloatRange(min=0, min_open=True), help="US dollars for all attempts together."
)
@click.option("--max-tokens", type=click.IntRange(min=1), help="Tokens for all attempts together.")
@in_project
async def new(
    daemon: Connected,
    text: str,
    count: int,
    models: tuple[str, ...],
    check: str | None,
    check_seconds: int | None,
    base: str | None,
    session: str | None,
    title: str | None,
    max_cost: float | None,
    max_tokens: int | None,
) -> None:
    """Start attempts at TEXT, each in a workspace of its own; `-` reads standard input."""
    if text == "-":
        text = sys.stdin.read()
    if session is not None and title is not None:
        raise click.UsageError("--title is for attempts without a session; leave out --session or --title.")
    asked: dict[str, Any] = {"n": count, "models": list(models)}
    given = {"check": check, "check_seconds": check_seconds, "base": base}
    asked |= {name: value for name, value in given.items() if value is not None}
    budget = {"cost_usd": max_cost, "tokens": max_tokens}
    if any(limit is not None for limit in budget.values()):
        asked["budget"] = budget
    body = {"content": text, "attempts": asked}
    if session is not None:
        found = await find_session(daemon.client, session, daemon.project)
        path = f"/sessions/{path_part(found['id'])}/messages"
        made = (await daemon.client.request("POST", path, body=body))["attempt_group"]
    else:
        path = f"/projects/{path_part(await daemon.project_id())}/attempts"
        body |= {} if title is None else {"title": title}
        made = await daemon.client.request("POST", path, body=body)
    daemon.show_id(made, f"`kaged attempts show {made['id']} --wait` compares them")


@command.command(name="list")
@in_project
async def list_attempts(daemon: Connected) -> None:
    """List the attempts of the project."""
    path = f"/projects/{path_part(await daemon.project_id())}/attempts"
    items = [one async for one in daemon.client.items(path)]
    rows = [
        (one["id"], one["state"], str(len(one["attempts"])), _cost(one["cost_usd"]), one["title"])
        for one in items
    ]
    header = ("ATTEMPTS", "STATE", "N", "COST", "TITLE")
    daemon.show_rows({"items": items}, header, rows, empty="the project has no attempts")


@command.command(name="show")
@click.argument("attempts", default="last")
@click.option("--wait", is_flag=True, help="Wait until every attempt has ended or waits for a person.")
@in_project
async def show(daemon: Connected, attempts: str, wait: bool) -> None:
    """Compare ATTEMPTS (an id, or `last`)."""
    path = await _path_of(daemon, attempts)
    found = await daemon.client.request("GET", path)
    while wait and found["state"] == "running" and not _all_wait(found):
        await asyncio.sleep(EVERY_SECONDS)
        found = await daemon.client.request("GET", path)
    daemon.show(found, _print_comparison)


@command.command(name="pick")
@click.argument("attempt")
@click.argument("attempts", default="last")
@merge_options
@in_project
async def pick(daemon: Connected, attempt: str, attempts: str, wish: MergeOptions) -> int:
    """Merge ATTEMPT (a number or a session's id) of ATTEMPTS (an id, or `last`), and discard the others.

    Exits with 1 when conflicts or blocked files prevent the merge.
    """
    path = await _path_of(daemon, attempts)
    session_id = attempt
    if attempt.isdecimal():
        found = await daemon.client.request("GET", path)
        numbers = {one["number"]: one["session_id"] for one in found["attempts"]}
        if int(attempt) not in numbers:
            there = ", ".join(str(number) for number in sorted(numbers))
            raise CommandFailed("not_found", f"{found['id']} has no attempt {attempt}; there are {there}.")
        session_id = numbers[int(attempt)]
    answer = await wish.post(daemon, f"{path}/pick", {"session_id": session_id})
    daemon.show(answer, lambda said: _print_pick(said, session_id, diff=wish.diff))
    return exit_code(answer["merge"])


@command.command(name="cancel")
@click.argument("attempts", default="last")
@in_project
async def cancel(daemon: Connected, attempts: str) -> None:
    """Cancel the runs and checks of ATTEMPTS (an id, or `last`). Their workspaces stay."""
    path = await _path_of(daemon, attempts)
    daemon.show(await daemon.client.request("POST", f"{path}/cancel"), _print_comparison)


@command.command(name="discard")
@click.argument("attempts")
@in_project
async def discard(daemon: Connected, attempts: str) -> None:
    """Cancel ATTEMPTS (an id, or `last`), and discard their workspaces. None can be picked any more."""
    path = await _path_of(daemon, attempts)
    daemon.show(await daemon.client.request("POST", f"{path}/discard"), _print_discarded)


async def _path_of(daemon: Connected, attempts: str) -> str:
    if attempts != "last":
        return f"/attempts/{path_part(attempts)}"
    path = f"/projects/{path_part(await daemon.project_id())}/attempts"
    items = (await daemon.client.request("GET", f"{path}?limit=1"))["items"]
    if not items:
        why = "The project has no attempts; `kaged attempts new TEXT` starts some."
        raise CommandFailed("not_found", why)
    return f"/attempts/{path_part(items[0]['id'])}"


def _all_wait(found: dict[str, Any]) -> bool:
    """Tell whether everything that is not done waits for a person."""
    open_ones = ("creating", "queued", "running", "checking")
    return not any(one["state"] in open_ones for one in found["attempts"])


def _print_comparison(found: dict[str, Any]) -> None:
    print_text(f"{found['id']} {found['state']}: {found['title']}")
    rows = [
        (
            str(one["number"]),
            _state(one, found),
            one["model"] or "",
            _changes(one["changes"]),
            "" if one["check"] is None else _MARKS[one["check"]["state"]],
            str(one["tokens"]),
            _cost(one["cost_usd"]),
            f"{one['duration_ms'] / 1000:.1f}",
            one["session_id"],
        )
        for one in found["attempts"]
    ]
    print_table(("N", "STATE", "MODEL", "CHANGES", "CHECK", "TOKENS", "COST", "SECONDS", "SESSION"), rows)
    for one in found["attempts"]:
        if one["problem"]:
            print_text(f"{one['number']}: {one['problem']}")
        if one["check"] is not None and one["check"]["state"] == "failed":
            print_text(f"{one['number']}: {one['check']['problem']}")
            lines = (one["check"]["output"] or "").splitlines()
            for line in lines[-3:]:
                print_text(f"   {line}", dim=True)


def _print_discarded(found: dict[str, Any]) -> None:
    _print_comparison(found)
    for one in found["attempts"]:
        if one["workspace_state"] == "discarded":
            print_text(f"`kaged workspace undo {one['session_id']}` restores {one['number']}", dim=True)


def _state(one: dict[str, Any], found: dict[str, Any]) -> str:
    if one["session_id"] == found["picked_session_id"]:
        return "picked"
    return "discarded" if one["workspace_state"] == "discarded" else str(one["state"])


def _changes(counts: dict[str, Any] | None) -> str:
    if counts is None:
        return "?"
    return f"{counts['files']} (+{counts['additions']} -{counts['deletions']})"


def _cost(cost: float | None) -> str:
    return "?" if cost is None else f"{cost:.4f}"


def _print_pick(said: dict[str, Any], picked: str, *, diff: bool) -> None:
    print_merge(said["merge"], picked, diff=diff)
    for session_id in said["discarded"]:
        if said["merge"]["dry_run"]:
            print_text(f"would be discarded: {session_id}", dim=True)
        else:
            print_text(f"discarded: {session_id}; `kaged workspace undo {session_id}` restores it", dim=True)
