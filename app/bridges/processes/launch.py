"""Starts one process by the C library's posix_spawn.

Owns: the calls into the C library. Never: waiting for the process (`process`).

Python's own functions cannot combine a working folder given by descriptor, a new session with a controlling
terminal, no code between fork and exec, and no inherited descriptors.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass

_BUFFER_BYTES = 1024
_SET_DEFAULT_SIGNALS, _SET_SIGNAL_MASK = 0x04, 0x08
_DARWIN = sys.platform == "darwin"
_SET_SESSION = 0x0400 if _DARWIN else 0x80
_CLOSE_ALL_BY_DEFAULT = 0x4000 if _DARWIN else 0
_FIRST_PASSED = 3
_NOT_SETTABLE = (signal.SIGKILL, signal.SIGSTOP)


@dataclass(frozen=True, slots=True)
class Opening:
    """A file that the child opens itself, by its path."""

    path: bytes
    flags: int


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to start: the file `program`, with `argv[0]` as the name it sees. `files` become descriptors
    0, 1 and 2 and must be others themselves; an `Opening` of a terminal makes it the controlling one.
    `folder` is a descriptor."""

    program: bytes
    argv: Sequence[bytes]
    env: Sequence[bytes]
    folder: int
    files: tuple[int | Opening, int | Opening, int | Opening]
    passed: Sequence[int] = ()
    """Descriptors that become 3, 4 and so on; themselves they must be beyond those."""


class Launcher:
    """Starts processes in sessions of their own."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None)
        self._attributes: ctypes.Array[ctypes.c_char] | None = None
        self._closes_from = hasattr(self._libc, "posix_spawn_file_actions_addclosefrom_np")

    def start(self, launch: Launch) -> int:
        """Return the process id. Blocks until the program has been loaded (about half a
        millisecond). Raises OSError."""
        if self._attributes is None:
            self._attributes = self._signals_and_session()
        actions = ctypes.create_string_buffer(_BUFFER_BYTES)
        self._call("posix_spawn_file_actions_init", actions)
        try:
            self._plan(actions, launch)
            return self._spawn(launch, actions, self._attributes)
        finally:
            self._call("posix_spawn_file_actions_destroy", actions)

    def _plan(self, actions: ctypes.Array[ctypes.c_char], launch: Launch) -> None:
        self._call("posix_spawn_file_actions_addfchdir_np", actions, launch.folder)
        for number, file in enumerate(launch.files):
            if isinstance(file, Opening):
                self._call(
                    "posix_spawn_file_actions_addopen",
                    actions,
                    number,
                    ctypes.c_char_p(file.path),
                    file.flags,
                    ctypes.c_uint(0),
                )
            else:
                self._call("posix_spawn_file_actions_adddup2", actions, file, number)
        for number, descriptor in enumerate(launch.passed, _FIRST_PASSED):
            self._call("posix_spawn_file_actions_adddup2", actions, descriptor, number)
        if self._closes_from:
            first = _FIRST_PASSED + len(launch.passed)
            self._call("posix_spawn_file_actions_addclosefrom_np", actions, first)

    def _signals_and_session(self) -> ctypes.Array[ctypes.c_char]:
        """Return the attributes, the same for every child. It starts with no signal ignored or blocked:
        Python ignores some, and children of a daemon started by `nohup` would miss hang-ups."""
        attributes = ctypes.create_string_buffer(_BUFFER_BYTES)
        self._call("posix_spawnattr_init", attributes)
        signals = ctypes.create_string_buffer(_BUFFER_BYTES)
        self._libc.sigemptyset(signals)
        self._call("posix_spawnattr_setsigmask", attributes, signals)
        for number in range(1, 32):
            if number not in _NOT_SETTABLE:
                self._libc.sigaddset(signals, number)
        self._call("posix_spawnattr_setsigdefault", attributes, signals)
        flags = _SET_DEFAULT_SIGNALS | _SET_SIGNAL_MASK | _SET_SESSION | _CLOSE_ALL_BY_DEFAULT
        self._call("posix_spawnattr_setflags", attributes, ctypes.c_short(flags))
        return attributes

    def _spawn(
        self,
        launch: Launch,
        actions: ctypes.Array[ctypes.c_char],
        attributes: ctypes.Array[ctypes.c_char],
    ) -> int:
        argv = (ctypes.c_char_p * (len(launch.argv) + 1))(*launch.argv, None)
        env = (ctypes.c_char_p * (len(launch.env) + 1))(*launch.env, None)
        pid = ctypes.c_int(0)
        program = ctypes.c_char_p(launch.program)
        self._call("posix_spawn", ctypes.byref(pid), program, actions, attributes, argv, env)
        return pid.value

    def _call(self, name: str, *arguments: object) -> None:
        problem: int = getattr(self._libc, name)(*arguments)
        if problem:
            raise OSError(problem, os.strerror(problem))
