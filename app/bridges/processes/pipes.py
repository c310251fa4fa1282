"""The descriptors between the daemon and a child.

Owns: making them, handing the child's ends over, wrapping the daemon's ends as streams, closing them. Never:
starting the child.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Literal, TypedDict

from app.bridges.processes.launch import Opening

READ_LIMIT = 256 * 1024
FIRST_FREE = 3
_NULL_IN = Opening(b"/dev/null", os.O_RDONLY)
_NULL_OUT = Opening(b"/dev/null", os.O_WRONLY)
_FOLDER = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)

Input = Literal["null", "pipe"]
Output = Literal["pipe", "null"] | int
Errors = Literal["pipe", "null", "stdout"] | int
Files = tuple[int | Opening, int | Opening, int | Opening]


class StartOptions(TypedDict, total=False):
    """How a child is connected, and what outlives it.

    `stdin` is `null` unless it is a pipe; `stdout` and `stderr` are pipes unless given. `terminal` is the
    descriptor of a terminal's inner side: the controlling terminal, which takes stdout and stderr. With
    `lingers` the processes that the child leaves behind live until the child is stopped, killed or closed.
    """

    stdin: Input
    stdout: Output
    stderr: Errors
    terminal: int | None
    lingers: bool


class Ends:
    def __init__(self) -> None:
        self._given: list[int] = []
        self._writable: int | None = None
        self._readable: dict[Literal["stdout", "stderr"], int] = {}
        self.transports: list[asyncio.BaseTransport] = []

    def folder(self, path: Path) -> int:
        """Open a folder for as long as the start takes. Raises OSError."""
        descriptor = _raised(os.open(path, _FOLDER))
        self._given.append(descriptor)
        return descriptor

    def beyond(self, passed: Sequence[int]) -> list[int]:
        """Return copies of descriptors that are beyond the numbers they will have in the child."""
        copies = []
        for descriptor in passed:
            copies.append(fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE + len(passed)))
            self._given.append(copies[-1])
        return copies

    def files(self, options: StartOptions) -> Files:
        """Return the child's files. Raises OSError when `terminal` is no terminal."""
        terminal = options.get("terminal")
        if terminal is None:
            return self.on_pipes(options)
        # Opened by the child, so that it becomes the controlling one.
        opening = Opening(os.fsencode(os.ttyname(terminal)), os.O_RDWR)
        return self._input(options.get("stdin", "null")), opening, 1

    def on_pipes(self, options: StartOptions) -> Files:
        """Return the child's files, with an end here for each that is a pipe. A terminal is passed over."""
        stderr = options.get("stderr", "pipe")
        first = self._input(options.get("stdin", "null"))
        second = self._output("stdout", options.get("stdout", "pipe"))
        third: int | Opening = 1 if stderr == "stdout" else self._output("stderr", stderr)
        return first, second, third

    def _input(self, stdin: Input) -> int | Opening:
        if stdin == "null":
            return _NULL_IN
        given, self._writable = pipe()
        self._given.append(given)
        return given

    def _output(self, name: Literal["stdout", "stderr"], target: Output | Literal["stdout"]) -> int | Opening:
        if isinstance(target, int):
            self._given.append(duplicate := fcntl.fcntl(target, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE))
            return duplicate
        if target == "null":
            return _NULL_OUT
        self._readable[name], given = pipe()
        self._given.append(given)
        return given

    async def writer(self) -> asyncio.StreamWriter | None:
        """Wrap the daemon's end of stdin; None when there is none."""
        if self._writable is None:
            return None
        loop = asyncio.get_running_loop()
        descriptor, self._writable = self._writable, None
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        transport, _ = await loop.connect_write_pipe(lambda: protocol, _file(descriptor, "wb"))
        self.transports.append(transport)
        return asyncio.StreamWriter(transport, protocol, None, loop)

    async def reader(self, name: Literal["stdout", "stderr"]) -> asyncio.StreamReader | None:
        """Wrap the daemon's end of stdout or stderr; None when there is none."""
        descriptor = self._readable.pop(name, None)
        if descriptor is None:
            return None
        stream = asyncio.StreamReader(limit=READ_LIMIT)
        protocol = asyncio.StreamReaderProtocol(stream)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: protocol, _file(descriptor, "rb")
        )
        self.transports.append(transport)
        return stream

    def close_given(self) -> None:
        while self._given:
            os.close(self._given.pop())

    def close(self) -> None:
        """Close everything that is still open; what was not written yet is dropped. The next turn
        of the loop closes the descriptors of the streams."""
        self.close_given()
        for transport in self.transports:
            if isinstance(transport, asyncio.WriteTransport) and transport.get_write_buffer_size():
                transport.abort()  # else it would wait for a reader that is gone
            else:
                transport.close()
        kept = [self._writable, *self._readable.values()]
        self._writable = None
        self._readable.clear()
        for descriptor in kept:
            if descriptor is not None:
                os.close(descriptor)


def _file(descriptor: int, mode: Literal["rb", "wb"]) -> BinaryIO:
    return os.fdopen(descriptor, mode, 0)


def pipe() -> tuple[int, int]:
    """Return the readable and the writable end of a pipe, none of them 0, 1 or 2."""
    readable, writable = os.pipe()
    return _raised(readable), _raised(writable)


def _raised(descriptor: int) -> int:
    """Return the descriptor, or a copy of it beyond those that the child's files will be."""
    if descriptor >= FIRST_FREE:
        return descriptor
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
    finally:
        os.close(descriptor)
