"""What is known of chat-completions servers by their address, where they differ from each other.

Owns: the defaults of one server; the options of a provider win over them. Never: reading an answer
(`openai_answer`) or building a request (`openai`). Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import httpx2
import xxhash

from app.harness.providers.wire_json import wire_id

_LONGEST_CALL_ID = 40
_MISTRAL_ID = re.compile(r"[A-Za-z0-9]{9}")
_WANT_REASONING_BACK = ("deepseek.com", "moonshot.ai", "moonshot.cn", "kimi.com")


@dataclass(frozen=True, slots=True)
class Server:
    """`reasoning_field` is the name under which earlier thinking must go back beside tool calls: without
    it these servers refuse every step after the first. `strict` servers take a system message only as
    the first, no user's message right behind a tool's, ids of nine letters and digits, and no question
    for token counts (which come unasked). `reasoning_details`: the server sends its models' thinking in
    such objects and wants them back."""

    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    reasoning_field: str | None = None
    strict: bool = False
    reasoning_details: bool = False

    def call_id(self, identifier: str) -> str:
        """Return the id of a call as the server takes it; the same one for the same call."""
        if self.strict:
            if _MISTRAL_ID.fullmatch(identifier):
                return identifier
            return xxhash.xxh3_64_hexdigest(identifier.encode("utf-8", "replace"))[:9]
        if len(identifier) <= _LONGEST_CALL_ID:
            return wire_id(identifier)
        return "call_" + xxhash.xxh3_128_hexdigest(identifier.encode("utf-8", "replace"))


def known_server(base_url: str) -> Server:
    """Return what is known of the server at an address."""
    url = httpx2.URL(base_url)
    if _is_below(url.host, "mistral.ai"):
        return Server(strict=True)
    if _is_below(url.host, "openrouter.ai"):
        return Server(reasoning_details=True)
    if _is_openai(url.host, url.path):
        return Server(max_tokens_field="max_completion_tokens")
    if any(_is_below(url.host, domain) for domain in _WANT_REASONING_BACK):
        return Server(reasoning_field="reasoning_content")
    return Server()


def _is_openai(host: str, path: str) -> bool:
    """OpenAI's own server, one of its regions, or Azure's, whose host also serves other protocols."""
    if _is_below(host, "api.openai.com") or host.endswith(".openai.azure.com"):
        return True
    return host.endswith(".azure.com") and path.startswith("/openai/")


def _is_below(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")
