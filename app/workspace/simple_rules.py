"""The plain majority of what `.gitignore` files say, judged here as ripgrep judges it.

Owns: rules of names, `*`, plain sets and `**`, and telling apart what is not so plain. Never: guessing;
where a line is of another kind, the answer is that it is not known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_RULES = 2_000
_SET = r"\[(?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|[A-Za-z0-9])++\]"
_PLAIN = re.compile(
    rf"!?/?(?P<path>(?:[A-Za-z0-9_.*+@~%=,$:;'\"&()#^-]|{_SET}|(?<=[^/!]) (?=[^ /\r])|/(?=[^/\r]))++)/?\r?"
)
_PIECE = re.compile(rf"\*|{_SET}|[^*\[]+")
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
    expression = _expression(line)
    try:
        return None if expression is None else re.compile(expression, re.DOTALL)
    except re.error:  # a range that runs backwards
        return None


def _expression(line: bytes) -> str | None:
    text = line.decode("utf-8", "surrogateescape")
    found = _PLAIN.fullmatch(text)
    if found is None:
        return None
    segments = found["path"].split("/")
    anchored = "/" in text[: found.end("path")]
    if any(segment in {"", ".", ".."} for segment in segments) or segments == ["**"]:
        return None
    if any("**" in segment and segment != "**" for segment in segments):
        return None
    if segments.count("**") > _MAX_STARS or any(one.count("*") > _MAX_STARS for one in segments):
        return None
    if not anchored:
        segments = ["**", *segments]
    written = ""
    for at, segment in enumerate(segments):
        last = at == len(segments) - 1
        if segment == "**":
            written += "(?:[^/]+/)*" + ("[^/]+" if last else "")
        else:
            written += _segment(segment) + ("" if last else "/")
    return written


def _segment(text: str) -> str:
    pieces = _PIECE.findall(text)
    return "".join("[^/]*" if one == "*" else one if one[0] == "[" else re.escape(one) for one in pieces)
