"""Compare `search.grep` with ripgrep alone on about 30,000 files; a tenth of its time when it stops early."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from bench.searching import bench
from bench.source_tree import source_tree


async def _compare(root: Path) -> None:
    async with bench(root) as both:
        for name, pattern in (("few matches", "def run_in_executor"), ("thousands", "TODO")):
            native = ("-n", pattern, ".")
            await both.compare(
                name, native, "search.grep", at_most=1.1, plus=5, pattern=pattern, output_mode="content"
            )
        await both.compare("paths", ("-l", "TODO", "."), "search.grep", at_most=1.1, plus=5, pattern="TODO")
        lines: dict[str, Any] = {"pattern": "import", "output_mode": "content"}
        whole = ("-n", "import", ".")
        await both.compare("head_limit 50", whole, "search.grep", at_most=0.1, head_limit=50, **lines)
        await both.compare("the cap", whole, "search.grep", at_most=0.1, **lines)


def main() -> None:
    with source_tree() as root:
        asyncio.run(_compare(root))
