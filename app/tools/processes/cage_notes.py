"""What a caged agent is told of its cage after a call.

Owns: the words. Never: finding out what there is to tell.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.bridges.sandbox.manager import Settled
from app.cages.cage import LINES, LOCAL_FILE
from app.errors import ToolError
from app.tools.contract.call import ToolCallContext

MAX_NAMED = 20
RUN_OUT = (
    "walltime_exceeded: the time of this cage is over, and everything in it was killed. Nothing more can be "
    "started in this run; finish with what there is."
)

RUN_OUT_DIRECTLY = (
    "walltime_exceeded: the time of this cage is over, and everything in it was killed. The next call begins "
    "with a new one."
)

EXCEEDED = {
    "cpu_seconds": "cpu_seconds: the processor time of this cage is used up; what starts in it is killed.",
    "memory_mb": "memory_mb: something in this cage was killed, as the memory for all of it was used up.",
    "pids": "pids: no more processes could be started in this cage; those in the background count as well.",
}
"""What is told, once, when something was killed or refused by a limit."""


def with_way_out(error: ToolError, context: ToolCallContext) -> ToolError:
    """Return the error; one that says that a cage cannot be held has, for the root agent, the lines by which
    the operator does without on this machine."""
    if error.code != "cage_unavailable" or context.cage is None or not context.is_root_agent:
        return error
    message = (
        f"{error.message} To let the root agent run things with all rights of the daemon's user on this "
        f"machine, the operator writes into {LOCAL_FILE}, and trusts the project (`kaged trust`):\n{LINES}"
    )
    return ToolError(error.code, message, detail={**error.detail, "file": LOCAL_FILE, "lines": LINES})


def taken_away(settled: Settled, root: Path) -> Iterator[str]:
    """Yield what is to be told of names that were taken away, and of those that could not be."""
    gone = [one.path for one in settled.taken_away if one.kept_at is not None]
    left = [one.path for one in settled.taken_away if one.kept_at is None]
    if gone:
        yield (
            f"taken_away: {_listed(gone, root)}. Protected names (.git, .kaged, start-up files of shells and "
            "editors) cannot be written in a cage, new ones neither. The operator has what was taken."
        )
    if settled.made:
        yield (
            f"made: {_listed(list(settled.made), root)}. Other programs read or run such files by "
            "themselves. They stay, and the operator is told."
        )
    if settled.beyond:
        yield (
            f"not_all_protected: this project has {settled.beyond} more protected names than can be held "
            "read-only. Do not write to any of them; the operator is told."
        )
    if left:
        yield (
            f"protected: {_listed(left, root)} could not be taken away; the operator is told. "
            "Make no such names."
        )


def not_connected(refused: Mapping[str, str]) -> Iterator[str]:
    """Yield what is to be told of hosts that the cage's proxy has refused, by the kind of refusal."""
    closed = sorted(place for place, kind in refused.items() if kind in {"not_allowed", "numeric"})
    inner = sorted(place for place, kind in refused.items() if kind == "not_public")
    if closed:
        hosts = ", ".join(f'"{place}"' for place in closed)
        yield (
            f"not_connected: {', '.join(closed)} is not among the hosts that this cage may reach. Work "
            f"without, or ask the operator to allow it by name: `net: {{ allow: [{hosts}] }}`."
        )
    if inner:
        yield (
            f"not_connected: {', '.join(inner)} leads to this machine or its own network, where no cage is "
            "let; a test server inside the cage is reached by 127.0.0.1 without the proxy."
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
