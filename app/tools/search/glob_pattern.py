"""File globs with one meaning for every engine.

Owns: the grammar (`*`, `?`, `[a-z]`, `{a,b}`, `**`, backslash), its regular expression, and the
looser globs over names that ripgrep may narrow a walk by. Never: walking.

A glob without a slash matches a name at any depth; one with a slash, as `./*.py`, the whole path
below the place that is searched. The expressions have no way to backtrack, whatever the glob.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.errors import ToolError

MAX_GLOB = 2_000
MAX_EXPANSIONS = 256
_SEGMENTS = "(?:[^/]+/)"


@dataclass(frozen=True, slots=True)
class Glob:
    """`expression` matches whole paths below the searched place. `names` are globs that every
    match's last component satisfies, for `rg --type-add`; empty when there are no useful ones.
    `names_suffice` says that whatever has such a name is a match."""

    expression: str
    names: tuple[str, ...]
    names_suffice: bool

    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.expression, re.DOTALL)


def parse_glob(text: str) -> Glob:
    """Raises ToolError `invalid_pattern` with what is wrong."""
    _check(text)
    plain = f"{text}**" if text.endswith("/") else text
    choices = _expand(plain, text)
    if any(not choice.strip("./") for choice in choices):
        raise invalid_glob(text, "one choice in its braces leaves nothing; write ** for all files")
    expanded = [[_segment(part, text) for part in _split(one)] for one in choices]
    expressions = dict.fromkeys(_expression(segments) for segments in expanded)
    names = dict.fromkeys(_loose(segments[-1]) for segments in expanded)
    useful = () if "*" in names else tuple(names)
    suffice = bool(useful) and all(_is_told_by_name(segments) for segments in expanded)
    return Glob("|".join(f"(?:{one})" for one in expressions), useful, suffice)


def invalid_glob(text: str, problem: str) -> ToolError:
    shown = text[:200].encode("utf-8", "backslashreplace").decode()
    return ToolError("invalid_pattern", f"glob {shown!r}: {problem}", detail={"pattern": shown})


def _check(text: str) -> None:
    if not text.strip("./"):
        raise invalid_glob(text, "it is empty; write ** for all files")
    if len(text) > MAX_GLOB:
        raise invalid_glob(text[:80] + "...", f"it is longer than {MAX_GLOB:,} characters")
    if any(character in text for character in "\0\n\r"):
        raise invalid_glob(text, "it contains a NUL or a line end")
    if text.startswith(("/", "~")):
        raise invalid_glob(text, "it must be relative; say where to search by path")
    if ".." in text.split("/"):
        raise invalid_glob(text, ".. is not allowed; say where to search by path")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise invalid_glob(text, "it contains an unpaired surrogate") from None


def _expand(text: str, whole: str) -> list[str]:
    """Return the globs without braces that `text` stands for."""
    done: list[str] = []
    pending = [text]
    while pending:
        if len(done) + len(pending) > MAX_EXPANSIONS:
            raise invalid_glob(whole, f"its braces stand for more than {MAX_EXPANSIONS} globs")
        one = pending.pop()
        found = _first_braces(one, whole)
        if found is None:
            done.append(one)
        else:
            start, end, choices = found
            pending += [one[:start] + choice + one[end:] for choice in reversed(choices)]
    return done


def _first_braces(text: str, whole: str) -> tuple[int, int, list[str]] | None:
    depth, start, cuts, at = 0, -1, [], 0
    while at < len(text):
        character = text[at]
        if character == "\\":
            at += 1
        elif character == "[":
            at = _class_end(text, at, whole) - 1
        elif character == "{":
            if depth == 0:
                start, cuts = at, [at]
            depth += 1
        elif character == "," and depth == 1:
            cuts.append(at)
        elif character == "}" and depth:
            depth -= 1
            if depth == 0:
                edges = [*cuts, at]
                return start, at + 1, [text[a + 1 : b] for a, b in pairwise(edges)]
        at += 1
    if depth:
        raise invalid_glob(whole, "a { is not closed")
    return None


def _class_end(text: str, at: int, whole: str) -> int:
    """Return the position after the `[...]` that begins at `at`."""
    end = at + 1
    if text[end : end + 1] in {"!", "^"}:
        end += 1
    closing = text.find("]", end + 1)
    if closing < 0 or "/" in text[at:closing]:
        raise invalid_glob(whole, "a [ is not closed (write \\[ for the character)")
    return closing + 1


def _split(text: str) -> list[str]:
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if parts == ["**"] or "/" in text:
        return parts or [""]
    return ["**", *parts] if parts else [""]


Token = tuple[str, str]
"""`("*", "")`, `("?", "")`, `("[", regular expression)`, `("", literal character)`, or
`("**", "")` alone in its segment."""
_ANY_DEPTH: list[Token] = [("**", "")]


def _segment(text: str, whole: str) -> list[Token]:
    if text == "**":
        return list(_ANY_DEPTH)
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character == "\\" and at + 1 < len(text):
            at += 1
            tokens.append(("", text[at]))
        elif character == "*":
            if not tokens or tokens[-1][0] != "*":
                tokens.append(("*", ""))
        elif character == "?":
            tokens.append(("?", ""))
        elif character == "[":
            end = _class_end(text, at, whole)
            tokens.append(("[", _class(text[at + 1 : end - 1], whole)))
            at = end - 1
        else:
            tokens.append(("", character))
        at += 1
    return tokens


def _class(body: str, whole: str) -> str:
    negated = body[:1] in {"!", "^"}
    inner = body[1:] if negated else body
    pieces, at = [], 0
    while at < len(inner):
        if at + 2 < len(inner) and inner[at + 1] == "-":
            if inner[at] > inner[at + 2]:
                raise invalid_glob(whole, f"[{body}] has a range that runs backwards")
            pieces.append(f"{re.escape(inner[at])}-{re.escape(inner[at + 2])}")
            at += 3
        else:
            pieces.append(re.escape(inner[at]))
            at += 1
    return f"(?!/)[{'^' if negated else ''}{''.join(pieces)}]"


def _expression(segments: Sequence[list[Token]]) -> str:
    """Join segments; each `**` takes as little as lets what stands between it and the next match.

    What is matched is never given up again (atomic groups): where a fixed sequence fits first,
    no later place leaves more choices.
    """
    groups: list[list[list[Token]]] = [[]]
    for tokens in segments:
        if tokens == _ANY_DEPTH:
            groups.append([])
        else:
            groups[-1].append(tokens)
    head, *rest = groups
    written = "".join(_name(tokens) + "/" for tokens in head) if rest else "/".join(map(_name, head))
    for at, group in enumerate(rest):
        last = at == len(rest) - 1
        if not group:
            written += f"{_SEGMENTS}*[^/]+" if last else ""
        elif last:
            written += f"{_SEGMENTS}*" + "/".join(map(_name, group))
        else:
            inner = "".join(_name(tokens) + "/" for tokens in group)
            written += f"(?>{_SEGMENTS}*?{inner})"
    return written


def _name(tokens: list[Token]) -> str:
    """One segment; each run after a `*` takes the first place where it fits, the last the end."""
    runs: list[list[str]] = [[]]
    for kind, text in tokens:
        if kind == "*":
            runs.append([])
        else:
            runs[-1].append("[^/]" if kind == "?" else text if kind == "[" else re.escape(text))
    first, *rest = runs
    written = "".join(first)
    for at, run in enumerate(rest):
        fixed = "".join(run)
        written += f"(?>[^/]*?{fixed})" if at < len(rest) - 1 else f"[^/]*{fixed}"
    return written


def _is_told_by_name(segments: list[list[Token]]) -> bool:
    if len(segments) != 2 or segments[0] != _ANY_DEPTH:
        return False
    return all(kind == "*" or (not kind and text != ":") for kind, text in segments[1])


def _loose(tokens: list[Token]) -> str:
    """Write a last segment so that ripgrep's `name:glob` definitions take it: without colons."""
    if tokens == _ANY_DEPTH:
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
