"""The root of all paths of one caller, held open while it is used.

Owns: `RootFolder`: its name when first opened, and the descriptor of every path. Never: paths below it,
policy.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary, finalize

from app.workspace.descriptors import names_of, open_folder, real_path
from app.workspace.paths import invalid_path, os_problem


class _Held:
    """A descriptor that is closed when nobody has a reference to it any more, nor can get one.

    `__del__` would run while weak references still lead to it.
    """

    __slots__ = ("__weakref__", "descriptor", "identity")

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        status = os.fstat(descriptor)
        self.identity = (status.st_dev, status.st_ino)
        finalize(self, os.close, descriptor).atexit = False


_shared: WeakValueDictionary[str, _Held] = WeakValueDictionary()
"""By real path: all callers of a project share one descriptor of its folder."""

_sharing = threading.Lock()


class RootFolder:
    """A folder by its name; links in the name are followed once, when it is first opened. Thread-safe.

    Later the same folder is used, or another one at the same real path without links. With `is_real` no link
    is followed at all.
    """

    def __init__(self, path: Path, *, is_real: bool = False) -> None:
        self.path = path
        self._resolved = os.fspath(path) if is_real else None
        self._held: _Held | None = None
        self._lock = threading.Lock()

    @contextmanager
    def opened(self, shown: str) -> Iterator[int]:
        """Give a path-only descriptor of the folder, good within the `with`.

        Raises ToolError about `shown`: `invalid_path` when the folder is the whole file system or a
        link has taken its place, or an operating system's problem."""
        held = self._current(shown)
        yield held.descriptor
        del held

    def names(self, descriptor: int | None = None) -> tuple[str, ...]:
        """Return the components of the real absolute path that the folder has at the moment."""
        known = None if descriptor is None else real_path(descriptor)
        return names_of(known or self._resolved or os.path.realpath(self.path))

    def _current(self, shown: str) -> _Held:
        held = self._held
        if held is not None and self._is_still_there(held):
            return held
        with self._lock:
            if self._resolved is None:
                self._resolved = os.path.realpath(self.path)
            if self._resolved == "/":
                raise invalid_path(shown, "the whole file system cannot be a project")
            try:
                self._held = held = self._open_shared(self._resolved)
            except NotADirectoryError:
                message = "a link or a file replaced the folder; load the project from its new folder"
                raise invalid_path(shown, message) from None
            except OSError as problem:
                self._held = None
                raise os_problem(shown, problem) from None
            return held

    def _open_shared(self, resolved: str) -> _Held:
        with _sharing:
            held = _shared.get(resolved)
            if held is None or not self._is_still_there(held):
                _shared[resolved] = held = _Held(open_folder(resolved))
            return held

    def _is_still_there(self, held: _Held) -> bool:
        assert self._resolved is not None
        try:
            found = os.stat(self._resolved, follow_symlinks=False)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == held.identity
