"""How many lines differ between two texts, without another process.

Owns: counting few differences, by the shortest edit script (Myers). Never: texts that differ in more: git
counts these (`line_diffs`).
"""

from __future__ import annotations

MOST_DIFFERENCES = 100
MOST_LINES = 20_000


def few_differences(old: bytes, new: bytes) -> tuple[int, int] | None:
    """Return how many lines were added and deleted; None where there are too many to count here."""
    before, after = _lines(old), _lines(new)
    start, shorter = 0, min(len(before), len(after))
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    before, after = before[start : len(before) - end], after[start : len(after) - end]
    if not before or not after:
        return len(after), len(before)
    if len(before) + len(after) > MOST_LINES:
        return None
    distance = _distance(before, after)
    if distance is None:
        return None
    added = (distance + len(after) - len(before)) // 2
    return added, distance - added


def _distance(before: list[bytes], after: list[bytes]) -> int | None:
    """Return the length of the shortest edit script, up to `MOST_DIFFERENCES`."""
    rows, columns = len(before), len(after)
    furthest = {1: 0}
    for distance in range(MOST_DIFFERENCES + 1):
        for diagonal in range(-distance, distance + 1, 2):
            down = diagonal == -distance or (
                diagonal != distance and furthest[diagonal - 1] < furthest[diagonal + 1]
            )
            row = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
            column = row - diagonal
            while row < rows and 0 <= column < columns and before[row] == after[column]:
                row, column = row + 1, column + 1
            furthest[diagonal] = row
            if row >= rows and column >= columns:
                return distance
    return None


def _lines(text: bytes) -> list[bytes]:
    """Return the lines; the last one is another when no newline ends it."""
    lines = text.split(b"\n")
    if lines[-1]:
        lines[-1] += b"\0no newline"
        return lines
    return lines[:-1]
