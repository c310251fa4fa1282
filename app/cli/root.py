"""The command `kaged`: finds the subcommand, runs it, turns errors into an exit code.

Owns: the list of commands, and the one place where errors become text. Never: a command's work.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from app.cli.output import CommandFailed, JsonFlag, print_failure
from app.cli.streams import abandon_output, colours, prepare_streams
from app.errors import KagedError
from app.nearest_names import nearest

COMMANDS: dict[str, str] = {
    "serve": "Start the daemon.",
    "status": "Show whether a daemon runs, and what it does.",
    "stop": "Stop the daemon of this data folder.",
    "logs": "Show and follow the daemon's log.",
    "open": "Open the page in a browser, signed in.",
    "send": "Post a message and stream the answer.",
    "attach": "Follow a session.",
    "session": "List, export, import, rewind and fork sessions.",
    "share": "Write a session as a file for other people, without secrets.",
    "workspace": "Run sessions in their own workspaces; merge, keep or discard these.",
    "attempts": "Let several sessions attempt one task; compare them, pick one.",
    "changes": "List the files that a session changed.",
    "diff": "Show what a session changed, as a patch.",
    "revert": "Revert what a session changed in a file.",
    "acp": "Serve an editor by the Agent Client Protocol.",
    "run": "Start a workflow and follow it.",
    "runs": "List, show, follow and cancel runs of workflows.",
    "answer": "List and answer open questions and permission requests.",
    "costs": "Show or export what sessions cost.",
    "issue": "List, file, discuss and close issues.",
    "git": "Show, stage and commit changes; create and switch branches.",
    "init": "Write a starter project.",
    "check": "Check a project file.",
    "trust": "Trust a project, or revoke its trust.",
    "hooks": "List and test hooks, and import those of Claude Code.",
    "project": "Update the folder of a moved project.",
    "doctor": "Check the machine: programs, cages, models, settings.",
    "providers": "List the model providers, test them with a small real call, store their keys.",
    "notify": "Send a test notification.",
    "db": "Back up, restore, check and migrate the database.",
    "record": "Write a replay transcript from a session.",
    "openapi": "Print the OpenAPI description.",
    "mcp": "Serve a project's tools to MCP clients; add and test the MCP servers of agents.",
    "token": "Create, list and revoke access tokens.",
    "completion": "Print the completion script of a shell.",
    "version": "Print version, commit and database schema.",
}
"""Name to summary; the command itself is the attribute `command` of `app.cli.<name>`."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called; the summaries are known before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            if ctx.resilient_parsing:  # a shell completes the line, and has no use for an error
                return None
            near = nearest(cmd_name, COMMANDS)
            hint = f" Did you mean '{near}'?" if near else ""
            raise click.UsageError(f"No such command '{cmd_name}'.{hint}", ctx)
        command = importlib.import_module(f"app.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        begun = [
            CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)
        ]
        return begun + click.Command.shell_complete(self, ctx, incomplete)


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from app.cli.version import version_line

    click.echo(version_line())
    ctx.exit()


@click.group(
    name="kaged",
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show version, commit and database schema, and exit.",
)
def kaged() -> None:
    """kaged: a self-hosted daemon for coding agents.

    Every command accepts --json for machine-readable output.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 failed, 2 wrong use."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    flag = JsonFlag()
    prepare_streams()
    try:
        result = kaged.main(
            args=arguments, prog_name="kaged", standalone_mode=False, obj=flag, color=colours()
        )
        sys.stdout.flush()
    except click.UsageError as error:
        flag.enabled = flag.enabled or asks_for_json(arguments)  # the error may stand before it
        if isinstance(error, click.exceptions.NoArgsIsHelpError) and not flag.enabled:
            click.echo(error.format_message(), err=True)
            return 2
        print_failure(CommandFailed("usage", _with_help(error), exit_code=2), flag)
        return 2
    except click.Abort as end:
        if end.__cause__ is None:  # a question at the terminal, not Ctrl-C at work
            print_failure(CommandFailed("aborted", "the question was not answered; nothing was done"), flag)
        return 1
    except KeyboardInterrupt:
        return 1
    except CommandFailed as failure:
        print_failure(failure, flag)
        return failure.exit_code
    except KagedError as error:
        print_failure(CommandFailed(error.code, error.message, details=error.details), flag)
        return 1
    except click.ClickException as error:
        print_failure(CommandFailed("failed", error.format_message()), flag)
        return 1
    except BrokenPipeError:
        abandon_output()
        return 1
    except UnicodeEncodeError:
        message = "an argument or the text on standard input is not UTF-8; convert it first"
        print_failure(CommandFailed("usage", message, exit_code=2), flag)
        return 2
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        print_failure(CommandFailed("failed", f"{where}{error.strerror or error}"), flag)
        abandon_output()
        return 1
    return result if isinstance(result, int) else 0


def asks_for_json(arguments: Sequence[str]) -> bool:
    """Tell whether `--json` stands among the options."""
    return "--json" in itertools.takewhile(lambda word: word != "--", arguments)


def _with_help(error: click.UsageError) -> str:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error.format_message()
    where = error.ctx.command_path if error.ctx else "kaged"
    return f"{error.format_message()}\nTry `{where} --help`."
