"""Files that a project file names and that steer or run: prompts, project files, programs.

Owns: collecting them, with the position that names each, over a project and those that it refers to. Never:
reading them, or keeping anybody from writing to them; that is the cage of a run.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from app.harness.dsl.document import Node, Position
from app.harness.dsl.paths import PathProblem, contained, display_path, read_path


@dataclass(slots=True)
class NamedFiles:
    """What is named below `root`, a real path. Without `look` nothing is looked up on disk."""

    root: Path
    look: bool = True
    positions: dict[Path, Position] = field(default_factory=dict)
    """Absolute paths without links followed, and the first position that names each."""

    def of_document(self, document: Node) -> None:
        """Note the programs and the prompts of workflows that a project's document names."""
        for node in _programs(document):
            self._note_program(node)
        workflows = document.get("workflows")
        for workflow in workflows.entries.values() if workflows is not None else ():
            self._note(workflow.get("system_prompt"))

    def of_prompts(self, prompts: Iterable[tuple[str, Position]]) -> None:
        """Note prompt files, which were found already."""
        for file, position in prompts:
            self._add(Path(file), position)

    def paths(self) -> tuple[str, ...]:
        """Return what was noted relative to the root: as it is written, and where links lead."""
        found: dict[str, None] = {}
        for path in self.positions:
            found[display_path(path, self.root)] = None
            if self.look:
                try:
                    found[display_path(contained(path, self.root), self.root)] = None
                except PathProblem:
                    continue
        return tuple(found)

    def _add(self, path: Path, position: Position) -> None:
        if path != self.root and path.is_relative_to(self.root):
            self.positions.setdefault(path, position)

    def _note(self, node: Node | None) -> None:
        if node is None or node.text is None:
            return
        try:
            self._add(read_path(node.text).under(node.position.source.project_root), node.position)
        except PathProblem:
            return  # the compiler has reported it

    def _note_program(self, node: Node) -> None:
        """Note a word of a command: a program in the project, or a script that one runs."""
        word = (node.text or "").rpartition("=")[2]
        if not word or "\0" in word or word.startswith("-"):
            return
        base = node.position.source.project_root
        path = Path(os.path.normpath(base / word))
        if not self.look or path.is_dir() or not ("/" in word or path.is_file()):
            return
        self._add(path, node.position)


def _programs(document: Node) -> Iterator[Node]:
    """Yield the words of commands that may be files of the project. Of a task, which may name any file, only
    what it runs."""
    for section, key, commands in (
        ("lsp", "servers", ("command",)),
        ("dap", "adapters", ("command", "adapter")),
    ):
        for one in _items(document, section, key):
            for name in commands:
                yield from _words(one.get(name))
    tasks = document.get("tasks")
    for task in tasks.entries.values() if tasks is not None else ():
        yield from list(_words(task.get("command")))[:1]


def _items(document: Node, section: str, key: str) -> tuple[Node, ...]:
    holder = document.get(section)
    items = holder.get(key) if holder is not None else None
    return items.value if items is not None and isinstance(items.value, tuple) else ()


def _words(node: Node | None) -> Iterator[Node]:
    if node is None:
        return
    if isinstance(node.value, tuple):
        yield from node.value
    elif node.text is not None:
        try:
            words = shlex.split(node.text, comments=True)
        except ValueError:
            return
        for word in words:
            yield Node(word, node.position, node.key)
