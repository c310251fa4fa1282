"""Identifiers: a prefix that names the noun, then a ULID (sortable by time of creation); paths of agents."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Literal

from ulid import ULID

Prefix = Literal[
    "prj",
    "ses",
    "run",
    "stp",
    "msg",
    "tcl",
    "ckp",
    "cmp",
    "rbk",
    "rvt",
    "ped",
    "wtr",
    "iss",
    "isu",
    "isl",
    "todo",
    "tpr",
    "upl",
    "wfr",
    "evt",
    "itx",
    "dap",
    "req",
    "tok",
    "rul",
    "cmd",
    "dmn",
    "wks",
    "att",
    "ntf",
]

ROOT_AGENT = "primary"
"""The path of a project's root agent."""
SUBAGENTS = ".subagents."
"""Stands in an agent's path before each key below the root, as in `primary.subagents.coder`."""

_SHAPE = re.compile(r"^[a-z]{3,4}_[0-9A-HJKMNP-TV-Z]{26}$")


def new_id(prefix: Prefix) -> str:
    """Return a fresh identifier such as `ses_01J...`; later calls sort after earlier ones."""
    return f"{prefix}_{ULID()}"


def first_id(prefix: Prefix, at: int) -> str:
    """Return what no identifier sorts before that was made at `at` (milliseconds) or later."""
    return f"{prefix}_{str(ULID.from_timestamp(at / 1000))[:10]}{'0' * 16}"


def is_id(value: str, prefix: Prefix | None = None) -> bool:
    """Tell whether `value` has the shape of an identifier (of `prefix`, when given)."""
    return bool(_SHAPE.match(value)) and (prefix is None or value.startswith(prefix + "_"))


def now_ms() -> int:
    """Return the wall-clock time in integer milliseconds since the epoch (UTC)."""
    return time.time_ns() // 1_000_000


def paths_above(agent_path: str) -> Iterator[str]:
    """Yield the paths of the agents above one, its parent first."""
    while SUBAGENTS in agent_path:
        agent_path = agent_path.rpartition(SUBAGENTS)[0]
        yield agent_path
