"""`kaged completion`: print the script that completes commands in a shell.

Owns: the command. Never: the script, or what is completed, which are click's.
"""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from app.cli.output import json_option, print_json
from app.cli.streams import write_data

VARIABLE = "_KAGED_COMPLETE"
"""By this variable a shell asks `kaged` for completions; click's name for it."""


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
@click.pass_context
def command(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print the script that completes commands, options and their values in SHELL.

    \b
    bash:  kaged completion bash > ~/.local/share/bash-completion/completions/kaged
    zsh:   kaged completion zsh > ~/.zfunc/_kaged   (a folder of your fpath)
    fish:  kaged completion fish > ~/.config/fish/completions/kaged.fish

    For the running shell only, bash and zsh: eval "$(kaged completion bash)". bash must be 4.4 or newer.
    """
    completion = get_completion_class(shell)
    assert completion is not None
    # Not the class's own method: that of bash starts a shell to look at its version.
    script = ShellComplete.source(completion(ctx.find_root().command, {}, "kaged", VARIABLE))
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        write_data(script)
