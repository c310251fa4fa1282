"""Which files calls are editing at this moment, over all sessions and agents.

Owns: this count, and telling the calls that look at a file beside their own. Never: asking servers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

File = tuple[Path, str]
"""Root and path."""


class EditedFiles:
    def __init__(self) -> None:
        self._calls: Counter[File] = Counter()
        self._followers: list[Callable[[File], None]] = []

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, file: File) -> bool:
        return self._calls[file] > 0

    def follow(self, begun: Callable[[File], None]) -> Callable[[], None]:
        """Call `begun` with each file whose edit begins, until the function that this returns is called."""
        self._followers.append(begun)
        return lambda: self._followers.remove(begun)

    def begin(self, file: File) -> None:
        self._calls[file] += 1
        for begun in tuple(self._followers):
            begun(file)

    def end(self, file: File) -> None:
        self._calls[file] -= 1
        if not self._calls[file]:
            del self._calls[file]
