"""Programs that run already, to be attached to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bridges.conftest import until
from tests.driver.debug_adapters import built
from tests.driver.ports import steady_port


@dataclass(frozen=True, slots=True)
class Target:
    """A running program. `where`: how the tool is told of it, by port or pid."""

    process: asyncio.subprocess.Process
    where: dict[str, Any]

    def state(self) -> str:
        """Return the state of the process as the system has it: R, S, T for stopped, t for traced."""
        return Path(f"/proc/{self.process.pid}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()

    def lives(self) -> bool:
        """Tell whether it has not ended."""
        return self.process.returncode is None

    async def runs(self) -> bool:
        """Tell whether it lives and runs, under no debugger's hand."""
        if not self.lives():
            return False
        await until(lambda: self.state() not in "Tt")
        return True


async def running(command: Sequence[str], cwd: Path, stack: AsyncExitStack) -> asyncio.subprocess.Process:
    """Start a program, and kill it at the end. It is of this process' own session: what is of another would
    be taken for something that an adapter has left behind."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )

    async def end() -> None:
        if process.returncode is None:
            process.kill()
        await process.wait()

    stack.push_async_callback(end)
    return process


def by_port(*command: str, wait: bool = True) -> Callable[[Path, AsyncExitStack], Any]:
    """Make targets of a command with `{port}` in it, where it listens for debuggers."""

    async def start(root: Path, stack: AsyncExitStack) -> Target:
        port = steady_port()
        process = await running([word.replace("{port}", str(port)) for word in command], root, stack)
        if wait:
            await until(lambda: listens(port))
        return Target(process, {"port": port, "host": "127.0.0.1"})

    return start


def by_process(*command: str, source: str = "") -> Callable[[Path, AsyncExitStack], Any]:
    """Make targets of a command that writes a line when it is at work, by process id; of a `source` that is
    built first."""

    async def start(root: Path, stack: AsyncExitStack) -> Target:
        if source:
            await asyncio.to_thread(built, root / source)
        process = await running(command, root, stack)
        assert process.stdout is not None
        async with asyncio.timeout(60):
            assert await process.stdout.readline()
        return Target(process, {"pid": process.pid})

    return start


def listens(port: int) -> bool:
    """Tell whether somebody listens on a port, without disturbing who does."""
    wanted = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if words[1].endswith(wanted) and words[3] == "0A":
                return True
    return False


@asynccontextmanager
async def listening(*command: str, cwd: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """Start a program that says where it listens; yield it with that port, and end it."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=cwd, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            line = await process.stdout.readline()
        yield process, int(line.split()[-1])
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def asked(port: int, text: str) -> str:
    """Ask the fixture server, and return its answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{text}\n".encode())
    async with asyncio.timeout(60):
        answer = await reader.readline()
    writer.close()
    return answer.decode().strip()
