"""A folder that the daemon's user may not read is listed, and hides no other."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.attacks.scene import ORDINARY_USER, REPOSITORY, python_for

LIST = """
import sys
import threading
from pathlib import Path
from app.harness.files.listing import Lister
from app.workspace import Workspace
from app.workspace.tree_rules import TreeRules

root = Path(sys.argv[1])
workspace = Workspace(root, any_name=True)
with workspace.held() as held, held.open(".") as opened:
    lister = Lister(held, TreeRules(root), depth=3, everything=False, stop=threading.Event())
    found = lister.listing(opened)
print(*(entry.path for entry in found.entries), "unreadable:", *sorted(found.unreadable))
"""


@pytest.mark.requirement("http.files")
def test_a_folder_without_permission_does_not_hide_the_others() -> None:
    root = Path("/var/tmp") / f"kaged-listed-{os.getpid()}"  # what is above it can be passed by everybody
    for name in ("closed", "open"):
        (root / name).mkdir(parents=True)
        (root / name / "a.txt").write_text("x\n")
    (root / "closed").chmod(0)
    identity = {"user": ORDINARY_USER, "group": ORDINARY_USER, "extra_groups": ()} if not os.geteuid() else {}
    python, packages = python_for(ORDINARY_USER if not os.geteuid() else os.geteuid())
    try:
        done = subprocess.run(
            [python, "-c", LIST, str(root)],
            env={"PYTHONPATH": os.pathsep.join([str(REPOSITORY), *packages]), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            cwd="/",
            check=False,
            timeout=60,
            **identity,  # type: ignore[arg-type]
        )
    finally:
        (root / "closed").chmod(0o700)
        shutil.rmtree(root)
    assert done.stdout == b"closed open open/a.txt unreadable: closed\n", done.stderr.decode()[-2_000:]
