"""Compare `search.glob`, newest first, with the plain list of `rg --files -g` on about 30,000 files.

The first call of a project walks the folders; later ones read the maintained list.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path

from bench.figures import report, spread
from bench.searching import bench
from bench.source_tree import source_tree

PATTERNS = ("**/*.pyi", "**/__init__.py", "**/*.py", "package_1/**/*.py")
STARTS = 7


async def _first_calls(root: Path, pattern: str) -> None:
    mine, bare, made = [], [], []
    for _ in range(STARTS):
        async with bench(root) as both:
            await both.ours("search.grep", pattern="x", path="build")
            mine.append(await both.ours("search.glob", pattern=pattern))
            began = time.perf_counter()
            assert both.kept is not None and await both.kept.made(root)
            made.append((time.perf_counter() - began) * 1000)
            bare.append(both.native("--files", "-g", pattern))
    print(f"{pattern}, first call: ours {spread(mine, 'ms')}; rg {spread(bare, 'ms')}")
    print(f"the list is there after another {spread(made, 'ms')}")
    report(f"{pattern}, ratio of the first call", statistics.median(mine) / statistics.median(bare), "")


async def _later_calls(root: Path) -> None:
    async with bench(root) as both:
        await both.ours("search.glob", pattern=PATTERNS[0])
        assert both.kept is not None and await both.kept.made(root)
        for pattern in PATTERNS:
            native = ("--files", "-g", pattern)
            await both.compare(pattern, native, "search.glob", at_most=1.2, pattern=pattern)


def main() -> None:
    with source_tree() as root:
        for pattern in PATTERNS[:2]:
            asyncio.run(_first_calls(root, pattern))
        asyncio.run(_later_calls(root))
