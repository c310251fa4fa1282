"""How issues look in a terminal, and where they are.

Owns: the text of one issue, its checklist and its history. Never: requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.cli.connected import Connected
from app.cli.daemon_address import path_part
from app.cli.file_upload import readable_size
from app.cli.output import print_text

STATUSES = ("open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened")
LINK_KINDS = ("blocks", "relates", "duplicates")

_BACKWARDS = {"blocks": "is blocked by", "relates": "relates", "duplicates": "is duplicated by"}
_BOXES = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "abandoned": "[-]"}
_COLORS = {"in_progress": "yellow", "completed": "green"}


def issue_path(project_id: str, number: int) -> str:
    """Return the address of an issue below `/api/v1`."""
    return f"/projects/{path_part(project_id)}/issues/{number}"


async def path_of_issue(daemon: Connected, number: int) -> str:
    """Return the address of an issue of the command's project."""
    return issue_path(await daemon.project_id(), number)


def issue_line(issue: Mapping[str, Any], done: str) -> str:
    """Return what became of an issue, on one line."""
    return f"#{issue['number']} {issue['title']}: {done}"


def print_issue(issue: Mapping[str, Any]) -> None:
    """Print one issue with all that belongs to it; `todos` are the entries of its checklist."""
    print_text(f"#{issue['number']} {issue['title']}", bold=True)
    parts = [issue["status"].replace("_", " ")]
    if issue["assignment"]:
        parts.append(f"assigned to {issue['assignment']}")
    parts.append(f"filed by {issue['created_by']} {_moment(issue['created_at'])}")
    if issue["resolved_at"]:
        parts.append(f"resolved by {issue['resolved_by']} {_moment(issue['resolved_at'])}")
    print_text(" · ".join(parts), dim=True)
    if issue["body"].strip():
        print_text("")
        print_text(issue["body"].rstrip())
    if issue["todos"]:
        _title("Checklist")
        print_checklist(issue["todos"])
    if issue["links"]:
        _title("Links")
        for link in issue["links"]:
            kind = link["kind"] if link["outgoing"] else _BACKWARDS[link["kind"]]
            print_text(f"{kind} #{link['number']} {link['title']} ({link['status']})")
    if issue["attachments"]:
        _title("Files")
        for file in issue["attachments"]:
            print_text(f"{file['name']}  {readable_size(file['size_bytes'])}  {file['id']}")
    if issue["updates"]:
        _title("History")
        for update in issue["updates"]:
            _print_update(update)


def print_checklist(todos: Sequence[Mapping[str, Any]]) -> None:
    """Print a checklist, its phases as headings; the numbers are what commands take for an entry."""
    phase: str | None = None
    for number, todo in enumerate(todos, start=1):
        if todo["phase"] != phase:
            phase = todo["phase"]
            print_text(f"{phase or 'Without a phase'}:")
        print_text(f"{number:>3} {_entry(todo)}", color=_COLORS.get(todo["status"]))
        for note in todo["notes"] or ():
            print_text(f"        {note['author']}: {note['text']}", dim=True)


def _entry(todo: Mapping[str, Any]) -> str:
    text = f"{_BOXES.get(todo['status'], '[ ]')} {todo['content']}"
    remarks = []
    if todo["kind"] == "criterion":
        remarks.append("criterion")
        if todo["accepted_at"]:
            remarks.append(f"accepted by {todo['accepted_by']}")
        elif todo["status"] == "completed":
            remarks.append("claimed, waits for your sign-off")
    if todo["origin_agent"]:
        remarks.append(f"from {todo['origin_agent']}")
    return f"{text}  ({', '.join(remarks)})" if remarks else text


def _print_update(update: Mapping[str, Any]) -> None:
    what = _change(update)
    hidden = " · operators only" if update["visibility"] == "operator_only" else ""
    print_text(f"{_moment(update['created_at'])}  {update['author']}: {what}{hidden}", dim=True)
    if update["body"]:
        for line in update["body"].splitlines():
            print_text(f"    {line}")


def _change(update: Mapping[str, Any]) -> str:
    values = update["metadata"] or {}
    old = next((value for name, value in values.items() if name.startswith("old_")), None)
    new = next((value for name, value in values.items() if name.startswith("new_")), None)
    match update["kind"]:
        case "comment":
            return "comment"
        case "body_edit":
            return "changed the text"
        case "assignment_change":
            return f"assigned to {new}" if new else f"took it from {old}"
        case kind:
            return f"{kind.partition('_')[0]}: {old} → {new}"


def _title(text: str) -> None:
    print_text("")
    print_text(text, bold=True)


def _moment(text: str) -> str:
    return text[:16].replace("T", " ")
