"""`kaged issue`: list, show, file and edit issues, and the commands of its sister modules.

Owns: those four, and the names of all of them. Never: what a change means, which is the daemon's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from app.cli.client import DaemonClient
from app.cli.connected import Connected, in_project, text_or_file
from app.cli.file_upload import checked_file, upload_all
from app.cli.issue_changes import CHANGES
from app.cli.issue_checklist import CHECKLIST
from app.cli.issue_view import STATUSES, issue_path, print_issue, print_issue_line
from app.cli.output import CommandFailed, CommandGroup, print_json, print_table, print_text

_ALIASES = {"create": "new", "view": "show", "close": "resolve", "ls": "list"}


class _IssueGroup(CommandGroup):
    """Knows the names that other tools have for the same commands."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, _ALIASES.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        _, command, rest = super().resolve_command(ctx, args)
        return command.name if command is not None else None, command, rest


@click.group(name="issue", cls=_IssueGroup)
def command() -> None:
    """List, file, discuss and close a project's issues, with their checklists."""


@command.command(name="list", short_help="List issues.")
@click.option(
    "--status", "-s", "statuses", multiple=True, type=click.Choice(STATUSES), help="May be repeated."
)
@click.option("--search", "-S", help='Words in title, text or comments; "a phrase", prefix*, -without.')
@click.option("--assignment", "-a", help="Only issues assigned to `primary`, workflow:NAME or session:ID.")
@click.option("--all", "every", is_flag=True, help="Include resolved and rejected issues.")
@click.option("--limit", "-L", type=click.IntRange(1, 1000), default=30, show_default=True)
@in_project
def list_issues(
    daemon: Connected,
    statuses: tuple[str, ...],
    search: str | None,
    assignment: str | None,
    every: bool,
    limit: int,
) -> None:
    """List issues, newest first; with --search, best match first."""
    if every and statuses:
        raise click.UsageError("give --status or --all, not both.")
    chosen = statuses or (
        STATUSES if every else tuple(s for s in STATUSES if s not in ("resolved", "rejected"))
    )
    params = {"status": list(chosen), "search": search, "assignment": assignment}

    async def ask(client: DaemonClient) -> tuple[Sequence[dict[str, Any]], int]:
        path = f"/projects/{await daemon.project_id(client)}/issues"
        return await _first_items(client, path, params, limit)

    items, total = daemon.run(ask)
    if daemon.as_json:
        print_json({"items": items, "total": total})
        return
    if not items:
        print_text("no such issues; file one with `kaged issue new TITLE`")
        return
    rows = [
        (f"#{one['number']}", one["status"], one["assignment"] or "", one["updated_at"][:10], one["title"])
        for one in items
    ]
    print_table(("ID", "STATUS", "ASSIGNED TO", "UPDATED", "TITLE"), rows)
    if total > len(items):
        print_text(f"{len(items)} of {total}; more with --limit", dim=True)


@command.command(name="show", short_help="Show an issue with its history, links, files and checklist.")
@click.argument("number", type=click.IntRange(min=1))
@in_project
def show(daemon: Connected, number: int) -> None:
    """Show issue NUMBER with its checklist, links, files and history."""

    async def ask(client: DaemonClient) -> dict[str, Any]:
        path = issue_path(await daemon.project_id(client), number)
        issue: dict[str, Any] = await client.request("GET", path)
        todos = await client.request("GET", f"{path}/todos")
        return {**issue, "todos": todos["items"]}

    issue = daemon.run(ask)
    if daemon.as_json:
        print_json(issue)
    else:
        print_issue(issue)


@command.command(name="new", short_help="File an issue.")
@click.argument("title", required=False)
@click.option("--title", "-t", "title_option", help="The title, instead of TITLE.")
@click.option("--body", "-b", help="The description in Markdown; `-` reads standard input.")
@click.option("--body-file", "-F", help="A file with the description; `-` is standard input.")
@click.option("--attach", "files", multiple=True, type=click.Path(path_type=Path), help="May be repeated.")
@click.option("--assign", help="`primary`, workflow:NAME or session:ID; work starts at once.")
@in_project
def new(
    daemon: Connected,
    title: str | None,
    title_option: str | None,
    body: str | None,
    body_file: str | None,
    files: tuple[Path, ...],
    assign: str | None,
) -> None:
    """File an issue called TITLE."""
    if (title is None) == (title_option is None):
        raise click.UsageError("give the issue one TITLE.")
    text = text_or_file(body, body_file, name="text") or ""
    paths = [checked_file(path) for path in files]

    async def make(client: DaemonClient) -> dict[str, Any]:
        project_id = await daemon.project_id(client)
        wanted = {
            "title": title if title is not None else title_option,
            "body": text,
            "attachments": await upload_all(client, project_id, paths),
        }
        made: dict[str, Any] = await client.request("POST", f"/projects/{project_id}/issues", body=wanted)
        if assign is not None:
            made = await _assigned(client, project_id, made["number"], assign)
        return made

    _show_changed(daemon, daemon.run(make), "filed")


async def _assigned(client: DaemonClient, project_id: str, number: int, target: str) -> dict[str, Any]:
    """Assign an issue that has just been filed. A refusal says that it was filed: nobody files it again."""
    try:
        changed: dict[str, Any] = await client.request(
            "PATCH", issue_path(project_id, number), body={"assignment": target}
        )
    except CommandFailed as refusal:
        again = f"Then assign it with `kaged issue assign {number} TARGET`."
        message = f"Issue #{number} is filed, but not assigned: {refusal.message}. {again}"
        raise CommandFailed(refusal.code, message, details={**refusal.details, "number": number}) from refusal
    return changed


@command.command(name="edit", short_help="Change title or description of an issue.")
@click.argument("number", type=click.IntRange(min=1))
@click.option("--title", "-t")
@click.option("--body", "-b", help="The description in Markdown; `-` reads standard input.")
@click.option("--body-file", "-F", help="A file with the description; `-` is standard input.")
@in_project
def edit(daemon: Connected, number: int, title: str | None, body: str | None, body_file: str | None) -> None:
    """Change title or description of issue NUMBER; the original text is kept."""
    text = text_or_file(body, body_file, name="text")
    changes = {name: value for name, value in {"title": title, "body": text}.items() if value is not None}
    if not changes:
        raise click.UsageError("say what changes: --title, --body or --body-file.")

    async def change(client: DaemonClient) -> dict[str, Any]:
        path = issue_path(await daemon.project_id(client), number)
        changed: dict[str, Any] = await client.request("PATCH", path, body=changes)
        return changed

    _show_changed(daemon, daemon.run(change), "edited")


for _command in (*CHANGES, *CHECKLIST):
    command.add_command(_command)


def _show_changed(daemon: Connected, issue: dict[str, Any], done: str) -> None:
    if daemon.as_json:
        print_json(issue)
    else:
        print_issue_line(issue, done)


async def _first_items(
    client: DaemonClient, path: str, params: dict[str, Any], limit: int
) -> tuple[Sequence[dict[str, Any]], int]:
    """Return up to `limit` items of a list, over as many pages as it takes, and how many there are."""
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        asked = {**params, "limit": min(100, limit - len(items)), "cursor": cursor}
        page = await client.request("GET", path, params=asked)
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None or len(items) >= limit:
            return items, int(page["total"])
