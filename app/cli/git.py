"""`kaged git`: status, diff, staging, commits and branches of a project's repository.

Owns: these commands. Never: git, which the daemon runs; it may be on another machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from app.cli.changes import digests_of
from app.cli.connected import Connected, in_project, text_or_file
from app.cli.conversation import open_project
from app.cli.daemon_address import path_part
from app.cli.output import CommandFailed, CommandGroup, print_text, print_warning

HOOK_SECONDS = 330.0
"""How long a commit with hooks may take: the daemon ends them after 300 seconds."""
_PAGE = 100
_LETTERS = {"added": "A", "modified": "M", "deleted": "D", "renamed": "R", None: " "}
_COLORS = {"+": "green", "-": "red"}


@click.group(name="git", cls=CommandGroup)
def command() -> None:
    """Show, stage and commit changes of a project's repository; create and switch branches."""


def print_hook_output(failure: CommandFailed) -> None:
    """Print the output of a hook that refused a commit."""
    if failure.details.get("output"):
        print_warning(str(failure.details["output"]))


class _Repository:
    """The project's routes, and its folder, to which the paths of the caller lead."""

    def __init__(self, daemon: Connected, project: Mapping[str, Any]) -> None:
        self._client = daemon.client
        self._path = f"/projects/{path_part(str(project['id']))}/git"
        self._root = Path(str(project["root"]))

    @classmethod
    async def open(cls, daemon: Connected) -> _Repository:
        return cls(daemon, await open_project(daemon.client, daemon.project))

    async def get(self, what: str, params: Mapping[str, Any]) -> Any:
        return await self._client.request("GET", f"{self._path}/{what}", params=params)

    async def post(self, what: str, body: Mapping[str, Any], *, seconds: float | None = None) -> Any:
        sent = {name: value for name, value in body.items() if value not in (None, False, [])}
        return await self._client.request("POST", f"{self._path}/{what}", body=sent, seconds=seconds)

    async def status(self) -> dict[str, Any]:
        """Return the status with the files of all pages."""
        status: dict[str, Any] = await self.get("status", {"limit": _PAGE})
        cursor = status["next_cursor"]
        while cursor is not None:
            page = await self.get("status", {"limit": _PAGE, "cursor": cursor})
            status["items"] += page["items"]
            cursor = page["next_cursor"]
        return {**status, "next_cursor": None}

    async def branches(self) -> dict[str, Any]:
        return await self._client.whole_list(f"{self._path}/branches")

    def addresses(self, paths: Sequence[str]) -> list[str]:
        """Return paths, which are relative to the current folder, as the daemon knows them."""
        from app.workspace.any_names import PREFIX, address_of

        here = Path.cwd()
        inside = here.is_relative_to(self._root) or here.resolve().is_relative_to(self._root.resolve())
        found = []
        for path in paths:
            if path.startswith(PREFIX) or not (inside or os.path.isabs(path)):
                found.append(path)  # as the status names it
                continue
            whole = Path(os.path.normpath(here / path))
            root = next(
                (one for one in (self._root, self._root.resolve()) if whole.is_relative_to(one)), None
            )
            if root is None:
                raise CommandFailed("outside_project", f"{path} is not in the project at {self._root}")
            found.append(address_of(os.fsencode(whole.relative_to(root))))
        return found


@command.command(name="status", short_help="Show the branch and the files that differ.")
@in_project
async def status(daemon: Connected) -> None:
    """Show the branch and the files that differ from the last commit."""
    repository = await _Repository.open(daemon)
    daemon.show(await repository.status(), _print_status)


@command.command(name="diff", short_help="Show differences, with the numbers of hunks.")
@click.argument("paths", nargs=-1)
@click.option("--staged", is_flag=True, help="Show what is staged, compared with the last commit.")
@in_project
async def diff(daemon: Connected, paths: tuple[str, ...], staged: bool) -> None:
    """Show what is not staged in PATHS (default: all files). `kaged git stage --hunk` takes the number of a
    hunk."""
    repository = await _Repository.open(daemon)
    files = repository.addresses(paths)
    if not files:
        state = "staged" if staged else "unstaged"
        items = (await repository.status())["items"]
        files = [one["path"] for one in items if one[state] or (not staged and one["untracked"])]
    found = [await repository.get("diff", {"path": path, "staged": staged}) for path in files]
    daemon.show({"items": found}, lambda answer: _print_diffs(answer["items"]))


@command.command(name="stage", short_help="Stage files, or hunks of one file.")
@click.argument("paths", nargs=-1, required=True)
@click.option("--hunk", "hunks", multiple=True, metavar="N",
              help="Only this hunk: its number in `kaged git diff PATH`, or its digest. Repeatable.",
              )  # fmt: skip
@in_project
async def stage(daemon: Connected, paths: tuple[str, ...], hunks: tuple[str, ...]) -> None:
    """Stage PATHS (files or folders) as they are now, or hunks of one file."""
    await _stage(daemon, "stage", paths, hunks)


@command.command(name="unstage", short_help="Unstage files, or hunks of one file.")
@click.argument("paths", nargs=-1, required=True)
@click.option("--hunk", "hunks", multiple=True, metavar="N",
              help="Only this hunk: its number in `kaged git diff --staged PATH`, or its digest. Repeatable.",
              )  # fmt: skip
@in_project
async def unstage(daemon: Connected, paths: tuple[str, ...], hunks: tuple[str, ...]) -> None:
    """Take PATHS, or hunks of one file, out of the next commit. The files stay as they are."""
    await _stage(daemon, "unstage", paths, hunks)


@command.command(name="commit", short_help="Commit what is staged, or PATHS.")
@click.argument("paths", nargs=-1)
@click.option("--message", "-m", help="The message; `-` is standard input.")
@click.option("--file", "-F", "file", help="A file with the message; `-` is standard input.")
@click.option("--amend", is_flag=True, help="Replace the last commit; its message stays without -m.")
@click.option("--hooks", is_flag=True, help="Run the hooks of the repository; the project must be trusted.")
@click.option("--allow-empty", is_flag=True, help="Commit even if nothing has changed.")
@click.option("--unsigned", is_flag=True, help="Commit without the signature that git's settings require.")
@in_project
async def commit(
    daemon: Connected, paths: tuple[str, ...], message: str | None, file: str | None, **options: bool
) -> None:
    """Commit what is staged, or only PATHS as they are now. The author comes from git's settings."""
    said = text_or_file(message, file, name="message")
    if said is None and not options["amend"]:
        raise click.UsageError("give the message with -m or -F.")
    repository = await _Repository.open(daemon)
    body = {"message": said, "paths": repository.addresses(paths), **options}
    try:
        made = await repository.post("commit", body, seconds=HOOK_SECONDS if options["hooks"] else None)
    except CommandFailed as failure:
        print_hook_output(failure)
        raise
    files = "1 file" if made["total_files"] == 1 else f"{made['total_files']} files"
    where = made["branch"] or "detached HEAD"
    daemon.show(made, f"{made['commit'][:10]} on {where}: {made['subject']} ({files})")


@command.command(name="branch", short_help="List the branches, or create one.")
@click.argument("name", required=False)
@click.option(
    "--from", "start", help="The commit or branch at which it starts (default: the current commit)."
)
@click.option("--switch", is_flag=True, help="Also check it out.")
@in_project
async def branch(daemon: Connected, name: str | None, start: str | None, switch: bool) -> None:
    """List the branches, or create the branch NAME."""
    repository = await _Repository.open(daemon)
    if name is None:
        if start is not None or switch:
            raise click.UsageError("give the NAME of the new branch.")
        answer = await repository.branches()
        rows = [
            ["*" if one["current"] else "", one["name"], one["commit"][:10], _tracking(one), one["subject"]]
            for one in answer["items"]
        ]
        header = ("", "BRANCH", "COMMIT", "UPSTREAM", "SUBJECT")
        daemon.show_rows(answer, header, rows, empty="there is no branch yet")
        return
    made = await repository.post("branches", {"name": name, "from": start, "switch": switch})
    done = "created and checked out" if made["switched"] else "created"
    daemon.show(made, f"{done} {made['branch']} at {made['commit'][:10]}")


@command.command(name="switch", short_help="Switch to a branch.")
@click.argument("name")
@in_project
async def switch_to(daemon: Connected, name: str) -> None:
    """Switch to the branch NAME. Refused when changes that are not committed would be overwritten."""
    repository = await _Repository.open(daemon)
    made = await repository.post("switch", {"name": name})
    daemon.show(made, f"on {made['branch']} at {made['commit'][:10]}")


async def _stage(daemon: Connected, what: str, paths: tuple[str, ...], hunks: tuple[str, ...]) -> None:
    if hunks and len(paths) != 1:
        raise click.UsageError("--hunk is for one PATH.")
    repository = await _Repository.open(daemon)
    addresses = repository.addresses(paths)
    body: dict[str, Any] = {"paths": addresses}
    if hunks:
        params = {"path": addresses[0], "staged": what == "unstage"}
        body = {"path": addresses[0], "hunks": digests_of(await repository.get("diff", params), hunks)}
    answer = await repository.post(what, body)
    counts = answer["counts"]
    daemon.show(answer, f"{counts['staged']} staged, {_unstaged(counts)}")


def _unstaged(counts: Mapping[str, int]) -> str:
    told = f"{counts['unstaged']} not staged, {counts['untracked']} untracked"
    return f"{told}, {counts['conflicted']} with conflicts" if counts["conflicted"] else told


def _print_status(status: Mapping[str, Any]) -> None:
    print_text(_where(status), bold=True)
    if status["operation"]:
        print_text(f"a {status['operation'].replace('_', ' ')} is in progress", color="yellow")
    for one in status["items"]:
        marks = _LETTERS[one["staged"]] + _LETTERS[one["unstaged"]]
        marks = "??" if one["untracked"] else "UU" if one["conflict"] else marks
        was = f"{one['old_path']} -> " if one["old_path"] else ""
        note = f" ({one['conflict'].replace('_', ' ')})" if one["conflict"] else ""
        print_text(f"{marks} {was}{one['path']}{note}".replace("\n", "\\n"))
    counts = status["counts"]
    print_text(f"{counts['staged']} staged, {_unstaged(counts)}", dim=True)
    for path in status["left_out"]:
        print_text(f"not compared, because it belongs to kaged's daemon: {path}", dim=True)
    if status["staged_outside"]:
        print_text(f"{status['staged_outside']} more are staged outside of the project", color="yellow")


def _where(status: Mapping[str, Any]) -> str:
    name = status["branch"] or "detached HEAD"
    commit = status["commit"][:10] if status["commit"] else "no commits yet"
    if status["upstream"] is None:
        return f"{name} ({commit})"
    return f"{name} ({commit}), {_counts(status['upstream'], status['ahead'] or 0, status['behind'] or 0)}"


def _tracking(one: Mapping[str, Any]) -> str:
    if one["upstream"] is None:
        return ""
    if one["upstream_gone"]:
        return f"{one['upstream']}: gone"
    return _counts(one["upstream"], one["ahead"], one["behind"])


def _counts(upstream: str, ahead: int, behind: int) -> str:
    parts = [f"{count} {word}" for count, word in ((ahead, "ahead"), (behind, "behind")) if count]
    return f"{upstream}: {', '.join(parts)}" if parts else upstream


def _print_diffs(files: Sequence[Mapping[str, Any]]) -> None:
    if not any(one["hunks"] or one["binary"] or one["old_mode"] != one["new_mode"] for one in files):
        print_text("nothing has changed")
    for one in files:
        print_text(str(one["path"]).replace("\n", "\\n"), bold=True)
        if one["binary"]:
            print_text("its content is binary")
        elif one["old_mode"] != one["new_mode"]:
            print_text(f"mode {one['old_mode'] or 'none'} -> {one['new_mode'] or 'none'}", dim=True)
        for number, hunk in enumerate(one["hunks"], 1):
            print_text(f"{hunk['header']}    hunk {number}  [{hunk['digest']}]", color="cyan")
            for kind, text in hunk["lines"]:
                print_text(kind + text, color=_COLORS.get(kind))
