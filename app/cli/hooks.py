"""`kaged hooks`: list and test the hooks of a project, and import those of Claude Code.

Owns: these commands. Never: running a hook, which is the daemon's. `import` needs no daemon.
"""

from __future__ import annotations

import io
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli.connected import Connected, in_project
from app.cli.daemon_address import find_project_root, path_part, require_project_root
from app.cli.given_path import GivenPath
from app.cli.output import CommandFailed, CommandGroup, json_option, print_json, print_text, print_warning

if TYPE_CHECKING:
    from app.harness.hooks.commands.claude_settings import FoundHooks

_SHOWN_REASON = 60
_DECISIONS = {"continue": "green", "ask": "yellow", "deny": "red", "failed": "red"}


@click.group(name="hooks", cls=CommandGroup)
def command() -> None:
    """List and test the hooks of a project, and import those of Claude Code."""


@command.command(name="list")
@in_project
async def list_hooks(daemon: Connected) -> None:
    """List the hooks that run in the project: the operator's, then those of its trusted project file."""
    answer = await daemon.client.request("GET", f"/projects/{path_part(await daemon.project_id())}/hooks")
    rows = [
        [hook["name"], hook["event"], hook["source"], _state(hook), _calls(hook), _command(hook)]
        for hook in answer["items"]
    ]
    header = ("NAME", "EVENT", "SOURCE", "STATE", "FOR", "COMMAND")
    daemon.show_rows(answer, header, rows, empty="the project has no hooks")


@command.command(name="test")
@click.argument("name")
@click.option("--tool", help="For hooks of tools: the tool of the example (default: file.write).")
@click.option("--arguments", help="The arguments of the example, as a JSON object.")
@click.option("--prompt", help="For on_prompt: the message of the example.")
@click.option("--agent", "agent_path", help="The agent of the example (default: primary).")
@in_project
async def test(
    daemon: Connected,
    name: str,
    tool: str | None,
    arguments: str | None,
    prompt: str | None,
    agent_path: str | None,
) -> int:
    """Run the hook NAME on an example and show its answer. No tool is called.

    Exits with 1 unless the hook lets the example pass.
    """
    given = {"tool": tool, "prompt": prompt, "agent_path": agent_path, "arguments": _object(arguments)}
    body = {key: value for key, value in given.items() if value is not None}
    project = path_part(await daemon.project_id())
    path = f"/projects/{project}/hooks/{path_part(name)}/test"
    answer = await daemon.client.request("POST", path, body=body)
    daemon.show(answer, _print_test)
    return 0 if answer["decision"] == "continue" else 1


@command.command(name="import")
@click.argument("folder", type=GivenPath(), required=False)
@click.option("--user", is_flag=True, help="Read ~/.claude in place of the project's .claude.")
@click.option("--write", is_flag=True, help="Append the hooks to .kaged/project.yaml.")
@json_option
def import_hooks(folder: Path | None, user: bool, write: bool, as_json: bool) -> None:
    """Show the hooks of Claude Code's settings as entries of the project file of FOLDER.

    Nothing runs: review the entries, write them with --write, and trust the project again with `kaged trust`.
    """
    from app.harness.hooks.commands.claude_settings import read_claude_hooks

    root = find_project_root() if folder is None else require_project_root(folder)
    if root is None:
        raise CommandFailed("no_project", "there is no .kaged/project.yaml here; write one with `kaged init`")
    found = read_claude_hooks(Path.home() if user else root)
    if write and found.count:
        _append(root / ".kaged" / "project.yaml", found)
    if as_json:
        print_json({"hooks": found.hooks, "left_out": found.left_out, "written": write and found.count > 0})
        return
    for reason in found.left_out:
        print_warning(f"not imported: {reason}")
    if not found.count:
        print_text("there are no hooks to import")
    elif write:
        print_text(
            f"{found.count} hooks were added to {root}/.kaged/project.yaml; look, then run `kaged trust`"
        )
    else:
        print_text(_yaml(found))


def _append(file: Path, found: FoundHooks) -> None:
    """Add a section `hooks` at the end of a project file, which keeps everything else as it is."""
    text = file.read_text(encoding="utf-8")
    if any(line.startswith(("hooks:", '"hooks"', "'hooks'")) for line in text.splitlines()):
        message = (
            "the project file has hooks already; add the entries that `kaged hooks import` shows by hand"
        )
        raise CommandFailed("hooks_exist", message)
    if text.lstrip().startswith("{"):
        raise CommandFailed("hooks_exist", "the project file is written as JSON; add the entries by hand")
    file.write_text(f"{text.rstrip()}\n\n{_yaml(found)}\n", encoding="utf-8")


def _yaml(found: FoundHooks) -> str:
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width = 4096
    out = io.StringIO()
    yaml.dump({"hooks": found.hooks}, out)
    return out.getvalue().rstrip()


def _object(text: str | None) -> dict[str, Any] | None:
    import orjson

    if text is None:
        return None
    try:
        found = orjson.loads(text)
    except ValueError:
        raise click.UsageError(
            '--arguments is no JSON; write an object such as \'{"path": "a.py"}\'.'
        ) from None
    if not isinstance(found, dict):
        raise click.UsageError("--arguments is no JSON object.")
    return found


def _print_test(answer: Mapping[str, Any]) -> None:
    end = "killed" if answer["exit_code"] is None else f"exit code {answer['exit_code']}"
    print_text(
        f"{answer['name']} ({answer['event']}): {answer['decision']}", color=_DECISIONS[answer["decision"]]
    )
    print_text(f"{end} after {answer['duration_ms']} ms", dim=True)
    for name in ("reason", "context", "stdout", "stderr"):
        if answer[name]:
            print_text(f"{name}:", bold=True)
            print_text(answer[name].rstrip())


def _state(hook: Mapping[str, Any]) -> str:
    if hook["state"] != "failed":
        return str(hook["state"]).replace("_", " ")
    return f"failed: {' '.join(hook['last_failure']['reason'].split())[:_SHOWN_REASON]}"


def _calls(hook: Mapping[str, Any]) -> str:
    agents = "" if hook["agents"] is None else f" of {', '.join(hook['agents'])}"
    return (", ".join(f"{one['permission']} {one['pattern']}" for one in hook["match"]) or "all") + agents


def _command(hook: Mapping[str, Any]) -> str:
    found = hook["command"]
    return " ".join((found if isinstance(found, str) else shlex.join(found)).split())
