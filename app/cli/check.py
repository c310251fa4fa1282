"""`kaged check`: compile a project and print the diagnostics, as compilers do.

Owns: the command. Never: compiling (`app.harness.dsl.compiler`). It needs no daemon.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli.daemon_address import find_project_root
from app.cli.given_path import GivenPath
from app.cli.output import CommandFailed, json_option, print_json, print_text
from app.errors import ValidationFailed

if TYPE_CHECKING:
    from app.config import Settings
    from app.harness.dsl.compiled import CompiledProject
    from app.tools.dispatch.registry import ToolRegistry


@click.command(name="check")
@click.argument("folder", type=GivenPath(), required=False)
@click.option("--config", "config_file", type=GivenPath(), help="The config file with the model aliases.")
@click.option(
    "--no-models",
    is_flag=True,
    help="Skip the check of model aliases and plugins against the local configuration.",
)
@json_option
def command(folder: Path | None, config_file: Path | None, no_models: bool, as_json: bool) -> int:
    """Check the project in FOLDER (default: the one at or above this folder).

    Exits with 1 when there are errors; warnings do not count.
    """
    root = folder.expanduser().absolute() if folder is not None else find_project_root()
    if root is None:
        raise CommandFailed("no_project", "there is no .kaged/project.yaml here; write one with `kaged init`")
    from app.config import load_settings
    from app.harness.dsl.compiler import compile_project
    from app.harness.hooks.plugin_catalog import ManifestCatalog

    models, plugins, settings = None, None, None
    if not no_models:
        settings = load_settings(config_file=config_file)
        models = tuple(settings.models)
        plugins = ManifestCatalog.of(settings)
    result = compile_project(root, catalog=tool_names(), known_models=models, plugins=plugins, cautious=True)
    valid = not result.errors
    missing = [] if settings is None else _without_credential(result.project, settings)
    if as_json:
        print_json(
            {
                "valid": valid,
                "root": str(root),
                "diagnostics": [d.model_dump() for d in result.diagnostics],
                "missing_credentials": missing,
            }
        )
        return 0 if valid else 1
    if result.diagnostics:
        print_text(result.format())
    else:
        print_text(f"✓ {root}: no findings", color="green")
    for one in missing:
        print_text(f"! {one['message']}", color="yellow")
    return 0 if valid else 1


def tool_names() -> ToolRegistry:
    """Return the catalog of tools, for compiling a project without a daemon. It starts nothing."""
    from app.bridges.processes.process import ChildProcesses
    from app.bridges.pty.manager import TerminalManager
    from app.tools.catalog import build_registry
    from app.tools.processes.call_processes import CallProcesses
    from app.tools.project_files.read_tracker import ReadTracker

    children = ChildProcesses()
    terminals = TerminalManager(children, per_session=0)
    processes = CallProcesses.uncaged(children)
    return build_registry(reads=ReadTracker(), processes=processes, terminals=terminals, environment={})


def _without_credential(project: CompiledProject | None, settings: Settings) -> list[dict[str, Any]]:
    """Return the models of a project that cannot be called because their provider has no credential. The
    project file is valid, but its runs would fail."""
    from app.harness.providers.route import resolve

    found: dict[str, dict[str, Any]] = {}
    for model in dict.fromkeys(agent.model for agent in project.agents()) if project is not None else ():
        with suppress(ValidationFailed):  # the compiler has reported it
            for candidate in resolve(model, settings.models, settings.providers).candidates:
                provider = settings.providers[candidate.provider]
                if provider.api_key is None and provider.missing_env:
                    variables = " or ".join(provider.missing_env)
                    message = (
                        f"the model {model} is called at {candidate.provider}, which has no credential: "
                        f"set {variables}, or providers.{candidate.provider}.api_key"
                    )
                    found.setdefault(
                        message, {"model": model, "provider": candidate.provider, "message": message}
                    )
    return list(found.values())
