"""Turns the output for a terminal into plain text.

Owns: dropping control sequences; the last state of overwritten and erased lines (progress bars). Never:
decoding. Cursor movement to other lines is dropped.
"""

from __future__ import annotations

import re
import sys
from array import array

MAX_LINE = 64 * 1024
"""A line that is longer is passed on in parts."""

_HELD_BACK = 256
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n") + b"\x7f"
_IN_LINE = r"\x1b\[(?:[0-2]?K|[01]?J|[0-9]{0,4}[`CDGPX])"
"""The sequences that change one line. They erase (`K`, `J`, `X`), delete (`P`) or move (the others)."""
_STEP = re.compile(rf"(\r|\x08|{_IN_LINE})")
_LEFT_OVER = re.compile(_IN_LINE.encode())
_CHANGE = re.compile(rb"[\r\x08]|\x1b\[(?:[12]K|1J|[0-9]{0,4}[`CDG])")
"""What changes a line from its end. The other sequences of a line do nothing there."""
_C1 = re.compile(rb"\xc2([\x80-\x9f])")
"""The controls of one character each (U+009B for one), which mean what an escape and a letter do."""
_HALF = b"\xc2"
_UNKNOWN = "\ufffd".encode()
MAX_COLUMN = 1_000
"""How far to the right a sequence may move, beyond what was written."""
_CODE_POINTS = f"utf-32-{sys.byteorder[0]}e"
_BLANKS = memoryview(array("I", " ".encode(_CODE_POINTS)) * MAX_LINE)
_DROPPED = re.compile(
    rb"(?<!\r)\r++(?=\n)"  # line ends of programs that think the terminal needs them
    rb"|(?!" + _IN_LINE.encode() + rb")\x1b(?:"  # what stays in the line apart
    rb"\[[0-?]*[ -/]*[@-~]"  # CSI
    rb"|\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # OSC: titles, links
    rb"|[PX^_][^\x1b]*\x1b\\"  # DCS and other strings
    rb"|[ -/]*[0-Z\\-~]"  # short sequences, and introducers of strings without an end
    rb"|)"
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
        done, self._rest = _plain(self._rest), b""
        return done

    def _overlong(self) -> bytes:
        if _CHANGE.search(self._rest):
            self._rest = _plain(self._rest)
            if len(self._rest) <= MAX_LINE:
                return b""
        # A sequence that is still incomplete is kept for the next round.
        sequence = self._rest.rfind(b"\x1b", len(self._rest) - _HELD_BACK)
        end = sequence if sequence >= 0 else len(self._rest)
        done, self._rest = _plain(self._rest[:end]), self._rest[end:]
        if done.endswith(_HALF):
            done, self._rest = done[:-1], _HALF + self._rest
        return done


def _plain(block: bytes) -> bytes:
    if b"\xc2" in block:
        block = _C1.sub(lambda found: bytes((0x1B, found[1][0] - 0x40)), block)
    if len(block.translate(None, _CONTROLS)) == len(block):
        return block
    block = _DROPPED.sub(b"", block)
    if _CHANGE.search(block):
        block = b"\n".join(_settled(line) for line in block.split(b"\n"))
    # What was dropped between two bytes may leave them side by side as such a control.
    return _C1.sub(_UNKNOWN, _LEFT_OVER.sub(b"", block))


def _settled(line: bytes) -> bytes:
    """Return what is to be seen of a line when everything in it has been written."""
    if not _CHANGE.search(line):
        return line
    cells = array("I")
    column = 0
    for part in _STEP.split(line.decode("utf-8", "surrogateescape")):
        if part == "\r":
            column = 0
        elif part == "\x08":
            column = max(0, column - 1)
        elif part.startswith("\x1b"):
            column = _stepped(cells, column, part[-1], part[2:-1])
        else:
            while column > len(cells):
                cells.extend(_BLANKS[: column - len(cells)])
            cells[column : column + len(part)] = array("I", part.encode(_CODE_POINTS, "surrogatepass"))
            column += len(part)
    text = cells.tobytes().decode(_CODE_POINTS, "surrogatepass")
    return text.rstrip(" ").encode("utf-8", "surrogateescape")


def _stepped(cells: array[int], column: int, kind: str, number: str) -> int:
    """Move, erase or delete as one sequence says, and return the column after it."""
    if kind in "KJ":
        _erase(cells, column, number or "0")
        return column
    count = max(int(number or 1), 1)
    if kind == "D":
        return max(0, column - count)
    if kind == "P":
        del cells[column : column + count]
    elif kind == "X":
        _blank(cells, column, column + count)
    else:
        to = column + count if kind == "C" else count - 1
        return min(to, max(len(cells), MAX_COLUMN))
    return column


def _erase(cells: array[int], column: int, what: str) -> None:
    if what == "0":
        del cells[column:]
    elif what == "2":
        del cells[:]
    else:
        _blank(cells, 0, column + 1)


def _blank(cells: array[int], begin: int, end: int) -> None:
    """Blank cells in place, as far as there are any."""
    end = min(end, len(cells))
    with memoryview(cells) as view:
        for start in range(begin, end, len(_BLANKS)):
            stop = min(start + len(_BLANKS), end)
            view[start:stop] = _BLANKS[: stop - start]
