"""Reads the package's own source for the architecture tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class SourceFile:
    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree: dozens of rules look at each."""
        return list(ast.walk(self.tree))

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


def sources(folder: str = "app") -> list[SourceFile]:
    """Return every Python file below `folder`, sorted by path relative to the repository."""
    return [
        SourceFile(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for a chain of attributes, else an empty text."""
    if isinstance(node, ast.Attribute):
        left = dotted(node.value)
        return f"{left}.{node.attr}" if left else ""
    return node.id if isinstance(node, ast.Name) else ""


def imported_names(source: SourceFile) -> Iterator[tuple[int, str]]:
    """Yield `(line, full name)` for every import, wherever it stands."""
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
