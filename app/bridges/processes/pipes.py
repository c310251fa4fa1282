"""The descriptors between the daemon and a child it starts.

Owns: making them, handing the child's ends to the launch, wrapping the daemon's ends as streams.
Never: starting or ending the child. Every descriptor made here is closed here.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Literal

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


class Ends:
    """The descriptors of one start."""

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

    def on_pipes(self, stdin: Input, stdout: Output, stderr: Errors) -> Files:
        """Return the child's files, of which those that are pipes get an end here."""
        first = self._input(stdin)
        second = self._output("stdout", stdout)
        third: int | Opening = 1 if stderr == "stdout" else self._output("stderr", stderr)
        return first, second, third

    def on_terminal(self, terminal: int, stdin: Input) -> Files:
        """Return files of which stdout and stderr are the terminal, opened so that it becomes the
        controlling one. Raises OSError when `terminal` is not a terminal."""
        return self._input(stdin), Opening(os.fsencode(os.ttyname(terminal)), os.O_RDWR), 1

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
        """Close what only the child needs."""
        while self._given:
            os.close(self._given.pop())

    def close(self) -> None:
        """Close everything that is still open; what was not written yet is dropped. Of the streams,
        the descriptors are closed with the next turn of the loop."""
        self.close_given()
        for transport in self.transports:
            if isinstance(transport, asyncio.WriteTransport) and transport.get_write_buffer_size():
                transport.abort()  # else it would wait for a reader that there is not any more
            else:
                transport.close()
        kept = [self._writable, *self._readable.values()]
        self._writable = None
        self._readable.clear()
        for descriptor in kept:
            if descriptor is not None:
                os.close(descriptor)


def _file(descriptor: int, mode: Literal["rb", "wb"]) -> BinaryIO:
    """Return a file for a transport, which closes it."""
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
