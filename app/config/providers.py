"""The providers that are there without any configuration.

Owns: their drivers and the environment variables in which their credentials usually are.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

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
