"""Finds credentials: written in the file, in the variable that a key names, or in the usual one.

Owns: that order, the providers that need no configuration, and the record of the variables that are not set.
Never: showing a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.config.problems import Problems

BUILT_IN_PROVIDERS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "openai": {"driver": "openai"},
        "openai-responses": {"driver": "openai-responses"},
        "anthropic": {"driver": "anthropic"},
        "google": {"driver": "google"},
        "ollama": {"driver": "openai", "base_url": "http://127.0.0.1:11434/v1"},
        "replay": {"driver": "replay"},
    }
)

USUAL_VARIABLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "openai": ("OPENAI_API_KEY",),
        "openai-responses": ("OPENAI_API_KEY",),
        "anthropic": ("ANTHROPIC_API_KEY",),
        "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    }
)
"""Built-in provider to the variables that are tried, in order, when nothing else gives a key."""


_SINGLE_SECTIONS = {"langfuse": ("public_key", "secret_key"), "search": ("api_key",)}


def resolve_credentials(
    tree: dict[str, Any], environ: Mapping[str, str], missing: dict[str, str], problems: Problems
) -> None:
    """Fill in `api_key` and its kin in the raw `tree`; what is not set is added to `missing`."""
    providers = tree.get("providers")
    for name, table in providers.items() if isinstance(providers, dict) else ():
        if isinstance(table, dict):
            _resolve_provider(name, table, environ, missing, problems)
    for section, fields in _SINGLE_SECTIONS.items():
        single = tree.get(section)
        for field in fields if isinstance(single, dict) else ():
            _resolve_named((section,), single or {}, field, environ, missing, problems)


def _resolve_provider(
    name: str,
    table: dict[str, Any],
    environ: Mapping[str, str],
    missing: dict[str, str],
    problems: Problems,
) -> None:
    if "missing_env" in table:
        problems.add_unknown(("providers", name, "missing_env"), ())
        del table["missing_env"]
    _resolve_named(("providers", name), table, "api_key", environ, missing, problems)
    prefix = f"providers.{name}."
    looked_for = [variable for key, variable in missing.items() if key.startswith(prefix)]
    if "api_key" not in table and not looked_for:
        usual = USUAL_VARIABLES.get(name, ())
        found = next((environ[variable] for variable in usual if environ.get(variable)), None)
        if found is not None:
            table["api_key"] = found
        else:
            looked_for.extend(usual)
    table["missing_env"] = tuple(dict.fromkeys(looked_for))


def _resolve_named(
    prefix: tuple[str, ...],
    table: dict[str, Any],
    field: str,
    environ: Mapping[str, str],
    missing: dict[str, str],
    problems: Problems,
) -> None:
    """Take `field` from the variable that `<field>_env` names, unless it is written out."""
    variable = table.get(f"{field}_env")
    if not isinstance(variable, str):
        return
    if field in table:
        problems.add((*prefix, field), f"and {field}_env are both set; keep one of them")
    elif environ.get(variable):
        table[field] = environ[variable]
    else:
        missing[".".join((*prefix, field))] = variable
