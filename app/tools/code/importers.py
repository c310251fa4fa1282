"""The files that import others, as far as their import lines tell.

Owns: finding them by the names of the imported ones. Never: resolving an import; a file too many costs a
question to a server.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from app.bridges.lsp.manager import LanguageServer
from app.tools.code.call import CodeCall
from app.tools.code.reach import imports
from app.tools.code.word_hits import word_hits

MAX_NAMES = 40
BY_FOLDER = frozenset({"go", "java", "kotlin", "csharp"})
"""Languages whose files know all others of their folder, and import folders."""
_MODULES = frozenset({"__init__", "index", "mod", "lib", "main"})
"""File names that stand for the folder that they are in."""


async def importers(call: CodeCall, server: LanguageServer, changed: Sequence[str], most: int) -> list[str]:
    """Return up to `most` files in the server's language that import one of the `changed`, without these."""
    found: dict[str, None] = {}
    for name in known_as(server.language, changed)[:MAX_NAMES]:
        hits = await word_hits(call, server, name)
        root = server.project_root
        found |= dict.fromkeys(await call.aside(imports, root, hits.names, (name,)))
        if len(found) >= most:
            break
    return [name for name in found if name not in set(changed)][:most]


def known_as(language: str, paths: Sequence[str]) -> list[str]:
    """Return the names by which these files are imported, each once."""
    by_folder = language in BY_FOLDER
    names = (_known_as(path, by_folder=by_folder) for path in paths)
    return [name for name in dict.fromkeys(names) if name]


def _known_as(path: str, *, by_folder: bool) -> str:
    stem = os.path.basename(path).partition(".")[0]
    return os.path.basename(os.path.dirname(path)) if by_folder or stem in _MODULES else stem
