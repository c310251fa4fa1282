"""Mounts folders while a cage is there that shows what is around them, and says what the cage sees.

Run by `test_mounts` as a program, with mounts of its own that are passed on, as systemd has them by default.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from app.bridges.processes.process import ChildProcesses
from app.cages.cage import Mount
from tests.driver.caging import cage_of, caged

FOLDERS = ("shown", "library/shown", ".git/shown")


def mount(folder: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], check=True)
    (folder / "later").write_text("mounted later")


async def seen(root: Path) -> dict[str, str]:
    """Return for each folder what is said of it by a cage that was there before the mount."""
    children = ChildProcesses()
    try:
        async with caged(children, root, cage_of(root, Mount(root / "library", "ro"))) as cage:
            await cage.says("true")
            for folder in FOLDERS:
                mount(root / folder)
            return {one: await cage.says(f"ls {one}; touch {one}/new && echo written") for one in FOLDERS}
    finally:
        await children.aclose()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(seen(Path(sys.argv[1])))))
