"""The formatters by which LLDB and gdb show Rust's values as Rust writes them: those of the toolchain.

Owns: finding them beside the compiler of the PATH, and the commands that load them. Never: a compiler or
files of the project. Blocks: looks at files.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from app.programs import on_path
from app.workspace import read_beginning

_ETC = Path("lib", "rustlib", "etc")
_LOOKUP, _COMMANDS, _GDB = "lldb_lookup.py", "lldb_commands", "gdb_lookup.py"
_CHANNEL = re.compile(r"[\w.-]{1,100}")
_MAX_SETTINGS = 64 * 1024


def find_formatters(environment: Mapping[str, str], root: Path) -> Path | None:
    """Return the folder that has them, None where the toolchain brings none."""
    compiler = on_path("rustc", environment, outside=root)
    if compiler is None:
        return None
    real = Path(os.path.realpath(compiler))
    prefix = _of_rustup(environment, root) if real.name.startswith("rustup") else real.parent.parent
    folder = None if prefix is None else prefix / _ETC
    return folder if folder is not None and os.path.isfile(folder / _LOOKUP) else None


def _of_rustup(environment: Mapping[str, str], root: Path) -> Path | None:
    """Return the toolchain that rustup uses for a project."""
    home = Path(environment.get("RUSTUP_HOME") or Path(environment.get("HOME") or "/", ".rustup"))
    wanted = environment.get("RUSTUP_TOOLCHAIN") or _of_project(root) or _usual(home)
    if not wanted or not _CHANNEL.fullmatch(wanted):
        return None
    toolchains = home / "toolchains"
    found = (toolchains / wanted, *sorted(toolchains.glob(f"{wanted}-*")))
    return next((one for one in found if one.is_dir()), None)


def _of_project(root: Path) -> str | None:
    for name in ("rust-toolchain.toml", "rust-toolchain"):
        text = _text(root / name)
        if text is None:
            continue
        try:
            channel = tomllib.loads(text).get("toolchain", {}).get("channel")
        except (tomllib.TOMLDecodeError, AttributeError):
            channel = text.strip()
        return channel if isinstance(channel, str) else None
    return None


def _usual(home: Path) -> str | None:
    try:
        found = tomllib.loads(_text(home / "settings.toml") or "").get("default_toolchain")
    except tomllib.TOMLDecodeError:
        return None
    return found if isinstance(found, str) else None


def _text(path: Path) -> str | None:
    try:
        return read_beginning(path, _MAX_SETTINGS).decode("utf-8", "replace")
    except OSError:
        return None


def files_of(folder: Path) -> tuple[Path, ...]:
    """Return the files that a debugger reads of them."""
    return tuple(folder / name for name in (_LOOKUP, _COMMANDS, _GDB, "rust_types.py"))


def lldb_commands(folder: Path) -> list[str]:
    """Return what loads them in LLDB."""
    return [f'command script import "{folder / _LOOKUP}"', f'command source -s true "{folder / _COMMANDS}"']


def gdb_options(folder: Path) -> list[str]:
    """Return the options by which gdb loads them."""
    load = "import gdb_lookup; gdb_lookup.register_printers(gdb)"
    return ["-iex", f"python import sys; sys.path.insert(0, {str(folder)!r}); {load}"]
