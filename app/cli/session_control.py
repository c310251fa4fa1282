"""`kaged session pause`, `resume`, `cancel`, `retry` and `model`: what a session runs, and with what.

Owns: those commands. Never: what they do, which is the daemon's; following the run, which `attach` does.
"""

from __future__ import annotations

from typing import Any

import click

from app.cli.client import DaemonClient
from app.cli.connected import Connected, connected
from app.cli.conversation import find_session, post_to_session, session_path
from app.cli.output import print_json, print_text


@click.command(name="pause")
@click.argument("session")
@click.option("--reason", help="The reason, shown with the session.")
@connected
def pause(daemon: Connected, session: str, reason: str | None) -> None:
    """Pause the run of SESSION (an id, or `last`); the partial answer is kept."""
    body = {} if reason is None else {"reason": reason}
    _, answer = daemon.run(lambda client: post_to_session(client, session, "/pause", body))
    daemon.show(
        answer, f"{answer['id']}: {answer['state']}; `kaged session resume {answer['id']}` continues it"
    )


@click.command(name="resume")
@click.argument("session")
@click.option("--checkpoint", metavar="CKP", help="Resume from this checkpoint instead of the newest.")
@connected
def resume(daemon: Connected, session: str, checkpoint: str | None) -> None:
    """Resume SESSION (an id, or `last`) where it was paused."""
    body = {} if checkpoint is None else {"checkpoint_id": checkpoint}
    session_id, answer = daemon.run(lambda client: post_to_session(client, session, "/resume", body))
    if daemon.as_json:
        print_json(answer)
    elif answer["run"] is None:
        print_text(f"{session_id}: nothing was left to do")
    else:
        print_text(f"{session_id}: goes on as {answer['run']['id']}; `kaged attach {session_id}` shows it")


@click.command(name="cancel")
@click.argument("session")
@click.option("--run", "run_id", metavar="RUN", help="Cancel only this run; it may be a subagent's.")
@connected
def cancel(daemon: Connected, session: str, run_id: str | None) -> None:
    """Cancel the run of SESSION (an id, or `last`); the partial answer is kept."""
    if run_id is not None:
        answer = daemon.run(lambda client: _of_run(client, session, run_id, "cancel"))
    else:
        _, answer = daemon.run(lambda client: post_to_session(client, session, "/cancel", None))
    daemon.show(answer, f"{answer['id']}: {answer['state']}")


@click.command(name="retry")
@click.argument("session")
@click.option("--run", "run_id", metavar="RUN", help="The failed run (default: the newest of the session).")
@connected
def retry(daemon: Connected, session: str, run_id: str | None) -> None:
    """Retry the failed run of SESSION (an id, or `last`) with the same message."""
    answer = daemon.run(lambda client: _of_run(client, session, run_id, "retry"))
    if daemon.as_json:
        print_json(answer)
    else:
        hint = f"`kaged attach {answer['session_id']}` shows it"
        print_text(f"{answer['retry_of']}: tried again as {answer['id']}; {hint}")


@click.command(name="model")
@click.argument("session")
@click.argument("model", required=False)
@click.option("--default", "default", is_flag=True, help="Use the agent's own model again.")
@connected
def model(daemon: Connected, session: str, model: str | None, default: bool) -> None:
    """Use MODEL (an alias or provider:model) for SESSION (an id, or `last`) from its next run on."""
    if (model is None) is not default:
        raise click.UsageError("give a MODEL, or --default.")

    async def change(client: DaemonClient) -> Any:
        found = await find_session(client, session, None)
        return await client.request("PATCH", session_path(found["id"]), body={"model": model})

    answer = daemon.run(change)
    daemon.show(answer, f"{answer['id']}: {model or 'the model of its agent'}, from the next run on")


async def _of_run(client: DaemonClient, session: str, run_id: str | None, command: str) -> Any:
    """Do something with a run of a session, the newest one when none is named."""
    path = session_path((await find_session(client, session, None))["id"])
    if run_id is None:
        newest = (await client.request("GET", f"{path}/runs", params={"limit": 1}))["items"]
        if not newest:
            raise click.UsageError("the session has no run yet.")
        run_id = newest[0]["id"]
    return await client.request("POST", f"/runs/{run_id}/{command}")
