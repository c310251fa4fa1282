"""Lists the source files of a folder with ripgrep.

Owns: ignore rules, and narrowing to files with a pattern's literal. Never: the cage: callers judge each name.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from app.bridges.processes.child import SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.errors import ToolError, invalid_params
from app.programs import ENVIRONMENT, found_program
from app.tools.ast_grep.engine import MEMORY, not_startable
from app.workspace import MAX_WHOLE_FILE

MAX_LIST = 64 * 1024 * 1024
MAX_GLOB = 2_000
VERSION_CONTROL = (".git", ".hg", ".svn", ".jj")


class InheritedRules(Protocol):
    """From how many folders above ignore rules hold in a folder, and whether they end where another
    repository begins."""

    @property
    def levels(self) -> int: ...
    @property
    def repositories(self) -> bool: ...


RulesAbove = Callable[[Path, Path], InheritedRules]
"""Given a folder and the project's root, what holds in the folder. Blocking."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder to list: its open descriptor, its real path and that of the project's root."""

    descriptor: int
    real: Path
    root: Path


@dataclass(frozen=True, slots=True)
class Listing:
    """Paths below the folder, sorted. `complete` is False when the time or the memory for the
    list ran out."""

    names: list[str]
    complete: bool


class SourceFiles:
    def __init__(
        self,
        children: ChildStarter,
        rules_above: RulesAbove,
        environment: Mapping[str, str] = ENVIRONMENT,
    ) -> None:
        self._children = children
        self._rules_above = rules_above
        self._program = found_program("rg", environment)

    def started_by(self, children: ChildStarter) -> SourceFiles:
        """Return the same, with its processes started by `children`."""
        other = copy.copy(self)
        other._children = children
        return other

    async def below(
        self,
        folder: Folder,
        extensions: Sequence[str],
        *,
        globs: Sequence[str] = (),
        literal: str | None = None,
        whole_word: bool = False,
        deadline: float,
    ) -> Listing:
        """Return the files below `folder` that have one of `extensions`. `globs` are as in `.gitignore`: a
        file must match one of those without `!`, if there are any, and none with `!`; the later wins, and
        ignored files stay out. With `literal`, only files that contain it, as a `whole_word` if so. Names
        that are not UTF-8 are left out. Raises ToolError `invalid_params` for an invalid glob."""
        patterns = [f"--glob={_plain(glob)}" for glob in globs]
        excluding = all(glob.startswith("!") for glob in globs)
        what = ["--files"]
        if literal is not None:
            what = ["--files-with-matches", "--fixed-strings", "--text", f"--regexp={literal}"]
            what += ["--word-regexp"] if whole_word else []
        what += [f"--type-add=kaged:*.{extension}" for extension in extensions]
        above = await asyncio.to_thread(self._rules_above, folder.real, folder.root)
        what += [] if above.levels else ["--no-ignore-parent"]
        what += [] if above.repositories else ["--no-require-git"]
        known = self._list(folder, [*what, "--type=kaged", *(patterns if excluding else ())], deadline)
        if excluding:
            return await known
        # A glob that includes also brings in ignored files; what both lists have is what is wanted.
        listed, matching = await asyncio.gather(known, self._list(folder, ["--files", *patterns], deadline))
        wanted = set(matching.names)
        both = [name for name in listed.names if name in wanted]
        return Listing(both, listed.complete and matching.complete)

    async def _list(self, folder: Folder, options: list[str], deadline: float) -> Listing:
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            return Listing([], complete=False)
        try:
            done = await self._children.run(
                [self._program, *_FIXED, *options, *_HIDDEN, "--", "./"],
                owner="rg",
                cwd=folder.descriptor,
                env=ENVIRONMENT,
                seconds=left,
                max_output=MAX_LIST,
                max_memory=MEMORY,
            )
        except SpawnFailed as problem:
            raise not_startable("ripgrep", problem) from None
        if done.exit_code == 2 and not done.stdout and done.stderr:
            raise _bad_glob(done.stderr.decode("utf-8", "replace"))
        if b"memory allocation" in done.stderr:
            raise ToolError(
                "search_failed",
                f"the files could not be listed in {MEMORY >> 20:,} MB: a `.gitignore` is too large; name "
                "another folder",
            )
        names = await asyncio.to_thread(_names, done.stdout)
        return Listing(names, complete=not (done.timed_out or done.truncated))


_FIXED = (
    *("--no-config", "--no-messages", "--color=never", "--null", "--hidden"),
    *("--no-ignore-dot", "--no-ignore-global", "--no-ignore-exclude"),
    f"--max-filesize={MAX_WHOLE_FILE}",  # no more of a file is ever parsed
)
_HIDDEN = tuple(f"--glob=!{name}" for name in VERSION_CONTROL)


def _names(output: bytes) -> list[str]:
    *entries, _cut = output.split(b"\0")
    names = []
    for entry in entries:
        try:
            names.append(entry.removeprefix(b"./").decode())
        except UnicodeDecodeError:
            continue
    return sorted(names)


def _plain(glob: str) -> str:
    """Return a glob in the form that ripgrep compares paths in: without a leading `./`."""
    mark, rest = ("!", glob[1:]) if glob.startswith("!") else ("", glob)
    while rest.startswith("./"):
        rest = rest[2:]
    if not rest or len(rest) > MAX_GLOB or "\0" in rest:
        raise _bad_glob("it is empty, too long, or contains a NUL character")
    try:
        rest.encode()
    except UnicodeEncodeError:
        raise _bad_glob("it contains an unpaired surrogate") from None
    return mark + rest


def _bad_glob(why: str) -> ToolError:
    problem = " ".join(why.split())[:300]
    return invalid_params(f"a glob cannot be read: {problem}", {"glob": problem})
