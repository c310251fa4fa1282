"""What the ignore rules of a project leave out, decided for every path.

Owns: asking the simple rules first and, where these are uncertain, git's rules in full. Never: walking. A
snapshot: changed rules need a new object.
"""

from __future__ import annotations

import os
from pathlib import Path

from app.workspace.folder_rules import ProjectRules
from app.workspace.ignore_rules import IgnoreRules, read_rules

_MAX_KNOWN = 5_000


class TreeRules:
    """The rules below `root`, a real path. Blocking, a small file at a time. One thread at a time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._quick = ProjectRules(root)
        above = self._quick.above
        self._outer = root.parts[len(root.parts) - above.levels :] if above.levels else ()
        self._repositories = above.repositories
        self._known: dict[str, IgnoreRules | None] = {}

    def still_hold(self) -> bool:
        """Tell whether the rules from above the root are the same as when this was made."""
        return self._quick.still_hold(self._root)

    def leave_out(self, path: str, *, is_folder: bool) -> bool:
        """Tell whether a file or folder, relative to the root, is left out; its folder is not."""
        quick = self._quick.ignored_folder(path) if is_folder else self._quick.ignored_file(path)
        if quick is not None:
            return quick
        rules = self._at(path.rpartition("/")[0])
        return rules is not None and rules.ignore((*self._outer, *path.split("/")), is_directory=is_folder)

    def leaves_out_folder(self, parts: tuple[str, ...]) -> bool:
        """Tell whether a folder, or one that it lies in, is left out."""
        return any(
            self.leave_out("/".join(parts[:length]), is_folder=True) for length in range(1, len(parts) + 1)
        )

    def _at(self, folder: str) -> IgnoreRules | None:
        """Return the rules that hold for what lies directly in a folder."""
        if folder in self._known:
            return self._known[folder]
        place = self._root / folder
        if not folder:
            above, depth = self._from_above(), len(self._outer)
        else:
            above, depth = self._at(folder.rpartition("/")[0]), len(self._outer) + folder.count("/") + 1
            if self._repositories and os.path.lexists(place / ".git"):
                above = None
        found = IgnoreRules.of_folder(read_rules(place), depth=depth, above=above)
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[folder] = found
        return found

    def _from_above(self) -> IgnoreRules | None:
        rules: IgnoreRules | None = None
        levels = len(self._outer)
        for depth in range(levels):
            place = self._root.parents[levels - depth - 1]
            rules = IgnoreRules.of_folder(read_rules(place), depth=depth, above=rules)
        return rules
