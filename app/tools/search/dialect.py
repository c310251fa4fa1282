"""From ripgrep's regular expressions to Python's.

Owns: the differences between the two dialects: what is written otherwise, and what ripgrep does
not have and this engine therefore refuses too. Never: matching.
"""

from __future__ import annotations

import re

_LOOK = ("?=", "?!", "?<=", "?<!")
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_BRACED = re.compile(r"\\[xuU]\{([0-9A-Fa-f]{1,6})\}")
_REPEAT = re.compile(r"\{\d*(,\d*)?\}")


class BadPattern(Exception):
    """The pattern is not one that ripgrep takes, or not one that this engine can express."""


def translate(pattern: str) -> str:
    """Return `pattern` as Python's `re` writes it. Raises BadPattern."""
    return _Translation(pattern).run()


class _Translation:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._written: list[str] = []

    def run(self) -> str:
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == "\\":
                self._written.append(self._escape(in_class=False))
            elif character == "[":
                self._written.append(self._class())
            elif character == "(":
                self._written.append(self._group())
            elif character == "{" and not _REPEAT.match(self._text, self._at):
                raise BadPattern("repetition operator { without a count; write \\{ for the character")
            else:
                self._possessive(character)
                self._written.append(character)
                self._at += 1
        return "".join(self._written)

    def _possessive(self, character: str) -> None:
        """`a++` is one repetition of another in ripgrep, and something else in Python."""
        if character == "+" and self._written and self._written[-1] in {"+", "*", "?", "}"}:
            raise BadPattern("two repetitions in a row; put the first in a group")

    def _group(self) -> str:
        rest = self._text[self._at + 1 : self._at + 4]
        if rest.startswith(_LOOK):
            raise BadPattern("look-around, including look-ahead and look-behind, is not supported")
        if rest.startswith(("?P=", "?(", "?>", "?#")):
            raise BadPattern(f"({rest[:2]}...) is not supported")
        if rest.startswith("?<"):
            self._at += 3
            return "(?P<"
        flags = re.match(r"\?([a-zA-Z-]+)([:)])", self._text[self._at + 1 :])
        if flags is not None:
            return self._flags(flags)
        self._at += 1
        return "("

    def _flags(self, found: re.Match[str]) -> str:
        names, end = found.groups()
        if set(names) - set("imsx-"):
            raise BadPattern(f"the flags (?{names}) are only understood by ripgrep; install it to use them")
        self._at += 1 + found.end()
        if end == ":":
            return f"(?{names}:"
        if any(self._written) or "-" in names:
            raise BadPattern(f"(?{names}) must stand at the beginning, or be written as (?{names}:...)")
        return f"(?{names})"

    def _escape(self, *, in_class: bool) -> str:
        braced = _BRACED.match(self._text, self._at)
        if braced is not None:
            self._at = braced.end()
            return re.escape(_character(int(braced[1], 16)))
        letter = self._text[self._at + 1 : self._at + 2]
        self._at += 2
        if not letter:
            raise BadPattern("the pattern ends in a backslash")
        if letter in "pP":
            raise BadPattern("\\p{...} is only understood by ripgrep; install it, or list the characters")
        if letter in "nr":
            raise BadPattern(f'the literal "\\{letter}" is not allowed: the search goes line by line')
        if letter in "123456789":
            raise BadPattern("backreferences are not supported")
        if letter == "z" and not in_class:
            return r"\Z"
        known = "dDsSwWtfvaxuU" if in_class else "dDsSwWtfvaxuUbBA"
        if letter.isalnum() and letter not in known:
            raise BadPattern(f"unrecognized escape sequence \\{letter}")
        return f"\\{letter}"

    def _class(self) -> str:
        written = ["["]
        self._at += 1
        if self._text[self._at : self._at + 1] == "^":
            written.append("^")
            self._at += 1
        if self._text[self._at : self._at + 1] == "]":
            written.append("\\]")
            self._at += 1
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == "]":
                self._at += 1
                return "".join(written) + "]"
            if character == "\\":
                written.append(self._escape(in_class=True))
            elif character == "[":
                written.append(self._named_class())
            else:
                if self._text[self._at : self._at + 2] in {"&&", "--", "~~"}:
                    raise BadPattern("set operations within [...] are only understood by ripgrep")
                written.append(f"\\{character}" if character in "&~|" else character)
                self._at += 1
        raise BadPattern("unclosed character class")

    def _named_class(self) -> str:
        found = re.match(r"\[:([a-z]+):\]", self._text[self._at :])
        if found is None or found[1] not in _POSIX:
            raise BadPattern("a [ within [...] must be written as \\[")
        self._at += found.end()
        return _POSIX[found[1]]


def _character(number: int) -> str:
    try:
        return chr(number)
    except ValueError:
        raise BadPattern("there is no such character") from None
