"""Finds the package of a plugin and reads its manifest.

Owns: finding the folder, reading beneath the project without following links out, comparing names. Never:
running it. Blocks.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.bridges.plugins.manifest import NAME_PATTERN, PluginManifest, parse_manifest
from app.bridges.plugins.manifest_text import MANIFEST_NAME, MAX_BYTES
from app.bridges.plugins.problems import PluginProblem
from app.errors import ToolError
from app.workspace.paths import below
from app.workspace.workspace import Workspace

MAX_KEPT = 256
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Package:
    """A plugin's folder, absolute and real, and its manifest. `content` is the manifest's text."""

    folder: Path
    manifest: PluginManifest
    content: bytes


class Packages:
    """The plugins that this daemon has and that projects bring."""

    def __init__(self, data_dir: Path, search_paths: Sequence[Path]) -> None:
        self._places = (data_dir / "plugins", *search_paths)
        self._parsed: dict[bytes, PluginManifest] = {}

    def installed(self) -> list[tuple[Path, Package | PluginProblem]]:
        """Return the folders that plugins are installed in, with their packages or what is wrong."""
        found: list[tuple[Path, Package | PluginProblem]] = []
        for place in self._places:
            inside = sorted(place.iterdir()) if place.is_dir() else []
            for folder in inside[:MAX_KEPT]:
                if not (folder / MANIFEST_NAME).is_file():
                    continue
                try:
                    found.append((folder, self.read(folder.name, str(folder), place / "no project")))
                except PluginProblem as problem:
                    found.append((folder, problem))
        return found

    def read(self, name: str, package: str, project_root: Path) -> Package:
        """Return the package that a project declares as `name`. Raises PluginProblem."""
        folder, content = self._content(package, project_root)
        manifest = self._parsed.get(content)
        if manifest is None:
            manifest = parse_manifest(content)
            if len(self._parsed) >= MAX_KEPT:
                self._parsed.clear()
            self._parsed[content] = manifest
        if manifest.name != name:
            raise PluginProblem(
                "plugin_name_mismatch",
                f"the project file names this plugin {name!r}, its {MANIFEST_NAME} {manifest.name!r}; "
                f"write `{manifest.name}:` in the project file",
            )
        return Package(folder, manifest, content)

    def _content(self, package: str, project_root: Path) -> tuple[Path, bytes]:
        if not (package.startswith((".", "~")) or "/" in package):
            return self._installed(package)
        names = tuple(part for part in package.split("/") if part not in {"", "."})
        absolute = package.startswith("/")
        if absolute and ".." not in names and below(project_root, names) is None:
            folder = Path(os.path.realpath(package))
            return folder, self._from_disk(folder, package)
        return _beneath(project_root, package)

    def _installed(self, package: str) -> tuple[Path, bytes]:
        if re.fullmatch(NAME_PATTERN, package):
            for place in self._places:
                folder = place / package
                if (folder / MANIFEST_NAME).is_file():
                    real = Path(os.path.realpath(folder))
                    return real, self._from_disk(real, package)
        looked = ", ".join(str(place / package[:100]) for place in self._places)
        raise PluginProblem(
            "plugin_not_found",
            f"no plugin {package[:100]!r} is installed (looked for {looked}); install it there, or write the "
            "path to its folder, as `./plugins/name`",
        )

    def _from_disk(self, folder: Path, package: str) -> bytes:
        try:
            descriptor = os.open(folder / MANIFEST_NAME, _READ)
        except OSError as problem:
            raise _not_found(package, problem.strerror or "it cannot be read") from None
        try:
            return _content_of(descriptor, package)
        finally:
            os.close(descriptor)


def _beneath(project_root: Path, package: str) -> tuple[Path, bytes]:
    """Read a package of the project. What runs is the real folder, found without leaving the project."""
    workspace = Workspace(project_root)
    try:
        with workspace.open(package) as opened:
            if not opened.is_directory:
                raise _not_found(package, "it is no folder")
            folder = Path(opened.key)
            at = "/".join((*opened.parts, MANIFEST_NAME))
        with workspace.open(at) as manifest:
            return folder, _content_of(manifest.descriptor, package)
    except ToolError as problem:
        if problem.code in {"invalid_path", "capability_denied"}:
            raise PluginProblem(
                "plugin_path_refused",
                f"the package {package[:200]!r} cannot be used: {problem.message}; write a path to a plain "
                "folder within the project, or an absolute one elsewhere",
            ) from None
        raise _not_found(package, problem.message) from None


def _content_of(descriptor: int, package: str) -> bytes:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise _not_found(package, "it is no plain file")
    content = b""
    while len(content) <= MAX_BYTES and (chunk := os.read(descriptor, MAX_BYTES + 1 - len(content))):
        content += chunk
    return content


def _not_found(package: str, why: str) -> PluginProblem:
    return PluginProblem(
        "plugin_not_found",
        f"the plugin {package[:200]!r} has no {MANIFEST_NAME} that can be read: {why}; write the path to the "
        "plugin's folder",
    )
