"""`kaged init`: write a commented starter project, and trust it. It needs no daemon.

Owns: the command. Never: the content of the starter (`app.harness.dsl.starter`), or what trust means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import click

from app.cli.daemon_address import PROJECT_FILE
from app.cli.given_path import GivenPath
from app.cli.output import CommandFailed, json_option, print_json, print_text
from app.cli.trust import decide
from app.errors import KagedError


@click.command(name="init")
@click.argument("folder", type=GivenPath(), default=Path())
@click.option("--model", help="The model: an alias, or provider:model.")
@json_option
def command(folder: Path, model: str | None, as_json: bool) -> None:
    """Write .kaged/ with a project file, prompts and a .gitignore into FOLDER (default: here)."""
    root = folder.expanduser().absolute()
    if (root / PROJECT_FILE).exists():
        raise CommandFailed(
            "conflict", f"{root / PROJECT_FILE} exists already; check it with `kaged check {folder}`"
        )
    if not root.parent.is_dir():
        raise CommandFailed(
            "not_found",
            f"{root.parent} is no folder, so {root.name} cannot be created there; correct the path, or run "
            f"`mkdir -p {root.parent}`",
        )
    from app.config import load_settings
    from app.daemon.cage_setup import look_for_tier
    from app.harness.dsl.starter import DEFAULT_MODEL, write_starter

    settings = load_settings()
    tier = asyncio.run(look_for_tier(settings))
    without_cage = None if tier.name == "full" else f"{tier.name}: {tier.reason}"
    was_there = (root / PROJECT_FILE.parent).exists()
    try:
        root.mkdir(exist_ok=True)
        result = write_starter(root, model=model or DEFAULT_MODEL, without_cage=without_cage)
    except OSError as error:
        raise CommandFailed(
            "failed", f"{error.filename or root} cannot be written: {error.strerror}"
        ) from error
    # Existing files may be somebody else's: the operator reviews them first.
    untrusted = (
        f"{PROJECT_FILE.parent} was there before" if was_there else _trust(decide(settings, root, "grant"))
    )
    if as_json:
        written, kept = ([str(path) for path in paths] for paths in (result.written, result.kept))
        cages = {"tier": tier.name, "reason": tier.reason}
        print_json(
            {"root": str(root), "files": written, "kept": kept, "cages": cages, "trusted": untrusted is None}
        )
        return
    for path in result.written:
        print_text(f"wrote {path}", dim=True)
    for path in result.kept:
        print_text(f"kept the existing {path}", dim=True)
    if without_cage is not None:
        print_text(f"no cage: the root agent has all rights of your user ({without_cage})")
    if untrusted is not None:
        print_text(f"not trusted yet ({untrusted}): kaged trust {root}", color="yellow")
    print_text(f"next: review {root / PROJECT_FILE}, then run `kaged serve` there")


def _trust(decision: Coroutine[Any, Any, object]) -> str | None:
    """Trust what was just written; return why that could not be stored."""
    try:
        asyncio.run(decision)
    except (CommandFailed, KagedError) as problem:
        return str(problem)
    return None
