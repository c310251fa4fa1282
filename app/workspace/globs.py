"""The one compiler of globs: `*`, `?`, `[a-z]`, `**` between slashes; by dialect also `{a,b}` and backslash.

Owns: the grammar, and regular expressions that cannot backtrack. Never: what a glob is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

MAX_EDITOR_GLOB = 1_000
_FOLDERS = "(?:[^/]+/)"

Token = tuple[str, str]
"""`("*", "")`, `("?", "")`, `("[", regular expression)`, `("", literal character)`, or
`("**", "")` alone in its segment."""
ANY_DEPTH: list[Token] = [("**", "")]


class GlobError(ValueError):
    """What is wrong with a glob of a strict dialect."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """`braces`: how many globs `{a,b}` may stand for; 0: braces stand for themselves. `escapes`: a backslash
    takes the next character literally. `negators`: what negates a `[...]`. `strict`: what is wrong raises
    GlobError; otherwise it stands for itself. `closed`: paths end with a slash, and `**` at the end of a
    glob also stands for no name."""

    braces: int = 0
    escapes: bool = False
    negators: str = "!"
    strict: bool = False
    closed: bool = True


FILES = Dialect(braces=256, escapes=True, negators="!^", strict=True, closed=False)
EDITORS = Dialect(braces=64, negators="!^")
RULES = Dialect()
"""The grammar of `fnmatch`, in names, commands and paths."""


@dataclass(frozen=True, slots=True)
class Glob:
    """One glob of an editor's protocol, compared with the names of an absolute path."""

    expression: re.Pattern[str]

    def matches(self, parts: Sequence[str]) -> bool:
        """Tell whether the path with these parts (without the root) is meant."""
        return self.expression.fullmatch(closed(parts)) is not None


def globs_of(pattern: str, base: Sequence[str] | None = None, *, ignores_case: bool = False) -> list[Glob]:
    """Return what a pattern of the protocol stands for: of a relative one what is below its base, whose parts
    are given, of a bare one what is anywhere, as editors have it. A pattern that is too long gives none."""
    if len(pattern) > MAX_EDITOR_GLOB:
        return []
    flags = re.DOTALL | (re.IGNORECASE if ignores_case else 0)
    above = "" if base is None else f"(?-i:{re.escape(closed(base))})"
    rooted = (
        one if base is not None else one[1:] if one.startswith("/") else f"**/{one}"
        for one in expand(pattern, EDITORS)
    )
    paths = (path_expression([segment(part, EDITORS) for part in one.split("/")], EDITORS) for one in rooted)
    return [Glob(re.compile(above + path, flags)) for path in paths]


def closed(parts: Iterable[str]) -> str:
    """Return a path as the expressions of closed dialects take it."""
    return "".join(f"{part}/" for part in parts)


@lru_cache(maxsize=2048)
def text_pattern(glob: str) -> re.Pattern[str]:
    """Return what a whole text must match by the rules' dialect; its slashes are characters like others."""
    return re.compile(_name(_tokens(glob, RULES), "."), re.DOTALL)


def text_matches(text: str, glob: str) -> bool:
    return text_pattern(glob).fullmatch(text) is not None


@lru_cache(maxsize=2048)
def rule_path(parts: tuple[str, ...]) -> re.Pattern[str]:
    """Return what a closed path must match by the rules' dialect."""
    return re.compile(path_expression([segment(part, RULES) for part in parts], RULES), re.DOTALL)


def expand(text: str, dialect: Dialect) -> list[str]:
    """Write a glob with `{a,b}` out as several. A dialect that is not strict drops those over its bound."""
    done: list[str] = []
    pending = [text]
    while pending:
        if len(done) + len(pending) > dialect.braces:
            if dialect.strict:
                raise GlobError(f"its braces stand for more than {dialect.braces} globs")
            break
        one = pending.pop()
        found = _first_braces(one, dialect)
        if found is None:
            done.append(one)
        else:
            start, end, choices = found
            pending += [one[:start] + choice + one[end:] for choice in reversed(choices)]
    return done


def _first_braces(text: str, dialect: Dialect) -> tuple[int, int, list[str]] | None:
    depth, start, cuts, at = 0, -1, [], 0
    while at < len(text):
        character = text[at]
        if character == "\\" and dialect.escapes:
            at += 1
        elif character == "[" and dialect.strict:
            at = _class_end(text, at, dialect) - 1
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
    if depth and dialect.strict:
        raise GlobError("a { is not closed")
    return None


def segment(text: str, dialect: Dialect) -> list[Token]:
    """Return the tokens of one part of a path."""
    return ANY_DEPTH if text == "**" else _tokens(text, dialect)


def _tokens(text: str, dialect: Dialect) -> list[Token]:
    tokens: list[Token] = []
    at, last = 0, text.rfind("]")
    while at < len(text):
        character = text[at]
        end = at + 1
        if character == "\\" and dialect.escapes and end < len(text):
            tokens.append(("", text[end]))
            end += 1
        elif character == "*":
            if not tokens or tokens[-1][0] != "*":
                tokens.append(("*", ""))
        elif character == "?":
            tokens.append(("?", ""))
        elif character == "[" and (dialect.strict or at < last):
            end = _class_end(text, at, dialect)
            tokens.append(("[", _class(text[at + 1 : end - 1], dialect)) if end > at + 1 else ("", "["))
        else:
            tokens.append(("", character))
        at = end
    return tokens


def _class_end(text: str, at: int, dialect: Dialect) -> int:
    """Return the position after the `[...]` that begins at `at`, or after the `[` that is not closed."""
    first = at + 1
    if text[first : first + 1] in set(dialect.negators):
        first += 1
    closing = text.find("]", first + 1)
    if dialect.strict and (closing < 0 or "/" in text[at:closing]):
        raise GlobError("a [ is not closed (write \\[ for the character)")
    return closing + 1 if closing > 0 else at + 1


def _class(body: str, dialect: Dialect) -> str:
    negated = body[:1] in set(dialect.negators)
    inner = body[1:] if negated else body
    pieces, at = [], 0
    while at < len(inner):
        if at + 2 < len(inner) and inner[at + 1] == "-":
            if inner[at] <= inner[at + 2]:
                pieces.append(f"{re.escape(inner[at])}-{re.escape(inner[at + 2])}")
            elif dialect.strict:
                raise GlobError(f"[{body}] has a range that runs backwards")
            at += 3
        else:
            pieces.append(re.escape(inner[at]))
            at += 1
    if not pieces:
        return "." if negated else "(?!)"
    return f"[{'^' if negated else ''}{''.join(pieces)}]"


def path_expression(segments: Iterable[list[Token]], dialect: Dialect) -> str:
    """Join segments; each `**` takes as little as possible. Atomic groups prevent backtracking: where a fixed
    sequence fits first, no later place leaves more choices."""
    groups: list[list[str]] = [[]]
    for tokens in segments:
        if tokens == ANY_DEPTH:
            groups.append([])
        else:
            groups[-1].append(_name(tokens, "[^/]"))
    *inner, last = groups
    written = "".join(
        closed(names) if at == 0 else f"(?>{_FOLDERS}*?{closed(names)})" for at, names in enumerate(inner)
    )
    if inner:
        written += f"{_FOLDERS}*"
    if dialect.closed:
        return written + closed(last)
    return written + ("/".join(last) if last else "[^/]+")


def _name(tokens: Iterable[Token], character: str) -> str:
    """One segment; each run after a `*` takes the first place where it fits, the last the end."""
    runs = [""]
    for kind, text in tokens:
        if kind == "*":
            runs.append("")
        elif kind == "[":
            runs[-1] += text if character == "." else f"(?!/){text}"
        else:
            runs[-1] += character if kind == "?" else re.escape(text)
    first, *rest = runs
    middle = "".join(f"(?>{character}*?{run})" for run in rest[:-1])
    return f"{first}{middle}{character}*{rest[-1]}" if rest else first
