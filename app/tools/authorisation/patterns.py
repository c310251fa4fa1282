"""Matches a rule's pattern against a subject: a command, a path, a host.

Owns: the pattern language. Never: which rule wins.

A pattern with `*`, `?` or `[...]` is a glob over the whole subject. Any other is a prefix that ends at a
word, folder or host. Matching takes time proportional to pattern times subject.
"""

from __future__ import annotations

import re
from functools import lru_cache

from app.tools.contract.rules import SubjectKind
from app.workspace.globs import closed, rule_path, text_matches, text_pattern

_WILD = re.compile(r"[*?\[]")
_ANY = re.compile(r"[*?]")
_PLACE = re.compile(r"\[[^\]]++(?:\]|\Z)|[*?]")
_EVERYTHING = frozenset({"*", "**"})
_WORKSPACE = "{workspace}"


def covers_everything(pattern: str) -> bool:
    return pattern in _EVERYTHING


def literal_length(pattern: str) -> int:
    """How many characters of the pattern stand for themselves: the more, the more specific."""
    end = pattern.rfind("]") + 1  # what begins behind the last one is not closed, and stands for itself
    return len(_PLACE.sub("", pattern[:end])) + len(_ANY.sub("", pattern[end:]))


def literal_prefix(pattern: str) -> str:
    found = _WILD.search(pattern)
    return pattern if found is None else pattern[: found.start()]


def escaped(text: str) -> str:
    """Return the pattern that covers exactly what begins with `text`."""
    return _WILD.sub(lambda found: f"[{found[0]}]", text)


def matches(pattern: str, subject: str, kind: SubjectKind) -> bool:
    if covers_everything(pattern):
        return True
    if kind == "command":
        return _matches_command(pattern, subject)
    if kind == "path":
        return _matches_path(_below_workspace(pattern), subject)
    if kind == "host":
        return _matches_host(pattern.casefold(), subject.casefold())
    return False


def matches_whole(pattern: str, text: str) -> bool:
    """Tell whether `pattern` is a glob over the whole of `text`, prefixes left aside."""
    return text_matches(text, pattern)


def could_match(pattern: str, known: str, kind: SubjectKind) -> bool:
    """Tell whether `pattern` covers some subject that begins with `known`."""
    if covers_everything(pattern):
        return True
    prefix = literal_prefix(_below_workspace(pattern) if kind == "path" else pattern)
    return prefix.startswith(known) or known.startswith(prefix)


def _matches_command(pattern: str, text: str) -> bool:
    return _command(pattern).fullmatch(text) is not None


@lru_cache(maxsize=2048)
def _command(pattern: str) -> re.Pattern[str]:
    """Return what a whole command must match."""
    if _WILD.search(pattern) is None:
        return re.compile(f"{re.escape(pattern)}(?: .*)?+", re.DOTALL)
    whole = text_pattern(pattern).pattern
    if pattern.endswith(" *"):  # `git *` is also a bare `git`
        whole = f"(?:{whole}|{text_pattern(pattern[:-2]).pattern})"
    return re.compile(whole, re.DOTALL)


def _below_workspace(pattern: str) -> str:
    if pattern == _WORKSPACE:
        return "**"
    return pattern.removeprefix(f"{_WORKSPACE}/").removeprefix("./")


def _matches_path(pattern: str, path: str) -> bool:
    wanted = tuple(part for part in pattern.split("/") if part)
    given = tuple(part for part in path.split("/") if part and part != ".")
    if pattern.startswith("/") != path.startswith("/"):
        return False
    if _WILD.search(pattern) is None:
        return given[: len(wanted)] == wanted or pattern == "."
    if len(wanted) == 1 and wanted[0] != "**":
        return bool(given) and text_matches(given[-1], wanted[0])
    return rule_path(wanted).fullmatch(closed(given)) is not None


def _matches_host(pattern: str, target: str) -> bool:
    host, _, port = target.rpartition(":") if ":" in target else (target, "", "")
    wanted, _, wanted_port = pattern.rpartition(":") if ":" in pattern else (pattern, "", "")
    host, wanted = host.rstrip("."), wanted.rstrip(".")
    if wanted_port not in {"", "*", port}:
        return False
    if wanted.startswith("*."):
        return host.endswith(wanted[1:]) and len(host) > len(wanted) - 1
    return text_matches(host, wanted)
