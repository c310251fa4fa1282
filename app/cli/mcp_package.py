"""Installing the package of an MCP server into the data folder, once, in a pinned version.

Owns: the installers' command lines, and finding the program of a package. Never: running what was installed;
scripts of packages are not run, and Python packages come as wheels only.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from app.cli.output import CommandFailed

if TYPE_CHECKING:
    from app.bridges.mcp.added_servers import AddedServers
    from app.config import Settings

_NPM = re.compile(r"((?:@[a-z0-9._~-]{1,100}/)?[a-z0-9._~-]{1,100})(?:@([A-Za-z0-9.+-]{1,100}))?")
_PYPI = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,100})(?:==([A-Za-z0-9.+!-]{1,100}))?")
_SECONDS = 600.0
_MAX_OUTPUT = 4 * 1024 * 1024
_SHOWN = 2_000


@dataclass(frozen=True, slots=True)
class Package:
    """What was installed: `title` names it with its version, `command` runs it."""

    title: str
    command: tuple[str, ...]


async def install(settings: Settings, name: str, *, npm: str | None, pypi: str | None) -> Package:
    """Install a package for the server `name` in place of what was there. Raises CommandFailed."""
    from app.bridges.mcp.added_servers import AddedServers

    folder = await asyncio.to_thread(
        Path.resolve, AddedServers(settings.daemon.data_dir).package_folder(name)
    )
    fresh = folder.with_name(f".{name}.new")
    await asyncio.to_thread(_emptied, fresh)
    try:
        package = await (_npm(npm, fresh) if npm is not None else _pypi(pypi or "", fresh))
        await asyncio.to_thread(_swap, fresh, folder)
    finally:
        await asyncio.to_thread(shutil.rmtree, fresh, ignore_errors=True)
    moved = (word.replace(str(fresh), str(folder), 1) for word in package.command)
    return Package(package.title, tuple(moved))


def uninstall(added: AddedServers, name: str) -> None:
    """Delete the package of a server, if it has one. Blocks."""
    shutil.rmtree(added.package_folder(name), ignore_errors=True)


async def _npm(text: str, folder: Path) -> Package:
    found = _NPM.fullmatch(text)
    if found is None:
        raise CommandFailed(
            "usage", "--npm takes PACKAGE@VERSION, for example some-server@1.2.3", exit_code=2
        )
    package = found[1]
    await _run(
        (
            *("npm", "install", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund"),
            *("--save-exact", "--loglevel", "error", text),
        ),
        "npm",
    )
    home = folder / "node_modules" / package
    manifest = await asyncio.to_thread(_manifest, home)
    programs = manifest.get("bin")
    if isinstance(programs, dict) and programs:
        short = package.rpartition("/")[2]
        programs = programs.get(short) or next(iter(programs.values()))
    if not isinstance(programs, str):
        raise CommandFailed("failed", f"{package} has no program; give a command after `--` instead")
    script = home / programs
    if ".." in script.parts[len(home.parts) :] or Path(programs).is_absolute():
        raise CommandFailed("failed", f"the program of {package} lies outside of it")
    return Package(f"npm {package}@{manifest.get('version', '?')}", ("node", str(script)))


def _manifest(home: Path) -> dict[str, Any]:
    try:
        value = orjson.loads((home / "package.json").read_bytes())
    except (OSError, orjson.JSONDecodeError) as problem:
        raise CommandFailed("failed", f"{home} has no package.json: {problem}") from None
    return value if isinstance(value, dict) else {}


async def _pypi(text: str, folder: Path) -> Package:
    found = _PYPI.fullmatch(text)
    if found is None:
        raise CommandFailed(
            "usage", "--pypi takes PACKAGE==VERSION, for example some-server==1.2.3", exit_code=2
        )
    target = folder / "packages"
    python = sys.executable
    options = ("--disable-pip-version-check", "--no-input", "--quiet", "--only-binary", ":all:")
    await _run((python, "-m", "pip", "install", *options, "--target", str(target), text), "pip")
    title, entry = await asyncio.to_thread(_entry_point, target, found[1])
    module, _, attribute = entry.partition(":")
    script = folder / "run.py"
    lines = (
        "import sys",
        f"sys.path.insert(0, {str(target)!r})".replace(str(folder), str(_final(folder))),
        f"from {module} import {attribute.partition('.')[0]}",
        f"sys.exit({attribute}())",
    )
    await asyncio.to_thread(script.write_text, "\n".join(lines) + "\n")
    return Package(f"PyPI {title}", (python, "-I", str(script)))


def _final(fresh: Path) -> Path:
    """Return where a folder lies once it is complete."""
    return fresh.with_name(fresh.name.removeprefix(".").removesuffix(".new"))


def _entry_point(target: Path, package: str) -> tuple[str, str]:
    """Return the package with its version, and its program as `module:function`."""
    from importlib import metadata

    wanted = re.sub(r"[-_.]+", "-", package).lower()
    for found in metadata.distributions(path=[str(target)]):
        if re.sub(r"[-_.]+", "-", found.name).lower() != wanted:
            continue
        scripts = [one for one in found.entry_points if one.group == "console_scripts"]
        scripts.sort(key=lambda one: re.sub(r"[-_.]+", "-", one.name).lower() != wanted)
        if scripts and re.fullmatch(r"[\w.]+:[\w.]+", scripts[0].value):
            return f"{found.name}=={found.version}", scripts[0].value
    raise CommandFailed("failed", f"{package} has no program; give a command after `--` instead")


async def _run(command: tuple[str, ...], tool: str) -> None:
    """Run an installer with the operator's environment. Raises CommandFailed with its last words."""
    from app.bridges.processes.child import SpawnFailed
    from app.bridges.processes.process import ChildProcesses
    from app.config import child_environment

    children = ChildProcesses()
    try:
        ended = await children.run(
            command,
            owner=f"install by {tool}",
            cwd=Path("/"),
            env=child_environment(),
            seconds=_SECONDS,
            max_output=_MAX_OUTPUT,
        )
    except SpawnFailed as problem:
        raise CommandFailed("failed", f"{tool} cannot be started: {problem.reason}") from None
    finally:
        await children.aclose()
    if ended.timed_out:
        raise CommandFailed("failed", f"{tool} did not end within {_SECONDS:g} s")
    if ended.exit_code != 0:
        words = (ended.stderr or ended.stdout).decode("utf-8", "replace").strip()[-_SHOWN:]
        raise CommandFailed("failed", f"{tool} has failed: {words or f'exit code {ended.exit_code}'}")


def _emptied(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)


def _swap(fresh: Path, folder: Path) -> None:
    """Put a complete installation in place of the one before."""
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(fresh, folder)
