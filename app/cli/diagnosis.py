"""What `kaged doctor` finds on this machine. It starts nothing.

Owns: the findings, and how to install what is missing. Never: their layout, or the value of any credential.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from app import __version__
from app.bridges.dap.manager import AdapterTable
from app.bridges.lsp.manager import ServerTable
from app.bridges.plugins.manager import installed_plugins
from app.bridges.plugins.problems import PluginProblem
from app.cli.daemon_address import find_project_root
from app.cli.toolchains import hidden_toolchains
from app.config import (
    ProviderSettings,
    Proxies,
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
from app.tools.web.providers import base_of, problem_of
from app.workspace.writable import access_to

Status = Literal["ok", "absent", "problem"]

TRUST_NOTICE = "told-of-trusted-projects"
_INSTALL: Mapping[str, str] = {
    "apt-get": "sudo apt-get install {}",
    "dnf": "sudo dnf install {}",
    "pacman": "sudo pacman -S {}",
    "apk": "sudo apk add {}",
    "zypper": "sudo zypper install {}",
    "brew": "brew install {}",
}
"""The command of each package manager."""

_OLLAMA = "install Ollama and start it with `ollama serve`"
_CONNECT_SECONDS = 1.0
_LOW_DISK_BYTES = 1024**3
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `absent` is fine until a feature needs it; a `problem` keeps kaged from working. `advice`
    says what to do."""

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
        *await owner_findings(settings),
        *await _trusted_by_upgrade(settings),
        *await asyncio.to_thread(_project),
        *await _sandbox(settings),
        *await asyncio.to_thread(_toolchains, settings),
        *_traces(settings),
        *await asyncio.gather(*(_provider(name, entry) for name, entry in settings.providers.items())),
        *_web(settings),
        *await asyncio.to_thread(_language_servers, settings),
        *await asyncio.to_thread(_debug_adapters, settings),
        *await asyncio.to_thread(_plugins, settings),
    ]


def how_to_install(package: str) -> str:
    """Return the command that installs a package with this system's package manager."""
    for manager, command in _INSTALL.items():
        if on_path(manager, child_environment()):
            return command.format(package)
    return f"install the package {package}"


def _plugins(settings: Settings) -> list[Finding]:
    """Return the installed plugins; `kaged check` reports those of a project."""
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
    detail = str(config) if config else f"none at {default_config_file()}; defaults apply"
    yield Finding("daemon", "config file", "ok", detail)
    for key, consequence in settings_not_in_effect(settings).items():
        yield Finding("daemon", key, "absent", f"set, but {consequence}", "remove it")
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
    found = partial(Finding, "daemon", "data folder")
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return found("problem", f"{existing} cannot be written", "choose another with --data-dir")
    if existing != folder:
        return found("ok", f"{folder} (created at the first start)")
    if folder.stat().st_mode & 0o007:
        return found("problem", f"{folder} is open to everybody", f"chmod 700 {folder}")
    free = shutil.disk_usage(folder).free
    if free < _LOW_DISK_BYTES:
        return found("problem", f"{folder}: {free // 1024**2} MiB free", "free disk space")
    return found("ok", f"{folder}, {free // 1024**3} GiB free")


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


async def owner_findings(settings: Settings) -> list[Finding]:
    """Return which daemon owns each project, where several share the database."""
    url = settings.storage.url
    if url is None or not settings.storage.replicas:
        return []
    try:
        states = await backup.project_owners(url.get_secret_value(), settings.daemon.data_dir)
    except KagedError:
        return []  # the storage's own finding says what is wrong
    urls = sorted({one.owner_url for one in states if not one.expired})
    reached = dict(zip(urls, await asyncio.gather(*map(_answers, urls)), strict=True))
    advice = "correct storage.replica_url of that daemon: the others pass requests on to it there"
    return [
        Finding("replicas", one.root, "absent", "no daemon owns it now")
        if one.expired
        else Finding("replicas", one.root, "ok", f"owned by the daemon at {one.owner_url}")
        if reached[one.owner_url]
        else Finding("replicas", one.root, "problem", f"nothing answers at {one.owner_url}", advice)
        for one in states
    ]


async def _trusted_by_upgrade(settings: Settings) -> list[Finding]:
    """Return the projects that an upgrade trusted, only once: a file in the data folder notes it."""
    stamp, url = settings.daemon.data_dir / TRUST_NOTICE, settings.storage.url
    if await asyncio.to_thread(stamp.exists):
        return []
    try:
        address = url.get_secret_value() if url is not None else None
        roots = await backup.trusted_by_upgrade(address, settings.daemon.data_dir)
        if roots:
            await asyncio.to_thread(stamp.touch, mode=0o600)
    except (KagedError, OSError):
        return []  # the storage's own finding says what is wrong
    detail = "trusted by the upgrade, in the version that was loaded then"
    return [Finding("projects", root, "ok", detail, f"kaged trust --remove {root}") for root in roots]


def _project() -> list[Finding]:
    """Return whether the project here can be written, and by whose user. Blocks."""
    root = find_project_root()
    access = access_to(root) if root is not None else None
    if root is None or access is None:
        return []
    found = partial(Finding, "projects", str(root))
    if access.problem is not None:
        wanted = f"run the daemon as the user {access.owner} (`--user {access.owner}` of a container)"
        return [
            found("absent", f"cannot be written: {access.problem}", f"{wanted}, unless it is meant to be so")
        ]
    if access.foreign:
        return [found("ok", f"can be written; it belongs to the user {access.owner}, this is {access.user}")]
    return [found("ok", "can be written")]


async def _sandbox(settings: Settings) -> list[Finding]:
    """Try out a cage, as a daemon does at its start."""
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
        hint = how_to_install("bubblewrap") if absent else None
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
    found = partial(Finding, "providers", name)
    if provider.api_key is not None:
        return found("ok", "has a credential")
    if provider.driver == "replay":
        if provider.transcript is None:
            return found("absent", "no transcript", f"set providers.{name}.transcript")
        if await asyncio.to_thread(provider.transcript.exists):
            return found("ok", str(provider.transcript))
        return found("absent", str(provider.transcript), "record one with `kaged record`")
    if provider.missing_env:
        variables = " or ".join(provider.missing_env)
        return found("absent", "no credential", f"set {variables}, or providers.{name}.api_key")
    return await _server(name, provider.base_url or "")


def _web(settings: Settings) -> Iterator[Finding]:
    """Yield the search providers, and the proxy of `web_fetch` and `web_search`."""
    configured = settings.search.providers
    if not configured:
        advice = "configure one under [search.providers]"
        yield Finding("web", "web_search", "absent", "no search provider", advice)
    for name, provider in configured.items():
        problem = problem_of(name, provider)
        if problem is None:
            yield Finding("web", name, "ok", f"asked by web_search at {base_of(name, provider).place}")
        else:
            yield Finding("web", name, "absent", "web_search does not ask it", problem)
    for scheme, address in Proxies.of_environment().by_scheme.items():
        yield Finding(
            "web",
            f"{scheme} proxy",
            "ok",
            f"{without_credentials(address)} resolves names for web_fetch and web_search: only literal "
            "addresses and host rules are checked, private names are not recognised",
        )


async def _server(name: str, base_url: str) -> Finding:
    """Return the finding about a provider without a credential; one on this machine is looked for."""
    address = urlsplit(base_url)
    shown = without_credentials(base_url)
    if address.hostname not in _LOOPBACK:
        return Finding("providers", name, "ok", f"{shown}, without a credential")
    if not await _answers(base_url):
        advice = _OLLAMA if name == "ollama" else "start that server"
        return Finding("providers", name, "absent", f"nothing answers at {shown}", advice)
    return Finding("providers", name, "ok", f"a server answers at {shown}")


async def _answers(url: str) -> bool:
    """Tell whether anything takes connections at an address."""
    address = urlsplit(url)
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            port = address.port or (443 if address.scheme == "https" else 80)
            _, writer = await asyncio.open_connection(address.hostname, port)
        writer.close()
    except (OSError, TimeoutError, ValueError):
        return False
    return True


def _language_servers(settings: Settings) -> list[Finding]:
    """Blocks: looks for programs."""
    declared = declarations(None, settings.lsp)
    table = ServerTable((), declared.local, child_environment())

    def found(language: str) -> str:
        return str(table.resolve(language).program)

    return [*_resolved("language servers", table.languages(), found, setting="lsp.servers")]


def _debug_adapters(settings: Settings) -> list[Finding]:
    """Blocks: looks for programs."""
    declared = debug_declarations(None, settings.dap)
    table = AdapterTable((), declared.local, child_environment())

    def found(runtime: str) -> str:
        adapter = table.resolve(runtime)
        return f"{adapter.behaviour.name or adapter.program.name}: {adapter.program}"

    return [*_resolved("debug adapters", table.runtimes(), found, setting="dap.adapters")]


def _resolved(
    group: str, names: Iterable[str], found: Callable[[str], str], *, setting: str
) -> Iterator[Finding]:
    """Yield a finding for each name; `found` returns where its program is, or raises `ToolError`."""
    for name in names:
        try:
            yield Finding(group, name, "ok", found(name))
        except ToolError as absent:
            install = absent.detail.get("install") or {}
            hint = next(iter(install.values()), f"correct {setting} in the config file")
            yield Finding(group, name, "absent", absent.detail["problem"], hint)


def _program(name: str, path: Path | None) -> Finding:
    if path is None:
        return Finding("system", name, "absent", f"{name} is not on the path", how_to_install(name))
    return Finding("system", name, "ok", str(path))
