"""Files that a project file names and that steer or run: prompts, project files, programs.

Owns: collecting them, with the position that names each, over a project and those that it refers to. Never:
reading them, or keeping anybody from writing to them; that is the cage of a run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from app.cages.file_grants import FileGrants
from app.cages.protected_names import is_protected
from app.harness.dsl.compiled import CompiledProject
from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node, Position
from app.harness.dsl.hooks import hooks_of
from app.harness.dsl.paths import PathProblem, contained, display_path, read_path
from app.tools.authorisation.shell_reader import read_script

_INTERPRETER = re.compile(
    r"(?:ba|da|z|k|fi|tc|c)?sh|python[0-9.]*|pypy[0-9.]*|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php|lua"
    r"|Rscript|pwsh|source|\."
)


@dataclass(slots=True)
class NamedFiles:
    """What is named below `root`, a real path. Without `look` nothing is looked up on disk."""

    root: Path
    look: bool = True
    positions: dict[Path, Position] = field(default_factory=dict)
    """Absolute paths without links followed, and the first position that names each."""

    def of_document(self, document: Node) -> None:
        """Note the programs, the prompts of workflows and the folders of skills that a project's document
        names."""
        for node in _servers_and_adapters(document):
            self._note_program(node)
        for task in document.map_at("tasks").values():
            folder = task.get("cwd")
            for node in _run_by(task.get("command")):
                self._note_program(node, (folder.text or ".") if folder is not None else ".")
        for hook in hooks_of(document):
            for node in _run_by(hook.get("command")):
                self._note_program(node)
        for workflow in document.map_at("workflows").values():
            self._note(workflow.get("system_prompt"))
        for folder in document.list_at("skills", "paths"):
            self._note(folder)

    def of_prompts(self, prompts: Iterable[tuple[str, Position]]) -> None:
        """Note prompt files, which were found already."""
        for file, position in prompts:
            self._add(Path(file), position)

    def paths(self) -> tuple[str, ...]:
        """Return what was noted relative to the root: as it is written, and where links lead."""
        return tuple(dict.fromkeys(place for path in self.positions for place in self.places(path)))

    def places(self, path: Path) -> Iterator[str]:
        """Yield where one of the paths is below the root: as it is written, and where links lead."""
        yield display_path(path, self.root)
        if self.look:
            with suppress(PathProblem):
                yield display_path(contained(path, self.root), self.root)

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

    def _note_program(self, node: Node, folder: str = ".") -> None:
        """Note a word of a command that runs in a folder: a program in the project, or a script of one."""
        word = (node.text or "").rpartition("=")[2]
        if not word or "\0" in word or word.startswith("-"):
            return
        base = node.position.source.project_root / folder
        path = Path(os.path.normpath(base / word))
        if not self.look or path.is_dir() or not ("/" in word or path.is_file()):
            return
        self._add(path, node.position)


def _servers_and_adapters(document: Node) -> Iterator[Node]:
    """Yield the words of commands that may be files of the project."""
    for server in document.map_at("mcp").values():
        yield from _words(server.get("command"))
    for section, key, commands in (
        ("lsp", "servers", ("command",)),
        ("dap", "adapters", ("command", "adapter")),
    ):
        for one in document.list_at(section, key):
            for name in commands:
                yield from _words(one.get(name))


def _run_by(command: Node | None) -> Iterator[Node]:
    """Yield what a task runs: programs, and the scripts that interpreters are given. It may name any other
    file as well."""
    if command is None:
        return
    if isinstance(command.value, tuple):
        parts = [[word.text or "" for word in command.value]]
    else:
        parts = [[word.text for word in part.words] for part in read_script(command.text or "").parts]
    for name, *rest in filter(None, parts):
        yield Node(name, command.position, command.key)
        script = next((word for word in rest if not word.startswith(("-", "+"))), None)
        if script is not None and _INTERPRETER.fullmatch(name.rpartition("/")[2]):
            yield Node(script, command.position, command.key)


def _words(node: Node | None) -> Iterator[Node]:
    if node is not None and isinstance(node.value, tuple):
        yield from node.value


_ROOT_UNCAGED = (
    "the root agent has all rights of the daemon's user; write a block, as "
    "`{ fs: [{ mode: rw, path: . }], state: persistent, capabilities: [shell, exec] }`"
)
_MOST_NAMED = 3


def warn_of_what_is_open(
    project: CompiledProject, primary: Node, named: NamedFiles, bag: DiagnosticBag
) -> None:
    """Add the warnings `root_uncaged` and `steering_file_writable`."""
    if project.root.cage == "disabled" and (written := primary.get("cage")) is not None:
        bag.warning("root_uncaged", _ROOT_UNCAGED, written.position)
    grants = {
        agent.path: FileGrants.of([one.model_dump() for one in agent.cage.fs], named.root)
        for agent in project.agents()
        if agent.cage != "disabled"
    }
    for path, position in named.positions.items():
        for place in dict.fromkeys(named.places(path)):
            parts = tuple(place.split("/"))
            writers = [agent for agent, granted in grants.items() if granted.mode(parts) == "rw"]
            if writers and not any(map(is_protected, parts)):
                shown = ", ".join(writers[:_MOST_NAMED]) + (", …" if len(writers) > _MOST_NAMED else "")
                message = (
                    f"`{place}` lies where {shown} may write. It stays read-only in every cage; "
                    "put it below `.kaged`, or grant less"
                )
                bag.warning("steering_file_writable", message, position)
                break
