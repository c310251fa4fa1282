"""The pure Python engine: a program that walks, searches and prints as ripgrep does.

Owns: the walk by the ignore rules, the search of one file, the output. Never: limits; whoever runs
it ends it. Slower than ripgrep by far: it is there so that searching never needs an installation.

Run as `python -P -m app.tools.search.python_engine REQUEST` in the folder to search.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from app.tools.search.dialect import BadPattern, translate
from app.tools.search.ignore_rules import VERSION_CONTROL, IgnoreRules, read_rules

MAX_FILE = 1024 * 1024 * 1024
MAX_COLUMNS = 8_192
_MARKS = (
    (codecs.BOM_UTF8, None),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

Parts = tuple[str, ...]


def walk(request: dict[str, Any]) -> Iterator[Parts]:
    """Yield the components of each file to look at, below the working folder."""
    if request["only"] is not None:
        yield (request["only"],)
        return
    here = Path.cwd()
    above = here.parts[len(here.parts) - request["levels"] :] if request["levels"] else ()
    rules: IgnoreRules | None = None
    for depth in range(len(above)):
        folder = here.parents[len(above) - depth - 1]
        rules = IgnoreRules.of_folder(read_rules(folder), depth=depth, above=rules)
    wanted = _name_test(request["names"])
    for parts in _Walk(above, repositories=request["repositories"]).folder((), rules):
        if wanted(parts[-1]):
            yield parts


def _name_test(names: list[str]) -> Callable[[str], bool]:
    if not names:
        return lambda _: True
    plain = "|".join(f"(?:{_name_expression(name)})" for name in names)
    expression = re.compile(plain, re.DOTALL)
    return lambda name: expression.fullmatch(name) is not None


def _name_expression(name: str) -> str:
    """Names of a `Walk` have three special characters: `*`, `?` and the backslash."""
    pieces = re.findall(r"\\.|.", name, re.DOTALL)
    return "".join({"*": ".*", "?": "."}.get(piece, re.escape(piece[-1])) for piece in pieces)


class _Walk:
    def __init__(self, above: Parts, *, repositories: bool) -> None:
        self._above = above
        self._repositories = repositories

    def folder(self, parts: Parts, rules: IgnoreRules | None) -> Iterator[Parts]:
        path = "/".join(parts) or "."
        try:
            with os.scandir(path) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            return
        names = {entry.name for entry in entries}
        if ".git" in names and self._repositories:
            rules = None
        if ".gitignore" in names:
            depth = len(self._above) + len(parts)
            rules = IgnoreRules.of_folder(read_rules(Path(path)), depth=depth, above=rules)
        for entry in entries:
            here = (*parts, entry.name)
            is_directory = entry.is_dir(follow_symlinks=False)
            if entry.name in VERSION_CONTROL or not (is_directory or entry.is_file(follow_symlinks=False)):
                continue
            if rules is not None and rules.ignore((*self._above, *here), is_directory=is_directory):
                continue
            if is_directory:
                yield from self.folder(here, rules)
            else:
                yield here


class Search:
    """Looks for one pattern and prints what it finds. `query` is as in `engine.TextQuery`."""

    def __init__(self, query: dict[str, Any], out: BinaryIO) -> None:
        flags = re.IGNORECASE if query["ignore_case"] else 0
        try:
            self._line = re.compile(translate(query["pattern"]), flags)
        except (re.error, RecursionError, OverflowError) as problem:
            raise BadPattern(str(problem)) from None
        self._mode = query["mode"]
        self._context = query["context"]
        self._out = out

    def file(self, parts: Parts) -> None:
        text = _text_of("/".join(parts))
        if text is None:
            return
        path = b".//" + os.fsencode("/".join(parts)) + b"\0"
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        search = self._line.search
        hits = [at for at, line in enumerate(lines) if search(line.removesuffix("\r"))]
        if not hits:
            return
        if self._mode == "files_with_matches":
            self._out.write(path)
        elif self._mode == "count":
            self._out.write(path + b"%d\n" % len(hits))
        else:
            self._lines(path, lines, hits)

    def _lines(self, path: bytes, lines: list[str], hits: list[int]) -> None:
        matching = set(hits)
        shown: set[int] = set()
        for hit in hits:
            shown.update(range(max(0, hit - self._context), min(len(lines), hit + self._context + 1)))
        for at in sorted(shown):
            content = lines[at].encode("utf-8", "surrogateescape")[:MAX_COLUMNS]
            self._out.write(path + b"%d" % (at + 1) + (b":" if at in matching else b"-") + content + b"\n")


def _text_of(path: str) -> str | None:
    """Return a file's text; None when it is binary, not a file any more, or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE:
                return None
            content = file.read()
    except OSError:
        return None
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            content = content[len(mark) :]
            text = content.decode(encoding or "utf-8", "replace" if encoding else "surrogateescape")
            return None if "\0" in text else text
    return None if b"\0" in content else content.decode("utf-8", "surrogateescape")


def main() -> int:
    request = orjson.loads(sys.argv[1])
    out = sys.stdout.buffer
    try:
        search = None if request["query"] is None else Search(request["query"], out)
    except BadPattern as problem:
        sys.stderr.write(f"regex parse error: {problem}\n")
        return 2
    for parts in walk(request["walk"]):
        if search is None:
            out.write(b".//" + os.fsencode("/".join(parts)) + b"\0")
        else:
            search.file(parts)
            out.flush()
    out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
