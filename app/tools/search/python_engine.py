"""The pure Python engine: it walks, searches and prints as ripgrep does.

Owns: the walk by the ignore rules, the search of one file, the output. Never: limits; whoever runs
it ends it. Slower than ripgrep by far: it is there so that searching never needs an installation.

Run as `python -P -m app.tools.search.python_engine REQUEST` in the folder to search. Its parts are also
used in the daemon (`inner_engine`), for what cannot take long.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from app.tools.search.dialect import BadPattern, translate
from app.tools.search.ignore_rules import RULES_FILE, VERSION_CONTROL, IgnoreRules, read_rules

MAX_FILE = 1024 * 1024 * 1024
MAX_COLUMNS = 8_192
BYTES_BEFORE = 500
MAX_DEPTH = 200
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MARKS = (
    (codecs.BOM_UTF8, None),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to look at: its components below the folder that is searched, and the open folder that it
    lies in, which is closed when the next file is asked for."""

    parts: Parts
    folder: int


def walk(request: dict[str, Any], folder: int, real: Path) -> Iterator[FoundFile]:
    """Yield each file to look at below the open `folder`, whose real path is `real`."""
    if request["only"] is not None:
        yield FoundFile((request["only"],), folder)
        return
    above = real.parts[len(real.parts) - request["levels"] :] if request["levels"] else ()
    rules: IgnoreRules | None = None
    for depth in range(len(above)):
        parent = real.parents[len(above) - depth - 1]
        rules = IgnoreRules.of_folder(read_rules(parent), depth=depth, above=rules)
    wanted = _name_test(request["names"])
    for found in _Walk(above, repositories=request["repositories"]).folder(folder, (), rules):
        if wanted(found.parts[-1]):
            yield found


def _name_test(names: list[str]) -> Callable[[str], bool]:
    if not names:
        return lambda _: True
    plain = "|".join(f"(?:{_name_expression(name)})" for name in names)
    expression = re.compile(plain, re.DOTALL)
    return lambda name: expression.fullmatch(name) is not None


def _name_expression(name: str) -> str:
    """Names of a `Walk` have three special characters: `*`, `?` and the backslash. Every `*` but the last
    takes as little as it can and does not think again: the time grows with the length only."""
    between = [""]
    for piece in re.findall(r"\\.|.", name, re.DOTALL):
        if piece == "*":
            between.append("")
        else:
            between[-1] += "." if piece == "?" else re.escape(piece[-1])
    first, *rest = between
    middle = "".join(f"(?>.*?{part})" for part in rest[:-1])
    return first + middle + (f".*{rest[-1]}" if rest else "")


class _Walk:
    def __init__(self, above: Parts, *, repositories: bool) -> None:
        self._above = above
        self._repositories = repositories

    def folder(self, folder: int, parts: Parts, rules: IgnoreRules | None) -> Iterator[FoundFile]:
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            return
        names = {entry.name for entry in entries}
        if ".git" in names and self._repositories:
            rules = None
        if RULES_FILE in names:
            depth = len(self._above) + len(parts)
            rules = IgnoreRules.of_folder(read_rules(folder), depth=depth, above=rules)
        for entry in entries:
            here = (*parts, entry.name)
            is_directory = entry.is_dir(follow_symlinks=False)
            if entry.name in VERSION_CONTROL or not (is_directory or entry.is_file(follow_symlinks=False)):
                continue
            if rules is not None and rules.ignore((*self._above, *here), is_directory=is_directory):
                continue
            if is_directory:
                yield from self._below(folder, here, rules)
            else:
                yield FoundFile(here, folder)

    def _below(self, folder: int, parts: Parts, rules: IgnoreRules | None) -> Iterator[FoundFile]:
        if len(parts) > MAX_DEPTH:
            return
        try:
            inner = os.open(parts[-1], _FOLDER, dir_fd=folder)
        except OSError:
            return
        try:
            yield from self.folder(inner, parts, rules)
        finally:
            os.close(inner)


class Search:
    """Looks for one pattern and gives what it finds to `put`. `query` is as in `engine.TextQuery`; `hit`
    tells whether a line matches and `place` where its first match begins, `max_file` is the size in bytes
    above which a file is not looked at."""

    def __init__(
        self,
        query: dict[str, Any],
        put: Callable[[bytes], object],
        hit: Callable[[str], object] | None = None,
        place: Callable[[str], int] | None = None,
        *,
        max_file: int = MAX_FILE,
    ) -> None:
        if hit is None or place is None:
            hit, place = _of_expression(query)
        self._hit, self._place = hit, place
        self._mode = query["mode"]
        self._context = query["context"]
        self._around = query["around"]
        self._put = put
        self._max_file = max_file

    def file(self, found: FoundFile) -> None:
        text = _text_of(found, self._max_file)
        if text is None:
            return
        path = path_of(found)
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        hit = self._hit
        hits = [at for at, line in enumerate(lines) if hit(line.removesuffix("\r"))]
        if not hits:
            return
        if self._mode == "files_with_matches":
            self._put(path)
        elif self._mode == "count":
            self._put(path + b"%d\n" % len(hits))
        elif self._around:
            self._parts(path, lines, hits)
        else:
            self._lines(path, lines, hits)

    def _parts(self, path: bytes, lines: list[str], hits: list[int]) -> None:
        for at in hits:
            place = self._place(lines[at].removesuffix("\r"))
            content = lines[at].encode("utf-8", "surrogateescape")
            begin = max(len(lines[at][:place].encode("utf-8", "surrogateescape")) - BYTES_BEFORE, 0)
            part = content[begin : begin + MAX_COLUMNS]
            self._put(path + b"%d:%d:" % (at + 1, begin + 1) + part + b"\n")

    def _lines(self, path: bytes, lines: list[str], hits: list[int]) -> None:
        matching = set(hits)
        shown: set[int] = set()
        for hit in hits:
            shown.update(range(max(0, hit - self._context), min(len(lines), hit + self._context + 1)))
        for at in sorted(shown):
            content = lines[at].encode("utf-8", "surrogateescape")[:MAX_COLUMNS]
            self._put(path + b"%d" % (at + 1) + (b":" if at in matching else b"-") + content + b"\n")


def path_of(found: FoundFile) -> bytes:
    """Return a path as every engine prints it."""
    return b".//" + os.fsencode("/".join(found.parts)) + b"\0"


def _of_expression(query: dict[str, Any]) -> tuple[Callable[[str], object], Callable[[str], int]]:
    flags = re.IGNORECASE if query["ignore_case"] else 0
    try:
        search = re.compile(translate(query["pattern"]), flags).search
    except (re.error, RecursionError, OverflowError) as problem:
        raise BadPattern(str(problem)) from None

    def place(line: str) -> int:
        found = search(line)
        return 0 if found is None else found.start()

    return search, place


def _text_of(found: FoundFile, most: int) -> str | None:
    """Return a file's text; None when it is binary, too large, not a file any more, or cannot be read."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
    try:
        descriptor = os.open(found.parts[-1], flags, dir_fd=found.folder)
    except OSError:
        return None
    try:
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > most:
                return None
            content = file.read(most + 1)
            if len(content) > most:  # it has grown meanwhile
                return None
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
        search = None if request["query"] is None else Search(request["query"], out.write)
    except BadPattern as problem:
        sys.stderr.write(f"regex parse error: {problem}\n")
        return 2
    here = os.open(".", _FOLDER)
    for found in walk(request["walk"], here, Path.cwd()):
        if search is None:
            out.write(path_of(found))
        else:
            search.file(found)
            out.flush()
    out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
