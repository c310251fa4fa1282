"""`kaged init`: write a commented starter project.

Owns: the command. Never: what is in the starter (`app.harness.dsl.starter`). It needs no daemon.
"""

from __future__ import annotations

from pathlib import Path

import click

from app.cli.daemon_address import PROJECT_FILE
from app.cli.output import CommandFailed, json_option, print_json, print_text


@click.command(name="init")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@click.option("--model", help="The model: an alias, or provider:model.")
@json_option
def command(folder: Path, model: str | None, as_json: bool) -> None:
    """Write .kaged/ with a project file, prompts and a .gitignore into FOLDER (default: here)."""
    root = folder.expanduser().absolute()
    if (root / PROJECT_FILE).exists():
        raise CommandFailed(
            "conflict", f"{root / PROJECT_FILE} exists already; look at it with `kaged check {folder}`"
        )
    from app.harness.dsl.starter import DEFAULT_MODEL, write_starter

    try:
        root.mkdir(parents=True, exist_ok=True)
        result = write_starter(root, model=model or DEFAULT_MODEL)
    except OSError as error:
        raise CommandFailed(
            "failed", f"{error.filename or root} cannot be written: {error.strerror}"
        ) from error
    if as_json:
        written, kept = ([str(path) for path in paths] for paths in (result.written, result.kept))
        print_json({"root": str(root), "files": written, "kept": kept})
        return
    for path in result.written:
        print_text(f"wrote {path}", dim=True)
    for path in result.kept:
        print_text(f"kept {path}, which was there", dim=True)
    print_text(f"next: look at {root / PROJECT_FILE}, then `kaged serve` there")
