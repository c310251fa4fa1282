"""`kaged run`: start a workflow, follow it, print what it has made.

Owns: turning what is typed into inputs, and Ctrl-C as cancel. Never: following (`run_view`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from app.cli.client import DaemonClient
from app.cli.connected import Connected, in_project
from app.cli.dialogs import NotUnderstood, number_of, truth_of
from app.cli.file_upload import checked_file, upload
from app.cli.output import CommandFailed, print_json, print_table, print_text
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
@in_project
def command(
    daemon: Connected,
    name: str | None,
    inputs: Pairs,
    files: Pairs,
    issue_number: int | None,
    detach: bool,
) -> int:
    """Start the workflow NAME and follow it; without NAME list the project's workflows.

    In a pipe only the workflow's output goes to standard output. Questions are asked at a terminal.
    Ctrl-C cancels the run; a second one leaves it as it is. Exits 1 when it does not succeed.
    """
    if name is None:
        if inputs or files or issue_number is not None or detach:
            raise click.UsageError("name the workflow to start.")
        return _list(daemon)
    both = sorted({key for key, _ in inputs} & {key for key, _ in files})
    if both:
        raise click.UsageError(f"{both[0]} is given by --input and by --file.")

    said = False

    async def work(client: DaemonClient) -> Mapping[str, Any]:
        nonlocal said
        project_id = await daemon.project_id(client)
        declared = (await _workflow(client, project_id, name))["inputs"]
        body: dict[str, Any] = {"inputs": await _values(client, project_id, declared, inputs, files)}
        if issue_number is not None:
            body["issue_number"] = issue_number
        path = f"/projects/{quote(project_id, safe='')}/workflows/{quote(name, safe='')}/invoke"
        run: dict[str, Any] = await client.request("POST", path, body=body)
        if detach:
            return run
        followed = FollowedRun(client, run, silent=daemon.as_json, cancels=True)
        run = await followed.follow()
        said = followed.said
        return run

    run = daemon.run(work)
    if detach and not daemon.as_json:
        print_text(f"{run['id']} {run['state']}; follow it with: kaged runs follow {run['id']}")
        return 0
    if daemon.as_json:
        print_json(run)
    else:
        print_result(run, said=said)
    return 0 if detach or run["state"] == "succeeded" else 1


def _list(daemon: Connected) -> int:
    async def ask(client: DaemonClient) -> dict[str, Any]:
        path = f"/projects/{quote(await daemon.project_id(client), safe='')}/workflows"
        return await client.whole_list(path)

    page = daemon.run(ask)
    if daemon.as_json:
        print_json(page)
    elif not page["items"]:
        print_text("the project has no workflows; declare one under `workflows:` in .kaged/project.yaml")
    else:
        rows = [(one["name"], _inputs(one["inputs"]), one["description"]) for one in page["items"]]
        print_table(("NAME", "INPUTS", "DESCRIPTION"), rows)
        print_text("start one with: kaged run NAME --input NAME=VALUE (* is needed)", dim=True)
    return 0


def _inputs(declared: Mapping[str, Mapping[str, Any]]) -> str:
    return " ".join(
        f"{name}{'*' if one['required'] and one['default'] is None else ''}:{one['type']}"
        for name, one in declared.items()
    )


async def _workflow(client: DaemonClient, project_id: str, name: str) -> dict[str, Any]:
    path = f"/projects/{quote(project_id, safe='')}/workflows"
    known = {one["name"]: one async for one in client.items(path)}
    if name not in known:
        there = ", ".join(known) or "none"
        raise CommandFailed("workflow_not_found", f"there is no workflow {name!r}; the project's: {there}")
    return dict(known[name])


async def _values(
    client: DaemonClient, project_id: str, declared: Mapping[str, Any], inputs: Pairs, files: Pairs
) -> dict[str, Any]:
    """Return the inputs as the daemon takes them. All are looked at before a file is uploaded; a name
    that is not declared goes along, for the daemon to say what there is."""
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
