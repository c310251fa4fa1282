"""A source tree to search: installed packages, copied until there are enough files.

Owns: `source_tree`. Never: linking to the originals; a benchmark may change its tree.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

LARGEST = 2_000_000
COMPILED = (".pyc", ".so", ".exe", ".node")
IGNORED = "__pycache__/\n*.pyc\n/build/\n*.log\n"
NEWEST = 1_750_000_000


@contextmanager
def source_tree(files: int = 30_000, wanted: Callable[[str], bool] = lambda _: True) -> Iterator[Path]:
    """Yield a folder with `files` source files (besides a few that its `.gitignore` leaves out), all of them
    wanted by their name.

    It looks like a git repository: `package_0/`, `package_1/`, ... hold copies of what is
    installed. Modification times differ from file to file and are the same in every run.
    """
    root = Path(tempfile.mkdtemp(prefix="kaged-bench-tree-"))
    try:
        _fill(root, files, wanted)
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _fill(root: Path, files: int, wanted: Callable[[str], bool]) -> None:
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".gitignore").write_text(IGNORED)
    (root / "build").mkdir()
    (root / "build" / "out.py").write_text("# TODO: this one is ignored\n")
    originals = sorted(one for one in _originals(Path(sysconfig.get_path("purelib"))) if wanted(one[1]))
    left = files - 1
    for copy in count():
        folder = root / f"package_{copy}"
        for source, relative in originals[:left]:
            target = folder / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            moment = NEWEST - (left * 7919) % 1_000_003
            os.utime(target, (moment, moment))
            left -= 1
        if left <= 0:
            return


def _originals(folder: Path) -> Iterator[tuple[Path, str]]:
    for parent, _, names in os.walk(folder):
        for name in names:
            source = Path(parent, name)
            if not name.endswith(COMPILED) and ".so." not in name and source.stat().st_size <= LARGEST:
                yield source, str(source.relative_to(folder))
