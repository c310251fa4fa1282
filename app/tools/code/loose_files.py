"""Files that no configuration of their language lists, for a server that does not look for them itself.

Owns: when that is so, and which files the server is given. Never: opening them; the bridge does.

Without a `tsconfig.json` the servers of TypeScript and JavaScript know the files that are open, and what
those import; so does clangd where nothing says how to compile. The uses of a function in any other file
would be missing, and a rename would leave them. Where a file says how to compile but not what, as
`compile_flags.txt` does, a rename is still made whole; to ask has its price, and is left as it is.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from app.bridges.lsp.manager import LanguageServer
from app.errors import ToolError
from app.tools.ast_grep.listing import Folder, Listing
from app.tools.code.call import CodeCall, Named
from app.tools.project_files.threads import held_open
from app.workspace import Workspace

MAX_CONFIGURATION = 64_000
LIST_SECONDS = 5.0
_WHOLE_PROJECT = frozenset(
    {"references", "implementation", "symbols", "rename", "rename_file", "call_hierarchy", "type_hierarchy"}
)
_CHANGING = frozenset({"rename", "rename_file"})


async def give_loose_files(call: CodeCall, named: Named, server: LanguageServer, word: str) -> None:
    """Have the server know all files that may have to do with `word` of the file, for an answer that is
    about all of them. Raises ToolError `lsp_request_failed` when they are too many."""
    config = server.behaviour.config
    if call.params.action not in _WHOLE_PROJECT or not config.names:
        return
    whole = call.params.action in _CHANGING
    if await call.aside(_is_listed if whole else _is_configured, named, server):
        return
    listing = await _listed(call, server, None)
    if len(listing.names) > config.most_opened and word:
        listing = await _listed(call, server, word)
    if len(listing.names) > config.most_opened or not listing.complete:
        wanted = config.names.difference(config.sourceless if whole else ())
        names = " or ".join(sorted(wanted))
        raise ToolError(
            "lsp_request_failed",
            f"{server.name} knows only files that are open here: above {named.shown} there is no {names}. "
            f"Others with {word!r} in them are too many to be opened, so the answer would not be whole: add "
            "such a file that names the project's sources",
            detail={"language": server.language, "files": len(listing.names)},
        )
    may_read = server.reading.readable.allows
    await server.open_all([name for name in listing.names if may_read(tuple(name.split("/")))])


def _is_configured(named: Named, server: LanguageServer) -> bool:
    """Tell whether a configuration is in the file's folder or above. Blocks."""
    names = server.behaviour.config.names
    return any(os.path.exists(folder / one) for folder in _folders(named, server) for one in names)


def _is_listed(named: Named, server: LanguageServer) -> bool:
    """Tell whether the configuration of the file names others. Blocks."""
    config = server.behaviour.config
    for folder in _folders(named, server):
        there = [one for one in config.names if os.path.exists(folder / one)]
        if any(_tells_sources(folder / one, config.sourceless.get(one)) for one in there):
            return True
        if any(config.sourceless.get(one) == "" for one in there):
            return False
    return False


def _folders(named: Named, server: LanguageServer) -> list[Path]:
    """Return the file's folder and those above it up to the project's root."""
    depths = range(len(named.parts) - 1, -1, -1)
    return [server.project_root.joinpath(*named.parts[:depth]) for depth in depths]


def _tells_sources(configuration: Path, word: str | None) -> bool:
    """Tell whether a configuration names files, by the key `word`; None means that it always does."""
    if not word:
        return word is None
    try:
        descriptor = os.open(configuration, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return word.encode() in os.read(descriptor, MAX_CONFIGURATION)
    except OSError:
        return False
    finally:
        os.close(descriptor)


async def _listed(call: CodeCall, server: LanguageServer, word: str | None) -> Listing:
    """Return the files of the server's language below its folder, by their paths from the project's root;
    with `word` in them, if one is given."""
    extensions = [one.removeprefix(".") for one in call.project.table.extensions_of(server.language)]
    below = server.root.relative_to(server.project_root).as_posix()

    def open_folder(held: ExitStack) -> Folder:
        opened = held.enter_context(Workspace(server.project_root).open(f"./{below}"))
        real, root = (Path(os.path.realpath(path)) for path in (server.root, server.project_root))
        return Folder(opened.descriptor, real, root)

    until = asyncio.get_running_loop().time() + LIST_SECONDS
    async with held_open(open_folder) as folder:
        found = await call.tooling.sources.below(folder, extensions, literal=word, deadline=until)
    return found if below == "." else replace(found, names=[f"{below}/{name}" for name in found.names])
