"""The commands of a document, pasted into a shell as a reader does it beside `make run`.

Owns: finding the commands and what they should print, and a folder that looks as it does after `make run`.
Never: what the commands are about.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.driver.daemon_process import REPOSITORY
from tests.driver.demo_daemon import Demo

SECONDS = 110
"""How long one shell may take."""
_BLOCK = re.compile(r"^## (.+?)$|^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_MARK = "=== "


@dataclass(frozen=True, slots=True)
class Step:
    """One block of shell commands, the heading above it, and what the document shows as printed."""

    heading: str
    script: str
    shown: str = ""


def steps(document: Path) -> list[Step]:
    """Return the blocks of shell commands in their order, each with the output that follows it."""
    heading = ""
    found: list[Step] = []
    for title, language, text in _BLOCK.findall(document.read_text()):
        if title:
            heading = title
        elif language == "sh":
            found.append(Step(heading, text))
        elif not language and found and not found[-1].shown:
            found[-1] = Step(found[-1].heading, found[-1].script, text)
    return found


def commands(document: Path, heading: str) -> str:
    """Return the first block of shell commands below a heading."""
    found = [step.script for step in steps(document) if step.heading == heading]
    assert found, f"{document.name} has no commands below {heading!r}"
    return found[0]


def shows(step: Step, printed: str) -> bool:
    """Tell whether the lines that the document shows were printed, in their order. `...` stands for any
    lines, or for the rest of a line or a part of it."""
    lines = [re.sub(r"\s+", " ", line).strip() for line in printed.splitlines()]
    for wanted in step.shown.splitlines():
        wanted = re.sub(r"\s+", " ", wanted).strip()
        if wanted in ("", "..."):
            continue
        pattern = re.compile(".*".join(map(re.escape, wanted.split("..."))).replace(r"\ .*", ".*"))
        while lines and pattern.fullmatch(lines[0]) is None:
            lines.pop(0)
        if not lines:
            return False
        lines.pop(0)
    return True


class Shell:
    """A folder that looks as kaged's does after `make run`, and what is pasted into a shell there."""

    def __init__(self, demo: Demo, home: Path) -> None:
        self._demo = demo
        self._home = home
        self.folder = home / "clone"
        binaries = self.folder / ".venv" / "bin"
        binaries.mkdir(parents=True)
        (self.folder / ".kaged-data").mkdir()
        (self.folder / ".kaged-data" / "demo").symlink_to(demo.root)
        (self.folder / ".kaged-data" / "daemon").symlink_to(demo.data_dir)
        (self.folder / "examples").mkdir()
        (self.folder / "examples" / "demo").symlink_to(demo.root)
        for name, command in (("python", ""), ("kaged", "-m app ")):
            (binaries / name).write_text(f'#!/bin/sh\nexec {sys.executable} {command}"$@"\n')
            (binaries / name).chmod(0o755)

    async def run(self, script: str, *, seconds: float = SECONDS) -> str:
        """Run a script and return what it printed; it has to succeed."""
        assert self._demo.daemon is not None
        process = await asyncio.create_subprocess_exec(
            "sh",
            "-eu",
            "-c",
            script.replace("127.0.0.1:7777", self._demo.daemon.url.removeprefix("http://")),
            cwd=self.folder,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self._home),
                "LANG": "C.UTF-8",
                "PYTHONPATH": str(REPOSITORY),
            },
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(seconds):
                output, _ = await process.communicate()
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        assert process.returncode == 0, output.decode()
        return output.decode()

    async def follow(self, pasted: Sequence[Step], *, seconds: float = 180) -> list[str]:
        """Paste steps one after the other into one shell; return what each of them printed."""
        script = "".join(f"echo '{_MARK}'\n{step.script}\n" for step in pasted)
        _, *printed = (await self.run(script, seconds=seconds)).split(f"{_MARK}\n")
        return printed
