"""Compare `search.ast` with the ast-grep command line on about 30,000 files.

With a rare word in the pattern, ripgrep selects the files first; without one, both parse all files.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from app.bridges.processes.process import ChildProcesses
from app.programs import packaged
from app.tools.ast_grep.engine import AstGrep
from app.tools.ast_grep.listing import SourceFiles
from app.tools.dispatch.registry import ToolRegistry
from app.tools.dispatch.service import ToolService
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.read_tracker import ReadTracker
from app.tools.search import ast_search
from app.workspace.ignore_rules import rules_above
from bench.figures import report, spread
from bench.searching import Bench
from bench.source_tree import source_tree

RARE = (
    ("a rare word", "self.assertRaisesRegex($$$A)"),
    ("a word of some hundred files", "warnings.warn($A, DeprecationWarning)"),
)
COMMON = (("a word of most files", "self.$NAME = None"), ("no word", "$A == $B"))
TURNS = 3


def _command_line(root: Path, pattern: str) -> float:
    began = time.perf_counter()
    program = str(packaged("ast-grep"))
    command = [program, "run", f"--pattern={pattern}", "--lang=python", "--json=stream", "."]
    subprocess.run(command, cwd=root, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1000


async def _compare(root: Path) -> None:
    children = ChildProcesses()
    files = ProjectFiles(reads=ReadTracker())
    engine, sources = AstGrep(children), SourceFiles(children, rules_above)
    tool = ast_search.build(files, CallProcesses.uncaged(children), engine, sources, seconds=600)
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(root, Path(scratch), ToolService(ToolRegistry((tool,))))
        try:
            for at_most, patterns in ((0.5, RARE), (1.1, COMMON)):
                for name, pattern in patterns:
                    await _one(bench, name, pattern, at_most)
        finally:
            await children.aclose()


async def _one(bench: Bench, name: str, pattern: str, at_most: float) -> None:
    ours, plain = [], []
    for _ in range(TURNS):
        ours.append(await bench.ours("search.ast", pattern=pattern, lang="python"))
        plain.append(await asyncio.to_thread(_command_line, bench.root, pattern))
    print(f"{name}, {pattern}: ours {spread(ours, 'ms')}; ast-grep {spread(plain, 'ms')}")
    ratio = statistics.median(ours) / statistics.median(plain)
    report(f"{name}, ratio", ratio, "", at_most=at_most)


def main() -> None:
    with source_tree() as root:
        asyncio.run(_compare(root))
