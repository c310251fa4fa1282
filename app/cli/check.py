"""`kaged check`: compile a project and print the diagnostics, as compilers do.

Owns: the command. Never: compiling (`app.harness.dsl.compiler`). It needs no daemon.
"""

from __future__ import annotations

from pathlib import Path

import click

from app.cli.daemon_address import find_project_root
from app.cli.output import CommandFailed, json_option, print_json, print_text


@click.command(name="check")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option(
    "--config", "config_file", type=click.Path(path_type=Path), help="The config file with the model aliases."
)
@click.option(
    "--no-models",
    is_flag=True,
    help="Compare neither model aliases nor plugins with the local configuration.",
)
@json_option
def command(folder: Path | None, config_file: Path | None, no_models: bool, as_json: bool) -> int:
    """Check the project in FOLDER (default: the one at or above this folder).

    Exits with 1 when there are errors; warnings do not count.
    """
    root = folder.expanduser().absolute() if folder is not None else find_project_root()
    if root is None:
        raise CommandFailed("no_project", "there is no .kaged/project.yaml here; write one with `kaged init`")
    from app.bridges.process import ChildProcesses
    from app.bridges.pty.manager import TerminalManager
    from app.config import load_settings
    from app.harness.dsl.compiler import compile_project
    from app.harness.hooks.plugin_catalog import ManifestCatalog
    from app.tools.call_processes import CallProcesses
    from app.tools.catalog import build_registry
    from app.tools.read_tracker import ReadTracker

    children = ChildProcesses()
    terminals = TerminalManager(children, per_session=0)
    processes = CallProcesses.uncaged(children)  # nothing is started: only names and shapes are asked for
    catalog = build_registry(reads=ReadTracker(), processes=processes, terminals=terminals, environment={})
    models, plugins = None, None
    if not no_models:
        settings = load_settings(config_file=config_file)
        models = tuple(settings.models)
        plugins = ManifestCatalog.of(settings)
    result = compile_project(root, catalog=catalog, known_models=models, plugins=plugins)
    valid = not result.errors
    if as_json:
        print_json(
            {"valid": valid, "root": str(root), "diagnostics": [d.model_dump() for d in result.diagnostics]}
        )
    elif result.diagnostics:
        print_text(result.format())
    else:
        print_text(f"✓ {root}: no findings", color="green")
    return 0 if valid else 1
