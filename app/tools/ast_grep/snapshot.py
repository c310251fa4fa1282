"""Copies of file texts in UTF-8 for ast-grep to parse.

Owns: a private folder of copies. Never: reading a project's files.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from app.tools.project_files.text_format import UTF_8, TextFormat, to_utf8
from app.tools.project_files.threads import to_the_end


def parsed_text(content: bytes) -> tuple[bytes, TextFormat] | None:
    """Return a file's content for ast-grep, and the format to write it back in; None for a binary file. UTF-8
    keeps its mark, so that positions are those of the file."""
    known = to_utf8(content)
    if known is None:
        return None
    text, text_format = known
    return (content, UTF_8) if text_format.encoding == "utf-8" else (text, text_format)


class Snapshot:
    """Blocking. Make one by `snapshot`."""

    def __init__(self, within: Path | None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kaged-ast-", dir=within))
        self._count = 0

    def add(self, text: bytes, extension: str) -> str:
        """Write one copy and return its name in the folder."""
        name = f"{self._count:06d}.{extension}"
        self._count += 1
        (self.folder / name).write_bytes(text)
        return name

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def empty_folder(path: Path) -> Path:
    """Return the folder for all snapshots of a daemon, without what an earlier one left there. Blocks."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


@asynccontextmanager
async def snapshot(within: Path | None = None) -> AsyncIterator[Snapshot]:
    """Make a folder for copies, in the folder `within` or among the system's temporary ones, and remove it
    with them. Whoever fills it does so to the end."""
    made: list[Snapshot] = []
    try:
        await to_the_end(partial(Snapshot, within), made.append)
        yield made[0]
    finally:
        for one in made:
            await to_the_end(one.remove, lambda _: None)
