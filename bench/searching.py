"""Run searches by our tools and by ripgrep alone in turns on one tree."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.bridges.processes.process import ChildProcesses
from app.programs import packaged
from app.tools.contract.call import ToolCallContext
from app.tools.dispatch.registry import ToolRegistry
from app.tools.dispatch.service import ToolService
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.read_tracker import ReadTracker
from app.tools.search import glob, grep
from app.tools.search.engine import Ripgrep
from app.tools.search.kept_lists import KeptLists
from app.workspace.folder_rules import ProjectRules
from app.workspace.tree_watch import TreeWatches
from bench.figures import report, spread
from tests.tools.conftest import Ports

TURNS = 15


@dataclass
class Bench:
    """The tools over one tree, and the same tree for ripgrep alone."""

    root: Path
    scratch: Path
    service: ToolService
    kept: KeptLists | None = None

    async def ours(self, tool: str, **params: Any) -> float:
        context = ToolCallContext(
            session_id="ses_bench",
            run_id=None,
            agent_path="primary",
            project_id="prj_bench",
            project_root=self.root,
            cage=None,
            request_id="req_bench",
            call_id="call_bench",
            scratch_dir=self.scratch,
            ports=Ports(),
        )
        began = time.perf_counter()
        envelope = await self.service.call(tool, params, context, allowed=self.service.registry.names())
        took = (time.perf_counter() - began) * 1000
        assert not envelope.is_error, envelope.model_text()
        return took

    def native(self, *arguments: str) -> float:
        began = time.perf_counter()
        subprocess.run([str(packaged("rg")), *arguments], cwd=self.root, stdout=subprocess.PIPE)
        return (time.perf_counter() - began) * 1000

    async def compare(
        self, name: str, native: Sequence[str], tool: str, *, at_most: float, plus: float = 0.0, **params: Any
    ) -> None:
        """Report how many times ripgrep's time ours is, `plus` milliseconds taken off ours first."""
        await self.ours(tool, **params)
        self.native(*native)
        mine, bare = [], []
        for _ in range(TURNS):
            mine.append(await self.ours(tool, **params))
            bare.append(self.native(*native))
        print(f"{name}: ours {spread(mine, 'ms')}; rg {' '.join(native)} {spread(bare, 'ms')}")
        ratio = max(0.0, statistics.median(mine) - plus) / statistics.median(bare)
        report(f"{name}, ratio{f' after {plus:g} ms' if plus else ''}", ratio, "", at_most=at_most)


@asynccontextmanager
async def bench(root: Path) -> AsyncIterator[Bench]:
    children = ChildProcesses()
    files = ProjectFiles(reads=ReadTracker())
    watches = TreeWatches(ProjectRules)
    processes = CallProcesses.uncaged(children)
    kept = KeptLists(watches, processes, Ripgrep.installed({}))
    tools = (grep.build(files, processes, {}), glob.build(files, processes, {}, kept=kept))
    with tempfile.TemporaryDirectory() as scratch:
        try:
            yield Bench(root, Path(scratch), ToolService(ToolRegistry(tools)), kept)
        finally:
            await kept.aclose()
            await watches.aclose()
            await children.aclose()
