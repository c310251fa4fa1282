"""A workspace of a repository with 30,000 files, from the request until it is ready; then the copy that
`link` makes of a folder with as many.

`git worktree add` of the same commit, and `cp -a` of the same folder, are the floors of the same run, in
turns. All write onto the same disk.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from app.harness.workspaces.copying import CopyBounds, copy_tree
from bench.figures import report, spread
from bench.source_tree import source_tree
from tests.driver.sessions import driven, provider_settings, write_project
from tests.driver.workspaces import new_workplace
from tests.fakes.provider_server import FakeProvider

FILES, TURNS = 30_000, 5
YAML = """\
version: 1
project: large
primary: { model: main, system_prompt: "project:/prompts/primary.md", cage: disabled }
"""


def git(root: Path, *arguments: str) -> float:
    """Return the milliseconds of one command."""
    environment = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null"}
    began = time.perf_counter()
    subprocess.run(["git", *arguments], cwd=root, env=environment, capture_output=True, check=True)
    return (time.perf_counter() - began) * 1000


def _commit(root: Path) -> None:
    shutil.rmtree(root / ".git")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "-c", "gc.auto=0", "-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "all")
    git(root, "gc", "-q")


async def _measure(folder: Path, root: Path) -> None:
    async with FakeProvider() as fake:
        settings: dict[str, Any] = {
            "models": {"main": "fake:model-a"}, "providers": provider_settings("openai", f"http://127.0.0.1:{fake.port}"),
            "projects": {"trusted": [str(root)]},
        }  # fmt: skip
        async with driven(folder / "data", root, **settings) as driver:
            for base in ("head", "working"):
                ours, theirs = [], []
                for turn in range(TURNS):
                    place = folder / f"{base}-{turn}"
                    theirs.append(
                        await asyncio.to_thread(git, root, "worktree", "add", "--detach", str(place))
                    )
                    began = time.perf_counter()
                    made = await new_workplace(driver.client, driver.project_id, base=base)
                    ours.append((time.perf_counter() - began) * 1000)
                    await asyncio.to_thread(git, root, "worktree", "remove", "--force", str(place))
                    await made.post("discard")
                    await asyncio.to_thread(shutil.rmtree, made.root)
                what = f"workspace of {FILES:,} files, base {base}"
                print(f"{what}: ours {spread(ours, 'ms')}; git worktree add {spread(theirs, 'ms')}")
                report(what, statistics.median(ours), "ms")
                ratio = statistics.median(ours) / statistics.median(theirs)
                report("  ratio to `git worktree add`", ratio, "", at_most=1.0 if base == "head" else None)


def _link(folder: Path, root: Path) -> None:
    ours, theirs = [], []
    for turn in range(TURNS):
        made = folder / f"link-{turn}"
        made.mkdir()
        began = time.perf_counter()
        copy_tree(root, made, CopyBounds(most_bytes=10**12))
        ours.append((time.perf_counter() - began) * 1000)
        shutil.rmtree(made)
        began = time.perf_counter()
        subprocess.run(["cp", "-a", "--reflink=auto", root, made], check=True)
        theirs.append((time.perf_counter() - began) * 1000)
        shutil.rmtree(made)
    print(f"link of {FILES:,} files: ours {spread(ours, 'ms')}; cp -a {spread(theirs, 'ms')}")
    report("  ratio to `cp -a`", statistics.median(ours) / statistics.median(theirs), "")


def main() -> None:
    with source_tree(FILES) as root, tempfile.TemporaryDirectory(prefix="kaged-bench-") as folder:
        write_project(root, YAML)
        _commit(root)
        asyncio.run(_measure(Path(folder), root))
        shutil.rmtree(root / ".git")
        _link(Path(folder), root)
