"""`kaged runs`: list, show, follow and cancel workflow runs.

Owns: those four. Never: starting one (`run`).
"""

from __future__ import annotations

from functools import partial

import click

from app.cli.connected import Connected, connected, in_project
from app.cli.output import CommandGroup
from app.cli.run_view import ENDED, FollowedRun, print_result, print_run, run_line, run_path

_STATES = ("queued", "running", *ENDED)


@click.group(name="runs", cls=CommandGroup)
def command() -> None:
    """List, show, follow and cancel runs of workflows."""


@command.command(name="list")
@click.option("--workflow", "-w", help="Only runs of this workflow.")
@click.option("--state", "-s", type=click.Choice(_STATES))
@click.option("--issue", "issue_number", type=click.IntRange(min=1), help="Only runs for this issue.")
@click.option("--limit", "-L", type=click.IntRange(1, 100), default=25, show_default=True)
@in_project
async def list_runs(
    daemon: Connected, workflow: str | None, state: str | None, issue_number: int | None, limit: int
) -> None:
    """List a project's runs, newest first."""
    params = {
        "project_id": await daemon.project_id(),
        "workflow": workflow,
        "state": state,
        "issue_number": issue_number,
        "limit": limit,
    }
    page = await daemon.client.request("GET", "/workflow-runs", params=params)
    rows = [
        (
            one["id"],
            one["state"],
            one["created_at"][:16].replace("T", " "),
            f"#{one['issue_number']}" if one["issue_number"] is not None else "",
            one["workflow"],
        )
        for one in page["items"]
    ]
    daemon.show_rows(
        page,
        ("ID", "STATE", "CREATED (UTC)", "ISSUE", "WORKFLOW"),
        rows,
        empty="no runs yet; start one with `kaged run NAME`",
        more=f"{len(rows)} of {page['total']}; more with --limit" if page["total"] > len(rows) else "",
    )


@command.command(name="show")
@click.argument("run_id", metavar="RUN")
@connected
async def show(daemon: Connected, run_id: str) -> None:
    """Show RUN (wfr_...) with its inputs and its output."""
    daemon.show(await daemon.client.request("GET", run_path(run_id)), print_run)


@command.command(name="follow")
@click.argument("run_id", metavar="RUN")
@connected
async def follow(daemon: Connected, run_id: str) -> int:
    """Follow RUN (wfr_...) to its end, as `kaged run` does. Ctrl-C leaves; the run continues."""
    run = await daemon.client.request("GET", run_path(run_id))
    followed = FollowedRun(daemon.client, run, silent=daemon.as_json, cancels=False)
    run = await followed.follow()
    daemon.show(run, partial(print_result, said=followed.said))
    return 0 if run["state"] == "succeeded" else 1


@command.command(name="cancel")
@click.argument("run_id", metavar="RUN")
@connected
async def cancel(daemon: Connected, run_id: str) -> None:
    """Cancel RUN (wfr_...), queued or running."""
    run = await daemon.client.request("POST", f"{run_path(run_id)}/cancel")
    daemon.show(run, run_line(run))
