"""The providers of `web_search`: how each is asked, and how it answers.

Owns: their addresses, requests and answers. Never: which one a session asks, or sending.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

import orjson

from app.bridges.network.web_target import WebTarget
from app.config import SearchName, SearchProviderSettings

_TAG = re.compile(r"</?(?:strong|b|em|mark)>")
_SNIPPET = 2_000


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of a provider, below its base address."""

    path: str
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One result as the provider sent it: none of it is checked."""

    title: Any
    url: Any
    snippet: Any


@dataclass(frozen=True, slots=True)
class SearchProvider:
    """`base_url` is empty where each operator has an instance. `ask` takes query, number of results and key;
    `read` the decoded answer."""

    base_url: str
    ask: Callable[[str, int, str], Asked]
    read: Callable[[Any], list[Found]]
    needs_key: bool = True


def base_of(name: str, settings: SearchProviderSettings) -> WebTarget:
    """Return the address that the paths of a provider are below. Raises ValueError."""
    return WebTarget.parse(settings.base_url or PROVIDERS[name].base_url)


def problem_of(name: str, settings: SearchProviderSettings) -> str | None:
    """Return what the operator must do before a configured provider can be asked, else None."""
    provider = PROVIDERS[name]
    if not (settings.base_url or provider.base_url):
        return f"{name} has no address: write base_url under [search.providers.{name}]"
    try:
        base_of(name, settings)
    except ValueError as problem:
        return f"base_url of {name} is not usable: {problem}"
    if not provider.needs_key or settings.api_key is not None:
        return None
    ways = [f"set {variable}" for variable in settings.missing_env]
    ways.append(f"write api_key under [search.providers.{name}]")
    return f"{name} has no credential: {' or '.join(ways)}"


def _ask_searxng(query: str, _count: int, key: str) -> Asked:
    path = f"/search?{urlencode({'q': query, 'format': 'json'})}"
    return Asked(path, {"Authorization": f"Bearer {key}"} if key else {})


def _ask_brave(query: str, count: int, key: str) -> Asked:
    return Asked(f"/web/search?{urlencode({'q': query, 'count': count})}", {"X-Subscription-Token": key})


def _ask_tavily(query: str, count: int, key: str) -> Asked:
    return _posted("/search", {"query": query, "max_results": count}, {"Authorization": f"Bearer {key}"})


def _ask_exa(query: str, count: int, key: str) -> Asked:
    body = {"query": query, "numResults": count, "contents": {"highlights": True}}
    return _posted("/search", body, {"x-api-key": key})


def _posted(path: str, body: Any, headers: Mapping[str, str]) -> Asked:
    return Asked(path, {**headers, "Content-Type": "application/json"}, orjson.dumps(body))


def _entries(answer: Any, *keys: str) -> list[dict[str, Any]]:
    """Return the objects of the list that stands below `keys`. Raises ValueError when there is none."""
    for key in keys:
        answer = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(answer, list):
        raise ValueError(f"{'.'.join(keys)} is no list")
    return [one for one in answer if isinstance(one, dict)]


def _read_content(answer: Any) -> list[Found]:
    return [
        Found(one.get("title"), one.get("url"), one.get("content")) for one in _entries(answer, "results")
    ]


def _read_brave(answer: Any) -> list[Found]:
    if isinstance(answer, dict) and "web" not in answer:
        return []  # a query without results has no such part
    found = []
    for one in _entries(answer, "web", "results"):
        title, snippet = (_without_tags(one.get(name)) for name in ("title", "description"))
        found.append(Found(title, one.get("url"), snippet))
    return found


def _read_exa(answer: Any) -> list[Found]:
    found = []
    for one in _entries(answer, "results"):
        parts = one.get("highlights")
        text = " … ".join(str(part) for part in parts[:5]) if isinstance(parts, list) else one.get("text")
        found.append(Found(one.get("title"), one.get("url"), text or one.get("summary")))
    return found


def _without_tags(text: Any) -> Any:
    return html.unescape(_TAG.sub("", text[: 2 * _SNIPPET])) if isinstance(text, str) else text


PROVIDERS: Mapping[str, SearchProvider] = MappingProxyType(
    {
        "searxng": SearchProvider("", _ask_searxng, _read_content, needs_key=False),
        "brave": SearchProvider("https://api.search.brave.com/res/v1", _ask_brave, _read_brave),
        "tavily": SearchProvider("https://api.tavily.com", _ask_tavily, _read_content),
        "exa": SearchProvider("https://api.exa.ai", _ask_exa, _read_exa),
    }
)


def usable(providers: Mapping[SearchName, SearchProviderSettings]) -> dict[str, SearchProviderSettings]:
    """Return the configured providers that can be asked."""
    return {name: one for name, one in sorted(providers.items()) if problem_of(name, one) is None}
