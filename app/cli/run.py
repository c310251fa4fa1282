"""`kaged run`: start a workflow, follow it, print its result.

Owns: turning arguments into inputs. Never: following a run (`run_view`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from app.cli.client import DaemonClient
from app.cli.connected import Connected, in_project
from app.cli.daemon_address import path_part
from app.cli.dialogs import NotUnderstood, number_of, truth_of
from app.cli.file_upload import checked_file, upload
from app.cli.output import CommandFailed
from app.cli.run_view import FollowedRun, print_result

Pairs = Sequence[tuple[str, str]]


def _pairs(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Pairs:
    pairs: list[tuple[str, str]] = []
    for value in values:
        name, equals, rest = value.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"write NAME=VALUE, not {value!r}", ctx, parameter)
        if name in dict(pairs):
            raise click.BadParameter(f"{name} is given twice", ctx, parameter)
        pairs.append((name, rest))
    return pairs


@click.command(name="run")
@click.argument("name", required=False)
@click.option("--input", "-i", "inputs", multiple=True, callback=_pairs, help="NAME=VALUE; may be repeated.")
@click.option(
    "--file",
    "-f",
    "files",
    multiple=True,
    callback=_pairs,
    help="NAME=PATH: the file itself, or the text in it where the input is a text. May be repeated.",
)
@click.option("--issue", "issue_number", type=click.IntRange(min=1), help="The issue of the run.")
@click.option("--detach", "-d", is_flag=True, help="Start the run and exit; `kaged runs` shows it.")
@click.option(
    "--no-questions",
    is_flag=True,
    help="Cancel the run when it asks something, where nobody can answer (CI).",
)
@in_project
async def command(
    daemon: Connected,
    name: str | None,
    inputs: Pairs,
    files: Pairs,
    issue_number: int | None,
    detach: bool,
    no_questions: bool,
) -> int:
    """Start the workflow NAME and follow it; without NAME list the project's workflows.

    In a pipe only the workflow's output goes to standard output. Questions are asked at a terminal.
    Ctrl-C cancels the run; a second Ctrl-C leaves it running. Exits with 1 when the run does not succeed.
    """
    if name is None:
        if inputs or files or issue_number is not None or detach or no_questions:
            raise click.UsageError("name the workflow to start.")
        return await _list(daemon)
    both = sorted({key for key, _ in inputs} & {key for key, _ in files})
    if detach and no_questions:
        raise click.UsageError("--no-questions follows the run; leave out --detach.")
    if both:
        raise click.UsageError(f"{both[0]} is given by --input and by --file.")

    client, project_id = daemon.client, await daemon.project_id()
    declared = (await _workflow(client, project_id, name))["inputs"]
    body: dict[str, Any] = {"inputs": await _values(client, project_id, declared, inputs, files)}
    if issue_number is not None:
        body["issue_number"] = issue_number
    run = await client.request("POST", f"{_workflows(project_id)}/{path_part(name)}/invoke", body=body)
    if detach:
        daemon.show(run, f"{run['id']} {run['state']}; follow it with: kaged runs follow {run['id']}")
        return 0
    followed = FollowedRun(client, run, silent=daemon.as_json, cancels=True, asks=not no_questions)
    run = await followed.follow()
    daemon.show(run, partial(print_result, said=followed.said))
    return 0 if run["state"] == "succeeded" else 1


async def _list(daemon: Connected) -> int:
    page = await daemon.client.whole_list(_workflows(await daemon.project_id()))
    daemon.show_rows(
        page,
        ("NAME", "INPUTS", "DESCRIPTION"),
        [(one["name"], _inputs(one["inputs"]), one["description"]) for one in page["items"]],
        empty="the project has no workflows; declare one under `workflows:` in .kaged/project.yaml",
        more="start one with: kaged run NAME --input NAME=VALUE (* is required)",
    )
    return 0


def _workflows(project_id: str) -> str:
    return f"/projects/{path_part(project_id)}/workflows"


def _inputs(declared: Mapping[str, Mapping[str, Any]]) -> str:
    return " ".join(
        f"{name}{'*' if one['required'] and one['default'] is None else ''}:{one['type']}"
        for name, one in declared.items()
    )


async def _workflow(client: DaemonClient, project_id: str, name: str) -> dict[str, Any]:
    known = {one["name"]: one async for one in client.items(_workflows(project_id))}
    if name not in known:
        there = ", ".join(known) or "none"
        raise CommandFailed("workflow_not_found", f"there is no workflow {name!r}; the project's: {there}")
    return dict(known[name])


async def _values(
    client: DaemonClient, project_id: str, declared: Mapping[str, Any], inputs: Pairs, files: Pairs
) -> dict[str, Any]:
    """Return the inputs for the daemon, which refuses undeclared names. All are checked before a file is
    uploaded."""
    values: dict[str, Any] = {}
    uploads: dict[str, Path] = {}
    for name, text in inputs:
        kind = declared.get(name, {}).get("type", "string")
        if kind == "file" and not text.startswith("upl_"):
            uploads[name] = checked_file(Path(text))
        else:
            values[name] = _value(name, kind, text)
    for name, path in files:
        if declared.get(name, {}).get("type", "file") == "file":
            uploads[name] = checked_file(Path(path))
        else:
            values[name] = _value(name, declared[name]["type"], _text_in(path))
    for name, found in uploads.items():
        values[name] = (await upload(client, project_id, found))["id"]
    return values


def _value(name: str, kind: str, text: str) -> Any:
    try:
        match kind:
            case "number":
                return number_of(text.strip())
            case "integer":
                return int(text)
            case "boolean":
                return truth_of(text.strip())
            case _:
                return text
    except NotUnderstood as problem:
        wanted = "write true or false" if kind == "boolean" else str(problem)
        raise click.UsageError(f"input {name}: {wanted}.") from None
    except ValueError:
        raise click.UsageError(f"input {name}: {text!r} is no whole number.") from None


def _text_in(path: str) -> str:
    if path == "-":
        return sys.stdin.read()
    try:
        return checked_file(Path(path)).read_text("utf-8")
    except UnicodeDecodeError:
        raise click.UsageError(f"{path} is no text in UTF-8.") from None
