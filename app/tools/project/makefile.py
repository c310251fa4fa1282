"""The targets of a Makefile, from its text: make would run what it says.

Owns: parsing; the targets of every branch are listed. Never: expanding variables, following includes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_RULE = re.compile(r"([^:=#]*):{1,2}(?![:=])(.*)")
_ASSIGNMENT = re.compile(r"\s*+(?:(?:export|override|private)\s++)*[A-Za-z0-9_.-]++\s*+(?::{0,3}|[?+!])=")
_DIRECTIVE = re.compile(
    r" *(?:-?include|sinclude|vpath|export|unexport|undefine|ifn?eq|ifn?def|else|endif)(?:[\s(]|$)"
)
_DEFINE = re.compile(r" *+(?>(?:(?:override|export)\s++)*)define\s")
_ENDEF = re.compile(r"\s*endef\b")
_REFERENCE = re.compile(r"\$[({][^(){}]*[)}]")
_MAX_NESTED = 5
_UNUSABLE = re.compile(r"[%$*?(){}\[\]\\~&]")


def targets(text: str) -> list[str]:
    """Return the targets that a person would call: those declared phony first, then those that
    do not look like files. Special, pattern and computed targets are left out."""
    phony: dict[str, None] = {}
    named: dict[str, None] = {}
    for line in _logical_lines(text):
        rule = _RULE.match(line)
        if rule is None or _DIRECTIVE.match(line) or _ASSIGNMENT.match(rule.group(2)):
            continue
        left, right = _without_references(rule.group(1)).split(), _without_references(rule.group(2))
        if left == [".PHONY"]:
            phony.update(dict.fromkeys(filter(_is_usable, right.partition(";")[0].split())))
            continue
        named.update(dict.fromkeys(name for name in left if _is_usable(name)))
    tasks = [name for name in phony if not name.startswith(".")]
    return tasks + [name for name in named if name not in phony and not _looks_like_file(name)]


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines with continuations joined and comments removed, without recipes and `define`s."""
    depth = 0
    for line in _joined(text):
        if line.startswith("\t"):
            continue
        if _DEFINE.match(line):
            depth += 1
        elif depth:
            depth -= bool(_ENDEF.match(line))
        else:
            yield _without_comment(line)


def _joined(text: str) -> Iterator[str]:
    held: list[str] = []
    for raw in text.splitlines():
        if (len(raw) - len(raw.rstrip("\\"))) % 2:
            held.append(raw[:-1])
            continue
        yield " ".join((*held, raw)) if held else raw
        held = []
    if held:
        yield " ".join(held)


def _without_comment(line: str) -> str:
    at = line.find("#")
    while at > 0 and line[at - 1] == "\\":
        at = line.find("#", at + 1)
    return line if at < 0 else line[:at]


def _without_references(text: str) -> str:
    """Put a mere `$` for each variable and function, so that none of its words counts as a name."""
    for _ in range(_MAX_NESTED):
        shorter = _REFERENCE.sub("$", text)
        if shorter == text:
            break
        text = shorter
    return text


def _is_usable(name: str) -> bool:
    return not _UNUSABLE.search(name)


def _looks_like_file(name: str) -> bool:
    return "/" in name or "." in name
