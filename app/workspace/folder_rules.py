"""Which folders and files of one project its ignore rules exclude. A snapshot: changed rules need a new
object.

Owns: the rules in effect in each folder, read on first use. Never: walking, or guessing what is uncertain.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from app.workspace.ignore_rules import (
    MAX_RULES_BYTES,
    RULES_FILE,
    VERSION_CONTROL,
    RulesAbove,
    read_rules,
    rules_above,
)
from app.workspace.simple_rules import SimpleRules
from app.workspace.tree_watch import FileChange

_MAX_KNOWN = 5_000


@dataclass(frozen=True, slots=True)
class _Level:
    """The rules of one folder; `start` is where a path below it begins within a whole path."""

    rules: SimpleRules
    start: int
    above: _Level | None


@dataclass(frozen=True, slots=True)
class _InEffect:
    level: _Level | None
    certain: bool
    keeps_unknown: bool
    seen: bool


_NOTHING = _InEffect(None, certain=True, keeps_unknown=False, seen=True)


class ProjectRules:
    """The rules below `root`, a real path. Blocking, a small file at a time. One thread at a time."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self.above: RulesAbove = rules_above(root, root)
        parents = [root, *root.parents][1 : self.above.levels + 1]
        self._outer = [str(parent) for parent in reversed(parents)]
        self._outer_contents = [read_rules(Path(place)) for place in self._outer]
        names = root.parts[len(root.parts) - self.above.levels :] if self.above.levels else ()
        self._outside = "".join(f"{name}/" for name in names)
        self._known: dict[str, _InEffect] = {}

    def ignored(self, folder: str) -> bool:
        """Tell whether a folder, relative to the root, is certainly left out."""
        parent, _, name = folder.rpartition("/")
        if name in VERSION_CONTROL:
            return True
        in_effect = self._at(parent)
        return not in_effect.keeps_unknown and self._verdict(in_effect, folder, is_folder=True)

    def ignored_file(self, path: str) -> bool | None:
        """Tell whether a file is left out, None when that is not certain. Its folder is not."""
        parent, _, name = path.rpartition("/")
        if name in VERSION_CONTROL:
            return True
        in_effect = self._at(parent)
        return self._verdict(in_effect, path, is_folder=False) if in_effect.certain else None

    def ignored_folder(self, path: str) -> bool | None:
        """Tell the same of a folder."""
        if path.rpartition("/")[2] in VERSION_CONTROL:
            return True
        in_effect = self._at(path.rpartition("/")[0])
        return self._verdict(in_effect, path, is_folder=True) if in_effect.certain else None

    def changes_are_seen(self, folder: str) -> bool:
        """Tell whether the rules in effect in a folder come from plain files, as far as these are
        below the root: a watch of the tree then sees when they change."""
        return self._at(folder).seen

    def still_hold(self, folder: Path) -> bool:
        """Tell whether the rules from above the root are the same as when this was made, and a
        search that begins in `folder`, a real path, goes by the same rules as one from the root."""
        parts = folder.relative_to(self._root).parts
        expected = RulesAbove(self.above.levels + len(parts), self.above.repositories)
        if rules_above(folder, Path(self._root)) != expected:
            return False
        return self._outer_contents == [read_rules(Path(place)) for place in self._outer]

    def decided_by(self, change: FileChange) -> bool:
        """Tell whether a change is one of rules, or of where a repository begins."""
        name = change.path.rpartition("/")[2]
        return name == RULES_FILE or (name == ".git" and change.kind != "changed")

    def _verdict(self, in_effect: _InEffect, path: str, *, is_folder: bool) -> bool:
        whole = self._outside + path
        level = in_effect.level
        while level is not None:
            verdict = level.rules.ignore(whole[level.start :], is_folder=is_folder)
            if verdict is not None:
                return verdict
            level = level.above
        return False

    def _at(self, folder: str) -> _InEffect:
        """Return what holds for what lies directly in a folder."""
        known = self._known.get(folder)
        if known is not None:
            return known
        if not folder:
            in_effect = self._from_above()
            in_effect = self._joined(in_effect, self._root, len(self._outside))
        else:
            in_effect = self._at(folder.rpartition("/")[0])
            place = f"{self._root}/{folder}"
            if self.above.repositories and os.path.lexists(f"{place}/.git"):
                in_effect = _NOTHING
            in_effect = self._joined(in_effect, place, len(self._outside) + len(folder) + 1)
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[folder] = in_effect
        return in_effect

    def _from_above(self) -> _InEffect:
        in_effect, start = _NOTHING, 0
        for number, place in enumerate(self._outer):
            if number:
                start += len(place.rpartition("/")[2]) + 1
            in_effect = self._joined(in_effect, place, start)
        return replace(in_effect, seen=True)  # `still_hold` looks at these

    def _joined(self, before: _InEffect, place: str, start: int) -> _InEffect:
        try:
            content = _content(f"{place}/{RULES_FILE}")
        except OSError:
            return _InEffect(before.level, certain=False, keeps_unknown=True, seen=False)
        if content is None:
            return before
        rules = SimpleRules.parse(content)
        return _InEffect(
            _Level(rules, start, before.level) if rules.rules else before.level,
            certain=before.certain and not rules.unknown_ignores,
            keeps_unknown=before.keeps_unknown or rules.unknown_keeps,
            seen=before.seen,
        )


def _content(path: str) -> bytes | None:
    """Return what a rules file holds, None when there is none. Raises OSError when it is not a plain
    file whose every change is seen in its folder, or cannot be read whole."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_size >= MAX_RULES_BYTES:
            raise OSError(f"{path} is not a plain file")
        return file.read(MAX_RULES_BYTES)
