"""A debug adapter or interpreter that a caged agent may write has no more rights than that agent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.bridges.dap.manager import DebugAdapters, DebugOwner, Declarations, Declared, LaunchRequest
from app.bridges.installed.written_programs import CagedAgent
from app.bridges.processes.process import ChildProcesses
from app.cages.file_grants import FileGrants
from app.cages.readable import Readable
from app.errors import ToolError

pytestmark = pytest.mark.requirement("security.server_views")


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ntouch {path.parents[2] / 'ran'}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("adapter", [None, ("tools/adapter",)], ids=["virtual-environment", "declared"])
async def test_what_an_agent_may_write_is_not_started_for_who_reads_more(tmp_path: Path, adapter) -> None:
    root = tmp_path / "project"
    program(root / ".venv" / "bin" / "python")
    program(root / "tools" / "adapter")
    (root / "main.py").write_text("print(1)\n")
    fs = [{"mode": "ro", "path": "main.py"}, {"mode": "rw", "path": ".venv"}, {"mode": "rw", "path": "tools"}]
    writer = CagedAgent("primary.subagents.worker", FileGrants.of(fs, root))
    declared = () if adapter is None else (Declared(runtime="python", adapter=adapter),)
    children = ChildProcesses()
    adapters = DebugAdapters(
        children,
        None,
        environment={"PATH": os.defpath, "HOME": str(tmp_path)},
        declared=lambda _: Declarations(project=declared, agents=(writer,)),
        record=lambda *_: None,
    )
    owner = DebugOwner("ses_1", "primary", "prj_1", root)
    try:
        for reads in (None, Readable.of(FileGrants.of([{"mode": "ro", "path": "."}], root))):
            request = LaunchRequest("python", root / "main.py", root, reads=reads)
            with pytest.raises(ToolError) as refused:
                await adapters.begin(owner, request, seconds=5.0)
            assert refused.value.code == "program_writable_in_cage"
    finally:
        await adapters.aclose()
        await children.aclose()
    assert not (tmp_path / "ran").exists() and not (root / "ran").exists()
