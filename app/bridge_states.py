"""The states of what other processes do for kaged: language servers, debug sessions, plugins and MCP servers,
with their legal moves, as `app.states` gives them to everybody.

Owns: what may follow what, as data. Never: I/O, or what a move makes necessary.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class LanguageServerState(StrEnum):
    """One language server of a project. `crashed` is begun again at the next use, `unavailable` only
    when somebody asks for it."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    CRASHED = "crashed"
    UNAVAILABLE = "unavailable"


_L = LanguageServerState

LANGUAGE_SERVER_MOVES: Mapping[LanguageServerState, frozenset[LanguageServerState]] = {
    _L.STOPPED: frozenset({_L.STARTING}),
    _L.STARTING: frozenset({_L.READY, _L.CRASHED, _L.STOPPED}),
    _L.READY: frozenset({_L.CRASHED, _L.STOPPED}),
    _L.CRASHED: frozenset({_L.STARTING, _L.UNAVAILABLE, _L.STOPPED}),
    _L.UNAVAILABLE: frozenset({_L.STOPPED}),
}


class DebugState(StrEnum):
    """One debug session. `exited`: the program is over and its adapter was let go; `ended`: the session
    itself is, whatever became of the program."""

    STARTING = "starting"
    STOPPED = "stopped"
    RUNNING = "running"
    EXITED = "exited"
    ENDED = "ended"


_D = DebugState

DEBUG_MOVES: Mapping[DebugState, frozenset[DebugState]] = {
    _D.STARTING: frozenset({_D.STOPPED, _D.RUNNING, _D.EXITED, _D.ENDED}),
    _D.STOPPED: frozenset({_D.RUNNING, _D.EXITED, _D.ENDED}),
    _D.RUNNING: frozenset({_D.STOPPED, _D.EXITED, _D.ENDED}),
    _D.EXITED: frozenset({_D.ENDED}),
    _D.ENDED: frozenset(),
}


class PluginState(StrEnum):
    """One plugin's process, or one connection to an MCP server. `restarting`: it has failed and is
    started again after a wait; `disabled`: it is not started again until an operator enables it."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    DISABLED = "disabled"


_P = PluginState

PLUGIN_MOVES: Mapping[PluginState, frozenset[PluginState]] = {
    _P.STOPPED: frozenset({_P.STARTING}),
    _P.STARTING: frozenset({_P.READY, _P.RESTARTING, _P.DISABLED, _P.STOPPED}),
    _P.READY: frozenset({_P.RESTARTING, _P.DISABLED, _P.STOPPED}),
    _P.RESTARTING: frozenset({_P.STARTING, _P.STOPPED}),
    _P.DISABLED: frozenset({_P.STOPPED}),
}


MOVES: Mapping[type[StrEnum], Mapping[Any, frozenset[Any]]] = {
    LanguageServerState: LANGUAGE_SERVER_MOVES,
    DebugState: DEBUG_MOVES,
    PluginState: PLUGIN_MOVES,
}
