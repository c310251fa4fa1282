"""What the tests of the project file share: a catalog of tools, and folders with projects in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.harness.dsl.compiler import CompileResult, compile_project

TOOLS: dict[str, tuple[str, ...]] = {
    "file.read": (),
    "file.write": (),
    "file.create": (),
    "edit.text": (),
    "search.grep": (),
    "kaged.issue": ("list", "get", "create", "comment", "transition"),
    "kaged.todo": ("view", "set"),
    "kaged.workflow.list": (),
    "kaged.workflow.trigger": (),
    "kaged.workflow.status": (),
    "kaged.checkpoint": (),
    "kaged.ask": (),
    "kaged.form": (),
    "read": (),
    "edit": (),
}
ROOT_ONLY = ("kaged.issue", "kaged.todo", "kaged.workflow", "kaged.ask", "kaged.form")


@dataclass(frozen=True)
class Catalog:
    """A catalog over a table of tools and their actions."""

    tools: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: TOOLS)
    root_defaults: bool = True

    def actions(self) -> dict[str, tuple[str, ...]]:
        return {tool: tuple(f"{tool}.{action}" for action in actions) for tool, actions in self.tools.items()}

    def principal_scope(self, name: str) -> str | None:
        return "root-only" if name.startswith(ROOT_ONLY) else None

    def root_default(self, name: str) -> bool:
        return self.root_defaults and name.startswith("kaged.")

    def groups(self) -> dict[str, tuple[str, ...]]:
        return {"@locked": ("read",), "@planning": ("kaged.todo", "kaged.checkpoint")}


TODAY = Catalog(dict.fromkeys(("file.read", "file.write", "file.create", "edit.text"), ()), False)

MINIMAL = """\
version: 1
project: my-app
primary:
  model: smart
  system_prompt: prompts/primary.md
  cage: disabled
"""


def write_project(root: Path, text: str | bytes, files: Mapping[str, str | bytes] | None = None) -> Path:
    """Write a project file and other files below a folder; `prompts/primary.md` is always there."""
    wanted: dict[str, str | bytes] = {".kaged/project.yaml": text, "prompts/primary.md": "You help.\n"}
    for name, content in {**wanted, **(files or {})}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def compiled(root: Path, text: str | bytes, files: Mapping[str, str | bytes] | None = None) -> CompileResult:
    """Write a project and compile it."""
    return compile_project(write_project(root, text, files), catalog=Catalog())


def found(result: CompileResult) -> list[tuple[str, int, int, str]]:
    """Code, line, column and path of every diagnostic."""
    return [(d.code, d.line, d.column, d.path) for d in result.diagnostics]


def codes(result: CompileResult) -> list[str]:
    return [d.code for d in result.diagnostics]
