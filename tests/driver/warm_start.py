"""Daemons and commands as processes that need not load their code: forks of a process that has loaded it.

Loading a daemon takes two seconds of a core, nine tenths of its start, and is the same each time. Where a
test shows what a start does, `COLD_STARTS` in `tests/speeds.py` names it, and its processes are started as a
user starts them; by night all are.

Owns: the one such process of those that run tests, and the handle of a fork. Never: what a daemon does.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import orjson

from tests.driver.rounds import NIGHT
from tests.driver.warm_process import MAX_REQUEST_BYTES

ROOT = Path(__file__).resolve().parents[2]


class WarmStarts:
    """Starts daemons: `cold` tells whether as a user does."""

    def __init__(self) -> None:
        self.cold = NIGHT
        self._asking: socket.socket | None = None
        self._loading = threading.Lock()

    def start(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stderr: IO[Any],
    ) -> WarmProcess:
        """Start `python -m app` with these arguments: nothing to read, standard output to a pipe."""
        said, stdout = os.pipe()
        with open(os.devnull) as nothing, os.fdopen(stdout, "w") as stream:
            known = self._fork(arguments, cwd, env, (nothing, stream, stderr))
        return WarmProcess(known, os.fdopen(said))

    def run(
        self, arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: str, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Run `python -m app` with these arguments to its end. What it printed is read from pipes."""
        command = ["kaged", *arguments]
        said, complained = os.pipe(), os.pipe()
        with (
            TemporaryFile("w+") as asked,
            os.fdopen(said[1], "w") as stdout,
            os.fdopen(complained[1], "w") as stderr,
        ):
            asked.write(stdin)
            asked.seek(0)
            known = self._fork(arguments, cwd, env, (asked, stdout, stderr))
        process = WarmProcess(known, os.fdopen(said[0]))
        with process.stdout, os.fdopen(complained[0]) as errors, ThreadPoolExecutor(2) as readers:
            texts = [readers.submit(stream.read) for stream in (process.stdout, errors)]
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise
            return subprocess.CompletedProcess(command, code, *(text.result() for text in texts))

    def _fork(
        self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], streams: tuple[IO[Any], ...]
    ) -> int:
        """Ask for a fork; return the end of the pipe that tells about it."""
        content = orjson.dumps({"arguments": list(arguments), "cwd": str(cwd), "env": dict(env)})
        assert len(content) < MAX_REQUEST_BYTES
        with self._loading:
            asking = self._loaded()
        known, told = os.pipe()
        try:
            socket.send_fds(asking, [content], [*(stream.fileno() for stream in streams), told])
        finally:
            os.close(told)
        return known

    def _loaded(self) -> socket.socket:
        if self._asking is None:
            self._asking, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                process = subprocess.Popen(
                    [sys.executable, "-m", "tests.driver.warm_process", str(theirs.fileno())],
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env={**os.environ, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)},
                    pass_fds=[theirs.fileno()],
                )
            atexit.register(self._end, process)
        return self._asking

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        assert self._asking is not None
        self._asking.close()
        process.wait(timeout=30)


WARM = WarmStarts()


class WarmProcess:
    """A fork, with the attributes of `subprocess.Popen[str]` that tests use. A pipe tells its process id,
    and later its exit code."""

    def __init__(self, told: int, stdout: IO[str]) -> None:
        self._told = os.fdopen(told, "rb", buffering=0)
        self.stdout = stdout
        self.returncode: int | None = None
        self.pid = self._number()

    def _number(self) -> int:
        line = self._told.readline()
        assert line.endswith(b"\n"), "the process that forks daemons has ended"
        return int(line)

    def _ended(self, seconds: float | None) -> bool:
        """Wait for the end, and take its code."""
        if self.returncode is not None:
            return True
        waiting = select.poll()
        waiting.register(self._told, select.POLLIN)
        if not waiting.poll(None if seconds is None else seconds * 1000):
            return False
        self.returncode = self._number()
        self._told.close()
        return True

    def poll(self) -> int | None:
        self._ended(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if not self._ended(timeout):
            raise subprocess.TimeoutExpired(f"daemon {self.pid}", timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def readable(self) -> int:
        """Return a descriptor of one's own that is readable once the fork has ended."""
        return os.dup(self._told.fileno())

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class WarmTask:
    """A fork, with the attributes of `asyncio.subprocess.Process` that tests use."""

    def __init__(self, process: WarmProcess) -> None:
        self._process = process
        self.pid = process.pid
        self.stdout = asyncio.StreamReader()
        self._reading: asyncio.ReadTransport | None = None

    async def open(self) -> WarmTask:
        protocol = asyncio.StreamReaderProtocol(self.stdout)
        loop = asyncio.get_running_loop()
        self._reading, _ = await loop.connect_read_pipe(lambda: protocol, self._process.stdout)
        return self

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    async def wait(self) -> int:
        if self.returncode is None:
            ended, loop = asyncio.Event(), asyncio.get_running_loop()
            told = self._process.readable()
            loop.add_reader(told, ended.set)
            try:
                await ended.wait()
            finally:
                loop.remove_reader(told)
                os.close(told)
        if self._reading is not None:
            self._reading.close()
        return self._process.wait()
