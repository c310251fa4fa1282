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
from app.cli.given_path import GivenPath
from app.cli.issue_changes import CHANGES
from app.cli.issue_checklist import CHECKLIST
from app.cli.issue_view import STATUSES, issue_line, issue_path, path_of_issue, print_issue
from app.cli.output import CommandFailed, CommandGroup

_ALIASES = {"create": "new", "view": "show", "close": "resolve", "ls": "list"}


class _IssueGroup(CommandGroup):
    """Accepts the names of other tools for the same commands."""

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
async def list_issues(
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
    path = f"/projects/{await daemon.project_id()}/issues"
    items, total = await _first_items(daemon.client, path, params, limit)
    rows = [
        (f"#{one['number']}", one["status"], one["assignment"] or "", one["updated_at"][:10], one["title"])
        for one in items
    ]
    daemon.show_rows(
        {"items": items, "total": total},
        ("ID", "STATUS", "ASSIGNED TO", "UPDATED", "TITLE"),
        rows,
        empty="no such issues; file one with `kaged issue new TITLE`",
        more=f"{len(items)} of {total}; more with --limit" if total > len(items) else "",
    )


@command.command(name="show", short_help="Show an issue with its history, links, files and checklist.")
@click.argument("number", type=click.IntRange(min=1))
@in_project
async def show(daemon: Connected, number: int) -> None:
    """Show issue NUMBER with its checklist, links, files and history."""
    path = await path_of_issue(daemon, number)
    issue = await daemon.client.request("GET", path)
    todos = await daemon.client.request("GET", f"{path}/todos")
    daemon.show({**issue, "todos": todos["items"]}, print_issue)


@command.command(name="new", short_help="File an issue.")
@click.argument("title", required=False)
@click.option("--title", "-t", "title_option", help="The title, instead of TITLE.")
@click.option("--body", "-b", help="The description in Markdown; `-` reads standard input.")
@click.option("--body-file", "-F", help="A file with the description; `-` is standard input.")
@click.option("--attach", "files", multiple=True, type=GivenPath(), help="May be repeated.")
@click.option("--assign", help="`primary`, workflow:NAME or session:ID; work starts at once.")
@in_project
async def new(
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
    project_id = await daemon.project_id()
    wanted = {
        "title": title if title is not None else title_option,
        "body": text,
        "attachments": await upload_all(daemon.client, project_id, paths),
    }
    made = await daemon.client.request("POST", f"/projects/{project_id}/issues", body=wanted)
    if assign is not None:
        made = await _assigned(daemon.client, project_id, made["number"], assign)
    daemon.show(made, issue_line(made, "filed"))


async def _assigned(client: DaemonClient, project_id: str, number: int, target: str) -> dict[str, Any]:
    """Assign a new issue. The error says that the issue was filed, so that nobody files it again."""
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
async def edit(
    daemon: Connected, number: int, title: str | None, body: str | None, body_file: str | None
) -> None:
    """Change title or description of issue NUMBER; the original text is kept."""
    text = text_or_file(body, body_file, name="text")
    changes = {name: value for name, value in {"title": title, "body": text}.items() if value is not None}
    if not changes:
        raise click.UsageError("give --title, --body or --body-file.")
    changed = await daemon.client.request("PATCH", await path_of_issue(daemon, number), body=changes)
    daemon.show(changed, issue_line(changed, "edited"))


for _command in (*CHANGES, *CHECKLIST):
    command.add_command(_command)


async def _first_items(
    client: DaemonClient, path: str, params: dict[str, Any], limit: int
) -> tuple[Sequence[dict[str, Any]], int]:
    """Return up to `limit` items of a list, from as many pages as needed, and the total."""
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        asked = {**params, "limit": min(100, limit - len(items)), "cursor": cursor}
        page = await client.request("GET", path, params=asked)
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None or len(items) >= limit:
            return items, int(page["total"])
