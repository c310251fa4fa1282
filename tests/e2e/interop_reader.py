"""A reader of a page such as docs/interop.md: a home with a project `shop`, a scripted model, and a shell.

Owns: the sections and blocks of a page, and what the reader's machine has on its `PATH`. Never: what a
section is about.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.driver.daemon_process import REPOSITORY
from tests.driver.kaged import Home

PAGE = REPOSITORY / "docs" / "interop.md"
PORT = "127.0.0.1:7777"
SYSTEM = "/usr/local/bin:/usr/bin:/bin"
"""Where programs lie that a cage shows."""


def section(title: str, page: Path = PAGE) -> str:
    """Return what stands below a heading of any level, down to the next one of its own level or above."""
    found: list[str] = []
    level, fenced = 0, False
    for line in page.read_text().splitlines():
        fenced ^= line.startswith("```")
        marks, _, name = line.partition(" ")
        if not fenced and marks and not marks.strip("#"):  # a comment in a block is no heading
            if level and len(marks) <= level:
                break
            if not level and name == title:
                level = len(marks)
                continue
        if level:
            found.append(f"{line}\n")
    assert found, f"the page has no section {title}"
    return "".join(found)


def blocks(title: str, language: str, page: Path = PAGE) -> list[str]:
    """Return the blocks of a language below a heading."""
    return re.findall(rf"^```{language}\n(.*?)^```$", section(title, page), re.DOTALL | re.MULTILINE)


def merged(base: Any, more: Any) -> Any:
    """Return a document with what another one adds to it."""
    if not (isinstance(base, dict) and isinstance(more, dict)):
        return more
    return base | {key: merged(base.get(key), value) for key, value in more.items()}


@dataclass
class Reader(Home):
    """`model_port` is that of the scripted model, which the provider of a new project is sent to."""

    trusted: bool = False
    model_port: int = field(kw_only=True)
    daemon_url: str = ""

    def __post_init__(self) -> None:
        self.project.mkdir()
        (self.project / "README.md").write_text("# Shop\n\nIt sells things.\n")
        self.program("kaged", f'exec {shlex.quote(sys.executable)} -m app "$@"')
        self.config.write_text(
            f'[providers.anthropic]\napi_key = "sk-test"\nbase_url = "http://127.0.0.1:{self.model_port}"\n'
            "[daemon]\nport = 0\n"
        )

    @property
    def project(self) -> Path:
        return self.folder / "shop"

    @property
    def project_file(self) -> Path:
        return self.project / ".kaged" / "project.yaml"

    def program(self, name: str, script: str) -> Path:
        """Put a program on the reader's `PATH`."""
        file = self.folder / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return file

    def add_to_project(self, text: str) -> None:
        """Add what a block of the page has to the project file."""
        document = merged(yaml.safe_load(self.project_file.read_text()), yaml.safe_load(text))
        self.project_file.write_text(yaml.safe_dump(document, sort_keys=False))

    def environment(self, **extra: str) -> dict[str, str]:
        path = f"{self.folder / 'bin'}:{SYSTEM}:{os.environ['PATH']}"
        return super().environment(**{"PATH": path, "NO_PROXY": "127.0.0.1", **extra})

    async def shell(self, script: str, *, cwd: Path | None = None) -> tuple[int, str]:
        """Paste a script into a shell; return its exit code and what it printed."""
        process = await asyncio.create_subprocess_exec(
            *("sh", "-eu", "-c", script),
            cwd=cwd or self.folder,
            env=self.environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, output.decode()

    async def paste(self, script: str, *, cwd: Path | None = None) -> str:
        """Paste a script into a shell; it has to succeed."""
        code, printed = await self.shell(script, cwd=cwd)
        assert code == 0, printed
        return printed
