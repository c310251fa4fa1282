"""Which language a file is of, and which server of this machine is for it.

Owns: the order project file, local configuration, built-in table; looking for programs; what is said
when there is none. Never: starting one. A program is never taken from the project's folder unless
the project file names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.bridges.installed.installation_hints import fitting_first
from app.bridges.installed.program_places import ProgramPlaces, Source, absence
from app.bridges.lsp.installations import Installed, look_at
from app.bridges.lsp.language_entry import Behaviour, Candidate
from app.bridges.lsp.server_behaviours import ACCOMPANIED, behaviour_of, known_behaviour
from app.bridges.lsp.servers import LANGUAGES
from app.errors import ToolError

_RELEASE = re.compile(r"-\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A server of the project file or of the local configuration. Without `extensions` those that are
    usual for the language."""

    language: str
    command: tuple[str, ...]
    extensions: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    max_memory_mb: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedServer:
    """How to start a server: `command` has an absolute program first, `program` is the one that was
    asked for. `settings` and `env` are complete; `env` has the PATH for the server's own children.
    `companion` is the command of a second server that this one works with, empty where it needs none."""

    language: str
    program: Path
    command: tuple[str, ...]
    behaviour: Behaviour
    settings: Mapping[str, Any]
    env: Mapping[str, str]
    source: Source
    companion: tuple[str, ...] = ()


class ServerTable:
    """The languages of one project: declared ones over local ones over the built-in table."""

    def __init__(
        self,
        project: Sequence[Declared],
        local: Sequence[Declared],
        environment: Mapping[str, str],
        *,
        root: Path | None = None,
    ) -> None:
        self._places = ProgramPlaces(environment, root)
        self._declared: dict[str, tuple[Declared, Source]] = {
            **{entry.language: (entry, "local") for entry in local},
            **{entry.language: (entry, "project") for entry in project},
        }
        self._extensions = _extensions([entry for entry, _ in self._declared.values()])

    def language_of(self, path: str) -> tuple[str, str] | None:
        """Return `(language, languageId)` by the file's name, or None. The longest ending counts."""
        name = path.rpartition("/")[2]
        for ending in _endings(name):
            declared = self._extensions.get(ending)
            if declared is not None and declared[2]:
                return declared[:2]
        for entry in LANGUAGES.values():
            for known, identifier in entry.file_names.items():
                if name == known or (known.endswith(".") and name.startswith(known)):
                    return entry.language, identifier
        for ending in _endings(name):
            found = self._extensions.get(ending) or self._extensions.get(ending.lower())
            if found is not None:
                return found[:2]
        return None

    def languages(self) -> tuple[str, ...]:
        """Return every language, sorted."""
        return tuple(sorted({*LANGUAGES, *self._declared}))

    def extensions_of(self, language: str) -> tuple[str, ...]:
        """Return the endings of a language's files, each with its dot."""
        return tuple(sorted(ending for ending, entry in self._extensions.items() if entry[0] == language))

    def root_markers_of(self, language: str) -> tuple[str, ...]:
        """Return the file names and globs that mark the root of a project in that language."""
        entry = LANGUAGES.get(language) or LANGUAGES.get(_built_in_for(language))
        return () if entry is None else entry.root_markers

    def unit_markers_of(self, language: str) -> Mapping[str, tuple[str, ...]]:
        """Return the manifests of the units that code in that language is built in."""
        entry = LANGUAGES.get(language) or LANGUAGES.get(_built_in_for(language))
        return {} if entry is None else entry.unit_markers

    def resolve(self, language: str) -> ResolvedServer:
        """Return the server for a language. Blocks: looks for programs.

        Raises ToolError: `language_not_supported`, `lsp_server_not_found` with detail `{language, problem,
        tried, install}`.
        """
        declared = self._declared.get(language)
        if declared is not None:
            return self._declared_server(*declared)
        entry = LANGUAGES.get(language)
        if entry is None:
            raise ToolError(
                "language_not_supported",
                f"there is no language `{language}`; declare a server for it under lsp.servers",
                detail={"languages": list(self.languages())},
            )
        reasons: list[str] = []
        for places in (self._places.on_path, self._places.packaged):
            for candidate in entry.candidates:
                programs = places(candidate.command[0])
                found = self._places.first_usable(look_at, programs, candidate.command, reasons, chosen=False)
                if found is not None:
                    return self._resolved(language, found, None, "built-in")
        raise self._not_found(language, entry.candidates, reasons, "built-in")

    def _declared_server(self, declared: Declared, source: Source) -> ResolvedServer:
        reasons: list[str] = []
        programs = self._places.declared(declared.command[0], source)
        found = self._places.first_usable(look_at, programs, declared.command, reasons, chosen=True)
        if found is not None:
            return self._resolved(declared.language, found, declared, source)
        name = declared.command[0].rpartition("/")[2]
        known = [one for one in _candidates() if one.command[0] == name]
        wanted = Candidate(command=declared.command, install=known[0].install if known else {})
        raise self._not_found(declared.language, (wanted,), reasons, source)

    def _resolved(
        self, language: str, found: Installed, declared: Declared | None, source: Source
    ) -> ResolvedServer:
        behaviour = _behaviour(found)
        options = behaviour.options
        initialization = merged(options.initialization, found.options)
        behaviour = replace(behaviour, options=replace(options, initialization=initialization))
        settings = merged(options.settings, found.settings)
        env = {"PATH": self._places.search_path, **behaviour.env}
        if declared is not None:
            settings = merged(settings, declared.settings)
            env |= declared.env
            if declared.max_memory_mb is not None:
                behaviour = replace(behaviour, max_memory_mb=declared.max_memory_mb)
        return ResolvedServer(
            language=language,
            program=found.program,
            command=found.command,
            behaviour=behaviour,
            settings=settings,
            env=env,
            source=source,
            companion=found.companion,
        )

    def _not_found(
        self, language: str, candidates: Sequence[Candidate], reasons: list[str], source: Source
    ) -> ToolError:
        tried = [" ".join(candidate.command) for candidate in candidates]
        install = fitting_first((candidate.install for candidate in candidates), self._places.environment)
        names = [_RELEASE.sub("", candidate.command[0]) for candidate in candidates]
        message = absence(f"language server for {language}", names, reasons, source)
        hint = next(iter(install.values()), None)
        advice = f"Install it: {hint}" if hint else "Correct the command under lsp.servers"
        detail = {"language": language, "problem": message, "tried": tried, "install": install}
        return ToolError("lsp_server_not_found", f"{message}. {advice}", detail=detail)


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return both, section by section; a value of `above` wins."""
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = merged(old, value) if both and old is not None else value
    return result


def _behaviour(found: Installed) -> Behaviour:
    """A server may be declared as an argument of whatever starts it (`npx`, `node`, `docker`)."""
    if found.companion:
        return ACCOMPANIED[found.program.name]
    for word in (found.program.name, *found.command[:6]):
        known = known_behaviour(word)
        if known is not None:
            return known
    return behaviour_of(found.program.name)


def _candidates() -> Iterator[Candidate]:
    for entry in LANGUAGES.values():
        yield from entry.candidates


def _endings(name: str) -> Iterator[str]:
    """Yield `.html.erb`, `.erb` of `a.html.erb`."""
    at = name.find(".")
    while at >= 0:
        yield name[at:]
        at = name.find(".", at + 1)


def _built_in_for(identifier: str) -> str:
    """Return the language that has files of a language identifier (`javascript`), empty if none has."""
    for entry in LANGUAGES.values():
        if identifier in entry.extensions.values():
            return entry.language
    return ""


def _extensions(declared: Sequence[Declared]) -> dict[str, tuple[str, str, bool]]:
    """Map each ending to language, language identifier, and whether it was declared."""
    identifiers = {ending: name for entry in LANGUAGES.values() for ending, name in entry.extensions.items()}
    replaced = {entry.language for entry in declared if entry.extensions}
    found = {
        ending: (entry.language, identifier, False)
        for entry in LANGUAGES.values()
        if entry.language not in replaced
        for ending, identifier in entry.extensions.items()
    }
    for one in declared:
        if not one.extensions and one.language not in LANGUAGES:
            # A part of a built-in language, such as `javascript`: its own files.
            usual = [ending for ending, name in identifiers.items() if name == one.language]
            found |= dict.fromkeys(usual, (one.language, one.language, False))
        for ending in one.extensions:
            found[ending] = (one.language, identifiers.get(ending, one.language), True)
    return found
