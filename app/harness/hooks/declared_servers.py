"""The MCP servers that a project's agents may use: the operator's, and those of the trusted project file.

Owns: from declarations to entries, which one counts of two with a name, and why one cannot be used. Never:
connecting to a server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from app.bridges.mcp.added_servers import AddedServer, AddedServers
from app.bridges.mcp.entries import Origin, ServerEntry, name_problem
from app.config import McpSettings, expanded
from app.errors import ConfigError
from app.harness.dsl.compiled import CompiledProject
from app.harness.dsl.spec_mcp import McpServerSpec
from app.harness.dsl.validation import first_fault
from app.harness.projects.run_cage import cage_of
from app.observability import Redactor, names_secret

_SECRET_CHARACTERS = 8
_SECRET_HEADERS = frozenset({"authorization", "cookie", "x-api-key"})


@dataclass(frozen=True, slots=True)
class Declared:
    """One declaration: its entry, or the problem that keeps it from use."""

    name: str
    origin: Origin
    entry: ServerEntry | None = None
    problem: str | None = None


class DeclaredServers:
    """The declarations of this daemon. Of two with one name the config file's goes first, then what was
    added, then the project's."""

    def __init__(self, config: Mapping[str, McpSettings], added: AddedServers, redactor: Redactor) -> None:
        self._config = config
        self._added = added
        self._redactor = redactor

    def at(self, project: CompiledProject | None, root: Path) -> list[Declared]:
        """Return the servers by name: of a trusted project, or of a folder that is none. Blocks."""
        found: dict[str, Declared] = {}
        for name, origin, spec, package in self._specs(project, root):
            if name in found:
                continue
            if isinstance(spec, str):
                found[name] = Declared(name, origin, problem=spec)
                continue
            entry = _entry(name, origin, spec, package, project, root)
            self._redactor.add(*_secrets(entry))
            found[name] = Declared(name, origin, entry)
        return [found[name] for name in sorted(found)]

    def _specs(
        self, project: CompiledProject | None, root: Path
    ) -> Iterator[tuple[str, Origin, McpServerSpec | str, Path | None]]:
        """Yield each declaration that is enabled: what it says, or what is wrong with it."""
        for name, configured in self._config.items():
            if configured.enabled:
                yield name, "config", _checked(name, _of_config(configured)), None
        try:
            added = self._added.all()
        except ConfigError as problem:
            yield "added", "added", problem.message, None
            added = []
        for one in sorted(added, key=lambda one: one.project is None):
            if one.is_for(root):
                package = self._added.package_folder(one.name) if one.package is not None else None
                yield one.name, "added", _of_added(one), package
        for name, spec in project.mcp.items() if project is not None else ():
            if spec.enabled:
                yield name, "project", spec, None


def _of_config(one: McpSettings) -> dict[str, Any]:
    return {
        "command": list(one.command) if one.command is not None else None,
        "url": one.url,
        "env": one.env,
        "headers": one.headers,
        "timeout_seconds": one.timeout_seconds,
        **({"cage": one.cage} if one.cage is not None else {}),
    }


def _of_added(one: AddedServer) -> McpServerSpec | str:
    unset: list[str] = []
    plain = {
        "command": one.command or None,
        "url": one.url,
        "env": expanded(one.env, unset),
        "headers": expanded(one.headers, unset),
        "timeout_seconds": one.timeout_seconds,
        **({"cage": one.cage} if one.cage is not None else {}),
    }
    if unset:
        return f"it refers to the environment variable {unset[0]}, which is not set"
    return _checked(one.name, plain)


def problem_of(server: AddedServer) -> str | None:
    """Say what is wrong with a server that is to be added; variables that are not set count not."""
    plain = {"env": dict.fromkeys(server.env, ""), "headers": dict.fromkeys(server.headers, "")}
    found = _of_added(server.model_copy(update=plain))
    return found if isinstance(found, str) else None


def _checked(name: str, plain: dict[str, Any]) -> McpServerSpec | str:
    problem = name_problem(name)
    if problem is not None:
        return problem
    try:
        return McpServerSpec.model_validate(plain)
    except ValidationError as wrong:
        return first_fault(wrong)


def _entry(
    name: str,
    origin: Origin,
    spec: McpServerSpec,
    package: Path | None,
    project: CompiledProject | None,
    root: Path,
) -> ServerEntry:
    """Return the entry; what steers or runs in the project stays read-only in its cage."""
    cage = None if spec.cage == "disabled" else spec.cage.model_dump()
    if cage is not None and project is not None:
        cage = cage_of(project, project.root.model_copy(update={"cage": spec.cage}), root)
    return ServerEntry(
        name=name,
        origin=origin,
        command=tuple(spec.command or ()),
        url=spec.url,
        env=spec.env,
        headers=spec.headers,
        cage=cage,
        package=package,
        timeout_seconds=spec.timeout_seconds,
    )


def _secrets(entry: ServerEntry) -> list[str]:
    """Return the values of headers and variables whose names say that they are secret."""
    named = [*entry.headers.items(), *entry.env.items()]
    values = [value for name, value in named if name.lower() in _SECRET_HEADERS or names_secret(name)]
    bare = [value.partition(" ")[2] for value in values]
    return [value for value in (*values, *bare) if len(value) >= _SECRET_CHARACTERS]
