"""The simple rules of `.gitignore` files, matched as ripgrep matches them.

Owns: rules with names, `*`, simple sets and `**`. Never: guessing; other rules are reported as unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.workspace.globs import FILES, GlobError, path_expression, segment

MAX_RULES = 2_000
_SET = r"\[(?>(?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|[A-Za-z0-9])+)\]"
_PLAIN = re.compile(
    rf"!?/?(?P<path>(?>(?:[A-Za-z0-9_.*+@~%=,$:;'\"&()#^-]|{_SET}|(?<=[^/!]) (?=[^ /\r])|/(?=[^/\r]))+))/?\r?"
)
_MAX_STARS = 2


@dataclass(frozen=True, slots=True)
class SimpleRules:
    """The rules of one file. `unknown_ignores` and `unknown_keeps`: whether there are lines besides
    that may ignore more, or keep something after all (`!`)."""

    rules: tuple[tuple[re.Pattern[str], bool, bool], ...]
    """What a path below the file's folder must match, whether only folders are meant, whether
    that is to be ignored; the last that matches decides."""
    unknown_ignores: bool
    unknown_keeps: bool

    @classmethod
    def parse(cls, content: bytes) -> SimpleRules:
        rules: list[tuple[re.Pattern[str], bool, bool]] = []
        unknown_ignores = unknown_keeps = False
        for line in content.split(b"\n"):
            if not line.strip() or line.startswith(b"#"):
                continue
            compiled = _compiled(line) if len(rules) < MAX_RULES else None
            if compiled is None:
                unknown_ignores = True
                unknown_keeps = unknown_keeps or b"!" in line
                continue
            only_folders = line.rstrip(b"\r").endswith(b"/")
            rules.append((compiled, only_folders, not line.startswith(b"!")))
        return cls(tuple(reversed(rules)), unknown_ignores, unknown_keeps)

    def ignore(self, path: str, *, is_folder: bool) -> bool | None:
        """Return what the known rules say of a path below their folder, None when nothing."""
        for expression, only_folders, ignored in self.rules:
            if (is_folder or not only_folders) and expression.fullmatch(path) is not None:
                return ignored
        return None


def _compiled(line: bytes) -> re.Pattern[str] | None:
    try:
        expression = _expression(line)
    except GlobError:  # a range that runs backwards
        return None
    return None if expression is None else re.compile(expression, re.DOTALL)


def _expression(line: bytes) -> str | None:
    text = line.decode("utf-8", "surrogateescape")
    found = _PLAIN.fullmatch(text)
    if found is None:
        return None
    segments = found["path"].split("/")
    anchored = "/" in text[: found.end("path")]
    if any(one in {"", ".", ".."} for one in segments) or segments == ["**"]:
        return None
    if any("**" in one and one != "**" for one in segments):
        return None
    if segments.count("**") > _MAX_STARS or any(one.count("*") > _MAX_STARS for one in segments):
        return None
    if not anchored:
        segments = ["**", *segments]
    return path_expression([segment(one, FILES) for one in segments], FILES)
