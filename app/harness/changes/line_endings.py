"""The files of a commit with the line endings that git writes into the working tree.

Owns: for which files git's attributes and settings ask for CRLF, and their content with it. Never: filters,
which are programs of the repository.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from app.harness.changes.comparison import Changed
from app.harness.changes.counting import PORTION, contents_of
from app.harness.checkpoints.git_objects import GitObjects
from app.harness.checkpoints.stored_objects import LINK, TreeEntry
from app.harness.git.repository import settings_of_user
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import GitProblem, TooMuchOutput

_TRUE = frozenset({"true", "yes", "on", "1"})
_SET, _AUTO = "set", "auto"
_LONE_LF = re.compile(rb"(?<!\r)\n")


class LineEndings:
    """Finds them for all projects."""

    def __init__(self, processes: CallProcesses, environment: Mapping[str, str]) -> None:
        """`environment` is that of who runs the daemon: their settings of git count, too."""
        self._processes, self._environment = processes, environment

    async def as_checked_out(
        self, repository: GitObjects, then: dict[bytes, TreeEntry], changes: list[Changed]
    ) -> tuple[dict[bytes, TreeEntry], list[Changed]]:
        """Return the files of a commit, and their changes, with the line endings that git would write. A file
        that has no other change is not among them. Raises `GitProblem`."""
        endings = await self._endings(repository, changes)
        if not endings:
            return then, changes
        wanted = await asyncio.to_thread(lambda: [one for one in changes if one.path in endings])
        entries: dict[bytes, TreeEntry] = {}
        for start in range(0, len(wanted), PORTION):
            entries |= await _converted(repository, wanted[start : start + PORTION], endings)
        return await asyncio.to_thread(_with_entries, then, changes, entries)

    async def _endings(self, repository: GitObjects, changes: Sequence[Changed]) -> dict[bytes, str]:
        asked = await asyncio.to_thread(_names, changes)
        if not asked:
            return {}
        said = await repository.commands.run(["check-attr", "-z", "--stdin", "text", "eol"], asked)
        settings = await self._settings(repository.root)

        def read() -> dict[bytes, str]:
            parts = said.split(b"\0")[:-1]
            attributes: dict[bytes, dict[bytes, str]] = {}
            for name, attribute, value in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
                attributes.setdefault(name, {})[attribute] = value.decode("utf-8", "replace")
            found = {name: _ending(of[b"text"], of[b"eol"], settings) for name, of in attributes.items()}
            return {name: ending for name, ending in found.items() if ending is not None}

        return await asyncio.to_thread(read)

    async def _settings(self, root: Path) -> Mapping[str, str]:
        try:
            return (await settings_of_user(self._processes, self._environment, root)).values
        except GitProblem:
            return {}


def _names(changes: Sequence[Changed]) -> bytes:
    return b"".join(one.path + b"\0" for one in changes if one.then is not None and one.then.mode != LINK)


def _with_entries(
    then: Mapping[bytes, TreeEntry], changes: Sequence[Changed], entries: Mapping[bytes, TreeEntry]
) -> tuple[dict[bytes, TreeEntry], list[Changed]]:
    found = [replace(one, then=entries[one.path]) if one.path in entries else one for one in changes]
    return {**then, **entries}, [one for one in found if one.left_out is not None or one.then != one.now]


def _ending(text: str, eol: str, settings: Mapping[str, str]) -> str | None:
    """Return whether a file with these attributes gets CRLF: `set`, or `auto`, where its content decides;
    None when it does not."""
    if text == "unset" or eol == "lf":
        return None
    everywhere = settings.get("core.autocrlf", "").lower()
    if text == "unspecified" and eol != "crlf":
        return _AUTO if everywhere in _TRUE else None
    by_settings = everywhere in _TRUE or (everywhere != "input" and settings.get("core.eol") == "crlf")
    return (_AUTO if text == _AUTO else _SET) if eol == "crlf" or by_settings else None


async def _converted(
    repository: GitObjects, changes: Sequence[Changed], endings: Mapping[bytes, str]
) -> dict[bytes, TreeEntry]:
    try:
        contents, _ = await contents_of(repository, [one.then for one in changes])
    except TooMuchOutput:
        half = len(changes) // 2
        parts = [await _converted(repository, part, endings) for part in (changes[:half], changes[half:])]
        return parts[0] | parts[1]

    def convert() -> dict[bytes, TreeEntry]:
        found = {}
        for one in changes:
            assert one.then is not None
            content = contents.get(one.then.oid)
            if content is None or (endings[one.path] == _AUTO and (b"\r" in content or b"\0" in content)):
                continue
            given = _LONE_LF.sub(b"\r\n", content)
            if given != content:
                repository.keep(given)
                found[one.path] = replace(one.then, oid=repository.oid(given))
        return found

    return await asyncio.to_thread(convert)
