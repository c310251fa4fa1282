"""`search.glob`, newest first, against the mere list of `rg --files -g` on about 30,000 files."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bench.searching import bench
from bench.source_tree import source_tree


async def _compare(root: Path) -> None:
    async with bench(root) as both:
        for pattern in ("**/*.pyi", "**/__init__.py", "**/*.py", "package_1/**/*.py"):
            native = ("--files", "-g", pattern)
            await both.compare(pattern, native, "search.glob", at_most=1.2, pattern=pattern)


def main() -> None:
    with source_tree() as root:
        asyncio.run(_compare(root))
