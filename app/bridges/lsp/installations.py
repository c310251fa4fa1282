"""What an installed server's own files tell of it, without running anything.

Owns: release proxies, the versions of TypeScript, scripts that only start another program, and the
packages of a project's virtual environment. Never: searching the PATH for a server.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from app.bridges.installed.program_places import Surroundings, Unusable
from app.bridges.lsp.language_entry import NOTHING
from app.programs import on_path, own_packages, packaged_node, script_interpreter
from app.workspace import read_beginning

MAX_SMALL_FILE = 256 * 1024
MAX_TOOLCHAINS = 50
_NATIVE_TYPESCRIPT = 7
_VUE_ALONE = 2
_VUE_PLUGIN = "@vue/typescript-plugin"
_TYPESCRIPT_SERVER = "typescript-language-server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A server that can be started: `command` has the absolute program first. `options` are added to the
    initialisation options, `settings` to the settings. `companion` is the command of a second server that it
    works with."""

    program: Path
    command: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    companion: tuple[str, ...] = ()


Look = Callable[[Path, tuple[str, ...], Surroundings], Installed | Unusable]


def look_at(program: Path, arguments: tuple[str, ...], around: Surroundings) -> Installed | Unusable:
    """Return how the program is to be started, or why it cannot be used. Blocks: reads small files."""
    look = _LOOKS.get(program.name, _as_it_is)
    return look(program, arguments, around)


def _as_it_is(program: Path, arguments: tuple[str, ...], around: Surroundings) -> Installed:
    """A script for a node that is not on the PATH is run by the one that came with this installation."""
    if (
        script_interpreter(program) == "node"
        and on_path("node", around.environment, outside=around.root) is None
    ):
        node = packaged_node()
        if node is not None:
            return Installed(program=program, command=(str(node), os.path.realpath(program), *arguments))
    return Installed(program=program, command=(str(program), *arguments))


def _rust_analyzer(program: Path, arguments: tuple[str, ...], around: Surroundings) -> Installed | Unusable:
    if not _is_rustup(program):
        return _as_it_is(program, arguments, around)
    environment = around.environment
    home = Path(environment.get("RUSTUP_HOME") or Path(environment.get("HOME", "/"), ".rustup"))
    try:
        names = sorted(entry.name for entry in os.scandir(home / "toolchains"))[:MAX_TOOLCHAINS]
    except OSError:
        names = []
    first = (environment.get("RUSTUP_TOOLCHAIN", ""), _default_toolchain(home))
    names.sort(
        key=lambda name: min(i for i, one in enumerate((*first, name)) if one and name.startswith(one))
    )
    for name in names:
        found = home / "toolchains" / name / "bin" / "rust-analyzer"
        if os.access(found, os.X_OK):
            return Installed(program=found, command=(str(found), *arguments))
    return Unusable(f"{program} is rustup's proxy, and no toolchain has the component rust-analyzer")


def _is_rustup(program: Path) -> bool:
    """Tell whether a program is rustup, which is installed under many names, as links of either kind."""
    if Path(os.path.realpath(program)).name.startswith("rustup"):
        return True
    try:
        return os.path.samefile(program, program.with_name("rustup"))
    except OSError:
        return False


def _default_toolchain(home: Path) -> str:
    try:
        name = tomllib.loads(_small_text(home / "settings.toml")).get("default_toolchain")
    except tomllib.TOMLDecodeError:
        return ""
    return name if isinstance(name, str) else ""


def _typescript_language_server(
    program: Path, arguments: tuple[str, ...], around: Surroundings
) -> Installed | Unusable:
    """It runs the TypeScript of the project that it looks at, unless another one is set."""
    started = _as_it_is(program, arguments, around)
    places = [parent / "typescript" for parent in Path(os.path.realpath(program)).parents]
    compiler = on_path("tsserver", around.environment, outside=around.root)
    if compiler is not None:
        places.append(Path(os.path.realpath(compiler)).parent.parent)
    for place in places:
        server = place / "lib" / "tsserver.js"
        if place.parent.name in ("node_modules", "lib") and os.path.isfile(server):
            options = {"tsserver": {"path": str(server)}}
            return Installed(program=program, command=started.command, options=options)
    if around.chosen:
        return started
    return Unusable(f"{program} has no TypeScript 5 beside it, and one in the project is not trusted")


def _vue(program: Path, arguments: tuple[str, ...], around: Surroundings) -> Installed | Unusable:
    """It loads the configured TypeScript, which is not the project's. From release 3 on it leaves scripts to
    typescript-language-server, with a plugin of its own."""
    package = Path(os.path.realpath(program)).parent.parent
    release = re.match(r"\d+", str(_json(package / "package.json").get("version", "")))
    libraries = (parent / "typescript" / "lib" for parent in package.parents if parent.name == "node_modules")
    library = next((one for one in libraries if os.path.isfile(one / "tsserver.js")), None)
    if library is None:
        return Unusable(f"{program} has no TypeScript 5 beside it, and one in the project is not trusted")
    alone = _as_it_is(program, arguments, around).command
    if release is None or int(release[0]) <= _VUE_ALONE:
        return Installed(program=program, command=alone, options={"typescript": {"tsdk": str(library)}})
    script = next((path for path in _typescript_servers(package, around) if os.path.isfile(path)), None)
    if script is None:
        return Unusable(f"{program} of release {release[0]} needs typescript-language-server beside it")
    return Installed(
        program=program,
        command=_as_it_is(script, ("--stdio",), around).command,
        options={
            "tsserver": {"path": str(library / "tsserver.js")},
            "plugins": [{"name": _VUE_PLUGIN, "location": str(package), "languages": ["vue"]}],
        },
        companion=(*alone, f"--tsdk={library}"),
    )


def _typescript_servers(package: Path, around: Surroundings) -> Iterator[Path]:
    """Yield where typescript-language-server may be: beside the package, or on the PATH."""
    for parent in package.parents:
        if parent.name == "node_modules":
            yield parent / ".bin" / _TYPESCRIPT_SERVER
    found = on_path(_TYPESCRIPT_SERVER, around.environment, outside=around.root)
    if found is not None:
        yield found


def _typescript(program: Path, arguments: tuple[str, ...], around: Surroundings) -> Installed | Unusable:
    """The compiler itself speaks the protocol from release 7 on; then the native program is started,
    not the script that would start it and stay."""
    package = Path(os.path.realpath(program)).parent.parent
    version = str(_json(package / "package.json").get("version", ""))
    release = re.match(r"\d+", version)
    if release is None or int(release[0]) < _NATIVE_TYPESCRIPT:
        return Unusable(
            f"{program} is TypeScript {version or 'of unknown release'}; from 7 on it is a server"
        )
    kind = f"{sys.platform}-{_MACHINES.get(platform.machine(), platform.machine())}"
    for scope in (package.parent / "@typescript", package.parent):
        for name in (f"typescript-{kind}", f"native-preview-{kind}"):
            native = scope / name / "lib" / program.name
            if os.access(native, os.X_OK):
                return Installed(program=program, command=(str(native), *arguments))
    return _as_it_is(program, arguments, around)


def _pyright(program: Path, arguments: tuple[str, ...], around: Surroundings) -> Installed:
    started = _as_it_is(program, arguments, around)
    return Installed(
        program=program, command=started.command, settings=_packages_of_project(around.root, ("python",))
    )


def _basedpyright(program: Path, arguments: tuple[str, ...], around: Surroundings) -> Installed:
    """Installed from a wheel it is a Python program that stays beside the node that it starts."""
    command = _as_it_is(program, arguments, around).command
    if script_interpreter(program).startswith("python"):
        prefix = Path(os.path.realpath(program)).parent.parent
        for packages in (*sorted(prefix.glob("lib/python3*/site-packages")), own_packages()):
            script = packages / "basedpyright" / "langserver.index.js"
            node = packaged_node(packages) or on_path("node", around.environment, outside=around.root)
            if os.path.isfile(script) and node is not None:
                command = (str(node), str(script), *arguments)
                break
    settings = _packages_of_project(around.root, ("python", "basedpyright"))
    return Installed(program=program, command=command, settings=settings)


def _packages_of_project(root: Path | None, sections: tuple[str, ...]) -> Mapping[str, Any]:
    """Where the project's own virtual environment keeps its packages: read, never run."""
    if root is None:
        return NOTHING
    found = [
        str(place.relative_to(root))
        for folder in (".venv", "venv")
        for place in sorted((root / folder).glob("lib/python3*/site-packages"))
        if os.path.isdir(place)
    ]
    return {section: {"analysis": {"extraPaths": found}} for section in sections} if found else NOTHING


def _json(path: Path) -> dict[str, Any]:
    try:
        value = orjson.loads(_small_text(path))
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _small_text(path: Path) -> str:
    try:
        return read_beginning(path, MAX_SMALL_FILE).decode("utf-8", "replace")
    except OSError:
        return ""


_MACHINES = {"x86_64": "x64", "amd64": "x64", "AMD64": "x64", "aarch64": "arm64"}
_LOOKS: Mapping[str, Look] = {
    "rust-analyzer": _rust_analyzer,
    "typescript-language-server": _typescript_language_server,
    "vue-language-server": _vue,
    "tsc": _typescript,
    "tsgo": _typescript,
    "pyright-langserver": _pyright,
    "basedpyright-langserver": _basedpyright,
}
