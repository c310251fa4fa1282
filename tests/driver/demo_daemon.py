"""The demo as `make run` starts it: a copy of `examples/demo`, and a daemon on it.

Owns: the copy, how fast its transcript plays, what a test adds to it. Never: what is asked of it.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

from tests.driver.daemon_process import REPOSITORY, WAIT_SECONDS, DaemonProcess
from tests.driver.git_desk import git
from tests.driver.ports import steady_port

EXAMPLE = REPOSITORY / "examples" / "demo"


class Demo:
    """A copy of the demo below `folder`. `speed` is that of the transcript; 0 plays without delay."""

    def __init__(self, folder: Path, *, speed: float = 0) -> None:
        self.root = folder / "demo"
        self.data_dir = folder / "data"
        self.daemon: DaemonProcess | None = None
        self._copy()
        self._replace(self.config, "speed = 1.0", f"speed = {float(speed)}")

    @property
    def config(self) -> Path:
        return self.root / "config.toml"

    def add_conversation(self, yaml: str) -> None:
        """Teach the agent one more conversation, given as an item of the transcript's list."""
        self.change_transcript("conversations:\n", f"conversations:\n{yaml}\n")

    def change_transcript(self, old: str, new: str) -> None:
        """Let the agent say something else from its next answer on."""
        self._replace(self.root / "transcripts" / "demo.yaml", old, new)

    def make_repository(self) -> None:
        """Put the demo into a git repository, all of it in its first commit."""
        (self.root / ".gitignore").write_text("__pycache__/\n")
        git(self.root, "init", "-qb", "main")
        git(self.root, "config", "user.name", "Ada")
        git(self.root, "config", "user.email", "ada@example.org")
        git(self.root, "add", "--all")
        git(self.root, "commit", "-qm", "first")

    async def start(self) -> DaemonProcess:
        """Start the daemon unless it runs, each time on the same port."""
        if self.daemon is not None and self.daemon.process.returncode is None:
            return self.daemon
        port = int(self.daemon.url.rpartition(":")[2]) if self.daemon is not None else steady_port()
        self.daemon = await DaemonProcess.start(self.data_dir, self.config, self.root, port=port)
        return self.daemon

    async def come_to_rest(self) -> None:
        """Stop the sessions that are at work, and wait until they have ended: what they write later would be
        found by the next test."""
        if self.daemon is None or self.daemon.process.returncode is not None:
            return
        async with self.daemon.client() as client, asyncio.timeout(WAIT_SECONDS):
            while at_work := [
                session["id"]
                for state in ("queued", "running")
                for session in (await client.get("/sessions", params={"state": state})).json()["items"]
            ]:
                for session in at_work:
                    await client.post(f"/sessions/{session}/cancel")
                await asyncio.sleep(0.05)

    async def restore(self) -> None:
        """Undo what agents did to the code, once they have ended; the daemon need not stop for it."""
        await self.come_to_rest()
        for folder in ("bakery", "tests"):
            shutil.rmtree(self.root / folder)
            self._copy(folder)

    async def stop(self) -> None:
        """Stop the daemon, if there is one that runs."""
        if self.daemon is not None:
            await self.daemon.stop()

    async def tests(self) -> tuple[int, str]:
        """Run the demo's own tests and return the exit code and what they printed."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "unittest",
            cwd=self.root,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, output.decode()

    def _copy(self, folder: str = "") -> None:
        shutil.copytree(EXAMPLE / folder, self.root / folder, ignore=shutil.ignore_patterns("__pycache__"))

    @staticmethod
    def _replace(file: Path, old: str, new: str) -> None:
        text = file.read_text()
        assert old in text, f"{file} has no {old!r}"
        file.write_text(text.replace(old, new, 1))
