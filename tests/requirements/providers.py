"""Model providers."""

from __future__ import annotations

PROVIDERS: dict[str, str] = {
    "providers.routes": "aliases and fallback chains; fallback only before the first delta",
    "providers.credentials": "credentials by key, by variable name and by reference; a missing one is named",
    "providers.openai": "driver openai: chat completions and compatible servers",
    "providers.responses": "driver openai-responses",
    "providers.anthropic": "driver anthropic",
    "providers.google": "driver google",
    "providers.streams": "text, thinking and parallel tool calls are streamed by every driver",
    "providers.usage": "usage with cache and reasoning tokens, normalised",
    "providers.prices": "cost and context window from the offline table; unknown is null",
    "providers.errors": (
        "errors are classified: rate limit, overload, auth, context length, network, bad request"
    ),
    "providers.retry": "retry with back-off honours Retry-After",
    "providers.test": (
        "POST /providers/{name}/test and kaged providers test make one real call and explain its failure"
    ),
    "providers.vendor_types": "requests and streams are of the types of the vendors' own SDKs",
    "providers.replay": "driver replay plays a transcript deterministically",
    "providers.record": "kaged record writes a transcript from a real session that replays",
    "providers.stored_keys": "keys are stored over HTTP and by a command: used at once, private, never shown",
    "providers.disconnect": "a stream without a finish reason is an error (mid-stream disconnect)",
}
