"""`kaged runs`: list, show, follow and cancel workflow runs.

Owns: those four. Never: starting one (`run`).
"""

from __future__ import annotations

from typing import Any

import click

from app.cli.client import DaemonClient
from app.cli.connected import Connected, connected, in_project
from app.cli.output import CommandGroup, print_json, print_table, print_text
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
def list_runs(
    daemon: Connected, workflow: str | None, state: str | None, issue_number: int | None, limit: int
) -> None:
    """List a project's runs, newest first."""

    async def ask(client: DaemonClient) -> dict[str, Any]:
        params = {
            "project_id": await daemon.project_id(client),
            "workflow": workflow,
            "state": state,
            "issue_number": issue_number,
            "limit": limit,
        }
        page: dict[str, Any] = await client.request("GET", "/workflow-runs", params=params)
        return page

    page = daemon.run(ask)
    if daemon.as_json:
        print_json(page)
        return
    if not page["items"]:
        print_text("no runs yet; start one with `kaged run NAME`")
        return
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
    print_table(("ID", "STATE", "CREATED (UTC)", "ISSUE", "WORKFLOW"), rows)
    if page["total"] > len(rows):
        print_text(f"{len(rows)} of {page['total']}; more with --limit", dim=True)


@command.command(name="show")
@click.argument("run_id", metavar="RUN")
@connected
def show(daemon: Connected, run_id: str) -> None:
    """Show RUN (wfr_...) with its inputs and its output."""

    async def ask(client: DaemonClient) -> dict[str, Any]:
        run: dict[str, Any] = await client.request("GET", run_path(run_id))
        return run

    run = daemon.run(ask)
    if daemon.as_json:
        print_json(run)
    else:
        print_run(run)


@command.command(name="follow")
@click.argument("run_id", metavar="RUN")
@connected
def follow(daemon: Connected, run_id: str) -> int:
    """Follow RUN (wfr_...) to its end, as `kaged run` does. Ctrl-C leaves; the run continues."""

    async def watch(client: DaemonClient) -> tuple[dict[str, Any], bool]:
        run = await client.request("GET", run_path(run_id))
        followed = FollowedRun(client, run, silent=daemon.as_json, cancels=False)
        return await followed.follow(), followed.said

    run, said = daemon.run(watch)
    if daemon.as_json:
        print_json(run)
    else:
        print_result(run, said=said)
    return 0 if run["state"] == "succeeded" else 1


@command.command(name="cancel")
@click.argument("run_id", metavar="RUN")
@connected
def cancel(daemon: Connected, run_id: str) -> None:
    """Cancel RUN (wfr_...), queued or running."""

    async def stop(client: DaemonClient) -> dict[str, Any]:
        run: dict[str, Any] = await client.request("POST", f"{run_path(run_id)}/cancel")
        return run

    run = daemon.run(stop)
    if daemon.as_json:
        print_json(run)
    else:
        print_text(run_line(run))
