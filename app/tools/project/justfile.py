"""The recipes of a justfile, from its text alone.

Owns: that parsing. Never: following imports and modules, or evaluating anything.
"""

from __future__ import annotations

import re

_RECIPE = re.compile(r"@?([A-Za-z_][A-Za-z0-9_-]*)(?:\s[^:]*)?:(?!=)")
_ALIAS = re.compile(r"alias\s+([A-Za-z_][A-Za-z0-9_-]*)\s*:=")
_NO_RECIPE = re.compile(r"(?:set|export|import\??|mod\??|unexport)\s|[A-Za-z_][A-Za-z0-9_-]*\s*:=")
_QUOTED = re.compile(r"'[^'\n]*'|\"(?>(?:[^\"\\\n]|\\.)*)(?:\"|\\?+(?=\n|\Z))|`[^`\n]*`")
_BLOCK = re.compile(r"'''|\"\"\"|```")


def recipes(text: str) -> list[str]:
    found: dict[str, None] = {}
    private = inside_block = False
    for line in text.splitlines():
        marks = len(_BLOCK.findall(line))
        if inside_block:
            inside_block = marks % 2 == 0
            continue
        if not line or line[0].isspace() or line.startswith("#"):
            continue
        if line.startswith("["):
            private = private or "private" in line
            continue
        name = _name(line)
        if name is None:
            inside_block = marks % 2 == 1
        elif not private and not name.startswith("_"):
            found[name] = None
        private = False
    return list(found)


def _name(line: str) -> str | None:
    if alias := _ALIAS.match(line):
        return alias.group(1)
    if _NO_RECIPE.match(line):
        return None
    recipe = _RECIPE.match(_QUOTED.sub("''", line))
    return recipe.group(1) if recipe else None
