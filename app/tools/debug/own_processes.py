"""Which running programs an agent has started itself, by its own commands.

Owns: deciding that for a process, and for the listener on a port, by data of the kernel. Never:
starting or stopping one.
"""

from __future__ import annotations

from collections.abc import Iterator

from app.bridges.processes import proc
from app.bridges.processes.tcp_peers import held_sockets, tcp_sockets
from app.bridges.pty.manager import TerminalManager
from app.tools.contract.call import ToolCallContext

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})
MAX_ANCESTORS = 100
_LISTENS = "0A"


def started_by(terminals: TerminalManager, context: ToolCallContext) -> frozenset[int]:
    """Return the processes of the commands that this agent, or one below it, has run."""
    mine = f"{context.agent_path}."
    return frozenset(
        pid
        for command in terminals.list(context.session_id)
        for pid in command.pids
        if f"{command.spec.agent_path}.".startswith(mine)
    )


def is_own(pid: int, own: frozenset[int]) -> bool:
    """Tell whether a process is one of these, is in a session of theirs or descends from them. Blocking."""
    sessions = {found.session for found in map(proc.process, own) if found is not None}
    for _ in range(MAX_ANCESTORS):
        found = proc.process(pid)
        if found is None or found.ended:
            return False
        if pid in own or found.session in sessions:
            return True
        pid = found.parent
        if pid <= 1:
            return False
    return False


def machine_number(terminals: TerminalManager, context: ToolCallContext, pid: int) -> int | None:
    """Return the process that a caller names, as the machine knows it; of a caged caller one of its own
    commands, also by its number in the cage. None for another one. Blocking."""
    if context.cage is None:
        return pid if proc.process(pid) is not None else None
    own = started_by(terminals, context)
    if is_own(pid, own):
        return pid
    inside = (one.pid for one in proc.processes() if is_own(one.pid, own))
    return next((one for one in inside if proc.inner_number(one) == pid), None)


def listens_only_own(port: int, own: frozenset[int]) -> bool:
    """Tell whether somebody listens on a port of this machine, and nobody but processes of `own` and
    their relatives. Blocking."""
    sockets = set(_listening(port))
    if not sockets:
        return False
    held: set[str] = set()
    for one in proc.processes():
        if is_own(one.pid, own):
            held.update(_sockets(one.pid))
    return sockets <= held


def _listening(port: int) -> Iterator[str]:
    """Yield the inodes of the sockets that listen on a port."""
    try:
        for one in tcp_sockets():
            if one.state == _LISTENS and int(one.local.rpartition(":")[2], 16) == port:
                yield one.inode
    except OSError:
        return


def _sockets(pid: int) -> Iterator[str]:
    try:
        yield from held_sockets(pid)
    except OSError:
        return
