"""The command lines of ripgrep.

Owns: the options of a search. Never: running it (`running`), reading its output (`found_lines`).

Printed paths begin with `.//` and end with NUL. No file name contains a slash, so none can imitate a result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from app.programs import found_program
from app.workspace.ignore_rules import VERSION_CONTROL

OutputMode = Literal["content", "files_with_matches", "count"]
START = b".//"
MAX_COLUMNS = 8_192
"""Bytes of a line that are printed at most; what is shown is shorter."""
BYTES_BEFORE = 500
"""Bytes of a long line before its first match that are printed with it."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The files to search: `only` this name in the folder, or those whose name matches one of `names` (none:
    all). `levels` is the number of folders above whose ignore rules apply; `repositories`: rules end at
    another repository."""

    only: str | None = None
    names: tuple[str, ...] = ()
    levels: int = 0
    repositories: bool = False


@dataclass(frozen=True, slots=True)
class TextQuery:
    """With `around`, each line is printed from `BYTES_BEFORE` before its first match on, and before that
    the column in bytes, from 1, at which this begins, and a colon."""

    pattern: str
    mode: OutputMode
    ignore_case: bool = False
    context: int = 0
    around: bool = False


class Ripgrep:
    """Makes the commands of `program`, to be run in the folder that is searched. No configuration of a user
    or machine counts."""

    def __init__(self, program: str) -> None:
        self.program = program

    @classmethod
    def installed(cls, environment: Mapping[str, str]) -> Ripgrep:
        return cls(found_program("rg", environment))

    def text(self, query: TextQuery, walk: Walk) -> list[str]:
        """Return what prints matching lines (`path NUL number : line`), paths, or `path NUL count`."""
        options = ["--null", "--with-filename", "--no-heading", "--color=never", "--crlf"]
        if query.mode == "content":
            options += ["--line-number", f"--max-columns={MAX_COLUMNS}", "--max-columns-preview"]
            options += [f"--context={query.context}", "--no-context-separator"] if query.context else []
        else:
            options.append("--count" if query.mode == "count" else "--files-with-matches")
        if query.ignore_case:
            options.append("--ignore-case")
        pattern = query.pattern
        if query.around:  # in bytes, and to the end, so that each line is printed once
            pattern = rf"(?-u:[^\n]){{0,{BYTES_BEFORE}}}?(?:{pattern})(?-u:[^\n])*"
            options += ["--only-matching", "--column"]
        return self._command([*options, f"--regexp={pattern}"], walk)

    def files(self, walk: Walk) -> list[str]:
        return self._command(["--files", "--null"], walk)

    def _command(self, options: list[str], walk: Walk) -> list[str]:
        argv = [self.program, "--no-config", "--no-messages", "--hidden", *options]
        argv += ["--no-ignore-dot", "--no-ignore-global", "--no-ignore-exclude"]
        argv += [] if walk.levels else ["--no-ignore-parent"]
        argv += [] if walk.repositories else ["--no-require-git"]
        if walk.only is not None:
            argv += ["--no-ignore", "--max-depth=1", f"--glob={literal_name(walk.only)}"]
        else:
            argv += [f"--glob=!{name}" for name in VERSION_CONTROL]
        argv += [f"--type-add=wanted:{name}" for name in walk.names]
        argv += ["--type=wanted"] if walk.names else []
        return [*argv, "--", START.decode()]


def literal_name(name: str) -> str:
    """Write a file's name as a glob that matches only that name."""
    return "".join(
        character if character.isalnum() or ord(character) > 127 else f"\\{character}" for character in name
    )
