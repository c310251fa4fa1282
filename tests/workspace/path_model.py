"""What the workspace has to answer, written from the rules and not from its code.

Owns: a tree in memory, what a path means in it, and what a cage lets its caller do there.
Never: touching a file system.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

Parts = tuple[str, ...]


@dataclass
class File:
    content: bytes


@dataclass
class Link:
    text: str


@dataclass
class Pipe:
    pass


@dataclass
class Folder:
    entries: dict[str, Node] = field(default_factory=dict)


Node = File | Link | Pipe | Folder

PROTECTED = {".git", ".Git", ".GIT", ".git.", "．git", "git~1", ".kaged", ".bashrc", ".git:x"}
"""The protected spellings among the names that are tried."""


ALIKE = ({"a", "A"}, {"ü", "u\u0308"}, {".git", ".Git", ".GIT", ".git.", "．git", ".git:x"})
"""Names that some file system takes for one."""


def alike(one: Parts, other: Parts) -> bool:
    pairs = zip(one, other, strict=True)
    return all(a == b or any({a, b} <= names for names in ALIKE) for a, b in pairs)


class Refused(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def _of_equals(modes: list[str]) -> str:
    return "deny" if "deny" in modes else modes[0]


@dataclass
class Found:
    """Where a path ends: real components, the node there, and how many of them do not exist."""

    parts: Parts
    node: Node | None
    missing: int = 0


@dataclass
class Model:
    """A project at the absolute path `root` with its `tree`; `grants` None means no cage."""

    root: str
    tree: Folder
    grants: list[tuple[Parts, str]] | None = None

    def copy(self) -> Model:
        return copy.deepcopy(self)

    # rules of the text

    def by_text(self, path: str) -> tuple[Parts, bool]:
        if path == "" or "\0" in path or any("\ud800" <= one <= "\udfff" for one in path):
            raise Refused("invalid_path")
        if len(path.encode()) > 4096 or path[0] == "~":
            raise Refused("invalid_path")
        found: list[str] = []
        for name in path.split("/"):
            if name == "..":
                if not found:
                    raise Refused("invalid_path")
                del found[-1]
            elif name not in ("", "."):
                if len(name.encode()) > 255:
                    raise Refused("invalid_path")
                found.append(name)
        if path[0] == "/":
            found = self._inside(found)
        return tuple(found), path[-1] == "/"

    def _inside(self, names: list[str]) -> list[str]:
        base = self.root.strip("/").split("/")
        if names[: len(base)] != base:
            raise Refused("invalid_path")
        return names[len(base) :]

    # rules of the cage

    def mode(self, parts: Parts) -> str | None:
        if self.grants is None:
            return "rw"
        covering = [(len(at), mode) for at, mode in self.grants if parts[: len(at)] == at]
        if not covering:
            return None
        longest = max(length for length, _ in covering)
        exact = _of_equals([mode for length, mode in covering if length == longest])
        similar = [(len(at), mode) for at, mode in self.grants if self._may_cover(at, parts)]
        further = max(length for length, _ in similar)
        if further == longest:
            return exact
        other = _of_equals([mode for length, mode in similar if length == further])
        return next(mode for mode in ("deny", "ro", "rw") if mode in (exact, other))

    def _may_cover(self, at: Parts, parts: Parts) -> bool:
        return len(at) <= len(parts) and alike(at, parts[: len(at)])

    def allow(self, parts: Parts, access: str) -> None:
        mode = self.mode(parts)
        if mode in (None, "deny") or (access == "rw" and mode == "ro"):
            raise Refused("capability_denied")
        if self.grants is not None and access == "rw" and PROTECTED & set(parts):
            raise Refused("capability_denied")

    def allow_look(self, parts: Parts) -> None:
        if self.grants is None or self.mode(parts) in ("ro", "rw"):
            return
        ways = [at for at, mode in self.grants if mode != "deny" and len(at) > len(parts)]
        if not any(at[: len(parts)] == parts for at in ways):
            raise Refused("capability_denied")

    # resolution

    def find(self, parts: Parts, access: str, *, follow_last: bool = True) -> Found:
        self.allow(parts, access)
        found = self._find(parts, follow_last=follow_last)
        self.allow(found.parts, access)
        return found

    def _find(self, parts: Parts, *, follow_last: bool) -> Found:
        todo, here, turns = list(parts), [], 0
        while todo:
            name, *todo = todo
            if name in ("", "."):
                continue
            if name == "..":
                if not here:
                    raise Refused("invalid_path")
                del here[-1]
                continue
            self.allow_look((*here, name))
            folder = self.node(tuple(here))
            assert isinstance(folder, Folder)
            node = folder.entries.get(name)
            rest = [one for one in todo if one not in ("", ".")]
            if node is None:
                return Found((*here, name, *rest), None, missing=1 + len(rest))
            if isinstance(node, Link) and (todo or follow_last):
                turns += 1
                if turns > 40:
                    raise Refused("invalid_path")
                text = node.text.split("/")
                if node.text.startswith("/"):
                    text, here = self._inside([one for one in text if one not in ("", ".")]), []
                todo = [*text, *todo]
            elif isinstance(node, Folder):
                here.append(name)
            elif rest:
                raise self._blocked((*here, name, *rest))
            else:
                return Found((*here, name), node)
        return Found(tuple(here), self.node(tuple(here)))

    def _blocked(self, parts: Parts) -> Refused:
        """A file is where a folder has to be; who may not use such a path is not told."""
        self._blocked_at = parts
        return Refused("file_not_found")

    def node(self, parts: Parts) -> Node | None:
        at: Node | None = self.tree
        for name in parts:
            at = at.entries.get(name) if isinstance(at, Folder) else None
        return at

    # uses

    def open(self, path: str) -> tuple[Parts, Node]:
        found = self.find(self.by_text(path)[0], "ro")
        if found.node is None:
            raise Refused("file_not_found")
        if isinstance(found.node, Pipe):
            raise Refused("invalid_path")
        return found.parts, found.node

    def target(self, path: str) -> Found:
        parts, names_folder = self.by_text(path)
        found = self.find(parts, "rw")
        if ".." in found.parts:
            raise Refused("invalid_path")
        if names_folder or isinstance(found.node, Folder):
            raise Refused("is_directory")
        if isinstance(found.node, Pipe):
            raise Refused("invalid_path")
        return found

    def entry(self, path: str) -> Found:
        parts, _ = self.by_text(path)
        if not parts:
            raise Refused("invalid_path")
        found = self.find(parts, "rw", follow_last=False)
        if ".." in found.parts:
            raise Refused("invalid_path")
        if isinstance(found.node, Link):
            raise Refused("symbolic_link")
        if isinstance(found.node, Pipe):
            raise Refused("invalid_path")
        return found

    # changes

    def write(self, path: str, content: bytes) -> None:
        found = self.target(path)
        self._folder_for(found.parts).entries[found.parts[-1]] = File(content)

    def remove(self, path: str) -> None:
        found = self.entry(path)
        if found.node is None:
            raise Refused("file_not_found")
        del self._folder_for(found.parts).entries[found.parts[-1]]

    def move(self, old: str, new: str) -> None:
        source, goal = self.entry(old), self.entry(new)
        if source.node is None or goal.missing > 1:
            raise Refused("file_not_found")
        if goal.node is not None:
            raise Refused("file_exists")
        if goal.parts[: len(source.parts)] == source.parts:
            raise Refused("io_error")
        del self._folder_for(source.parts).entries[source.parts[-1]]
        self._folder_for(goal.parts).entries[goal.parts[-1]] = source.node

    def _folder_for(self, parts: Parts) -> Folder:
        at = self.tree
        for name in parts[:-1]:
            below = at.entries.setdefault(name, Folder())
            assert isinstance(below, Folder)
            at = below
        return at
