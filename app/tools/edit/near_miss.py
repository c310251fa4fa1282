"""Why a text was not found: the lines of the file that come closest, and what differs.

Owns: that report, within bounded time. Never: guessing which lines to change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from heapq import nlargest
from itertools import pairwise

NOTHING_ALIKE = "No line comes close to it: read the file again, and quote what is there now."
MAX_LINES = 200_000
MAX_LINES_BY_LETTERS = 20_000
MAX_SHOWN = 3
MAX_WINDOWS = 50
MAX_TEXT = 200
CANDIDATES = 40
MIN_RATIO = 0.5
_WORD = re.compile(r"\w+|[^\w\s]")
_NUMBERED = re.compile(r"^\s*\d+: ?")
_LOOKALIKES = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-", "\u00a0": " "}
)


@dataclass(frozen=True, slots=True)
class NearMiss:
    """`closest` holds `{line, text}` of lines in the file, best first; `hints` say what differs."""

    closest: list[dict[str, int | str]]
    hints: list[str]

    def text(self) -> str:
        shown = [f"  line {entry['line']}: {entry['text']}" for entry in self.closest]
        parts = list(self.hints)
        if shown:
            parts.append("The closest lines are:\n" + "\n".join(shown))
        return " ".join(parts) or NOTHING_ALIKE


def explain(body: str, old: str) -> NearMiss:
    """Return what a model needs to correct `old`, which does not occur in `body`."""
    lines = [line.rstrip("\r") for line in body.split("\n")[:MAX_LINES]]
    wanted = old.replace("\r\n", "\n").strip("\n").split("\n")
    hints = _hints_of_quoting(wanted, body)
    for reduce, difference in _REDUCTIONS:
        windows = _windows(lines, wanted, reduce)
        if windows:
            place, given = _first_difference(lines, windows[0], wanted)
            hints.append(_window_hint(windows, difference(lines[place], given)))
            shown = [place, *(window[0] for window in windows[1:MAX_SHOWN])]
            return NearMiss([_shown(lines, index) for index in shown], hints)
    run = _aligned(lines, wanted)
    if run is not None:
        hints.append(f"Much of it is at lines {run.first + 1} to {run.last + 1}, but not all.")
    closest = _most_alike(lines, wanted) if run is None else run.differing[:MAX_SHOWN]
    return NearMiss([_shown(lines, index) for index in closest], hints)


def _hints_of_quoting(wanted: list[str], body: str) -> list[str]:
    hints: list[str] = []
    if all(_NUMBERED.match(line) for line in wanted):
        hints.append("old_string begins its lines with line numbers; leave out the `N: ` that reading shows.")
    if any(line.endswith("[truncated]") for line in wanted):
        hints.append("old_string contains the [truncated] marker, which is not in the file.")
    if len(wanted) == 1 and "\\n" in wanted[0] and wanted[0].replace("\\n", "\n") in body:
        hints.append("old_string contains a backslash and n where the file has a newline.")
    return hints


def _spaceless(line: str) -> str:
    return "".join(line.split())


def _plain(line: str) -> str:
    return _spaceless(line.translate(_LOOKALIKES))


def _folded(line: str) -> str:
    return _plain(line).casefold()


def _unnumbered(line: str) -> str:
    return _spaceless(_NUMBERED.sub("", line))


def _first_difference(lines: list[str], window: tuple[int, int], wanted: list[str]) -> tuple[int, str]:
    """Return the index of the first line of the window that is not as wanted, and what was."""
    present = [index for index in range(window[0], window[1] + 1) if lines[index].strip()]
    asked = [line for line in wanted if line.strip()]
    pairs = list(zip(present, asked, strict=False))
    return next((pair for pair in pairs if lines[pair[0]] != pair[1]), pairs[0])


def _whitespace_difference(found: str, wanted: str) -> str:
    indent, given = found[: len(found) - len(found.lstrip())], wanted[: len(wanted) - len(wanted.lstrip())]
    if indent != given:
        return f"the indentation differs (the file has {_name(indent)}, old_string has {_name(given)})"
    if found.rstrip() == wanted.rstrip() and found != wanted:
        return "spaces at the end of a line differ"
    return "only spaces, tabs or empty lines differ"


def _name(indent: str) -> str:
    tabs, spaces = indent.count("\t"), indent.count(" ")
    named = [
        f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in ((tabs, "tab"), (spaces, "space"))
    ]
    return " and ".join(text for text in named if not text.startswith("0 ")) or "none"


_REDUCTIONS = (
    (_spaceless, _whitespace_difference),
    (_plain, lambda _found, _wanted: "quotes, dashes or non-breaking spaces differ"),
    (_folded, lambda _found, _wanted: "upper and lower case differ"),
    (_unnumbered, lambda _found, _wanted: "apart from the line numbers and spaces it is the same"),
)


def _window_hint(windows: list[tuple[int, int]], difference: str) -> str:
    first, last = windows[0][0] + 1, windows[0][1] + 1
    place = f"line {first}" if first == last else f"lines {first} to {last}"
    many = "at least " if len(windows) == MAX_WINDOWS else ""
    more = f" (and {many}{len(windows) - 1} more places)" if len(windows) > 1 else ""
    return f"It nearly matches {place}{more}: {difference}."


def _windows(lines: list[str], wanted: list[str], reduce: Callable[[str], str]) -> list[tuple[int, int]]:
    """Return the first and last index of the first runs of lines that reduce to `wanted`, blank
    lines left out on both sides; at most `MAX_WINDOWS`."""
    target = [text for text in map(reduce, wanted) if text]
    if not target:
        return []
    reduced = [(index, text) for index, line in enumerate(lines) if (text := reduce(line))]
    # As one text, since that is searched in time that grows with its length, whatever repeats in it.
    body, run = _as_one([text for _, text in reduced]), _as_one(target)
    windows: list[tuple[int, int]] = []
    at = body.find(run)
    while at >= 0 and len(windows) < MAX_WINDOWS:
        start = body.count("\n", 0, at)
        windows.append((reduced[start][0], reduced[start + len(target) - 1][0]))
        at = body.find(run, at + 1)
    return windows


def _as_one(lines: list[str]) -> str:
    return "\n".join(("", *lines, ""))


@dataclass(frozen=True, slots=True)
class _Run:
    """The indices of a part of the file's first and last line, and of its lines that are not as wanted."""

    first: int
    last: int
    differing: list[int]


def _aligned(lines: list[str], wanted: list[str]) -> _Run | None:
    """Return the run of lines, at least half and two of which are as wanted but for spaces; else None."""
    present = [(index, text) for index, line in enumerate(lines) if (text := _spaceless(line))]
    asked = [text for line in wanted if (text := _spaceless(line))]
    times = Counter(asked)
    places = {text: place for place, text in enumerate(asked) if times[text] == 1}
    starts = Counter(number - places[text] for number, (_, text) in enumerate(present) if text in places)
    for start, _ in starts.most_common(1):
        run = present[max(start, 0) : start + len(asked)]
        pairs = list(zip(run, asked[max(-start, 0) :], strict=False))
        differing = [index for (index, text), given in pairs if text != given]
        same = len(pairs) - len(differing)
        if differing and same > 1 and 2 * same >= len(asked):
            return _Run(run[0][0], run[-1][0], differing)
    return None


def _most_alike(lines: list[str], wanted: list[str]) -> list[int]:
    """Return the indices of the lines most like the longest line wanted, best first."""
    probe = max(wanted, key=lambda line: len(line.strip())).strip()[:MAX_TEXT]
    found = _alike_by(_words, lines, probe)
    if found or len(lines) > MAX_LINES_BY_LETTERS:
        return found
    return _alike_by(_letter_pairs, lines, probe)


def _alike_by(pieces: Callable[[str], set[str]], lines: list[str], probe: str) -> list[int]:
    """Return the indices of the lines most like the probe among those that share the most pieces with it."""
    asked = pieces(probe)
    if not asked:
        return []
    scored = ((_overlap(asked, pieces(line)), -index) for index, line in enumerate(lines))
    candidates = nlargest(CANDIDATES, (pair for pair in scored if pair[0] > 0))
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(probe)
    rated: list[tuple[float, int]] = []
    for _, negative in candidates:
        matcher.set_seq1(lines[-negative].strip()[:MAX_TEXT])
        rated.append((matcher.ratio(), negative))
    return [-negative for ratio, negative in nlargest(MAX_SHOWN, rated) if ratio >= MIN_RATIO]


def _words(line: str) -> set[str]:
    return set(_WORD.findall(line[: 2 * MAX_TEXT]))


def _letter_pairs(line: str) -> set[str]:
    return {first + second for first, second in pairwise(_spaceless(line[: 2 * MAX_TEXT]))}


def _overlap(asked: set[str], found: set[str]) -> float:
    return len(asked & found) / len(asked | found)


def _shown(lines: list[str], index: int) -> dict[str, int | str]:
    return {"line": index + 1, "text": lines[index][:MAX_TEXT]}
