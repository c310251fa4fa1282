"""The states of a workspace and their legal moves, as `app.states` gives them to everybody.

Owns: what may follow what, as data. Never: I/O, or what a move makes necessary.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class WorkspaceState(StrEnum):
    """One workspace. `merged` and `discarded` are not its end: a merged one goes on and is merged again, a
    discarded one comes back until its folder is removed. `broken`: it could not be made, or its folder is
    gone."""

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
    _K.BROKEN: frozenset({_K.DISCARDED}),
    _K.KEPT: frozenset(),
}

WORKABLE = frozenset({_K.READY, _K.MERGING, _K.MERGED})
"""The states of a workspace in which its session may work."""
