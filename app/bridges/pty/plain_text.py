"""From what a program sends to a terminal to the text that a reader is left with.

Owns: dropping control sequences, and the last state of lines that were written over (progress
bars). Never: decoding; bytes that are not valid text pass through. Not a screen: sequences that
move to other lines are dropped, not followed.
"""

from __future__ import annotations

import re

MAX_LINE = 64 * 1024
"""A line that is longer is passed on in parts."""

_HELD_BACK = 256
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n") + b"\x7f"
_LINE_MOVES = re.compile(rb"[\r\x08]|\x1b\[[0-9]{0,4}G")
_STEP = re.compile(r"(\r|\x08|\x1b\[[0-2]?K|\x1b\[[0-9]{0,4}G)")
_IN_LINE = re.compile(rb"\x1b\[(?:[0-2]?K|[0-9]{0,4}G)")
_C1 = re.compile(rb"\xc2([\x80-\x9f])")
"""The controls of one character each (U+009B for one), which mean what an escape and a letter do."""
MAX_COLUMN = 1_000
"""How far to the right a sequence may move, beyond what was written."""
_DROPPED = re.compile(
    rb"(?<!\r)\r++(?=\n)"  # line ends of programs that think the terminal needs them
    rb"|\x1b\[(?![0-2]?K|[0-9]{0,4}G)[0-?]*[ -/]*[@-~]"  # CSI, what stays in the line apart
    rb"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # OSC: titles, links
    rb"|\x1b[PX^_][^\x1b]*\x1b\\"  # DCS and other strings
    rb"|\x1b[ -/]*[0-Z\\-~]"  # short sequences, and introducers of strings without an end
    rb"|\x1b(?!\[(?:[0-2]?K|[0-9]{0,4}G))"
    rb"|[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"
)


class PlainText:
    """Turns a terminal's bytes, as they come, into plain lines."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, content: bytes) -> bytes:
        """Return the plain text of the lines that are complete now."""
        whole = self._rest + content if self._rest else content
        end = whole.rfind(b"\n") + 1
        self._rest = whole[end:]
        done = _plain(whole[:end])
        return done + self._overlong() if len(self._rest) > MAX_LINE else done

    def unfinished(self) -> bytes:
        """Return the plain text of the last line, which has no end yet."""
        return _plain(self._rest)

    def finish(self) -> bytes:
        """Return what is left."""
        done, self._rest = _plain(self._rest), b""
        return done

    def _overlong(self) -> bytes:
        if _LINE_MOVES.search(self._rest):
            self._rest = _plain(self._rest)
            if len(self._rest) <= MAX_LINE:
                return b""
        # A sequence that is still incomplete is kept for the next round.
        sequence = self._rest.rfind(b"\x1b", len(self._rest) - _HELD_BACK)
        end = sequence if sequence >= 0 else len(self._rest)
        done, self._rest = _plain(self._rest[:end]), self._rest[end:]
        return done


def _plain(block: bytes) -> bytes:
    if b"\xc2" in block:
        block = _C1.sub(lambda found: bytes((0x1B, found[1][0] - 0x40)), block)
    if len(block.translate(None, _CONTROLS)) == len(block):
        return block
    block = _DROPPED.sub(b"", block)
    if _LINE_MOVES.search(block):
        block = b"\n".join(_settled(line) for line in block.split(b"\n"))
    return _IN_LINE.sub(b"", block)


def _settled(line: bytes) -> bytes:
    """Return what is to be seen of a line when everything in it has been written."""
    if not _LINE_MOVES.search(line):
        return line
    cells: list[str] = []
    column = 0
    for part in _STEP.split(line.decode("utf-8", "surrogateescape")):
        if part == "\r":
            column = 0
        elif part == "\x08":
            column = max(0, column - 1)
        elif part.endswith("G") and part.startswith("\x1b"):
            column = min(max(int(part[2:-1] or 1) - 1, 0), max(len(cells), MAX_COLUMN))
        elif part.startswith("\x1b"):
            _erase(cells, column, part)
        else:
            if column > len(cells):
                cells += " " * (column - len(cells))
            cells[column : column + len(part)] = part
            column += len(part)
    return "".join(cells).rstrip(" ").encode("utf-8", "surrogateescape")


def _erase(cells: list[str], column: int, sequence: str) -> None:
    if sequence in {"\x1b[K", "\x1b[0K"}:
        del cells[column:]
    elif sequence == "\x1b[2K":
        cells.clear()
    else:
        cells[: column + 1] = " " * min(column + 1, len(cells))
