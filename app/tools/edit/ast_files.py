"""The files of a structural rewrite.

Owns: finding them, their common language, and the copies that are parsed. Never: files outside the caller's
cage or rules; writing.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from app.errors import ToolError, invalid_params
from app.tools.ast_grep.languages import (
    LANGUAGES,
    LanguageName,
    extension_of,
    extensions_of,
    language_of,
    searched_extensions,
)
from app.tools.ast_grep.listing import Folder
from app.tools.ast_grep.snapshot import Snapshot, parsed_text
from app.tools.contract.call import ToolCallContext
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.read_tracker import Digest, digest_of
from app.tools.project_files.threads import held_open
from app.workspace import Workspace, invalid_path

MAX_PARSED_FILE = 10 * 1024 * 1024
BATCH_FILES = 1_000
BATCH_BYTES = 64 * 1024 * 1024
ALL_EXTENSIONS = tuple(extension for language in LANGUAGES for extension in extensions_of(language))


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a rewrite: a `folder` to look through, or without one a single file. `path` is the file's,
    or the prefix of names below the folder."""

    folder: Folder | None
    path: str


@dataclass(frozen=True, slots=True)
class Copied:
    """A file whose text lies in a snapshot."""

    shown: str
    key: str
    digest: Digest
    text: bytes


@dataclass(slots=True)
class Copies:
    """Files in a snapshot by their names there, after the first `taken` paths were looked at;
    `too_large` are the paths of what was left out."""

    taken: int = 0
    by_name: dict[str, Copied] = field(default_factory=dict)
    too_large: list[str] = field(default_factory=list)


@asynccontextmanager
async def begin(files: ProjectFiles, context: ToolCallContext, path: str) -> AsyncIterator[Start]:
    """Open where `path` points. Raises ToolError as the workspace does."""
    async with held_open(partial(_open, files, context, path)) as start:
        yield start


def _open(files: ProjectFiles, context: ToolCallContext, path: str, held: ExitStack) -> Start:
    opened = held.enter_context(files.workspace(context).open(path))
    if opened.location.aside is not None:
        raise invalid_path(path, "only files of the project can be rewritten; give a path in it")
    names = "/".join(opened.location.parts)
    if not opened.is_directory:
        return Start(None, f"./{names}")
    root = Path(os.path.realpath(context.project_root))
    folder = Folder(opened.descriptor, Path(opened.key), root)
    return Start(folder, f"./{names}/" if names else "./")


def readable(workspace: Workspace, paths: Sequence[str]) -> list[str]:
    """Return those of the paths that the caller may read, by their text. Blocking."""
    return [path for path in paths if workspace.may_read(workspace.locate(path).parts)]


def common_language(paths: Sequence[str]) -> LanguageName:
    """Return the language of all files that are code. Raises ToolError `invalid_params`."""
    counts: dict[LanguageName, int] = {}
    for path in paths:
        language = language_of(path)
        if language is not None:
            counts[language] = counts.get(language, 0) + 1
    if len(counts) == 1:
        return next(iter(counts))
    listed = ", ".join(f"{language} ({count})" for language, count in sorted(counts.items()))
    if counts:
        why = f"the files are in several languages: {listed}; set lang, or narrow path or glob"
    else:
        why = "no file there has the name of a supported language; set lang, or another path or glob"
    message = f"the language cannot be inferred: {why}"
    raise invalid_params(message, {"lang": why}, languages=dict(sorted(counts.items())))


def copy_texts(
    workspace: Workspace, paths: Sequence[str], language: LanguageName, snapshot: Snapshot, copies: Copies
) -> None:
    """Put the texts of one batch of the files into the snapshot and note them in `copies`. Missing, binary
    and unreadable files are left out. Blocks."""
    usual = searched_extensions(language)
    size = 0
    for path in paths[:BATCH_FILES]:
        if size > BATCH_BYTES:
            break
        copies.taken += 1
        try:
            with workspace.open(path) as opened:
                if opened.is_directory:
                    continue
                if opened.status.st_size > MAX_PARSED_FILE:
                    copies.too_large.append(path)
                    continue
                with os.fdopen(os.dup(opened.descriptor), "rb") as file:
                    content = file.read()
                key = opened.key
        except (ToolError, OSError):
            continue
        known = parsed_text(content)
        if known is not None and known[0]:
            extension = extension_of(path) if extension_of(path) in usual else usual[0]
            name = snapshot.add(known[0], extension)
            size += len(known[0])
            copies.by_name[name] = Copied(path, key, digest_of(content), known[0])
