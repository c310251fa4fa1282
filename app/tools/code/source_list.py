"""The source files below a folder that language servers can be asked about.

Owns: the list, by language, the most important ones first, and its bounds. Never: what `.gitignore`
leaves out, or files that the caller may not read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from app.errors import ToolError
from app.tools.ast_grep.listing import Folder, Listing
from app.tools.code.call import CodeCall, Named
from app.tools.project_files.threads import held_open

MAX_LANGUAGES = 4
LIST_SECONDS = 10.0
DATA = frozenset({"yaml", "json", "css", "html", "dockerfile", "markdown", "toml", "xml"})
"""Looked at after programs: there may be thousands of such files."""


@dataclass(frozen=True, slots=True)
class Sources:
    """`by_language` has the languages in the order of their importance. `left_out` names languages
    that are there too, and are too many for one call."""

    by_language: dict[str, list[Named]]
    left_out: list[str]
    complete: bool

    @property
    def count(self) -> int:
        return sum(map(len, self.by_language.values()))


async def sources_below(call: CodeCall, named: Named) -> Sources:
    """Return the files below the folder. Raises ToolError `language_not_supported` without any."""
    listing = await _listing(call, named)
    by_language = await call.aside(_sorted_out, call, named, listing.names)
    if not by_language:
        raise ToolError(
            "language_not_supported",
            f"no file below {named.shown} is in a language that a language server is known for; "
            "the action status lists the languages",
            detail={"path": named.shown},
        )
    order = sorted(by_language, key=lambda one: (one in DATA, -len(by_language[one]), one))
    kept = {language: by_language[language] for language in order[:MAX_LANGUAGES]}
    return Sources(kept, order[MAX_LANGUAGES:], listing.complete)


async def first_files(call: CodeCall, named: Named) -> list[Named]:
    """Return one file of each language below the folder, of data only where there is nothing else."""
    found = (await sources_below(call, named)).by_language
    programs = [files[0] for language, files in found.items() if language not in DATA]
    return programs or [files[0] for files in found.values()]


async def _listing(call: CodeCall, named: Named) -> Listing:
    table = call.project.table
    endings = {
        one.removeprefix(".") for language in table.languages() for one in table.extensions_of(language)
    }
    deadline = call.started + LIST_SECONDS

    def open_folder(held: ExitStack) -> Folder:
        folder = held.enter_context(call.workspace.open(f"./{named.relative}"))
        root = Path(os.path.realpath(call.context.project_root))
        return Folder(folder.descriptor, Path(folder.key), root)

    sources = call.tooling.sources.started_by(await call.tooling.processes.for_reading(call.context))
    async with held_open(open_folder) as folder:
        return await sources.below(folder, sorted(endings), deadline=deadline)


def _sorted_out(call: CodeCall, named: Named, names: Sequence[str]) -> dict[str, list[Named]]:
    """Blocking."""
    found: dict[str, list[Named]] = {}
    for name in names:
        parts = (*named.parts, *name.split("/"))
        language = call.project.language_of("/".join(parts))
        if language is not None and call.workspace.may_read(parts):
            found.setdefault(language, []).append(Named(parts, is_directory=False))
    return found
