"""The starter project that `kaged init` writes.

Owns: the commented project file, its prompt, its schema and its ignore list. Never: overwriting anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import orjson

from app.cages.cage import LINES
from app.harness.dsl.json_schema import project_json_schema
from app.harness.dsl.paths import CONFIG_FOLDER, LOCAL_FILE, PROJECT_FILE
from app.workspace.package_registries import registries_for

SCHEMA_FILE = "project.schema.json"
DEFAULT_MODEL = "anthropic:claude-sonnet-4-5"
_NOT_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class StarterResult:
    """Files that were written, and those that were there already and stay as they are."""

    written: tuple[Path, ...]
    kept: tuple[Path, ...]


def write_starter(
    root: Path, *, model: str = DEFAULT_MODEL, without_cage: str | None = None
) -> StarterResult:
    """Write `.kaged/` with a commented project file, a prompt, the schema and a `.gitignore`.

    `model` is an alias or `provider:model`. The root agent has a cage that reaches the package registries of
    the manifests in the folder. `without_cage` says why this machine cannot hold it: then
    `project.local.yaml` disables it. Existing files are never touched. Raises OSError when the folder cannot
    be written; blocks on file I/O.
    """
    folder = root / CONFIG_FOLDER
    filled = {"{project}": slug_for(root), "{model}": model, "{hosts}": _hosts(registries_for(root))}
    template = _template("project.yaml")
    for name, text in filled.items():
        template = template.replace(name, text)
    contents = {
        folder / PROJECT_FILE: template.encode(),
        folder / "prompts" / "primary.md": _template("primary.md").encode(),
        folder / ".gitignore": _template("gitignore").encode(),
        folder / SCHEMA_FILE: orjson.dumps(project_json_schema(), option=orjson.OPT_INDENT_2) + b"\n",
    }
    if without_cage is not None:
        contents[folder / LOCAL_FILE] = local_file(without_cage).encode()
    written: list[Path] = []
    kept: list[Path] = []
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("xb") as file:
                file.write(content)
            written.append(path)
        except FileExistsError:
            kept.append(path)
    return StarterResult(tuple(written), tuple(kept))


def local_file(reason: str) -> str:
    """Return the text of a `project.local.yaml` for a machine that cannot hold the cage, with the reason."""
    why = " ".join(reason.split())
    return (
        f"# Written by `kaged init`: this machine cannot hold the cage of project.yaml ({why}).\n"
        "# Until it can, the root agent has all rights of the daemon's user. `kaged doctor` says what is\n"
        f"# missing; remove these lines once it is there.\n{LINES}"
    )


def slug_for(root: Path) -> str:
    """A valid project slug made from the folder's name."""
    slug = _NOT_SLUG.sub("-", root.resolve().name.lower()).strip("-")[:64].strip("-")
    if len(slug) >= 2:
        return slug
    return f"project-{slug}" if slug else "my-project"


def _hosts(names: tuple[str, ...]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _template(name: str) -> str:
    return resources.files("app.harness.dsl").joinpath("starter_files", name).read_text("utf-8")
