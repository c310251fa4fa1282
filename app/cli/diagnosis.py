"""What is present on this machine, found by looking: nothing is started, and nothing is changed but the note
of what is told once.

Owns: the findings of `kaged doctor`. Never: their layout, or the value of any credential.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from app import __version__
from app.bridges.dap.manager import AdapterTable
from app.bridges.lsp.manager import ServerTable
from app.bridges.plugins.manager import PluginProblem, installed_plugins
from app.cli.install_advice import how_to_install
from app.cli.toolchains import hidden_toolchains
from app.config import (
    ProviderSettings,
    Settings,
    child_environment,
    default_config_file,
    settings_not_in_effect,
    without_credentials,
)
from app.daemon.cage_setup import look_for_tier
from app.daemon.debug_adapters import debug_declarations
from app.daemon.language_servers import declarations
from app.daemon.trace_destinations import trace_findings
from app.errors import KagedError, ToolError
from app.programs import find_program, on_path
from app.storage import backup
from app.storage.engine import sqlite_version
from app.storage.lock import read_lock

Status = Literal["ok", "absent", "problem"]

TOLD_OF_TRUST = "told-of-trusted-projects"

_CONNECT_SECONDS = 1.0
_LOW_DISK_BYTES = 1024**3
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `absent` is fine until it is needed; a `problem` keeps kaged from working.
    `advice` says what to do about either."""

    group: str
    name: str
    status: Status
    detail: str
    advice: str | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


async def diagnose(settings: Settings) -> list[Finding]:
    """Return every finding, grouped and in reading order."""
    return [
        *_system(),
        *_daemon(settings),
        await _storage(settings),
        *await _trusted_by_upgrade(settings),
        *await _sandbox(settings),
        *await asyncio.to_thread(_toolchains, settings),
        *_traces(settings),
        *await asyncio.gather(*(_provider(name, entry) for name, entry in settings.providers.items())),
        *await asyncio.to_thread(_language_servers, settings),
        *await asyncio.to_thread(_debug_adapters, settings),
        *await asyncio.to_thread(_plugins, settings),
    ]


def _plugins(settings: Settings) -> list[Finding]:
    """Return the installed plugins; those of projects are told of where the projects are checked."""
    return [
        Finding("plugins", folder.name, "absent", found.message, f"repair or remove {folder}")
        if isinstance(found, PluginProblem)
        else Finding("plugins", folder.name, "ok", f"{found} at {folder}")
        for folder, found in installed_plugins(settings.daemon.data_dir, settings.plugins.paths)
    ]


def _system() -> Iterator[Finding]:
    yield Finding("system", "kaged", "ok", __version__)
    yield Finding("system", "python", "ok", f"{platform.python_version()} at {sys.executable}")
    yield Finding("system", "sqlite", "ok", sqlite_version())
    yield _program("git", on_path("git", child_environment()))
    yield _program("ripgrep", find_program("rg", child_environment()))
    yield _program("ast-grep", find_program("ast-grep", child_environment()))


def _daemon(settings: Settings) -> Iterator[Finding]:
    config = settings.config_file
    yield Finding(
        "daemon",
        "config file",
        "ok",
        str(config) if config else f"none at {default_config_file()}; built-in values hold",
    )
    for key, consequence in settings_not_in_effect(settings).items():
        yield Finding("daemon", key, "absent", f"set, but {consequence}", "leave it out until then")
    yield _data_folder(settings.daemon.data_dir)
    holder = read_lock(settings.daemon.data_dir)
    if holder is None:
        yield Finding("daemon", "running", "absent", "no daemon on this data folder", "kaged serve")
    else:
        yield Finding("daemon", "running", "ok", f"{holder.url or 'starting'} (process {holder.pid})")


def _traces(settings: Settings) -> Iterator[Finding]:
    for section, problem in trace_findings(settings).items():
        yield Finding("traces", section, "ok" if problem is None else "absent", problem or "enabled")


def _data_folder(folder: Path) -> Finding:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return Finding(
            "daemon",
            "data folder",
            "problem",
            f"{existing} cannot be written",
            "choose another with --data-dir",
        )
    if existing != folder:
        return Finding("daemon", "data folder", "ok", f"{folder} (made at the first start)")
    if folder.stat().st_mode & 0o007:
        return Finding(
            "daemon", "data folder", "problem", f"{folder} is open to everybody", f"chmod 700 {folder}"
        )
    free = shutil.disk_usage(folder).free
    if free < _LOW_DISK_BYTES:
        return Finding(
            "daemon", "data folder", "problem", f"{folder}: {free // 1024**2} MiB free", "make room"
        )
    return Finding("daemon", "data folder", "ok", f"{folder}, {free // 1024**3} GiB free")


async def _storage(settings: Settings) -> Finding:
    url = settings.storage.url
    if url is None:
        return Finding("storage", "sqlite", "ok", "the embedded database in the data folder")
    try:
        report = await backup.check(url.get_secret_value(), settings.daemon.data_dir)
    except KagedError as error:
        return Finding("storage", "postgresql", "problem", error.message, "check storage.url and the server")
    if not report.ok:
        return Finding("storage", "postgresql", "problem", "; ".join(report.problems), "kaged db upgrade")
    return Finding("storage", "postgresql", "ok", f"{report.database}, schema {report.schema}")


async def _trusted_by_upgrade(settings: Settings) -> list[Finding]:
    """Return the projects that an upgrade trusted, once: what is told is noted in the data folder."""
    stamp, url = settings.daemon.data_dir / TOLD_OF_TRUST, settings.storage.url
    if await asyncio.to_thread(stamp.exists):
        return []
    try:
        address = url.get_secret_value() if url is not None else None
        roots = await backup.trusted_by_upgrade(address, settings.daemon.data_dir)
        if roots:
            await asyncio.to_thread(stamp.touch, mode=0o600)
    except (KagedError, OSError):
        return []  # the storage's own finding says what is wrong
    detail = "loaded before there was trust, so it is trusted as it was then"
    return [Finding("projects", root, "ok", detail, f"kaged trust --remove {root}") for root in roots]


async def _sandbox(settings: Settings) -> list[Finding]:
    """Make a cage and try it, as a daemon does at its start."""
    tier = await look_for_tier(settings)
    group = "sandbox"
    wanted = settings.sandbox.mode in ("full", "landlock")
    status: Status = "ok" if tier.name in ("full", "landlock") else "problem" if wanted else "absent"
    advice = tier.advice
    if tier.name == "off":
        advice = "leave out --no-sandbox and sandbox.mode, unless the machine itself is the cage"
    found = [Finding(group, "cages", status, f"{tier.name}: {tier.reason}", advice)]
    for name, seen in tier.found:
        absent = name == "bubblewrap" and not seen.startswith("/")
        hint = how_to_install("bwrap") if absent else None
        found.append(Finding(group, name, "absent" if absent else "ok", seen, hint))
    return found


def _toolchains(settings: Settings) -> list[Finding]:
    """Return the toolchains that no cage shows. Blocks: looks for programs."""
    if settings.sandbox.mode == "off":
        return []
    hidden = hidden_toolchains(child_environment(), settings.sandbox.read_only, home=Path.home())
    return [
        Finding("sandbox", one.name, "absent", f"{one.program} is in no cage", one.advice()) for one in hidden
    ]


async def _provider(name: str, provider: ProviderSettings) -> Finding:
    if provider.api_key is not None:
        return Finding("providers", name, "ok", "has a credential")
    if provider.driver == "replay":
        transcript = provider.transcript
        if transcript is None:
            return Finding("providers", name, "absent", "no transcript", f"set providers.{name}.transcript")
        found = await asyncio.to_thread(transcript.exists)
        advice = None if found else "record one with `kaged record`"
        return Finding("providers", name, "ok" if found else "absent", str(transcript), advice)
    if provider.missing_env:
        variables = " or ".join(provider.missing_env)
        return Finding(
            "providers", name, "absent", "no credential", f"set {variables}, or providers.{name}.api_key"
        )
    return await _server(name, provider.base_url or "")


async def _server(name: str, base_url: str) -> Finding:
    """A provider without a credential is a server of one's own: on this machine, see if it is there."""
    address = urlsplit(base_url)
    base_url = without_credentials(base_url)
    if address.hostname not in _LOOPBACK:
        return Finding("providers", name, "ok", f"{base_url}, without a credential")
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(address.hostname, port)
        writer.close()
    except (OSError, TimeoutError):
        advice = how_to_install(name) if name == "ollama" else "start that server"
        return Finding("providers", name, "absent", f"nothing answers at {base_url}", advice)
    return Finding("providers", name, "ok", f"a server answers at {base_url}")


def _language_servers(settings: Settings) -> list[Finding]:
    """Blocks: looks for programs."""
    group = "language servers"
    declared = declarations(None, settings.lsp)
    table = ServerTable((), declared.local, child_environment())
    found = []
    for language in table.languages():
        try:
            server = table.resolve(language)
        except ToolError as absent:
            hint = next(iter(absent.detail["install"].values()), "correct lsp.servers in the config file")
            found.append(Finding(group, language, "absent", absent.detail["problem"], hint))
        else:
            found.append(Finding(group, language, "ok", str(server.program)))
    return found


def _debug_adapters(settings: Settings) -> list[Finding]:
    """Blocks: looks for programs."""
    group = "debug adapters"
    declared = debug_declarations(None, settings.dap)
    table = AdapterTable((), declared.local, child_environment())
    found = []
    for runtime in table.runtimes():
        try:
            adapter = table.resolve(runtime)
        except ToolError as absent:
            install = absent.detail.get("install") or {}
            hint = next(iter(install.values()), "correct dap.adapters in the config file")
            found.append(Finding(group, runtime, "absent", absent.detail["problem"], hint))
        else:
            name = adapter.behaviour.name or adapter.program.name
            found.append(Finding(group, runtime, "ok", f"{name}: {adapter.program}"))
    return found


def _program(name: str, path: Path | None) -> Finding:
    if path is None:
        return Finding("system", name, "absent", f"{name} is not on the path", how_to_install(name))
    return Finding("system", name, "ok", str(path))


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""
