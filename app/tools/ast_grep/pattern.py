"""A pattern as ast-grep understands it.

Owns: its captures, its literal, and the refusal of incomplete code; reads `--debug-query=pattern`. Never:
running ast-grep.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.errors import ToolError, invalid_params
from app.tools.ast_grep.languages import LanguageName

MAX_PATTERN = 20_000
_LINE = re.compile(r"( *)(\S+)(?: (.*))?")
_VARIABLE = re.compile(r"(?<!\$)(\$++)([A-Z_][A-Z0-9_]*+)")
_WORD = re.compile(r"[A-Za-z0-9_]{2,}")
_NAMES_IN_CODE = re.compile(
    r"[a-z_]*(?:identifier|name|constant|word|variable|alias|atom|string_scalar|string_content|string_fragment)"
)
"""Kinds of nodes whose text stands in a match exactly as in the pattern. Keywords and punctuation
are not among them: those may be left out of a match after `$$$`."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """`captures` are its metavariables (`$A`, `$$$ARGS`). `literal` is a word that every match contains, if
    one is certain. `kind` is the grammar's name for such code (`call_expression`)."""

    text: str
    language: LanguageName
    kind: str
    captures: frozenset[str]
    literal: str | None

    def check_template(self, template: str) -> None:
        """Raise ToolError `invalid_params` when `template` uses a variable that the pattern does not capture:
        ast-grep would replace it by nothing, and code would be lost."""
        if "\0" in template or len(template) > MAX_PATTERN:
            raise _bad_template(template, "is too long or contains a NUL character")
        if any("\ud800" <= character <= "\udfff" for character in template):
            raise _bad_template(template, "contains an unpaired surrogate")
        for sigils, name in _VARIABLE.findall(template):
            variable = ("$$$" if len(sigils) >= 3 else "$") + name
            if variable not in self.captures:
                known = ", ".join(sorted(self.captures)) or "nothing"
                raise _bad_template(
                    template, f"uses {variable}, but the pattern {self.text[:200]!r} captures {known}"
                )


def check_text(text: str, language: LanguageName) -> None:
    """Raise ToolError `invalid_pattern` for what cannot be handed to ast-grep at all."""
    if not text.strip():
        raise invalid_pattern(text, language, "it is empty")
    if len(text) > MAX_PATTERN:
        raise invalid_pattern(text, language, f"it is longer than {MAX_PATTERN:,} characters")
    if "\0" in text:
        raise invalid_pattern(text, language, "it contains a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise invalid_pattern(text, language, "it contains an unpaired surrogate") from None


def read_account(text: str, language: LanguageName, account: str) -> Pattern:
    """Return the pattern that ast-grep's account of `text` describes. Raises ToolError `invalid_pattern` when
    a part of it is no code of the language."""
    lines = [found for line in account.splitlines() if (found := _LINE.fullmatch(line))]
    captures: set[str] = set()
    words: list[str] = []
    mentions_error = "ERROR" in text
    for at, found in enumerate(lines):
        kind, content = found[2], found[3] or ""
        if kind == "MetaVar":
            if at == 0 and content.startswith("$$$"):
                raise invalid_pattern(text, language, "$$$ alone stands for no node")
            captures.add(content)
        elif kind == "ERROR" and (at == 0 or not mentions_error):
            raise invalid_pattern(text, language, "a part of it cannot be parsed")
        elif content in text and _WORD.fullmatch(content) and _NAMES_IN_CODE.fullmatch(kind):
            words.append(content)
    named = frozenset(one for one in captures if one.lstrip("$") and not one.lstrip("$").startswith("_"))
    kind = lines[0][2] if lines else ""
    return Pattern(text, language, kind, named, max(words, key=len, default=None))


def invalid_pattern(text: str, language: LanguageName, why: str) -> ToolError:
    """Return the error for a pattern that cannot be searched for; it says how to write one."""
    shown = text[:200].encode("utf-8", "backslashreplace").decode()
    return ToolError(
        "invalid_pattern",
        f"{shown!r} is not one complete piece of {language} code: {why}. Write a whole expression, statement "
        "or declaration as it stands in a file, for example console.log($MSG) and not console.log( . "
        "$NAME (capitals) stands for one node, $$$NAME for any number of nodes.",
        detail={"pattern": shown, "lang": language},
    )


def _bad_template(template: str, why: str) -> ToolError:
    shown = template[:200].encode("utf-8", "backslashreplace").decode()
    return invalid_params(f"the replacement {shown!r} {why}", {"rewrites": why})
