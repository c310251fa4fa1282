"""What commands that merge a workspace share: their options, the request, and what is shown of a merge.

Owns: the options of `kaged workspace merge` and `kaged attempts pick`. Never: which workspace is merged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from app.cli.connected import Connected
from app.cli.git import HOOK_SECONDS, print_hook_output
from app.cli.output import CommandFailed, print_text


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """How an operator wants a merge, as given on the command line."""

    into: str
    create: bool
    strategy: str
    message: str | None
    hooks: bool
    dry_run: bool
    to_agent: bool
    diff: bool

    async def post(self, daemon: Connected, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Request the merge, with what else the `body` says. Prints what hooks said when it fails."""
        body = {**(body or {}), "into": self.into, "strategy": self.strategy, "dry_run": self.dry_run}
        body |= {} if self.message is None else {"message": self.message}
        body |= {"create": True} if self.create else {}
        body |= {"conflicts": "agent"} if self.to_agent else {}
        body |= {"hooks": True} if self.hooks else {}
        seconds = HOOK_SECONDS if self.hooks else None
        try:
            answer: dict[str, Any] = await daemon.client.request("POST", path, body=body, seconds=seconds)
        except CommandFailed as failure:
            print_hook_output(failure)
            raise
        return answer


_OPTIONS = (
    click.option(
        "--into",
        default="working_tree",
        show_default=True,
        help="`working_tree` (the checkout's files, uncommitted), or a branch.",
    ),
    click.option("--create", is_flag=True, help="Create the branch of --into if it does not exist."),
    click.option(
        "--strategy",
        type=click.Choice(["squash", "merge"]),
        default="squash",
        show_default=True,
        help="On a branch: one commit, or a merge commit.",
    ),
    click.option("--message", "-m", help="The message of the commit on a branch."),
    click.option(
        "--hooks",
        is_flag=True,
        help="Run the hooks of the repository; only for a commit on the branch that is checked out.",
    ),
    click.option("--dry-run", is_flag=True, help="Show what would change; change nothing."),
    click.option("--to-agent", is_flag=True, help="Let the agent resolve conflicts in its workspace."),
    click.option("--diff", is_flag=True, help="With --dry-run: also show the diff."),
)


def merge_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a merge; it gets them as `wish`."""

    @wraps(command)
    def gathered(
        *arguments: Any,
        into: str,
        create: bool,
        strategy: str,
        message: str | None,
        hooks: bool,
        dry_run: bool,
        to_agent: bool,
        diff: bool,
        **others: object,
    ) -> Any:
        if diff and not dry_run:
            raise click.UsageError("--diff goes with --dry-run.")
        wish = MergeOptions(into, create, strategy, message, hooks, dry_run, to_agent, diff)
        return command(*arguments, wish=wish, **others)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


def exit_code(merged: dict[str, Any]) -> int:
    """Return 1 when conflicts or blocked files prevent a merge."""
    return 1 if merged["conflicts"] or merged["blocked"] else 0


def print_merge(found: dict[str, Any], session_id: str, *, diff: bool) -> None:
    """Print a merge, done or refused, of a session's workspace."""
    for file in found["files"]:
        lines = "binary" if file["additions"] is None else f"+{file['additions']} -{file['deletions']}"
        print_text(f"{file['status']}: {file['path']} ({lines})")
    for path in found["conflicts"]:
        print_text(f"conflict: {path}")
    for path, reason in found["blocked"].items():
        print_text(f"blocked: {path}: {reason}")
    if diff:
        print_text(found["diff"])
    if found["given_to_agent"]:
        print_text(
            "the agent was asked to resolve the conflicts in its workspace;"
            f" `kaged attach {session_id} --until-idle` waits for it; then merge again"
        )
        return
    if found["dry_run"]:
        print_text("nothing was changed", dim=True)
    else:
        commit = f" as {found['commit'][:12]}" if found["commit"] else ""
        count = len(found["files"])
        print_text(f"{count} {'file' if count == 1 else 'files'} merged into {found['into']}{commit}")
