"""A folder on the PATH that the daemon's user may not look into hides what is in it, and breaks nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.attacks.scene import ORDINARY_USER, REPOSITORY, python_for

RESOLVE_ALL = """
import sys
from pathlib import Path
from app.bridges.dap.resolution import AdapterTable
from app.bridges.lsp.resolution import ServerTable
from app.errors import ToolError

environment = {"PATH": f"{sys.argv[1]}:{sys.argv[1]}/deeper:/usr/bin:/bin", "HOME": sys.argv[1]}
root = Path(sys.argv[2])
servers, adapters = ServerTable((), (), environment, root=root), AdapterTable((), (), environment, root=root)
for table, names in ((servers, servers.languages()), (adapters, adapters.runtimes())):
    for name in names:
        try:
            table.resolve(name)
        except ToolError as problem:
            assert problem.code in ("lsp_server_not_found", "debug_adapter_not_found"), problem.code
print("resolved")
"""


@pytest.mark.requirement("security.unreadable_path")
def test_programs_are_looked_for_beside_a_folder_that_nobody_may_look_into(tmp_path: Path) -> None:
    closed = Path("/var/tmp") / f"kaged-closed-{os.getpid()}"  # what is above it can be passed by everybody
    (closed / "deeper").mkdir(parents=True)
    closed.chmod(0)
    identity = {"user": ORDINARY_USER, "group": ORDINARY_USER, "extra_groups": ()} if not os.geteuid() else {}
    python, packages = python_for(ORDINARY_USER if not os.geteuid() else os.geteuid())
    try:
        done = subprocess.run(
            [python, "-c", RESOLVE_ALL, str(closed), "/var/tmp"],
            env={"PYTHONPATH": os.pathsep.join([str(REPOSITORY), *packages]), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            cwd="/",
            check=False,
            timeout=60,
            **identity,  # type: ignore[arg-type]
        )
    finally:
        closed.chmod(0o700)
        (closed / "deeper").rmdir()
        closed.rmdir()
    assert done.stdout == b"resolved\n", done.stderr.decode()[-2_000:]
