"""The README of the Python client, executed as it stands and checked as a user's type checker would."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from tests.driver.daemon_process import REPOSITORY
from tests.driver.demo_daemon import Demo

CLIENT = REPOSITORY / "clients" / "python"


def blocks() -> list[str]:
    """Return the Python blocks of the README, in their order."""
    parts = (CLIENT / "README.md").read_text().split("```python\n")[1:]
    return [part.partition("```")[0] for part in parts]


async def execute(demo: Demo, script: str) -> str:
    """Run a script against the demo's daemon, with no other package than the client's on the path."""
    assert demo.daemon is not None
    script = script.replace("http://127.0.0.1:7777", demo.daemon.url)
    script = script.replace(".kaged-data/daemon", str(demo.data_dir)).replace(
        ".kaged-data/demo", str(demo.root)
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        script,
        env={**os.environ, "PYTHONPATH": str(CLIENT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=demo.root,
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()


async def test_the_first_task_in_ten_lines_repairs_the_demo(tmp_path: Path) -> None:
    first, _, asynchronous, _ = blocks()
    assert len([line for line in first.splitlines() if line.strip()]) <= 10
    demo = Demo(tmp_path)
    await demo.start()
    try:
        for script in (first, asynchronous):
            said = await execute(demo, script)
            assert "pieces" in said
            assert (await demo.tests())[0] == 0
            await demo.restore()
    finally:
        await demo.stop()


def test_the_examples_are_typed(tmp_path: Path) -> None:
    first, result, asynchronous, questions = blocks()
    (tmp_path / "first.py").write_text(first + result + questions)
    (tmp_path / "second.py").write_text(asynchronous)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "first.py", "second.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(CLIENT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
