"""File globs of the searches.

Owns: which globs are refused, name globs for ripgrep. Never: the grammar (`workspace.globs`), walking.

A glob without a slash matches a name at any depth; one with a slash, as `./*.py`, the whole path below the
searched place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.errors import ToolError
from app.workspace.globs import ANY_DEPTH, FILES, GlobError, Token, expand, path_expression, segment

MAX_GLOB = 2_000


@dataclass(frozen=True, slots=True)
class Glob:
    """`expression` matches whole paths below the searched place. `names` are globs for the last component of
    every match, for `rg --type-add`; empty when there are no useful ones. `names_suffice`: every such name is
    a match."""

    expression: str
    names: tuple[str, ...]
    names_suffice: bool

    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.expression, re.DOTALL)


def parse_glob(text: str) -> Glob:
    """Raises ToolError `invalid_pattern` with what is wrong."""
    try:
        return _parse(text)
    except GlobError as problem:
        raise _invalid(text if len(text) <= MAX_GLOB else text[:80] + "...", str(problem)) from None


def _parse(text: str) -> Glob:
    _check(text)
    choices = expand(f"{text}**" if text.endswith("/") else text, FILES)
    if any(not choice.strip("./") for choice in choices):
        raise GlobError("one choice in its braces leaves nothing; write ** for all files")
    expanded = [[segment(part, FILES) for part in _split(one)] for one in choices]
    expressions = dict.fromkeys(path_expression(segments, FILES) for segments in expanded)
    names = dict.fromkeys(_loose(segments[-1]) for segments in expanded)
    useful = () if "*" in names else tuple(names)
    suffice = bool(useful) and all(_name_decides(segments) for segments in expanded)
    return Glob("|".join(f"(?:{one})" for one in expressions), useful, suffice)


def _invalid(text: str, problem: str) -> ToolError:
    shown = text[:200].encode("utf-8", "backslashreplace").decode()
    return ToolError("invalid_pattern", f"glob {shown!r}: {problem}", detail={"pattern": shown})


def _check(text: str) -> None:
    if not text.strip("./"):
        raise GlobError("it is empty; write ** for all files")
    if len(text) > MAX_GLOB:
        raise GlobError(f"it is longer than {MAX_GLOB:,} characters")
    if any(character in text for character in "\0\n\r"):
        raise GlobError("it contains a NUL or a line end")
    if text.startswith(("/", "~")):
        raise GlobError("it must be relative; say where to search by path")
    if ".." in text.split("/"):
        raise GlobError(".. is not allowed; say where to search by path")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise GlobError("it contains an unpaired surrogate") from None


def _split(text: str) -> list[str]:
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if parts == ["**"] or "/" in text:
        return parts or [""]
    return ["**", *parts] if parts else [""]


def _name_decides(segments: list[list[Token]]) -> bool:
    if len(segments) != 2 or segments[0] != ANY_DEPTH:
        return False
    return all(kind == "*" or (not kind and text != ":") for kind, text in segments[1])


def _loose(tokens: list[Token]) -> str:
    """Write a last segment so that ripgrep's `name:glob` definitions take it: without colons."""
    if tokens == ANY_DEPTH:
        return "*"
    written = ""
    for kind, text in tokens:
        if kind == "*":
            written += "*"
        elif kind in {"?", "["} or text == ":":
            written += "?"
        else:
            written += text if text.isalnum() else f"\\{text}"
    return written
