"""The README's commands, run as they are written there, against the demo."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.daemon_process import REPOSITORY
from tests.e2e.demo_daemon import Demo

README = REPOSITORY / "README.md"
SECONDS = 90


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[Demo]:
    demo = Demo(tmp_path)
    await demo.start()
    yield demo
    await demo.stop()


def commands(heading: str) -> str:
    """Return the first block of shell commands below a heading of the README."""
    found = re.search(rf"^## {heading}\n.*?^```sh\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    assert found is not None, f"the README has no commands below {heading!r}"
    return found[1]


async def run(script: str, demo: Demo, home: Path) -> str:
    """Run `script` in a folder that looks as it does after `make run`; return what it printed."""
    assert demo.daemon is not None
    folder = home / "clone"
    binaries = folder / ".venv" / "bin"
    binaries.mkdir(parents=True)
    (folder / ".kaged-data").mkdir()
    (folder / ".kaged-data" / "demo").symlink_to(demo.root)
    (folder / ".kaged-data" / "daemon").symlink_to(demo.data_dir)
    (folder / "examples").mkdir()
    (folder / "examples" / "demo").symlink_to(demo.root)
    for name, command in (("python", ""), ("kaged", "-m app ")):
        (binaries / name).write_text(f'#!/bin/sh\nexec {sys.executable} {command}"$@"\n')
        (binaries / name).chmod(0o755)
    process = await asyncio.create_subprocess_exec(
        "sh",
        "-eu",
        "-c",
        script.replace("127.0.0.1:7777", demo.daemon.url.removeprefix("http://")),
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "PYTHONPATH": str(REPOSITORY)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(SECONDS):
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()


async def test_the_walk_by_hand_loads_creates_posts_and_watches(demo: Demo, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl on this machine")
    printed = await run(commands("By hand"), demo, tmp_path)
    for kind in (
        "sync",
        "message.posted",
        "message.tool_call",
        "message.tool_result",
        "run.ended",
    ):
        assert f'"type":"{kind}"' in printed
    assert '"content":"Fix the failing test"' in printed.splitlines()[-1]
    code, output = await demo.tests()
    assert code == 0, output


async def test_the_commands_for_a_terminal_find_the_daemon_of_make_run(demo: Demo, tmp_path: Path) -> None:
    script = commands("From a terminal").replace("kaged doctor", "kaged doctor || true")
    printed = await run(script, demo, tmp_path)
    assert "✓ file.read bakery/basket.py" in printed
    assert "ten percent off for a dozen pieces" in printed
    assert re.search(r"ses_\w+ +idle .* Explain this project", printed)
    assert "✓ running" in printed


def test_every_file_that_the_documents_link_to_is_there() -> None:
    for document in (README, *(REPOSITORY / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
