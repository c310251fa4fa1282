"""Reads the settings: built-in values, then the file, then the environment, then the command line.

Owns: precedence, references and where each value came from. Never: what a setting does.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs
from pydantic import ValidationError

from app.config.credentials import BUILT_IN_PROVIDERS, resolve_credentials
from app.config.environment import CONFIG_FILE_VARIABLE, expand, process_environment, settings_in
from app.config.file_version import version_of
from app.config.problems import KeyPath, Problems, known_keys
from app.config.secret_files import FILE_MARK, Variables
from app.config.settings import COMPUTED_KEYS, Settings
from app.config.stored_keys import stored_keys
from app.errors import ConfigError
from app.nearest_names import nearest

_TRUSTED = ("projects", "trusted")
_LISTS_OF_PATHS = (("plugins", "paths"), ("sandbox", "read_only"), _TRUSTED)
_PATH_KEYS = frozenset({("daemon", "data_dir"), *_LISTS_OF_PATHS})
_CREDENTIAL_KEYS = frozenset({"api_key", "public_key", "secret_key", "secret", "token"})
_CREDENTIAL_TABLES = frozenset({"headers", "env"})
_MOST_LEVELS = 32
"""No setting lies half as deep; what walks the tree calls itself for each level."""


def default_config_file() -> Path:
    """Return where the config file is looked for when nothing names another."""
    return platformdirs.user_config_path("kaged", appauthor=False) / "config.toml"


def load_settings(
    *,
    config_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """Return the settings of this process.

    `overrides` are the command line's: keys may be dotted (`{"daemon.port": 0}`). A file named by
    `config_file` or `KAGED_CONFIG` must exist; the default one need not.
    Raises `ConfigError` with every mistake, its source, key and nearest known key.
    """
    process = process_environment() if environ is None else environ
    path = _find_file(config_file, process)
    environ = Variables(process)
    merged = _Merged()
    # Before it is read: what changes meanwhile is another version.
    version = None if path is None else version_of(path)
    if path is not None:
        merged.add(_read(path), source=str(path), base=path.parent)
    for name, key, value in settings_in(environ):
        if name.endswith(FILE_MARK) and (known := _in_file(key)) is not None:
            key, value = known, environ[name.removesuffix(FILE_MARK)]
        merged.add_one(normalise_names(merged.tree, key), value, source=name, base=Path.cwd())
    for dotted, value in (overrides or {}).items():
        merged.add_one(tuple(dotted.split(".")), value, source="command line", base=Path.cwd())
    settings = _resolve(merged, path, environ)
    settings.read_from(version)
    return settings


@dataclass(slots=True)
class _Merged:
    """The raw tree so far, and for each leaf where it was set and what its paths are relative to."""

    tree: dict[str, Any] = field(default_factory=dict)
    sources: dict[KeyPath, str] = field(default_factory=dict)
    bases: dict[KeyPath, Path] = field(default_factory=dict)

    def add(self, layer: dict[str, Any], *, source: str, base: Path) -> None:
        _require_shallow(layer, source)
        normalise_layer(layer, source)
        self._merge(self.tree, layer, (), source, base)

    def add_one(self, key: KeyPath, value: Any, *, source: str, base: Path) -> None:
        layer: Any = value
        for part in reversed(key):
            layer = {part: layer}
        self.add(layer, source=source, base=base)

    def _merge(
        self, into: dict[str, Any], layer: dict[str, Any], prefix: KeyPath, source: str, base: Path
    ) -> None:
        for name, value in layer.items():
            key = (*prefix, name)
            self.sources[key] = source
            if isinstance(value, dict) and isinstance(into.get(name, {}), dict):
                self._merge(into.setdefault(name, {}), value, key, source, base)
            else:
                into[name] = value
                self.bases[key] = base


def _in_file(key: KeyPath) -> KeyPath | None:
    """Return the setting whose value lies in the file that a variable for `key` names, else None."""
    name = key[-1].removesuffix(FILE_MARK.lower())
    known = known_keys(key[:-1])
    return (*key[:-1], name) if key[-1] not in known and name in known else None


def _require_shallow(layer: dict[str, Any], source: str) -> None:
    level: list[Any] = [layer]
    for _ in range(_MOST_LEVELS):
        values = (node.values() if isinstance(node, dict) else node for node in level)
        level = [value for inner in values for value in inner if isinstance(value, dict | list)]
    if level:
        raise ConfigError(
            f"{source[:200]}: tables and lists are nested more than {_MOST_LEVELS} levels deep; no setting is"
        )


def _find_file(named: Path | None, environ: Mapping[str, str]) -> Path | None:
    for path, origin in ((named, "command line"), (environ.get(CONFIG_FILE_VARIABLE), CONFIG_FILE_VARIABLE)):
        if path:
            chosen = Path(path).expanduser().absolute()
            if not chosen.is_file():
                raise ConfigError(f"{origin}: there is no config file at {chosen}")
            return chosen
    default = default_config_file()
    return default if default.is_file() else None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ConfigError(f"{path}: not valid TOML: brackets are nested too deeply") from None
    except ValueError as error:  # malformed, not UTF-8, or a number of thousands of digits
        reason = str(error).partition("; use sys.")[0]
        raise ConfigError(f"{path}: not valid TOML: {reason}") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error


def _resolve(merged: _Merged, path: Path | None, environ: Mapping[str, str]) -> Settings:
    problems = Problems(default_source=str(path or default_config_file()), sources=merged.sources)
    missing = _expand_references(merged.tree, environ, problems)
    _resolve_paths(merged)
    for name in COMPUTED_KEYS & merged.tree.keys():
        problems.add_unknown((name,), known_keys(()))
        del merged.tree[name]
    _add_built_ins(merged.tree)
    merged.tree.setdefault("daemon", {})
    folder = _data_folder(merged.tree["daemon"], problems)
    stored = {} if folder is None else stored_keys(folder)
    resolve_credentials(merged.tree, environ, missing, problems, stored)
    try:
        settings = Settings.model_validate({**merged.tree, "config_file": path, "missing_env": missing})
    except ValidationError as error:
        problems.add_validation(error)
        raise problems.as_error() from None
    _check_models(settings, problems)
    if problems.found:
        raise problems.as_error()
    return settings


def _data_folder(daemon: Any, problems: Problems) -> Path | None:
    """Give the data folder its real name in the tree, and return it. Cages compare paths part by part, so a
    symbolic link or `..` in its name would be another folder to them."""
    if not isinstance(daemon, dict):
        return None
    named = daemon.setdefault("data_dir", platformdirs.user_data_path("kaged", appauthor=False))
    if not isinstance(named, str | Path):
        return None
    try:
        daemon["data_dir"] = folder = Path(os.path.realpath(named))
    except ValueError:
        problems.add(("daemon", "data_dir"), "has a NUL character in it")
        return None
    return folder


def _expand_references(
    tree: dict[str, Any], environ: Mapping[str, str], problems: Problems
) -> dict[str, str]:
    """Replace `${NAME}` everywhere. A credential whose variable is not set is left out and returned
    as `{key: variable}`; any other key with such a reference is a problem."""
    missing: dict[str, str] = {}

    def visit(key: KeyPath, value: Any) -> Any:
        unset: list[str] = []
        expanded = expand(value, environ, unset)
        if not unset:
            return expanded
        if key[-1] in _CREDENTIAL_KEYS or (len(key) > 1 and key[-2] in _CREDENTIAL_TABLES):
            missing[".".join(key)] = unset[0]
            return None
        problems.add(key, f"refers to the environment variable {unset[0]}, which is not set")
        return value

    _map_leaves(tree, (), visit)
    return missing


def _map_leaves(node: Any, key: KeyPath, visit: Callable[[KeyPath, Any], Any]) -> Any:
    if isinstance(node, dict):
        for name in list(node):
            replaced = _map_leaves(node[name], (*key, name), visit)
            if replaced is None:
                del node[name]
            else:
                node[name] = replaced
        return node
    if isinstance(node, list):
        return [_map_leaves(item, key, visit) for item in node]
    return visit(key, node)


def _resolve_paths(merged: _Merged) -> None:
    for section, name in _LISTS_OF_PATHS:  # in an environment variable commas separate the paths
        values = merged.tree.get(section)
        if isinstance(values, dict) and isinstance(values.get(name), str):
            values[name] = [path.strip() for path in values[name].split(",") if path.strip()]

    def visit(key: KeyPath, value: Any) -> Any:
        is_path = key in _PATH_KEYS or (key[0] == "providers" and key[-1] == "transcript" and len(key) == 3)
        if not is_path or not isinstance(value, str | Path):
            return value
        # A relative folder of trust would mean another one wherever a command is run.
        base = Path() if key == _TRUSTED else merged.bases.get(key, Path.cwd())
        return base / Path(value).expanduser()

    _map_leaves(merged.tree, (), visit)


def _add_built_ins(tree: dict[str, Any]) -> None:
    providers = tree.setdefault("providers", {})
    if not isinstance(providers, dict):
        return
    for name, built_in in BUILT_IN_PROVIDERS.items():
        configured = providers.get(name, {})
        if isinstance(configured, dict):
            providers[name] = {**built_in, **configured}


def _check_models(settings: Settings, problems: Problems) -> None:
    for alias, chain in settings.models.items():
        for entry in chain:
            provider, colon, model = entry.partition(":")
            if not (provider and colon and model):
                problems.add(("models", alias), f"has {entry!r}, which is not of the form provider:model")
            elif provider not in settings.providers:
                problems.add(
                    ("models", alias),
                    f"names the provider {provider!r}, which is not configured",
                    nearest=nearest(provider, settings.providers),
                )


def normalise_layer(layer: dict[str, Any], source: str) -> None:
    """Rewrite accepted spellings in place. Raises `ConfigError` when both spellings are used."""
    daemon = layer.get("daemon")
    if isinstance(daemon, dict) and "bind" in daemon:
        _split_bind(daemon, source)
    if "aliases" in layer:
        _merge_aliases(layer, source)
    providers = layer.get("providers")
    for name, table in providers.items() if isinstance(providers, dict) else ():
        if isinstance(table, dict) and "timeout" in table:
            if "timeout_seconds" in table:
                raise ConfigError(f"{source}: providers.{name} has timeout and timeout_seconds; keep one")
            table["timeout_seconds"] = table.pop("timeout")


def normalise_names(tree: Mapping[str, Any], key: tuple[str, ...]) -> tuple[str, ...]:
    """Return `key` with each part spelled as in `tree` or as a built-in provider: a variable's
    name cannot hold a hyphen, so `OPENAI_RESPONSES` stands for `openai-responses`."""
    spelled: list[str] = []
    node: Any = tree
    for part in key:
        names = list(node) if isinstance(node, Mapping) else []
        if spelled == ["providers"]:
            names.extend(BUILT_IN_PROVIDERS)
        part = next((name for name in names if name.lower().replace("-", "_") == part), part)
        spelled.append(part)
        node = node.get(part) if isinstance(node, Mapping) else None
    return tuple(spelled)


def _split_bind(daemon: dict[str, Any], source: str) -> None:
    bind = daemon.pop("bind")
    for name in ("host", "port"):
        if name in daemon:
            raise ConfigError(f"{source}: daemon has bind and {name}; keep one of them")
    host, colon, port = str(bind).rpartition(":")
    if not colon or not host or not port.isdigit():
        raise ConfigError(f'{source}: daemon.bind must be "host:port", for example "127.0.0.1:7777"')
    daemon["host"] = host
    daemon["port"] = int(port)


def _merge_aliases(layer: dict[str, Any], source: str) -> None:
    aliases = layer.pop("aliases")
    models = layer.setdefault("models", {})
    if not isinstance(aliases, dict) or not isinstance(models, dict):
        raise ConfigError(f"{source}: models and aliases must be tables of alias = provider:model")
    both = sorted(aliases.keys() & models.keys())
    if both:
        raise ConfigError(f"{source}: {both[0]!r} is in both [models] and [aliases]; keep one of them")
    models.update(aliases)
