"""`kaged costs`: what sessions cost, as a table, CSV or JSON; by session, day or project.

Owns: the rows and their sums. Never: a price or a sum within a session, which are the daemon's.
"""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Iterable
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime, timedelta
from typing import Any

import click

from app.cli.connected import Connected, connected, project_option
from app.cli.conversation import session_path
from app.cli.output import CommandFailed
from app.cli.streams import write_data

_DEFAULT_DAYS = 30
_DAY = click.DateTime(["%Y-%m-%d"])
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that a spreadsheet would compute."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One row. `cost_usd` is None where no price is known; `incomplete`: it lacks calls without a price."""

    session: str
    day: str
    project: str
    title: str
    sessions: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: float | None
    incomplete: bool


@click.command(name="costs")
@project_option("Only sessions of this project (default: of all).")
@click.option(
    "--since",
    type=_DAY,
    metavar="YYYY-MM-DD",
    help=f"Sessions that began on this day (UTC) or later (default: {_DEFAULT_DAYS} days ago).",
)
@click.option("--until", type=_DAY, metavar="YYYY-MM-DD", help="Sessions that began on this day or earlier.")
@click.option("--by", type=click.Choice(["session", "day", "project"]), default="session", show_default=True)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, for spreadsheets and scripts.")
@connected
async def command(
    daemon: Connected, since: datetime | None, until: datetime | None, by: str, as_csv: bool
) -> None:
    """Show what sessions cost. Deleted sessions are not counted; a session counts on the day it began.

    A cost of `?` is unknown: no price of its models is known. With `+` it lacks calls without a known price.
    """
    if as_csv and daemon.as_json:
        raise click.UsageError("choose --csv or --json.")
    first = since.date() if since else datetime.now(UTC).date() - timedelta(days=_DEFAULT_DAYS)
    rows = [one async for one in _costs(daemon, first, until.date() if until else None)]
    grouped = rows if by == "session" else _grouped(rows, by)
    total = _sum(rows)
    if as_csv:
        write_data(_csv(grouped, by))
        return
    answer = {"items": [_shown(one, by) for one in grouped], "total": _shown(total, "total")}
    shown = [_line(getattr(one, by), one, one.title if by == "session" else "") for one in grouped]
    shown.append(_line("total", total))
    daemon.show_rows(
        answer,
        (
            by.upper(),
            "SESSIONS",
            "INPUT",
            "CACHED",
            "OUTPUT",
            "COST (USD)",
            "TITLE" if by == "session" else "",
        ),
        shown if grouped else [],
        empty=f"no session began since {first}",
    )


async def _costs(daemon: Connected, since: date, until: date | None) -> AsyncIterator[Cost]:
    """Yield the cost of each session of the days, the newest first."""
    client = daemon.client
    names = {str(one["id"]): str(one["slug"]) async for one in client.items("/projects")}
    params = {} if daemon.project is None else {"project_id": await daemon.project_id()}
    async for listed in client.items("/sessions", params=params):
        day = str(listed["created_at"])[:10]
        if day < since.isoformat():
            return
        if until is not None and day > until.isoformat():
            continue
        try:
            session = await client.request("GET", session_path(listed["id"]))
        except CommandFailed as failure:
            if failure.code == "not_found":  # deleted meanwhile
                continue
            raise
        tokens, cost = session["tokens"], session["cost_usd"]
        yield Cost(
            session=session["id"],
            day=day,
            project=names.get(session["project_id"], session["project_id"]),
            title=session["title"],
            sessions=1,
            input_tokens=tokens["input"],
            output_tokens=tokens["output"],
            cache_read_tokens=tokens["cache_read"],
            cache_write_tokens=tokens["cache_write"],
            cost_usd=cost["total"],
            incomplete=cost["incomplete"],
        )


def _grouped(rows: Iterable[Cost], by: str) -> list[Cost]:
    groups: dict[str, list[Cost]] = {}
    for one in rows:
        groups.setdefault(getattr(one, by), []).append(one)
    return [_sum(group) for _, group in sorted(groups.items())]


def _sum(rows: Iterable[Cost]) -> Cost:
    """Return one row for several; of their words it has those that all share."""
    found = list(rows)
    known = [one.cost_usd for one in found if one.cost_usd is not None]
    words = {name: {getattr(one, name) for one in found} for name in ("session", "day", "project", "title")}
    return Cost(
        **{name: values.pop() if len(values) == 1 else "" for name, values in words.items()},
        sessions=sum(one.sessions for one in found),
        input_tokens=sum(one.input_tokens for one in found),
        output_tokens=sum(one.output_tokens for one in found),
        cache_read_tokens=sum(one.cache_read_tokens for one in found),
        cache_write_tokens=sum(one.cache_write_tokens for one in found),
        cost_usd=sum(known) if known else None,
        incomplete=any(one.incomplete for one in found),
    )


def _columns(by: str) -> list[str]:
    """Return the fields that a row of a grouping has."""
    words = {"session": ("session", "day", "project", "title"), "total": ()}.get(by, (by,))
    numbers = [one.name for one in fields(Cost) if one.name not in ("session", "day", "project", "title")]
    return [*words, *(numbers if by != "session" else numbers[1:])]


def _shown(row: Cost, by: str) -> dict[str, Any]:
    values = asdict(row)
    return {name: values[name] for name in _columns(by)}


def _line(name: str, row: Cost, title: str = "") -> tuple[str, ...]:
    cost = "?" if row.cost_usd is None else f"{row.cost_usd:.4f}"
    return (
        name,
        str(row.sessions),
        f"{row.input_tokens:,}",
        f"{row.cache_read_tokens:,}",
        f"{row.output_tokens:,}",
        f"{cost}+" if row.incomplete and row.cost_usd is not None else cost,
        title,
    )


def _csv(rows: Iterable[Cost], by: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_columns(by))
    for one in rows:
        writer.writerow([_cell(value) for value in _shown(one, by).values()])
    return text.getvalue()


def _cell(value: Any) -> str:
    """Return a value as a cell: a title is what somebody wrote, and no formula."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.6f}"
        case str() if value.startswith(_FORMULA):
            return f"'{value}"
        case _:
            return str(value)
