"""What a plugin says, as a part of what a model reads.

Owns: its bounds, and the marks around it that nothing inside can end. Never: where it is put.
"""

from __future__ import annotations

import re

MAX_CHARACTERS = 64 * 1024
# Possessive: given back, the spaces behind one `<` would be tried in all divisions, for minutes.
_MARK = re.compile(r"<(?=\s*+/?\s*+plugin\s*+:)", re.IGNORECASE)
_UNSHOWABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def injection(plugin: str, text: str) -> str:
    """Return the text between marks with the plugin's name: `<plugin:NAME>...</plugin:NAME>`. A mark
    within the text is written as `&lt;plugin:`, and a text that is too long is cut, which it says."""
    plain = _UNSHOWABLE.sub(" ", text)
    if len(plain) > MAX_CHARACTERS:
        plain = f"{plain[:MAX_CHARACTERS]}\n[cut: {len(plain) - MAX_CHARACTERS} more characters]"
    return f"<plugin:{plugin}>{_MARK.sub('&lt;', plain)}</plugin:{plugin}>"
