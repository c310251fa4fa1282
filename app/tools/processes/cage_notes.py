"""Notes on its cage that a caged agent gets after a call.

Owns: their words. Never: finding out what happened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.bridges.sandbox.new_names import Settled
from app.cages.cage import LINES, LOCAL_FILE
from app.errors import ToolError
from app.tools.contract.call import ToolCallContext

MAX_NAMED = 20
_ABSENT = frozenset({"unresolvable", "unreachable", "no_answer"})
RUN_OUT = (
    "walltime_exceeded: the wall time of this cage is over, and everything in it was killed. No program can "
    "be started in the rest of this run: finish with what you have."
)

RUN_OUT_DIRECTLY = (
    "walltime_exceeded: the wall time of this cage is over, and everything in it was killed. The next call "
    "begins with a new one."
)

EXCEEDED = {
    "cpu_seconds": "cpu_seconds: the processor time of this cage is used up. New programs in it are killed.",
    "memory_mb": "memory_mb: the memory of this cage was used up, and a process in it was killed.",
    "pids": "pids: no more processes could be started in this cage. Background processes count as well.",
}
"""The notes, each once, after a limit killed or refused something."""


def with_way_out(error: ToolError, context: ToolCallContext) -> ToolError:
    """Return the error; one that says that a cage cannot be held has, for the root agent, the lines by which
    the operator does without on this machine."""
    if error.code != "cage_unavailable" or context.cage is None or not context.is_root_agent:
        return error
    message = (
        f"{error.message} To let the root agent run programs with all rights of the daemon's user on "
        f"this machine, the operator adds these lines to {LOCAL_FILE} and runs `kaged trust`:\n{LINES}"
    )
    return ToolError(error.code, message, detail={**error.detail, "file": LOCAL_FILE, "lines": LINES})


def taken_away(settled: Settled, root: Path) -> Iterator[str]:
    """Yield the notes on names that were taken away, or could not be."""
    gone = [one.path for one in settled.taken_away if one.kept_at is not None]
    left = [one.path for one in settled.taken_away if one.kept_at is None]
    if gone:
        yield (
            f"taken_away: {_listed(gone, root)}. Protected names (.git, .kaged, start-up files of shells and "
            "editors) cannot be created or changed in a cage. The operator has the removed files."
        )
    if settled.made:
        yield (
            f"made: {_listed(list(settled.made), root)}. Other programs read or run such files by "
            "themselves. They stay, and the operator is informed."
        )
    if settled.beyond:
        yield (
            f"not_all_protected: this project has {settled.beyond} more protected names than can be kept "
            "read-only. Do not write to them; the operator is informed."
        )
    if left:
        yield (
            f"protected: {_listed(left, root)} could not be removed; the operator is informed. "
            "Do not create such names."
        )


def not_connected(refused: Mapping[str, str]) -> Iterator[str]:
    """Yield the notes on hosts that the cage's proxy has refused, by the kind of refusal."""
    closed = sorted(place for place, kind in refused.items() if kind in {"not_allowed", "numeric"})
    inner = sorted(place for place, kind in refused.items() if kind == "not_public")
    absent = sorted(place for place, kind in refused.items() if kind in _ABSENT)
    if closed:
        hosts = ", ".join(f'"{place}"' for place in closed)
        yield (
            f"not_connected: {', '.join(closed)} is not among the hosts that this cage may reach. Work "
            f"without it, or ask the operator to allow it by name: `net: {{ allow: [{hosts}] }}`."
        )
    if inner:
        yield (
            f"not_connected: {', '.join(inner)} leads to this machine or its own network, which no cage may "
            "reach. Reach a test server inside the cage at 127.0.0.1, without the proxy."
        )
    if absent:
        yield (
            f"not_connected: {', '.join(absent)} is allowed, but this machine does not reach it: its name is "
            "not found, or nothing answers. The cage is not the cause."
        )


def _shown(path: str, root: Path) -> str:
    for base in (str(root), os.path.realpath(root)):
        if path.startswith(f"{base}/"):
            path = path[len(base) + 1 :]
            break
    return path.encode("utf-8", "backslashreplace").decode()


def _listed(paths: list[str], root: Path) -> str:
    more = len(paths) - MAX_NAMED
    return ", ".join(repr(_shown(path, root)) for path in paths[:MAX_NAMED]) + (
        f" and {more} more" if more > 0 else ""
    )
