"""Whether a child's cage grants more than its parent's.

Owns: the comparison, and bringing the paths of a nested project's cage under the compiled root.
Never: enforcing a cage. Paths are compared as tuples of parts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node
from app.harness.dsl.paths import PathProblem, read_path
from app.harness.dsl.spec_cage import CageMount, CageSpec

AnyCage = Literal["disabled"] | CageSpec
_NUMBERS = ("walltime_seconds", "cpu_seconds", "memory_mb", "pids", "file_size_mb", "open_files")
_RIGHTS = {"deny": 0, "ro": 1, "rw": 2}


def rebase_cage(cage: CageSpec, node: Node, root: Path, bag: DiagnosticBag) -> CageSpec:
    """Return the cage with every path relative to `root`; report paths that no cage may name."""
    mounts = []
    fs = node.get("fs")
    for index, mount in enumerate(cage.fs):
        entry = fs.step(index) if fs is not None else None
        path = (entry.get("path") if entry is not None else None) or node
        try:
            written = read_path(mount.path)
            relative = written.under(path.place.source.project_root).relative_to(root)
        except PathProblem as problem:
            bag.error(problem.code, f"`{mount.path}`: {problem.message}", path.place)
            continue
        mounts.append(CageMount(mode=mount.mode, path=relative.as_posix()))
    return cage.model_copy(update={"fs": mounts})


def broader(child: AnyCage, parent: AnyCage) -> list[str]:
    """What the child's cage grants beyond the parent's, in words; empty when nothing."""
    if parent == "disabled":
        return []
    if child == "disabled":
        return ["it is not caged at all"]
    return [
        *(f"{m.mode} on `{m.path}`" for m in child.fs if _right_of(m.path, parent) < _RIGHTS[m.mode]),
        *(f"net `{target}`" for target in child.net.allow if not _net_covered(target, parent.net.allow)),
        *(f"capability `{name}`" for name in child.capabilities if name not in parent.capabilities),
        *(f"ipc `{name}`" for name in child.ipc if name not in parent.ipc),
        *(["seccomp relaxed"] if (child.seccomp, parent.seccomp) == ("relaxed", "default") else []),
        *(["persistent state"] if (child.state, parent.state) == ("persistent", "ephemeral") else []),
        *(["outside matches"] if (child.outside, parent.outside) == ("mark", "none") else []),
        *(f"limits.{name}" for name in _NUMBERS if _limit_raised(child, parent, name)),
    ]


def _right_of(path: str, cage: CageSpec) -> int:
    """What the cage allows at a path: the entry with the most parts decides, among equals the later one."""
    parts = Path(path).parts
    best, right = -1, 0
    for mount in cage.fs:
        own = Path(mount.path).parts
        if parts[: len(own)] == own and len(own) >= best:
            best, right = len(own), _RIGHTS[mount.mode]
    return right


def _net_covered(target: str, allowed: list[str]) -> bool:
    host, port = _host_and_port(target)
    for candidate in allowed:
        other, other_port = _host_and_port(candidate)
        same_host = host == other or (other.startswith("*.") and host.removeprefix("*").endswith(other[1:]))
        if same_host and other_port in ("*", port):
            return True
    return False


def _host_and_port(target: str) -> tuple[str, str]:
    host, _, port = target.lower().partition(":")
    return host, port or "*"


def _limit_raised(child: CageSpec, parent: CageSpec, name: str) -> bool:
    ceiling: int | None = getattr(parent.limits, name)
    own: int | None = getattr(child.limits, name)
    return ceiling is not None and own is not None and own > ceiling
