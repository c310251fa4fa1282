"""The commands of `kaged session` that steer one session: runs, model, queue, proposals, rollbacks, forks.

Owns: those commands. Never: what they do, which is the daemon's; following a run, which `attach` does.
"""

from __future__ import annotations

from typing import Any

import click

from app.cli.client import DaemonClient
from app.cli.connected import Connected, connected, in_project
from app.cli.conversation import path_of
from app.cli.daemon_address import path_part
from app.cli.output import CommandFailed, print_text

_SHOWN = 60


@click.command(name="pause")
@click.argument("session")
@click.option("--reason", help="The reason, shown with the session.")
@connected
async def pause(daemon: Connected, session: str, reason: str | None) -> None:
    """Pause the run of SESSION (an id, or `last`); the partial answer is kept."""
    path = await path_of(daemon.client, session)
    body = {} if reason is None else {"reason": reason}
    answer = await daemon.client.request("POST", f"{path}/pause", body=body)
    daemon.show(
        answer, f"{answer['id']}: {answer['state']}; `kaged session resume {answer['id']}` continues it"
    )


@click.command(name="resume")
@click.argument("session")
@click.option("--checkpoint", metavar="CKP", help="Resume from this checkpoint instead of the newest.")
@connected
async def resume(daemon: Connected, session: str, checkpoint: str | None) -> None:
    """Resume SESSION (an id, or `last`) where it was paused."""
    path = await path_of(daemon.client, session)
    body = {} if checkpoint is None else {"checkpoint_id": checkpoint}
    answer = await daemon.client.request("POST", f"{path}/resume", body=body)
    session_id = path.rpartition("/")[2]
    if answer["run"] is None:
        daemon.show(answer, f"{session_id}: nothing was left to do")
    else:
        daemon.show(
            answer,
            f"{session_id}: continues as {answer['run']['id']}; `kaged attach {session_id}` follows it",
        )


@click.command(name="cancel")
@click.argument("session")
@click.option("--run", "run_id", metavar="RUN", help="Cancel only this run; it may be a subagent's.")
@connected
async def cancel(daemon: Connected, session: str, run_id: str | None) -> None:
    """Cancel the run of SESSION (an id, or `last`); the partial answer is kept."""
    path = await path_of(daemon.client, session)
    target = path if run_id is None else f"/runs/{path_part(run_id)}"
    answer = await daemon.client.request("POST", f"{target}/cancel")
    daemon.show(answer, f"{answer['id']}: {answer['state']}")


@click.command(name="retry")
@click.argument("session")
@click.option("--run", "run_id", metavar="RUN", help="The failed run (default: the newest of the session).")
@click.option("--model", metavar="MODEL", help="Retry with this model (an alias or provider:model).")
@connected
async def retry(daemon: Connected, session: str, run_id: str | None, model: str | None) -> None:
    """Retry the failed run of SESSION (an id, or `last`) with the same message."""
    path = await path_of(daemon.client, session)
    if run_id is None:
        newest = (await daemon.client.request("GET", f"{path}/runs", params={"limit": 1}))["items"]
        if not newest:
            raise CommandFailed("not_found", "the session has no run yet; post a message with `kaged send`")
        run_id = newest[0]["id"]
    body = {"model": model} if model is not None else None
    answer = await daemon.client.request("POST", f"/runs/{path_part(run_id)}/retry", body=body)
    follow = f"`kaged attach {answer['session_id']}` follows it"
    daemon.show(answer, f"{answer['retry_of']}: retried as {answer['id']}; {follow}")


@click.command(name="model")
@click.argument("session")
@click.argument("model", required=False)
@click.option("--default", "default", is_flag=True, help="Use the agent's own model again.")
@connected
async def model(daemon: Connected, session: str, model: str | None, default: bool) -> None:
    """Use MODEL (an alias or provider:model) for SESSION (an id, or `last`) from its next run on."""
    if (model is None) is not default:
        raise click.UsageError("give a MODEL, or --default.")
    path = await path_of(daemon.client, session)
    answer = await daemon.client.request("PATCH", path, body={"model": model})
    daemon.show(answer, f"{answer['id']}: {model or 'the model of its agent'}, from the next run on")


@click.command(name="queue")
@click.argument("session")
@connected
async def queue(daemon: Connected, session: str) -> None:
    """List the queued messages of SESSION (an id, or `last`)."""
    path = await path_of(daemon.client, session)
    found = [one async for one in daemon.client.items(f"{path}/messages") if one["position"] is None]
    rows = [(one["id"], one["delivery"], " ".join(one["content"].split())[:_SHOWN]) for one in found]
    daemon.show_rows({"items": found}, ("ID", "DELIVERY", "TEXT"), rows, empty="no message is queued")


@click.command(name="edit")
@click.argument("session")
@click.argument("message")
@click.argument("text")
@connected
async def edit(daemon: Connected, session: str, message: str, text: str) -> None:
    """Change the text of the queued MESSAGE of SESSION to TEXT."""
    path = await path_of(daemon.client, session)
    changed = await daemon.client.request(
        "PATCH", f"{path}/messages/{path_part(message)}", body={"content": text}
    )
    daemon.show(changed, f"{changed['id']}: changed; it is still queued")


@click.command(name="unqueue")
@click.argument("session")
@click.argument("message")
@connected
async def unqueue(daemon: Connected, session: str, message: str) -> None:
    """Remove the queued MESSAGE of SESSION."""
    path = await path_of(daemon.client, session)
    await daemon.client.request("DELETE", f"{path}/messages/{path_part(message)}")
    daemon.show({"id": message, "removed": True}, f"{message}: removed")


@click.command(name="proposals")
@click.argument("session", default="last")
@click.option(
    "--accept", "accepted", multiple=True, metavar="ID", help="Accept this proposal; may be repeated."
)
@click.option(
    "--reject", "rejected", multiple=True, metavar="ID", help="Reject this proposal; may be repeated."
)
@click.option("--all", "every", is_flag=True, help="Include decided proposals.")
@in_project
async def proposals(
    daemon: Connected, session: str, accepted: tuple[str, ...], rejected: tuple[str, ...], every: bool
) -> None:
    """List what subagents of SESSION (an id, or `last`) proposed for the checklist of its issue."""
    path = f"{await path_of(daemon.client, session, daemon.project)}/todo-proposals"
    await _decide(daemon.client, path, accepted, "accept")
    await _decide(daemon.client, path, rejected, "reject")
    decided = (*accepted, *rejected)
    params = {} if every or decided else {"state": "proposed"}
    items = [one async for one in daemon.client.items(path, params=params)]
    if decided:
        items = [one for one in items if one["id"] in decided]
    rows = [(one["id"], one["state"], one["kind"], one["agent_path"], one["content"]) for one in items]
    daemon.show_rows(
        {"items": items}, ("ID", "STATE", "KIND", "FROM", "WHAT"), rows, empty="no proposal is open"
    )


async def _decide(client: DaemonClient, path: str, ids: tuple[str, ...], decision: str) -> None:
    for one in ids:
        await client.request("POST", f"{path}/{path_part(one)}/{decision}")


@click.command(name="rollback")
@click.argument("session")
@click.argument("place")
@click.option("--files", is_flag=True, help="Also restore the files that agents wrote since.")
@click.option("--stage", is_flag=True, help="With --files: show what would be restored, and change nothing.")
@click.option("--force", is_flag=True, help="With --files: also restore files that others changed.")
@connected
async def roll_back(
    daemon: Connected, session: str, place: str, files: bool, stage: bool, force: bool
) -> None:
    """Rewind SESSION (an id, or `last`) to PLACE: a checkpoint (ckp_...) or a message (msg_...)."""
    if (stage or force) and not files:
        raise click.UsageError("--stage and --force go with --files.")
    body: dict[str, Any] = {"checkpoint_id" if place.startswith("ckp_") else "message_id": place}
    body |= {"files": files, "stage": stage, "force": force}
    path = await path_of(daemon.client, session)
    answer = await daemon.client.request("POST", f"{path}/rollback", body=body)
    daemon.show(answer, _print_plan if stage else _print_rollback)


def _print_plan(answer: dict[str, Any]) -> None:
    for file in answer["restored"]:
        print_text(f"{file['change']}: {file['path']}")
    _print_conflicts(answer["conflicts"])


def _print_rollback(answer: dict[str, Any]) -> None:
    print_text(f"{answer['id']}: {answer['messages']} messages removed; `undo` restores them")
    if answer["files"] is not None:
        print_text(f"{len(answer['files']['restored'])} files restored")
        _print_conflicts(answer["files"]["conflicts"])


@click.command(name="undo")
@click.argument("session")
@click.argument("rollback")
@click.option("--force", is_flag=True, help="Also restore files that were changed since.")
@connected
async def undo(daemon: Connected, session: str, rollback: str, force: bool) -> None:
    """Undo ROLLBACK (rbk_...) of SESSION (an id, or `last`)."""
    path = await path_of(daemon.client, session)
    answer = await daemon.client.request(
        "POST", f"{path}/rollbacks/{path_part(rollback)}/undo", body={"force": force}
    )
    daemon.show(answer, _print_undone)


def _print_undone(answer: dict[str, Any]) -> None:
    print_text(f"{answer['messages']} messages restored")
    if answer["files"] is not None:
        _print_conflicts(answer["files"]["undo_conflicts"])


@click.command(name="fork")
@click.argument("session")
@click.argument("message")
@connected
async def fork(daemon: Connected, session: str, message: str) -> None:
    """Start a new session with the conversation of SESSION (an id, or `last`) up to MESSAGE (msg_...)."""
    path = await path_of(daemon.client, session)
    made = await daemon.client.request("POST", f"{path}/fork", body={"message_id": message})
    daemon.show(made, f"{made['id']} {made['title']}")


def _print_conflicts(conflicts: list[dict[str, str]]) -> None:
    for file in conflicts:
        print_text(f"not restored: {file['path']}: {file['reason']}", dim=True)


CONTROL = (pause, resume, cancel, retry, model, queue, edit, unqueue, roll_back, undo, fork, proposals)
