"""The shape of what is known of languages and of the servers for them.

Owns: these types. Never: any particular language or server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from app.bridges.installed.installation_hints import installation_hints

Freshness = Literal["pull", "unoffered", "versioned", "settled", "in_order", "tsserver", "flycheck", "clangd"]
Signal = Literal["none", "progress", "log", "server_status", "index"]

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What else a server reports of its state. `loads_first`: its answers are wrong before the project is
    loaded. `unannounced_seconds`: how long the signal that it is loaded is waited for before it begins, where
    that is not as usual. `failed_check_pattern` matches its status when a build ended without having looked
    at the project, `failed_load_pattern` when it knows the project without what that depends on."""

    loads_first: bool = False
    unannounced_seconds: float | None = None
    failed_check_pattern: str = ""
    failed_load_pattern: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFiles:
    """How a server comes to know new files. `shown`: it notices one only when that is opened. `scans_late`:
    some time after a notice of new files it looks for all of them again, and logs `ready_pattern` then; only
    what it finds then counts. `watches_late`: it registers its watch of a file only after it has read it."""

    shown: bool = False
    scans_late: bool = False
    watches_late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Across:
    """What a server does beyond the unit that it was started in. `takes_any_folder`: a file that is opened
    has it load the file's unit, wherever that is. `renames_own_files`: it renames what is declared in another
    unit in that one only. `splits_shorthands`: of a name that is a property and a variable at once it renames
    one, as both. `checks_all`: the command by which it checks all packages of the project of a file and
    publishes what it finds."""

    takes_any_folder: bool = False
    renames_own_files: bool = False
    splits_shorthands: bool = False
    checks_all: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """What a server is set to. `watching` is added to `initialization` where the client watches the files,
    and left out where the server has to. `settings` answer configuration requests, section by section.
    `section`: the one of the settings whose content is `initialization`, too; `fixed` is what no declaration
    changes in it. `told_settings`: it asks for them only when it gets a notice that there are some; one that
    asks by itself would load the project twice."""

    initialization: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    watching: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    settings: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    section: str = ""
    fixed: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    told_settings: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFiles:
    """Files that tell a server which files belong to a project.

    `names`: names of these files. Where none lies in a file's folder or above, the server knows only files
    that are open or imported. `most_opened`: how many files are opened then; fewer than the documents that
    are kept. `sourceless`: names of files that list sources only if they contain this word; with an empty
    word they never do, and files above them do not count. `saved`: names of files that the server reads again
    after a save notification."""

    names: frozenset[str] = frozenset()
    saved: frozenset[str] = frozenset()
    sourceless: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    most_opened: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What is particular to one server program, wherever it was declared.

    `freshness`: how its diagnostics are known to be current; a server that offers pull diagnostics is
    asked for them unless this is `in_order`, `tsserver`, `flycheck` or `clangd`; `unoffered`: it answers them
    without offering them; `in_order`: what it finds in a text is published before it answers any later
    request. `ready`: what shows that the project is loaded (`$/progress` ended, a line of the log that
    `ready_pattern` matches, rust-analyzer's status, clangd's index). `settle_ms`: the quiet time after a
    publication without a version. `mixes_declarations`: asked for references without the declaration it
    answers with it, or without the use that was asked about. `reads_too`: the suffixes of files that others
    may include and that are no documents of its languages. `previews`: it soon finds the errors of open
    documents that are not saved.
    """

    freshness: Freshness = "versioned"
    ready: Signal = "none"
    ready_pattern: str = ""
    settle_ms: int = 300
    options: ServerOptions = ServerOptions()
    env: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    max_memory_mb: int = 4096
    answers_again: bool = False
    signals: Signals = Signals()
    new_files: NewFiles = NewFiles()
    across: Across = Across()
    config: ConfigFiles = ConfigFiles()
    mixes_declarations: bool = False
    reads_too: frozenset[str] = frozenset()
    previews: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A server that may be installed: program and arguments, and how to install it by package manager."""

    command: tuple[str, ...]
    install: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageEntry:
    """A language (`lang` in the project file) with its servers, the preferred one first.

    `extensions` and `file_names` map to the protocol's language identifier; a file name that ends
    with a dot stands for all names that begin so. `root_markers` are file names or globs. `unit_markers` are
    the manifests of the units that code is built in (`units`), where they are others or bound others than
    roots.
    """

    language: str
    candidates: tuple[Candidate, ...]
    extensions: Mapping[str, str]
    file_names: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    root_markers: tuple[str, ...] = ()
    unit_markers: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: NOTHING)


def server(*command: str, **install: str) -> Candidate:
    """Make a candidate. `npm="a b"` and the like are package names; `other` is a sentence."""
    return Candidate(command=command, install=installation_hints(install))


def all_as(identifier: str, *names: str) -> dict[str, str]:
    """Map every name to one language identifier."""
    return dict.fromkeys(names, identifier)
