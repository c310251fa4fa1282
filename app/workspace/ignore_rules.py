"""Which files a project's `.gitignore` files exclude from a search.

Owns: the rules as git reads them. Never: other sources (a user's excludes, `.ignore`), which differ by
machine.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.workspace.repository import repository_top

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

RULES_FILE = ".gitignore"
MAX_RULES_BYTES = 1_000_000
VERSION_CONTROL = (".git", ".hg", ".svn", ".jj")
"""Never searched, except from within."""


class IgnoreRules:
    """The rules of one folder and of those above it. Blocking."""

    def __init__(self, depth: int, spec: GitIgnoreSpec | None, above: IgnoreRules | None) -> None:
        self._depth = depth
        self._spec = spec
        self._above = above

    @classmethod
    def of_folder(cls, content: bytes | None, *, depth: int, above: IgnoreRules | None) -> IgnoreRules | None:
        """Return the rules that hold in a folder `depth` names below the top."""
        if not content:
            return above
        from pathspec import GitIgnoreSpec  # 40 ms, and most searches never need it

        text = content[:MAX_RULES_BYTES].decode("utf-8", "surrogateescape").removeprefix("\ufeff")
        return cls(depth, GitIgnoreSpec.from_lines(text.splitlines()), above)

    def ignore(self, parts: tuple[str, ...], *, is_directory: bool) -> bool:
        """Tell whether `parts`, below the top, is left out; its folder is known not to be."""
        rules: IgnoreRules | None = self
        while rules is not None:
            if rules._spec is not None:
                path = "/".join(parts[rules._depth :]) + ("/" if is_directory else "")
                include = rules._spec.check_file(path).include
                if include is not None:
                    return include
            rules = rules._above
        return False


@dataclass(frozen=True, slots=True)
class RulesAbove:
    """How many `levels` of rules from above apply to a folder. With `repositories` the folder is part of one,
    and rules end where another repository begins."""

    levels: int
    repositories: bool


def rules_above(folder: Path, root: Path) -> RulesAbove:
    """Return which folders above `folder` have rules that hold in it. Blocking.

    Those are the folders up to the repository's, or without one up to `root`, the project's. None
    of them counts when `folder` is itself left out by their rules: who names it wants to see it.
    """
    top = repository_top(folder)
    if top == folder:
        return RulesAbove(0, repositories=True)
    is_repository = top is not None
    if top is None:
        if _rules_further_up(root) or not folder.is_relative_to(root):
            return RulesAbove(0, repositories=False)
        top = root
    names = folder.relative_to(top).parts
    rules: IgnoreRules | None = None
    current = top
    for depth, name in enumerate(names):
        rules = IgnoreRules.of_folder(read_rules(current), depth=depth, above=rules)
        if rules is not None and rules.ignore(names[: depth + 1], is_directory=True):
            return RulesAbove(0, repositories=False)
        current = current / name
    return RulesAbove(len(names), is_repository)


def _rules_further_up(root: Path) -> bool:
    """Without a repository, rules above the project are somebody else's; ripgrep would take them."""
    return any(os.path.lexists(parent / RULES_FILE) for parent in root.parents)


def read_rules(folder: Path | int) -> bytes | None:
    """Return what the rules file of a folder, by path or descriptor, holds; None when there is no such
    regular file. Links are not followed, as git does not: by what is ignored one could tell what the
    file that they lead to holds."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        if isinstance(folder, int):
            descriptor = os.open(RULES_FILE, flags, dir_fd=folder)
        else:
            descriptor = os.open(folder / RULES_FILE, flags)
    except OSError:
        return None
    try:
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            return file.read(MAX_RULES_BYTES)
    except OSError:
        return None
