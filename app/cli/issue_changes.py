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
from app.cli.issue_view import LINK_KINDS, STATUSES, issue_path, print_issue_line
from app.cli.output import CommandFailed, print_json, print_text

Number = click.IntRange(min=1)


@click.command(name="comment", short_help="Add a comment.")
@click.argument("number", type=Number)
@click.argument("text", required=False)
@click.option("--body", "-b", help="The comment, instead of TEXT.")
@click.option("--body-file", "-F", help="A file with the text; `-` is standard input.")
@click.option("--internal", is_flag=True, help="Visible to operators and agents only.")
@in_project
def comment(
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
        raise click.UsageError("say what the comment is: TEXT or --body-file.")
    sent = {"body": said, "visibility": "operator_only" if internal else "all"}
    made = _send(daemon, "POST", number, "/comments", sent)
    daemon.show(made, f"commented on #{number}")


def _moved(daemon: Connected, number: int, to: str, said: str | None) -> None:
    sent = {"to": to} | ({"comment": said} if said is not None else {})
    issue = _send(daemon, "POST", number, "/transition", sent)
    if daemon.as_json:
        print_json(issue)
    else:
        print_issue_line(issue, f"{issue['previous_status']} → {issue['status']}")


@click.command(name="move", short_help="Move an issue to another status.")
@click.argument("number", type=Number)
@click.argument("status", type=click.Choice(STATUSES))
@click.option("--comment", "-m", "said", help="The reason; required for resolved and rejected.")
@in_project
def move(daemon: Connected, number: int, status: str, said: str | None) -> None:
    """Move issue NUMBER to STATUS."""
    _moved(daemon, number, status, said)


@click.command(name="resolve", short_help="Resolve an issue.")
@click.argument("number", type=Number)
@click.option("--comment", "-m", "-c", "said", required=True, help="What was done.")
@in_project
def resolve(daemon: Connected, number: int, said: str) -> None:
    """Resolve issue NUMBER and accept the remaining criteria of its checklist."""
    _moved(daemon, number, "resolved", said)


@click.command(name="reject", short_help="Reject an issue: it will not be done.")
@click.argument("number", type=Number)
@click.option("--comment", "-m", "-c", "said", required=True, help="The reason for the rejection.")
@in_project
def reject(daemon: Connected, number: int, said: str) -> None:
    """Reject issue NUMBER: it will not be done."""
    _moved(daemon, number, "rejected", said)


@click.command(name="reopen", short_help="Reopen an issue.")
@click.argument("number", type=Number)
@click.option("--comment", "-m", "-c", "said", help="Why.")
@in_project
def reopen(daemon: Connected, number: int, said: str | None) -> None:
    """Reopen the resolved or rejected issue NUMBER."""
    _moved(daemon, number, "reopened", said)


@click.command(name="assign", short_help="Assign an issue and start the work.")
@click.argument("number", type=Number)
@click.argument("target", required=False)
@click.option("--none", "nobody", is_flag=True, help="Remove the assignment; running work continues.")
@in_project
def assign(daemon: Connected, number: int, target: str | None, nobody: bool) -> None:
    """Assign issue NUMBER to TARGET and start the work: `primary` (a new session), workflow:NAME,
    or session:ID."""
    if (target is None) != nobody:
        raise click.UsageError("name a TARGET, or take the assignment away with --none.")
    issue = _send(daemon, "PATCH", number, "", {"assignment": target})
    if daemon.as_json:
        print_json(issue)
    else:
        print_issue_line(issue, f"assigned to {target}" if target else "assigned to nobody")


@click.command(name="link", short_help="Link an issue: blocks, relates to or duplicates another.")
@click.argument("number", type=Number)
@click.argument("kind", type=click.Choice(LINK_KINDS))
@click.argument("other", type=Number)
@in_project
def link(daemon: Connected, number: int, kind: str, other: int) -> None:
    """Link issue NUMBER to issue OTHER: blocks, relates to or duplicates."""
    made = _send(daemon, "POST", number, "/links", {"kind": kind, "target": other})
    daemon.show(made, f"#{number} {kind} #{other} {made['title']}")


@click.command(name="unlink", short_help="Remove a link.")
@click.argument("number", type=Number)
@click.argument("kind", type=click.Choice(LINK_KINDS))
@click.argument("other", type=Number)
@in_project
def unlink(daemon: Connected, number: int, kind: str, other: int) -> None:
    """Remove a link from issue NUMBER to issue OTHER."""

    async def remove(client: DaemonClient) -> dict[str, Any]:
        path = issue_path(await daemon.project_id(client), number)
        for one in (await client.request("GET", f"{path}/links"))["items"]:
            if (one["kind"], one["number"]) == (kind, other) and (one["outgoing"] or kind == "relates"):
                await client.request("DELETE", f"{path}/links/{one['id']}")
                return dict(one)
        raise CommandFailed("not_found", f"#{number} has no link `{kind}` to #{other}")

    removed = daemon.run(remove)
    daemon.show(removed, f"#{number} no longer {kind} #{other}")


@click.command(name="attach", short_help="Attach files to an issue.")
@click.argument("number", type=Number)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@in_project
def attach(daemon: Connected, number: int, files: tuple[Path, ...]) -> None:
    """Attach FILES to issue NUMBER."""
    paths = [checked_file(path) for path in files]

    async def send(client: DaemonClient) -> dict[str, Any]:
        project_id = await daemon.project_id(client)
        path = issue_path(project_id, number)
        await client.request("GET", path)  # before anything is uploaded
        sent = {"upload_ids": await upload_all(client, project_id, paths)}
        answer: dict[str, Any] = await client.request("POST", f"{path}/attachments", body=sent)
        return answer

    attached = daemon.run(send)
    if daemon.as_json:
        print_json(attached)
        return
    for file in attached["items"]:
        print_text(f"{file['name']}  {readable_size(file['size_bytes'])}  {file['id']}")


@click.command(name="detach", short_help="Remove a file from an issue.")
@click.argument("number", type=Number)
@click.argument("file")
@in_project
def detach(daemon: Connected, number: int, file: str) -> None:
    """Remove FILE (its name or id) from issue NUMBER."""

    async def remove(client: DaemonClient) -> dict[str, Any]:
        path = issue_path(await daemon.project_id(client), number)
        found = await _attachment(client, path, number, file)
        await client.request("DELETE", f"{path}/attachments/{found['id']}")
        return found

    removed = daemon.run(remove)
    daemon.show(removed, f"{removed['name']} is no longer with #{number}")


@click.command(name="download", short_help="Download a file of an issue.")
@click.argument("number", type=Number)
@click.argument("file")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="The target (default: its name in the current folder).",
)
@in_project
def download(daemon: Connected, number: int, file: str, output: Path | None) -> None:
    """Download FILE (its name or id) of issue NUMBER."""

    async def fetch(client: DaemonClient) -> tuple[dict[str, Any], Path]:
        path = issue_path(await daemon.project_id(client), number)
        found = await _attachment(client, path, number, file)
        to = output if output is not None else Path(Path(found["name"]).name)
        if to.exists():
            raise CommandFailed("failed", f"{to} exists already; name another file with --output")
        async with aclosing(client.download(f"/uploads/{found['id']}/content")) as pieces:
            await save(pieces, to)
        return found, to

    found, to = daemon.run(fetch)
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


def _send(daemon: Connected, method: str, number: int, below: str, body: Any) -> dict[str, Any]:
    async def send(client: DaemonClient) -> dict[str, Any]:
        path = issue_path(await daemon.project_id(client), number)
        answer: dict[str, Any] = await client.request(method, path + below, body=body)
        return answer

    return daemon.run(send)
