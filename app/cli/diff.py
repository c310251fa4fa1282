"""`kaged diff`: show what a session changed, as a patch.

Owns: the command. Never: the form of a patch (`patch`).
"""

from __future__ import annotations

import click

from app.cli.changes import (
    all_changes,
    changes_path,
    diff_path,
    listed_path,
    session_and_path,
    shown_counts,
    shown_name,
    since_option,
    summary,
)
from app.cli.connected import Connected, in_project
from app.cli.output import CommandFailed, print_json
from app.cli.patch import print_patch


@click.command(name="diff")
@click.argument("words", nargs=-1, metavar="[SESSION] [PATH]")
@since_option
@click.option(
    "--context",
    type=click.IntRange(0, 1000),
    default=3,
    show_default=True,
    help="Unchanged lines around each hunk.",
)
@click.option("--stat", is_flag=True, help="Show only the counts of lines.")
@in_project
async def command(daemon: Connected, words: tuple[str, ...], since: str, context: int, stat: bool) -> None:
    """Show what SESSION (an id, or `last`) changed in its files, or in PATH.

    The output is a patch that `git apply` takes."""
    session, given = session_and_path(words)
    path = None if given is None else listed_path(given)
    changes = await changes_path(daemon.client, session, daemon.project)
    params = {"since": since, "context": context}
    if path is not None and not stat:
        diff = await daemon.client.request("GET", diff_path(changes, path), params=params)
        daemon.show(diff, lambda one: print_patch([one], numbered=True))
        return
    answer = await all_changes(daemon.client, changes, since)
    wanted = [one for one in answer["items"] if path in (None, one["path"])]
    if path is not None and not wanted:
        raise CommandFailed("not_found", f"{path} does not differ from the baseline {since}")
    if stat:
        rows = [(shown_counts(one), shown_name(one)) for one in wanted]
        daemon.show_rows({**answer, "items": wanted}, ("LINES", "FILE"), rows, empty="", more=summary(answer))
        return
    diffs = []
    for one in wanted:
        diff = await daemon.client.request("GET", diff_path(changes, one["path"]), params=params)
        diffs.append(diff)
        if not daemon.as_json:
            print_patch([diff], numbered=False)
    if daemon.as_json:
        print_json({**answer, "items": diffs})
