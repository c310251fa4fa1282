"""The hosts from which package managers install, by the manifests of a project.

Owns: the table of manifests and hosts. Never: whether a cage reaches a host.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from app.workspace.globs import text_matches

_REGISTRIES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("package.json",), ("registry.npmjs.org:443",)),
    (
        ("pyproject.toml", "requirements*.txt", "setup.py", "setup.cfg", "Pipfile"),
        ("pypi.org:443", "files.pythonhosted.org:443"),
    ),
    (("Cargo.toml",), ("index.crates.io:443", "static.crates.io:443")),
    (("go.mod",), ("proxy.golang.org:443", "sum.golang.org:443")),
    (("Gemfile",), ("rubygems.org:443",)),
    (("composer.json",), ("repo.packagist.org:443",)),
    (("pom.xml", "build.gradle", "build.gradle.kts"), ("repo.maven.apache.org:443",)),
    (("mix.exs",), ("hex.pm:443", "repo.hex.pm:443")),
    (("pubspec.yaml",), ("pub.dev:443",)),
    (("*.csproj", "*.fsproj", "*.sln"), ("api.nuget.org:443",)),
)
"""Names of manifests, and the hosts that the package manager of each installs from."""
_NOT_OWN = frozenset({"node_modules", "vendor", "target", "dist", "build", "venv"})
_MOST_FOLDERS = 100
_MOST_NAMES = 2_000


def registries_for(root: Path) -> tuple[str, ...]:
    """Return the hosts of the package registries whose manifests lie in a folder or in the folders in it.

    Blocks: reads at most 101 folders. A folder that cannot be read has no manifests."""
    names = {name for folder in _folders(root) for name in _names(folder)}
    found: dict[str, None] = {}
    for manifests, hosts in _REGISTRIES:
        if any(text_matches(name, manifest) for manifest in manifests for name in names):
            found |= dict.fromkeys(hosts)
    return tuple(found)


def installed_with(host: str) -> tuple[str, ...]:
    """Return the hosts of the registry that a `host:port` belongs to; it alone when it belongs to none."""
    return next((hosts for _, hosts in _REGISTRIES if host in hosts), (host,))


def _folders(root: Path) -> Iterator[Path]:
    yield root
    try:
        with os.scandir(root) as entries:
            own = (one for one in islice(entries, _MOST_NAMES) if _is_own_folder(one))
            yield from (Path(one.path) for one in islice(own, _MOST_FOLDERS))
    except OSError:
        return


def _is_own_folder(entry: os.DirEntry[str]) -> bool:
    return (
        entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".") and entry.name not in _NOT_OWN
    )


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [one.name for one in islice(entries, _MOST_NAMES)]
    except OSError:
        return []
