"""The tasks that package.json, pyproject.toml and Cargo's configuration declare.

Owns: reading these formats; a file that does not parse declares nothing. Never: choosing a runner.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

import orjson

_PACKAGE_MANAGER = re.compile(r"(npm|pnpm|yarn|bun)@")
_PYTEST = re.compile(r"pytest(?![A-Za-z0-9_.-])", re.I)


@dataclass(frozen=True, slots=True)
class Package:
    """A package.json: the `packageManager` that it names, and its scripts."""

    manager: str | None
    scripts: tuple[str, ...]


def package(text: str) -> Package | None:
    """Return what a package.json says, None when it is no JSON object."""
    try:
        document = orjson.loads(text)
    except ValueError:
        return None
    if not isinstance(document, dict):
        return None
    manager = document.get("packageManager")
    named = _PACKAGE_MANAGER.match(manager) if isinstance(manager, str) else None
    scripts = [name for name, line in _table(document, "scripts").items() if isinstance(line, str)]
    hooks = {f"{when}{name}" for when in ("pre", "post") for name in scripts}
    return Package(named.group(1) if named else None, tuple(name for name in scripts if name not in hooks))


@dataclass(frozen=True, slots=True)
class PythonProject:
    """A pyproject.toml: which tools it configures, and the commands to run in its environment."""

    tools: frozenset[str]
    commands: dict[str, tuple[str, ...]] = field(default_factory=dict)
    uses_pytest: bool = False


def python_project(text: str) -> PythonProject | None:
    """Return the contents of a pyproject.toml; None when it is no TOML. Commands are its entry points and the
    tasks of poe, taskipy and pdm."""
    document = _toml(text)
    if document is None:
        return None
    project, tool = _table(document, "project"), _table(document, "tool")
    commands: dict[str, tuple[str, ...]] = {}
    poe = _table(_table(tool, "poe"), "tasks")
    commands |= {name: ("poe", name) for name in poe if not name.startswith("_")}
    commands |= {name: ("task", name) for name in _table(_table(tool, "taskipy"), "tasks")}
    pdm = _table(_table(tool, "pdm"), "scripts")
    commands |= {name: (name,) for name in pdm if not name.startswith("_")}
    for scripts in (_table(project, "scripts"), _table(_table(tool, "poetry"), "scripts")):
        commands |= {name: (name,) for name in scripts if name not in commands}
    return PythonProject(frozenset(tool), commands, _uses_pytest(document, project, tool))


def _uses_pytest(document: dict[str, Any], project: dict[str, Any], tool: dict[str, Any]) -> bool:
    if "pytest" in tool:
        return True
    lists: list[Any] = [project.get("dependencies")]
    lists += _table(project, "optional-dependencies").values()
    lists += _table(document, "dependency-groups").values()
    lists.append(_table(tool, "uv").get("dev-dependencies"))
    lists += _table(_table(tool, "pdm"), "dev-dependencies").values()
    if any(_names_pytest(one) for one in lists):
        return True
    poetry = _table(tool, "poetry")
    groups = [_table(group, "dependencies") for group in _table(poetry, "group").values()]
    tables = [_table(poetry, "dependencies"), _table(poetry, "dev-dependencies"), *groups]
    return any("pytest" in table for table in tables)


def _names_pytest(dependencies: Any) -> bool:
    listed = dependencies if isinstance(dependencies, list) else []
    return any(isinstance(one, str) and _PYTEST.match(one) for one in listed)


def cargo_aliases(text: str) -> list[str]:
    return list(_table(_toml(text) or {}, "alias"))


def _toml(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _table(document: Any, key: str) -> dict[str, Any]:
    value: Any = document.get(key) if isinstance(document, dict) else None
    return value if isinstance(value, dict) else {}
