"""A cage as it is written, and what is left of it below its parent's.

Owns: the variables of its paths, nested projects' paths below the compiled root, the comparison with the
parent's cage, and the part that takes effect. Never: enforcing a cage.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from app.cages.file_grants import VARIABLES
from app.cages.network_rules import NetworkRules
from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node
from app.harness.dsl.paths import PathProblem, read_path
from app.harness.dsl.spec_cage import CageLimits, CageMount, CageNet, CageSpec
from app.nearest_names import did_you_mean

AnyCage = Literal["disabled"] | CageSpec
_NUMBERS = ("walltime_seconds", "cpu_seconds", "memory_mb", "pids", "file_size_mb", "open_files")
_RIGHTS: dict[Literal["deny", "ro", "rw"], int] = {"deny": 0, "ro": 1, "rw": 2}
_WORKSPACE = "{workspace}"
_VARIABLE = re.compile(r"\{([^{}/]*)\}")


def rebase_cage(cage: CageSpec, node: Node, root: Path, bag: DiagnosticBag) -> CageSpec:
    """Return the cage with every path relative to `root`; report paths that no cage may name."""
    mounts = []
    fs = node.get("fs")
    for index, mount in enumerate(cage.fs):
        entry = fs.step(index) if fs is not None else None
        path = (entry.get("path") if entry is not None else None) or node
        try:
            plain = _without_workspace(mount.path)
            _refuse_pattern(plain)
            if _VARIABLE.match(plain):
                mounts.append(CageMount(mode=mount.mode, path=_checked_rest(plain)))
                continue
            written = read_path(plain)
            relative = written.under(path.position.source.project_root).relative_to(root)
        except PathProblem as problem:
            bag.error(problem.code, f"`{mount.path}`: {problem.message}", path.position)
            continue
        mounts.append(CageMount(mode=mount.mode, path=relative.as_posix()))
    return cage.model_copy(update={"fs": mounts})


def _without_workspace(path: str) -> str:
    """Take `{workspace}` away, which is where relative paths begin anyway; raise PathProblem for a
    variable that does not exist, or stands elsewhere than at the beginning."""
    for found in _VARIABLE.finditer(path):
        if found[1] not in VARIABLES:
            known = ", ".join(f"{{{name}}}" for name in VARIABLES)
            hint = did_you_mean(found[1], VARIABLES)
            raise PathProblem("unknown_variable", f"there is no such variable{hint}; known are {known}")
        if found.start() > 0 or path[found.end() : found.end() + 1] not in {"", "/"}:
            raise PathProblem("path_invalid", f"`{found[0]}` can only be the first part of the path")
    if path == _WORKSPACE:
        return "."
    return path.removeprefix(f"{_WORKSPACE}/") or "."


def _refuse_pattern(path: str) -> None:
    """Raise PathProblem for what looks like a pattern: it would grant nothing, and deny nothing."""
    if "*" in path:
        raise PathProblem("path_invalid", "a cage names folders and files, no patterns; name the folder")


def _checked_rest(path: str) -> str:
    """Return a path that begins with a variable, its rest read like any other path."""
    variable, _, rest = path.partition("/")
    return "/".join((variable, *read_path(rest or ".").parts))


def effective(child: AnyCage, parent: AnyCage) -> AnyCage:
    """What is left of a child's cage below its parent's: never more than the parent has.

    A path denied above stays denied below, whatever the child's own entries say."""
    if parent == "disabled":
        return child
    if child == "disabled":
        return parent
    return child.model_copy(
        update={
            "fs": _common_mounts(child, parent),
            "net": CageNet(allow=_common_hosts(child.net.allow, parent.net.allow)),
            "capabilities": [name for name in child.capabilities if name in parent.capabilities],
            "ipc": [name for name in child.ipc if name in parent.ipc],
            "seccomp": "relaxed" if child.seccomp == parent.seccomp == "relaxed" else "default",
            "state": "persistent" if child.state == parent.state == "persistent" else "ephemeral",
            "outside": "mark" if child.outside == parent.outside == "mark" else "none",
            "limits": child.limits.model_copy(
                update={name: _lower(child, parent, name) for name in _NUMBERS}
            ),
        }
    )


def _common_mounts(child: CageSpec, parent: CageSpec) -> list[CageMount]:
    """One entry for every path that either names; in between the same entry decides in both."""
    names = {right: mode for mode, right in _RIGHTS.items()}
    paths = dict.fromkeys(mount.path for mount in (*child.fs, *parent.fs))
    return [
        CageMount(mode=names[min(_right_of(path, child), _right_of(path, parent))], path=path)
        for path in paths
    ]


def _common_hosts(child: list[str], parent: list[str]) -> list[str]:
    above = NetworkRules.of(parent).targets
    met = (own.meeting(other) for own in NetworkRules.of(child).targets for other in above)
    return list(dict.fromkeys(str(target) for target in met if target is not None))


def _lower(child: CageSpec, parent: CageSpec, name: str) -> int | None:
    bounds = [getattr(cage.limits, name) for cage in (child, parent)]
    return min((bound for bound in bounds if bound is not None), default=None)


def broader(child: AnyCage, parent: AnyCage) -> list[str]:
    """What the child's cage grants beyond the parent's, in words; empty when nothing."""
    if parent == "disabled":
        return []
    if child == "disabled":
        return ["it is not caged at all"]
    allowed = NetworkRules.of(parent.net.allow)
    return [
        *(f"{m.mode} on `{m.path}`" for m in child.fs if _right_of(m.path, parent) < _RIGHTS[m.mode]),
        *(f"net `{target}`" for target in child.net.allow if not allowed.covers(target)),
        *(f"capability `{name}`" for name in child.capabilities if name not in parent.capabilities),
        *(f"ipc `{name}`" for name in child.ipc if name not in parent.ipc),
        *(["seccomp relaxed"] if (child.seccomp, parent.seccomp) == ("relaxed", "default") else []),
        *(["persistent state"] if (child.state, parent.state) == ("persistent", "ephemeral") else []),
        *(["outside matches"] if (child.outside, parent.outside) == ("mark", "none") else []),
        *(f"limits.{name}" for name in _NUMBERS if _limit_raised(child, parent, name)),
    ]


def grants(cage: AnyCage) -> list[str]:
    """Everything that a cage grants, in words; limits are no grants."""
    return widened(cage, CageSpec(outside="none"))


def widened(cage: AnyCage, before: AnyCage) -> list[str]:
    """What a cage grants beyond an earlier version of it, in words, and where a denial is gone. Limits are
    left out."""
    if cage == "disabled" or before == "disabled":
        return broader(cage, before)
    paths = dict.fromkeys(mount.path for mount in (*cage.fs, *before.fs))
    names = {right: mode for mode, right in _RIGHTS.items()}
    fs = [CageMount(mode=names[_right_of(path, cage)], path=path) for path in paths]
    return broader(cage.model_copy(update={"fs": fs, "limits": CageLimits()}), before)


def _right_of(path: str, cage: CageSpec) -> int:
    """What the cage allows at a path: the entry with the most parts decides, among equals a denial."""
    parts = Path(path).parts
    found = [
        (len(own), mount.mode == "deny", _RIGHTS[mount.mode])
        for mount in cage.fs
        if parts[: len(own := Path(mount.path).parts)] == own
    ]
    return max(found, key=lambda one: one[:2])[2] if found else 0


def _limit_raised(child: CageSpec, parent: CageSpec, name: str) -> bool:
    ceiling: int | None = getattr(parent.limits, name)
    own: int | None = getattr(child.limits, name)
    return ceiling is not None and own is not None and own > ceiling
