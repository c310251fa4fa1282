"""Measure opening a file under the path rules and a cage against a plain `open` of the same file."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from app.tools.authorisation.cage_policy import CagePolicy
from app.workspace import Workspace, descriptors
from bench.figures import report

ROUNDS = 400
OPENINGS = 25
GOAL_US = 40.0
PATH = "src/package/module/file.py"
CAGE = {
    "fs": [
        {"mode": "ro", "path": "."},
        {"mode": "rw", "path": "./src"},
        {"mode": "deny", "path": "./src/secret"},
        {"mode": "rw", "path": "./tests"},
    ]
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder).resolve()
        root = base / "project"
        file = root / PATH
        file.parent.mkdir(parents=True)
        file.write_text("pass\n")
        (root / "linked").symlink_to("src/package")
        name = str(file)
        caged = Workspace(root, policy=CagePolicy(CAGE, root), closed=(base / "data", base / "config.toml"))
        free = Workspace(root, closed=(base / "data", base / "config.toml"))
        _report("no cage", *medians(name, free, PATH))
        _report("a cage of four entries", *medians(name, caged, PATH))
        _report("a cage, by way of a link", *medians(name, caged, "linked/module/file.py"), goal=False)
        kernel = descriptors._syscall
        try:
            descriptors._syscall = lambda: None  # type: ignore[assignment]
            _report("a cage, without openat2", *medians(name, caged, PATH), goal=False)
        finally:
            descriptors._syscall = kernel


def _report(what: str, bare: float, under_rules: float, *, goal: bool = True) -> None:
    limit = GOAL_US if goal else None
    report(f"{what}: above open ({bare:.1f} us)", under_rules - bare, "us", at_most=limit)


def medians(name: str, workspace: Workspace, path: str, rounds: int = ROUNDS) -> tuple[float, float]:
    """Return microseconds for one plain opening and for one by the workspace, taken in turns so that
    both see the same machine."""

    def bare() -> None:
        os.close(os.open(name, os.O_RDONLY | os.O_CLOEXEC))

    def under_rules() -> None:
        with workspace.open(path):
            pass

    for once in (bare, under_rules):
        _time(once)
    taken = [(_time(bare), _time(under_rules)) for _ in range(rounds)]
    return statistics.median(one for one, _ in taken), statistics.median(one for _, one in taken)


def _time(once: Callable[[], None]) -> float:
    began = time.perf_counter()
    for _ in range(OPENINGS):
        once()
    return (time.perf_counter() - began) / OPENINGS * 1_000_000


if __name__ == "__main__":
    main()
