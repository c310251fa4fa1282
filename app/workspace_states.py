"""The states of a workspace, and of attempts that work in several, with their legal moves, as `app.states`
gives them to everybody.

Owns: what may follow what, as data. Never: I/O, or what a move makes necessary.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class WorkspaceState(StrEnum):
    """One workspace. `merged` and `discarded` are not its end: a merged one goes on and is merged again, a
    discarded one comes back until its folder is removed. `broken`: it could not be made, or its folder is
    gone; it can be made again, or goes on when its folder is there again."""

    CREATING = "creating"
    READY = "ready"
    MERGING = "merging"
    MERGED = "merged"
    KEPT = "kept"
    DISCARDED = "discarded"
    BROKEN = "broken"


_K = WorkspaceState

WORKSPACE_MOVES: Mapping[WorkspaceState, frozenset[WorkspaceState]] = {
    _K.CREATING: frozenset({_K.READY, _K.DISCARDED, _K.BROKEN}),
    _K.READY: frozenset({_K.MERGING, _K.KEPT, _K.DISCARDED, _K.BROKEN}),
    _K.MERGING: frozenset({_K.READY, _K.MERGED, _K.BROKEN}),
    _K.MERGED: frozenset({_K.MERGING, _K.KEPT, _K.DISCARDED, _K.BROKEN}),
    _K.DISCARDED: frozenset({_K.READY, _K.BROKEN}),
    _K.BROKEN: frozenset({_K.CREATING, _K.READY, _K.DISCARDED}),
    _K.KEPT: frozenset(),
}

WORKABLE = frozenset({_K.READY, _K.MERGING, _K.MERGED})
"""The states of a workspace in which its session may work."""


class AttemptsState(StrEnum):
    """A group of attempts. `picking`: one is being merged and the others given up. `discarded`: all are, or
    are being, given up."""

    OPEN = "open"
    PICKING = "picking"
    PICKED = "picked"
    DISCARDED = "discarded"


class CheckState(StrEnum):
    """The check of one attempt. `none`: no check is asked for, or its run has not ended yet. `stopped`: the
    attempt was cancelled meanwhile. `failed`: the command ended with another code than 0, or could not
    run."""

    NONE = "none"
    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    STOPPED = "stopped"


_A, _C = AttemptsState, CheckState

ATTEMPTS_MOVES: Mapping[AttemptsState, frozenset[AttemptsState]] = {
    _A.OPEN: frozenset({_A.PICKING, _A.DISCARDED}),
    _A.PICKING: frozenset({_A.OPEN, _A.PICKED}),
    _A.PICKED: frozenset(),
    _A.DISCARDED: frozenset(),
}
CHECK_MOVES: Mapping[CheckState, frozenset[CheckState]] = {
    _C.NONE: frozenset({_C.RUNNING, _C.STOPPED}),
    _C.RUNNING: frozenset({_C.RUNNING, _C.PASSED, _C.FAILED, _C.STOPPED, _C.NONE}),
    _C.PASSED: frozenset({_C.RUNNING, _C.STOPPED}),
    _C.FAILED: frozenset({_C.RUNNING, _C.STOPPED}),
    _C.STOPPED: frozenset({_C.RUNNING, _C.STOPPED}),
}
"""A check that a restart has interrupted begins again; another run of the session makes it due again."""

MOVES: Mapping[type[StrEnum], Mapping[Any, frozenset[Any]]] = {
    WorkspaceState: WORKSPACE_MOVES,
    AttemptsState: ATTEMPTS_MOVES,
    CheckState: CHECK_MOVES,
}
