"""The YAML front matter of a `SKILL.md`: its name and its description.

Owns: reading it as strictly as YAML is, and as loosely as such files are written. Never: opening files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node, SourceFile
from app.harness.dsl.parser import parse

MAX_NAME = 64
MAX_DESCRIPTION = 1_024
MAX_FRONT_MATTER = 64 * 1024
_FRONT = re.compile(r"\s*---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"(name|description)[ \t]*+:[ \t]*+(.*)")
_NAME = re.compile(r"[^\x00-\x1f\x7f<>\"'&`\u2028\u2029]{1,64}")
_UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")


class BadFrontMatter(Exception):
    """A skill that cannot be listed; the reason is for people."""


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`name` and `description` in one line each, and the text below. `notes` are for people."""

    name: str
    description: str
    body: str
    notes: tuple[str, ...] = ()


def front_matter(text: str, folder: str) -> FrontMatter:
    """Read a file's front matter; `folder` is the name of its folder. Raises `BadFrontMatter`."""
    found = _FRONT.match(text[: MAX_FRONT_MATTER + 16])
    if found is None:
        raise BadFrontMatter("it does not begin with YAML front matter between lines of ---")
    values, notes = _values(found[1]), []
    name = values.get("name", "")
    if not name:
        name = folder
        notes.append(f"it has no `name`; it is known as {folder!r}, by its folder")
    if _NAME.fullmatch(name) is None:
        raise BadFrontMatter(f"`name` has at most {MAX_NAME} characters, without quotes, < and >")
    description = _one_line(values.get("description", ""))
    if not description:
        raise BadFrontMatter("it has no `description`")
    if len(description) > MAX_DESCRIPTION:
        description = f"{description[: MAX_DESCRIPTION - 1].rstrip()}…"
        notes.append(f"its description is longer than {MAX_DESCRIPTION} characters; the rest is left out")
    return FrontMatter(name, description, text[found.end() :].strip("\n"), tuple(notes))


def _values(text: str) -> dict[str, str]:
    """Return name and description. Text that is no YAML, such as an unquoted colon in a description, is read
    line by line."""
    bag = DiagnosticBag()
    path = Path("SKILL.md")
    try:
        node = parse(text.encode("utf-8", "replace"), SourceFile(path, str(path), Path()), bag)
    except RecursionError:
        node = None
    if node is None or not node.is_map:
        return _by_lines(text)
    return {key: _text(node.entries[key]) for key in ("name", "description") if key in node.entries}


def _text(node: Node) -> str:
    scalar = node.value
    return "" if scalar is None or isinstance(scalar, dict | tuple) else str(scalar).strip()


def _by_lines(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    current = ""
    for line in text.split("\n"):
        found = _LINE.fullmatch(line)
        if found is not None:
            current = found[1]
            values[current] = "" if found[2].strip() in {"|", ">", "|-", ">-", "|+", ">+"} else found[2]
        elif current and line[:1] in {" ", "\t", ""}:
            values[current] += f" {line.strip()}"
        else:
            current = ""
    return {key: value.strip().strip("\"'").strip() for key, value in values.items()}


def _one_line(text: str) -> str:
    return " ".join(_UNSHOWABLE.sub(" ", text).split())
