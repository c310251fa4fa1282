"""Differences of files as a patch that `git apply` takes.

Owns: the text of the patch, its bytes, and its colours. Never: asking the daemon for differences.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from app.cli.output import print_text, printable
from app.tools.project_files.legacy_encoding import CODECS
from app.workspace.any_names import name_at

_LINK = "120000"
_BOM = "utf-8-bom"
_PLAIN = re.compile(rb"[\x20!#-\[\]-~\x80-\xff]+")
_ESCAPES = {
    0x07: "a",
    0x08: "b",
    0x09: "t",
    0x0A: "n",
    0x0B: "v",
    0x0C: "f",
    0x0D: "r",
    0x22: '"',
    0x5C: "\\",
}
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}

Diff = dict[str, Any]


def print_patch(diffs: Sequence[Diff], *, numbered: bool) -> None:
    """Print differences: with colours on a terminal, else as bytes in the encodings of the files. With
    `numbered` the hunks have numbers on a terminal."""
    for diff in diffs:
        lines = list(_patch(diff))
        if sys.stdout.isatty():
            _print_coloured(lines, numbered=numbered)
            continue
        sys.stdout.flush()
        sys.stdout.buffer.write(b"".join(line + b"\n" for _, line in lines))
        sys.stdout.buffer.flush()


def _print_coloured(lines: Sequence[tuple[str, bytes]], *, numbered: bool) -> None:
    hunk = 0
    for sign, line in lines:
        text = line.decode("utf-8", "replace")
        if sign == "@":
            hunk += 1
            text += f"    hunk {hunk}" if numbered else ""
        if sign in _COLOURS:
            print_text(text, color=_COLOURS[sign])
        elif sign in (" ", "\\"):
            click.echo(printable(text))
        else:
            print_text(text, bold=sign == "head", dim=sign == "#")


def why_not(diff: Diff) -> str | None:
    """Return why a difference cannot be in a patch."""
    if diff["hunks"] is None:
        return diff["note"] or "binary"
    if diff["truncated"]:
        return "it is too long"
    if _LINK in (diff["old_mode"], diff["new_mode"]) and None not in (diff["old_mode"], diff["new_mode"]):
        return None if diff["old_mode"] == diff["new_mode"] else "its kind is another one"
    known = {diff["old_encoding"], diff["new_encoding"]} - {None}
    if len(known) > 1:
        return f"its encoding was {diff['old_encoding']}, and is {diff['new_encoding']}"
    return next((f"it is in {one}" for one in known if one.startswith("utf-16")), None)


def _patch(diff: Diff) -> Iterator[tuple[str, bytes]]:
    """Yield the lines of a patch with what each is: `head`, `#`, `@`, or the sign of a line."""
    reason = why_not(diff)
    if reason is not None:
        yield "#", f"# {diff['path']}: {diff['status']}, not shown: {reason}".encode()
        return
    old, new = name_at(diff["old_path"] or diff["path"]), name_at(diff["path"])
    yield "head", b"diff --git " + _quoted(b"a/" + old) + b" " + _quoted(b"b/" + new)
    yield from (("head", line) for line in _about(diff, old, new))
    if not diff["hunks"]:
        return
    sides = [b"/dev/null" if diff["old_mode"] is None else _side(b"a/" + old)]
    sides.append(b"/dev/null" if diff["new_mode"] is None else _side(b"b/" + new))
    yield "head", b"--- " + sides[0]
    yield "head", b"+++ " + sides[1]
    encoding = diff["new_encoding"] or diff["old_encoding"] or "utf-8"
    for hunk in diff["hunks"]:
        yield "@", hunk["header"].encode("utf-8", "replace")
        yield from _lines(hunk, encoding)


def _about(diff: Diff, old: bytes, new: bytes) -> Iterator[bytes]:
    if diff["old_mode"] is None:
        yield f"new file mode {diff['new_mode']}".encode()
    elif diff["new_mode"] is None:
        yield f"deleted file mode {diff['old_mode']}".encode()
    elif diff["old_mode"] != diff["new_mode"]:
        yield f"old mode {diff['old_mode']}".encode()
        yield f"new mode {diff['new_mode']}".encode()
    if old != new:
        yield b"rename from " + _quoted(old)
        yield b"rename to " + _quoted(new)


def _lines(hunk: dict[str, Any], encoding: str) -> Iterator[tuple[str, bytes]]:
    marked = {sign for sign, start in (("-", hunk["old_start"]), ("+", hunk["new_start"])) if start <= 1}
    codec = "utf-8" if encoding == _BOM else CODECS.get(encoding, encoding)
    for sign, text in hunk["lines"]:
        sides = {"-", "+"} if sign == " " else {sign}
        mark = "\ufeff" if encoding == _BOM and sides & marked else ""
        marked -= sides
        yield sign, sign.encode() + (mark + text).encode(codec, "replace")


def _side(name: bytes) -> bytes:
    quoted = _quoted(name)
    return quoted + b"\t" if b" " in name and not quoted.startswith(b'"') else quoted


def _quoted(name: bytes) -> bytes:
    """Return a name as git quotes it."""
    try:
        name.decode("utf-8")
        if _PLAIN.fullmatch(name):
            return name
    except UnicodeDecodeError:
        pass
    inside = "".join(
        f"\\{_ESCAPES[byte]}" if byte in _ESCAPES else chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"
        for byte in name
    )
    return f'"{inside}"'.encode()
