"""Which running programs an agent has started itself, by its own commands.

Owns: telling that of a process, and of whoever listens on a port, by what the kernel says. Never:
starting or stopping one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from app.bridges import proc
from app.bridges.pty.manager import TerminalManager
from app.tools.call import ToolCallContext

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})
MAX_ANCESTORS = 100
MAX_TABLE = 8 * 1024 * 1024
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
    """Yield the sockets that listen on a port, as descriptors show them."""
    for table in ("tcp", "tcp6"):
        try:
            with open(f"/proc/net/{table}", encoding="ascii", errors="replace") as file:
                lines = file.read(MAX_TABLE).splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if len(fields) > 9 and fields[3] == _LISTENS and _port(fields[1]) == port:
                yield f"socket:[{fields[9]}]"


def _port(address: str) -> int | None:
    try:
        return int(address.rpartition(":")[2], 16)
    except ValueError:
        return None


def _sockets(pid: int) -> Iterable[str]:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        try:
            yield os.readlink(f"{folder}/{name}")
        except OSError:
            continue
