"""`kaged issue comment`, `move`, `resolve`, `reject`, `reopen`, `assign`, `link`, `unlink`, `attach`,
`detach` and `download`.

Owns: those commands. Never: which moves are legal, which is the daemon's to say.
"""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import Any

import click

from app.cli.client import DaemonClient
from app.cli.connected import Connected, in_project, text_or_file
from app.cli.file_upload import checked_file, readable_size, save, upload_all
from app.cli.given_path import GivenPath
from app.cli.issue_view import LINK_KINDS, STATUSES, issue_line, issue_path, path_of_issue
from app.cli.output import CommandFailed, print_text

Number = click.IntRange(min=1)


@click.command(name="comment", short_help="Add a comment.")
@click.argument("number", type=Number)
@click.argument("text", required=False)
@click.option("--body", "-b", help="The comment, instead of TEXT.")
@click.option("--body-file", "-F", help="A file with the text; `-` is standard input.")
@click.option("--internal", is_flag=True, help="Visible to operators and agents only.")
@in_project
async def comment(
    daemon: Connected,
    number: int,
    text: str | None,
    body: str | None,
    body_file: str | None,
    internal: bool,
) -> None:
    """Add TEXT (Markdown; `-` reads standard input) to issue NUMBER."""
    if text is not None and body is not None:
        raise click.UsageError("give the text once.")
    said = text_or_file(text if body is None else body, body_file, name="text")
    if said is None:
        raise click.UsageError("give the comment as TEXT or with --body-file.")
    sent = {"body": said, "visibility": "operator_only" if internal else "all"}
    path = await path_of_issue(daemon, number)
    made = await daemon.client.request("POST", f"{path}/comments", body=sent)
    daemon.show(made, f"commented on #{number}")


async def _move(daemon: Connected, number: int, to: str, reason: str | None) -> None:
    path = await path_of_issue(daemon, number)
    sent = {"to": to} | ({"comment": reason} if reason is not None else {})
    issue = await daemon.client.request("POST", f"{path}/transition", body=sent)
    daemon.show(issue, issue_line(issue, f"{issue['previous_status']} → {issue['status']}"))


@click.command(name="move", short_help="Move an issue to another status.")
@click.argument("number", type=Number)
@click.argument("status", type=click.Choice(STATUSES))
@click.option("--comment", "-m", help="The reason; required for resolved and rejected.")
@in_project
async def move(daemon: Connected, number: int, status: str, comment: str | None) -> None:
    """Move issue NUMBER to STATUS."""
    await _move(daemon, number, status, comment)


@click.command(name="resolve", short_help="Resolve an issue.")
@click.argument("number", type=Number)
@click.option("--comment", "-m", "-c", required=True, help="What was done.")
@in_project
async def resolve(daemon: Connected, number: int, comment: str) -> None:
    """Resolve issue NUMBER and accept the remaining criteria of its checklist."""
    await _move(daemon, number, "resolved", comment)


@click.command(name="reject", short_help="Reject an issue: it will not be done.")
@click.argument("number", type=Number)
@click.option("--comment", "-m", "-c", required=True, help="The reason for the rejection.")
@in_project
async def reject(daemon: Connected, number: int, comment: str) -> None:
    """Reject issue NUMBER: it will not be done."""
    await _move(daemon, number, "rejected", comment)


@click.command(name="reopen", short_help="Reopen an issue.")
@click.argument("number", type=Number)
@click.option("--comment", "-m", "-c", help="The reason.")
@in_project
async def reopen(daemon: Connected, number: int, comment: str | None) -> None:
    """Reopen the resolved or rejected issue NUMBER."""
    await _move(daemon, number, "reopened", comment)


@click.command(name="assign", short_help="Assign an issue and start the work.")
@click.argument("number", type=Number)
@click.argument("target", required=False)
@click.option("--none", "nobody", is_flag=True, help="Remove the assignment; running work continues.")
@in_project
async def assign(daemon: Connected, number: int, target: str | None, nobody: bool) -> None:
    """Assign issue NUMBER to TARGET and start the work: `primary` (a new session), workflow:NAME,
    or session:ID."""
    if (target is None) != nobody:
        raise click.UsageError("give a TARGET, or remove the assignment with --none.")
    path = await path_of_issue(daemon, number)
    issue = await daemon.client.request("PATCH", path, body={"assignment": target})
    daemon.show(issue, issue_line(issue, f"assigned to {target or 'nobody'}"))


@click.command(name="link", short_help="Link an issue: blocks, relates to or duplicates another.")
@click.argument("number", type=Number)
@click.argument("kind", type=click.Choice(LINK_KINDS))
@click.argument("other", type=Number)
@in_project
async def link(daemon: Connected, number: int, kind: str, other: int) -> None:
    """Link issue NUMBER to issue OTHER: blocks, relates to or duplicates."""
    path = await path_of_issue(daemon, number)
    made = await daemon.client.request("POST", f"{path}/links", body={"kind": kind, "target": other})
    daemon.show(made, f"#{number} {kind} #{other} {made['title']}")


@click.command(name="unlink", short_help="Remove a link.")
@click.argument("number", type=Number)
@click.argument("kind", type=click.Choice(LINK_KINDS))
@click.argument("other", type=Number)
@in_project
async def unlink(daemon: Connected, number: int, kind: str, other: int) -> None:
    """Remove a link from issue NUMBER to issue OTHER."""
    path = await path_of_issue(daemon, number)
    for one in (await daemon.client.request("GET", f"{path}/links"))["items"]:
        if (one["kind"], one["number"]) == (kind, other) and (one["outgoing"] or kind == "relates"):
            await daemon.client.request("DELETE", f"{path}/links/{one['id']}")
            daemon.show(one, f"#{number} no longer {kind} #{other}")
            return
    raise CommandFailed("not_found", f"#{number} has no link `{kind}` to #{other}")


@click.command(name="attach", short_help="Attach files to an issue.")
@click.argument("number", type=Number)
@click.argument("files", nargs=-1, required=True, type=GivenPath())
@in_project
async def attach(daemon: Connected, number: int, files: tuple[Path, ...]) -> None:
    """Attach FILES to issue NUMBER."""
    paths = [checked_file(path) for path in files]
    project_id = await daemon.project_id()
    path = issue_path(project_id, number)
    await daemon.client.request("GET", path)  # before anything is uploaded
    sent = {"upload_ids": await upload_all(daemon.client, project_id, paths)}
    daemon.show(await daemon.client.request("POST", f"{path}/attachments", body=sent), _print_files)


def _print_files(attached: dict[str, Any]) -> None:
    for file in attached["items"]:
        print_text(f"{file['name']}  {readable_size(file['size_bytes'])}  {file['id']}")


@click.command(name="detach", short_help="Remove a file from an issue.")
@click.argument("number", type=Number)
@click.argument("file")
@in_project
async def detach(daemon: Connected, number: int, file: str) -> None:
    """Remove FILE (its name or id) from issue NUMBER."""
    path = await path_of_issue(daemon, number)
    found = await _attachment(daemon.client, path, number, file)
    await daemon.client.request("DELETE", f"{path}/attachments/{found['id']}")
    daemon.show(found, f"removed {found['name']} from #{number}")


@click.command(name="download", short_help="Download a file of an issue.")
@click.argument("number", type=Number)
@click.argument("file")
@click.option(
    "--output",
    "-o",
    type=GivenPath(),
    help="The target (default: its name in the current folder).",
)
@in_project
async def download(daemon: Connected, number: int, file: str, output: Path | None) -> None:
    """Download FILE (its name or id) of issue NUMBER."""
    path = await path_of_issue(daemon, number)
    found = await _attachment(daemon.client, path, number, file)
    to = output if output is not None else Path(Path(found["name"]).name)
    if to.exists():
        raise CommandFailed("failed", f"{to} exists already; name another file with --output")
    async with aclosing(daemon.client.download(f"/uploads/{found['id']}/content")) as pieces:
        await save(pieces, to)
    daemon.show({**found, "path": str(to)}, f"{to}  {readable_size(found['size_bytes'])}")


CHANGES = (
    *(comment, move, resolve, reject, reopen, assign),
    *(link, unlink, attach, detach, download),
)


async def _attachment(client: DaemonClient, path: str, number: int, wanted: str) -> dict[str, Any]:
    files = (await client.request("GET", f"{path}/attachments"))["items"]
    for one in files:
        if wanted in (one["id"], one["name"]):
            return dict(one)
    known = ", ".join(one["name"] for one in files) or "none"
    raise CommandFailed("not_found", f"#{number} has no file {wanted}; its files: {known}")
