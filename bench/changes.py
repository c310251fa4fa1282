"""Changes of a session: 500 changed files in a tree of 100,000, and a file of 50,000 lines.

`git diff --numstat` and `git diff` do the same in the same run; both find their files in the system's memory.
The list is cold when it was never compared, or when many files have changed since. A daemon that has just
started reads every file once more.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.harness.checkpoints import worktree_notes
from bench.figures import percentile, report, spread
from tests.driver.sessions import Driver, driven, provider_settings, write_project
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider

FILES, CHANGED, LINES = 100_000, 500, 50_000
WARM = 30
YAML = """\
version: 1
project: large
primary: { model: main, system_prompt: "project:/prompts/primary.md", cage: disabled }
"""


def git(root: Path, *arguments: str) -> float:
    """Return the milliseconds of one command."""
    names = {"GIT_AUTHOR_NAME": "B", "GIT_AUTHOR_EMAIL": "b@b", "GIT_COMMITTER_NAME": "B"}
    environment = os.environ | names | {"GIT_COMMITTER_EMAIL": "b@b", "GIT_CONFIG_GLOBAL": "/dev/null"}
    began = time.perf_counter()
    subprocess.run(["git", *arguments], cwd=root, env=environment, capture_output=True, check=True)
    return (time.perf_counter() - began) * 1000


def fill(root: Path) -> list[Path]:
    """Make the tree, commit it, and return its files."""
    files: list[Path] = []
    folder = root
    for number in range(FILES):
        if number % 100 == 0:
            folder = root / f"package_{number // 5000}" / f"part_{number // 100}"
            folder.mkdir(parents=True)
        files.append(folder / f"module_{number}.py")
        files[-1].write_text("".join(f"value_{line} = {number + line}\n" for line in range(20)))
    (root / "long.txt").write_text("".join(f"line {line} of a long text\n" for line in range(LINES)))
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "all")
    return files


def change(files: list[Path], root: Path) -> None:
    """Change 500 files, and every 50th line of the long one."""
    for file in random.Random(7).sample(files, CHANGED - 1):
        file.write_text(file.read_text().replace("value_7 =", "changed_7 =") + "added = 1\n")
    lines = (root / "long.txt").read_text().splitlines(keepends=True)
    lines[::50] = [line.upper() for line in lines[::50]]
    (root / "long.txt").write_text("".join(lines))


async def timed(driver: Driver, path: str) -> tuple[float, Any]:
    began = time.perf_counter()
    answer = await driver.session_call("GET", path)
    return (time.perf_counter() - began) * 1000, answer


async def measure(folder: Path) -> None:
    worktree_notes.NOTE_SECONDS = 600.0  # a busy machine takes its time for the first note
    root = write_project(folder / "large", YAML)
    files = fill(root)
    async with FakeProvider() as fake:
        settings: dict[str, Any] = {
            "models": {"main": "fake:model-a"}, "providers": provider_settings("openai", f"http://127.0.0.1:{fake.port}"),
        }  # fmt: skip
        async with driven(folder / "data", root, **settings) as driver:
            fake.script(text_reply("Done."))
            began = time.perf_counter()
            await driver.run("Begin")
            await driver.daemon.services.sessions._services.notes.settled(driver.session_id)
            print(f"the first message, with the note of {FILES:,} files: {time.perf_counter() - began:.1f} s")
            before, _ = await timed(driver, "/changes")
            print(f"the first list, nothing changed: {before:.0f} ms")
            change(files, root)
            await compare(driver, root, lambda: git(root, "diff", "--numstat"))


async def compare(driver: Driver, root: Path, numstat: Callable[[], float]) -> None:
    theirs = sorted(numstat() for _ in range(5))[2]
    cold, page = await timed(driver, "/changes?limit=100")
    assert (page["total"], len(page["items"])) == (CHANGED, 100), page["total"]
    report("changes, cold page of 100 with counts", cold, "ms", at_most=1000)
    report("  ratio to `git diff --numstat`", cold / theirs, "")
    warm = [(await timed(driver, "/changes?limit=100"))[0] for _ in range(WARM)]
    print(f"changes, warm: {spread(warm, 'ms')}; git diff --numstat {theirs:.0f} ms")
    report("changes, warm page of 100 with counts (95th)", percentile(warm, 0.95), "ms", at_most=50)
    report("  ratio to `git diff --numstat`", percentile(warm, 0.5) / theirs, "")
    (root / "one_more.txt").write_text("one\n")
    again, page = await timed(driver, "/changes?limit=100")
    assert page["total"] == CHANGED + 1
    print(f"after one more change: {again:.0f} ms")
    ours = [(await timed(driver, "/changes/long.txt"))[0] for _ in range(7)]
    diff = sorted(git(root, "diff", "--", "long.txt") for _ in range(7))[3]
    print(f"difference of {LINES:,} lines: ours {spread(ours, 'ms')}; git diff {diff:.0f} ms")
    report("  ratio to `git diff`", percentile(ours, 0.5) / diff, "")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="kaged-bench-") as folder:
        asyncio.run(measure(Path(folder)))
