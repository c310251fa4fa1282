"""Finds credentials: written in the file, in the variable that a key names, or in the usual one.

Owns: that order, the providers that need no configuration, and the record of the variables that are not set.
Never: showing a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, get_args

from app.config.problems import Problems
from app.config.settings import SearchName

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


USUAL_SEARCH_VARIABLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "brave": ("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"),
        "tavily": ("TAVILY_API_KEY",),
        "exa": ("EXA_API_KEY",),
    }
)
"""The same for the providers of `web_search`, where they are configured."""

_SEARCH_NAMES = get_args(SearchName)
_SINGLE_SECTIONS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("langfuse",): ("public_key", "secret_key"),
    ("notify", "webhook"): ("secret",),
    ("notify", "ntfy"): ("token",),
}


def resolve_credentials(
    tree: dict[str, Any],
    environ: Mapping[str, str],
    missing: dict[str, str],
    problems: Problems,
    stored: Mapping[str, str],
) -> None:
    """Fill in `api_key` and its kin in the raw `tree`; what is not set is added to `missing`. `stored` are
    the keys of providers that an operator has set while the daemon ran."""
    providers = tree.get("providers")
    for name, table in providers.items() if isinstance(providers, dict) else ():
        if isinstance(table, dict):
            usual = USUAL_VARIABLES.get(name, ())
            if "key_from" in table:
                problems.add_unknown(("providers", name, "key_from"), ())
                del table["key_from"]
            variable = table.get("api_key_env")
            named = "api_key" in table or (isinstance(variable, str) and bool(environ.get(variable)))
            _resolve_provider(("providers", name), table, usual, environ, missing, problems)
            if named:
                table["key_from"] = "settings"
            elif name in stored:
                table.update(api_key=stored[name], key_from="stored", missing_env=())
                missing.pop(f"providers.{name}.api_key", None)
            elif "api_key" in table:
                table["key_from"] = "variable"
    _resolve_search(tree.get("search"), environ, missing, problems)
    for section, fields in _SINGLE_SECTIONS.items():
        single: Any = tree
        for part in section:
            single = single.get(part) if isinstance(single, dict) else None
        for field in fields if isinstance(single, dict) else ():
            _resolve_named(section, single, field, environ, missing, problems)


def _resolve_search(
    search: Any, environ: Mapping[str, str], missing: dict[str, str], problems: Problems
) -> None:
    """Bring the short form of a single provider into the form of several, and find their keys."""
    if not isinstance(search, dict):
        return
    name = search.get("provider")
    single = {key: search.pop(key) for key in ("base_url", "api_key", "api_key_env") if key in search}
    several = search.setdefault("providers", {})
    if not isinstance(several, dict):
        return
    if isinstance(name, str) and name in several:
        problems.add(("search", "provider"), f"and search.providers.{name} are both set; keep one of them")
    elif name in _SEARCH_NAMES:
        several[name] = single
        if "search.api_key" in missing:
            missing[f"search.providers.{name}.api_key"] = missing.pop("search.api_key")
    elif single and name is None:
        problems.add(("search", next(iter(single))), "has no effect without search.provider")
    for name, table in several.items():
        if isinstance(table, dict):
            usual = USUAL_SEARCH_VARIABLES.get(name, ())
            _resolve_provider(("search", "providers", name), table, usual, environ, missing, problems)


def _resolve_provider(
    key: tuple[str, ...],
    table: dict[str, Any],
    usual: Sequence[str],
    environ: Mapping[str, str],
    missing: dict[str, str],
    problems: Problems,
) -> None:
    if "missing_env" in table:
        problems.add_unknown((*key, "missing_env"), ())
        del table["missing_env"]
    _resolve_named(key, table, "api_key", environ, missing, problems)
    prefix = f"{'.'.join(key)}."
    looked_for = [variable for name, variable in missing.items() if name.startswith(prefix)]
    if "api_key" not in table and not looked_for:
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
