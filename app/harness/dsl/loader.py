"""Reading a project's documents from disk: `project.yaml` with `project.local.yaml` laid over it.

Owns: finding and reading the two files, and what an overlay may not touch. Never: what the keys mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node, Position, SourceFile
from app.harness.dsl.overlay import merge, warn_of_idle_nulls
from app.harness.dsl.parser import MAX_BYTES, parse
from app.harness.dsl.paths import (
    CONFIG_FOLDER,
    LOCAL_FILE,
    PROJECT_FILE,
    PathProblem,
    display_path,
    read_project_file,
)

_FIXED_KEYS = ("version", "project")
_MISNAMED = ("project.yml", "project.json", "kaged.yaml")


@dataclass(frozen=True, slots=True)
class Document:
    """One project's merged document; `node` is None when nothing usable was read."""

    source: SourceFile
    node: Node | None


@dataclass(slots=True)
class ProjectLoader:
    """Reads documents for one compilation, each project once."""

    root: Path
    bag: DiagnosticBag
    texts: dict[str, str] = field(default_factory=dict)
    """Display path to text of every file read, for rendering diagnostics."""
    files: dict[str, None] = field(default_factory=dict)
    """Absolute paths of every file that matters, whether or not it exists yet."""
    _documents: dict[Path, Document] = field(default_factory=dict)

    def exists(self, project_root: Path) -> bool:
        return (project_root / CONFIG_FOLDER / PROJECT_FILE).is_file()

    def load(self, project_root: Path) -> Document:
        """Read and merge a project's documents; problems go to the bag."""
        if project_root not in self._documents:
            self._documents[project_root] = self._load(project_root)
        return self._documents[project_root]

    def source_at(self, path: Path, project_root: Path) -> SourceFile:
        return SourceFile(path, display_path(path, self.root), project_root)

    def _load(self, project_root: Path) -> Document:
        folder = project_root / CONFIG_FOLDER
        source = self.source_at(folder / PROJECT_FILE, project_root)
        base = self.check_map(self._read(source, required=True))
        return Document(source, self.with_local(base, project_root))

    def check_map(self, node: Node | None) -> Node | None:
        """Return the node of a whole file; report it and return None when it is no map."""
        if node is not None and not node.is_map:
            self.bag.error("wrong_type", f"the file must be a map, found {node.kind}", node.position)
            return None
        return node

    def with_local(self, base: Node | None, project_root: Path) -> Node | None:
        """Lay a project's local file over its document; problems go to the bag."""
        overlay = self.source_at(project_root / CONFIG_FOLDER / LOCAL_FILE, project_root)
        local = self.check_map(self._read(overlay, required=False))
        if base is None or local is None:
            return base
        local = self._without_fixed_keys(local)
        warn_of_idle_nulls(base, local, self.bag)
        return merge(base, local)

    def _read(self, source: SourceFile, *, required: bool) -> Node | None:
        self.files[str(source.path)] = None
        start = Position(source, 1, 1, ())
        try:
            data = read_project_file(source.path, source.project_root, MAX_BYTES)
        except FileNotFoundError:
            if required:
                self.bag.error("project_missing", self._missing_message(source.path), start)
            return None
        except PathProblem as problem:
            self.bag.error(problem.code, problem.message, start)
            return None
        except (OSError, ValueError) as error:
            self.bag.error("file_unreadable", f"cannot read the file: {error}", start)
            return None
        self.texts[source.display] = data[:MAX_BYTES].decode("utf-8-sig", "replace")
        return parse_document(data, source, self.bag, required=required)

    def _missing_message(self, path: Path) -> str:
        found = next((name for name in _MISNAMED if (path.parent / name).is_file()), None)
        if found is not None:
            return f"there is no {PROJECT_FILE}; rename {found} to {PROJECT_FILE}"
        return f"there is no {CONFIG_FOLDER}/{PROJECT_FILE} here; `kaged init` writes one"

    def _without_fixed_keys(self, local: Node) -> Node:
        for name in _FIXED_KEYS:
            node = local.get(name)
            if node is not None:
                self.bag.error(
                    "overlay_forbidden", f"`{name}` cannot be overridden; remove it here", node.key
                )
        return local.without(*_FIXED_KEYS)


def parse_document(data: bytes, source: SourceFile, bag: DiagnosticBag, *, required: bool) -> Node | None:
    """Parse a whole file. An empty document is an error where one is required."""
    before = len(bag)
    node = parse(data, source, bag)
    if node is None or node.value is None:
        if required and len(bag) == before:
            bag.error(
                "project_empty",
                "the file is empty; `kaged init` writes a starter",
                Position(source, 1, 1, ()),
            )
        return None
    return node
