"""Which models take images, by their names: no table that could be asked says so.

Owns: the names. An operator's `[prices."provider:model"] images = true` or `false` wins over them.
A model that is not known here takes none: it is told about a picture in words, which always works,
while a picture sent to a model without eyes fails the whole call.
"""

from __future__ import annotations

import re

_BLIND = re.compile(
    r"gpt-3|gpt-4(?:-\d{4})?$|gpt-4-32k|gpt-oss|o1-(?:mini|preview)|o3-mini|claude-(?:1|2|instant)|gemini-1\.0-pro$"
    r"|-(?:audio|realtime|transcribe|tts|search-preview)|embedding|codex-mini|gemma-?3n?[:-](?:1b|270m)"
)
_SEEING = re.compile(
    r"(?:^|[/.])claude-|(?:^|/)gemini-|(?:^|/)(?:chatgpt-|gpt-)[4-9]|(?:^|/)o[134](?:-|$)|vision|-vl\b|[0-9]vl\b"
    r"|llava|pixtral|gemma-?[3-9]|llama-?4|minicpm-v|moondream|internvl|molmo|mistral-(?:small|medium)-?3\.[1-9]"
    r"|mistral-(?:medium|small|large)-(?:latest|25\d\d)|grok-(?:[4-9]|2-vision)|phi-?[34](?:\.5)?-(?:vision|multimodal)"
    r"|kimi-vl|glm-4\.[15]v|step-?3|ernie-.*-vl|aya-vision|granite-.*-vision"
)


def sees(model: str) -> bool:
    """Tell whether a model of this name is known to take images."""
    name = model.casefold()
    return _BLIND.search(name) is None and _SEEING.search(name) is not None
