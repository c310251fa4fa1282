"""The process environment: the one place where it is read.

Owns: settings in variables (`KAGED_SECTION__KEY`), `${NAME}` references, and the environment that
child processes get. Never: what a setting means.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from app.config.secret_files import FILE_MARK, Variables
from app.errors import ConfigError

CONFIG_FILE_VARIABLE = "KAGED_CONFIG"
_PREFIX = "KAGED_"
_SECTION_MARK = "__"
_REFERENCE = re.compile(r"\$\{([A-Z][A-Z0-9_]*)\}")
_SECRET_NAME = re.compile(
    r"(?:KEY|TOKEN|NONCE)S?(?:_?\d+)?$|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|API_?KEY|PRIVATE_?KEY"
    r"|(?:^|_)(?:KEY|TOKEN)_|_(?:PASS|PWD|PAT|DSN)$|AUTH_CONFIG$"
)

_SECRET_CHARACTERS = 16


def process_environment() -> Mapping[str, str]:
    return os.environ


def child_environment(*, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a child process: this one without kaged's settings and without
    variables whose name says that they hold a secret (`OPENAI_API_KEY`, `GITHUB_TOKEN`)."""
    source = process_environment() if environ is None else environ
    return {
        name: value
        for name, value in source.items()
        if not name.startswith(_PREFIX) and not _SECRET_NAME.search(name.upper())
    }


def environment_secrets(*, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the values of the variables that children do not get because their names say that they hold a
    secret, also those in files (`NAME_FILE`); short ones may be ordinary words and are left out."""
    source = process_environment() if environ is None else environ
    names = [name for name in source if _SECRET_NAME.search(name.upper())]
    found = [source[name] for name in names if not name.endswith(FILE_MARK)]
    for name in names:
        if name.endswith(FILE_MARK):
            with suppress(ConfigError, KeyError):  # who asks for such a value hears what is wrong
                found.append(Variables(source)[name.removesuffix(FILE_MARK)])
    return tuple(dict.fromkeys(value for value in found if len(value) >= _SECRET_CHARACTERS))


def container_in_environment() -> str:
    """Return the engine that says in the environment that this is its container, empty when none does."""
    environ = process_environment()
    return environ.get("container", "") or ("kubernetes" if environ.get("KUBERNETES_SERVICE_HOST") else "")


def settings_in(environ: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """Yield `(variable, path, value)` for each `KAGED_SECTION__KEY` that is set and not empty.

    A value that begins as a TOML array or table is read as one; anything else is text.
    """
    for name in sorted(environ):
        if not name.startswith(_PREFIX) or _SECTION_MARK not in name or not environ[name]:
            continue
        path = tuple(part.lower() for part in name.removeprefix(_PREFIX).split(_SECTION_MARK))
        yield name, path, _typed(environ[name])


def _typed(text: str) -> Any:
    if text[:1] in "[{":
        try:
            return tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):  # it is checked as the text that it is
            return text
    return text


def expand(value: Any, environ: Mapping[str, str], missing: list[str]) -> Any:
    """Return `value` with every `${NAME}` replaced; names that are not set go to `missing`.

    Only upper-case names are references, so that an editor's `${file}` stays as it is.
    """
    if isinstance(value, str):
        for name in _REFERENCE.findall(value):
            if not environ.get(name):
                missing.append(name)
        return _REFERENCE.sub(lambda match: environ.get(match[1], ""), value)
    return value


def expanded(values: Mapping[str, str], missing: list[str]) -> dict[str, str]:
    """Return texts with every `${NAME}` replaced from this process's environment; names that are not set go
    to `missing`."""
    environ = Variables(process_environment())
    return {name: expand(value, environ, missing) for name, value in values.items()}
