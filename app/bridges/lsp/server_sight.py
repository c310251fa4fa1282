"""What the cage of a language server shows of a project, where those who ask may not read all of it.

Owns: the places that are shown and hidden, and telling when they are others by now. Never: making cages.
Blocks: looks at the disk; call it in a thread.

Beside what may be read the manifests of packages and the folders of dependencies are shown: without them a
server knows nothing of the libraries that the project uses.
Keeps S11 of docs/security.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path

from app.bridges.installed.written_programs import CagedAgent, Started, own_files
from app.bridges.lsp.servers import LANGUAGES
from app.cages.cage import Mount
from app.cages.file_grants import FileGrants, Mode, Parts
from app.cages.protected_names import is_protected
from app.cages.readable import ALL, Readable
from app.errors import RPC_CAPABILITY_DENIED, ToolError
from app.workspace import Access
from app.workspace.globs import text_matches

MAX_NAMES = 5_000
"""How many entries of a folder are looked through for manifests."""
_DEPENDENCIES = frozenset(
    {
        "node_modules",
        ".venv",
        "venv",
        "vendor",
        ".yarn",
        ".pnp.cjs",
        ".pnp.loader.mjs",
        ".bundle",
        "deps",
        "Pods",
    }
)
_MANIFESTS = frozenset(
    {"package.json", "package-lock.json", "pnpm-workspace.yaml", "requirements.txt", "setup.cfg", "uv.lock"}
    | {"go.sum", "go.work.sum", "Cargo.lock", "composer.lock", "Gemfile.lock", "mypy.ini", ".editorconfig"}
    | {"compile_flags.txt", "compile_commands.json", ".clang-format", ".clang-tidy", "rust-toolchain.toml"}
)
_Fingerprint = tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Reading:
    """What all who ask a server may read, and the caged agents that might write its program."""

    readable: Readable = ALL
    agents: tuple[CagedAgent, ...] = ()


@dataclass(frozen=True, slots=True)
class Sight:
    """What is shown of a project to a server that `readable` bounds. `seen` are its places as they were."""

    readable: Readable
    shown: Readable
    seen: Mapping[Parts, _Fingerprint]
    _started: Started = field(repr=False)
    _narrow: bool

    def mounts(self, root: Path) -> Iterator[Mount]:
        """Yield what a cage has of the project."""
        for parts, mode in self.shown.grants.entries:
            yield Mount(root.joinpath(*parts), mode)

    def is_outdated(self) -> bool:
        """Tell whether something else is in the places by now: then the cage shows what it should not, or
        not what it should."""
        return sight_of(self._started, self.readable, narrow=self._narrow).seen != self.seen

    def check(self, parts: Parts, access: Access) -> None:
        """Raise ToolError unless the server may be given the file."""
        if access != "ro" or not self.readable.allows(parts):
            raise ToolError(
                "capability_denied", "this is outside of the agent's cage", rpc_code=RPC_CAPABILITY_DENIED
            )

    def check_step(self, parts: Parts) -> None:
        """Every folder may be passed on the way."""


def sight_of(started: Started, readable: Readable, *, narrow: bool) -> Sight:
    """Return what is shown. `narrow`: nothing but what is readable and the program itself."""
    root = started.root
    places: dict[Parts, Mode] = dict.fromkeys(readable.denied, "deny")
    places |= dict.fromkeys(readable.granted, "ro")
    extra: dict[Parts, Mode] = {parts: "ro" for parts in own_files(started) if not readable.allows(parts)}
    if not narrow:
        extra |= dict.fromkeys(_beside(root, readable), "ro")
    places |= extra
    seen = {parts: _fingerprint(root.joinpath(*parts)) for parts in places}
    there = {parts: mode for parts, mode in places.items() if mode == "deny" or seen[parts] is not None}
    return Sight(readable, Readable.of(FileGrants(tuple(there.items()))), seen, started, narrow)


def _beside(root: Path, readable: Readable) -> Iterator[Parts]:
    """Yield the manifests and folders of dependencies on the way to what is readable."""
    folders = {parts[:length] for parts in readable.granted for length in range(len(parts))} | {()}
    for folder in sorted(folders):
        for name in _shown_in(root.joinpath(*folder)):
            parts = (*folder, name)
            # What is denied stays denied: only what no entry speaks of is shown for the server's sake.
            if readable.grants.mode(parts) is None:
                yield parts


def _shown_in(folder: Path) -> list[str]:
    found: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, MAX_NAMES):
                if not is_protected(entry.name) and _is_shown(entry):
                    found.append(entry.name)
    except OSError:
        return []
    return sorted(found)


def _is_shown(entry: os.DirEntry[str]) -> bool:
    if entry.name in _DEPENDENCIES:
        return not entry.is_symlink()
    return entry.is_file(follow_symlinks=False) and _is_manifest(entry.name)


@cache
def _markers() -> frozenset[str]:
    named = {marker for entry in LANGUAGES.values() for marker in entry.root_markers if "/" not in marker}
    return frozenset(named | _MANIFESTS)


def _is_manifest(name: str) -> bool:
    return name in _markers() or any("*" in one and text_matches(name, one) for one in _markers())


def _fingerprint(path: Path) -> _Fingerprint:
    """Return what is another when something else is there, or where a link there leads to."""
    try:
        itself = os.lstat(path)
        target = os.stat(path)
    except OSError:
        return None
    return itself.st_dev, itself.st_ino, target.st_dev, target.st_ino
