"""The guardian: a small process that ends what a killed daemon has left running.

Owns: remembering the daemon's processes; after its death killing them and what they start. Never: imports of
this package. It runs as a file.

Its arguments are the name at the beginning of each child's marker, the variable that holds the marker, the
first birthmark, and the tick before which no child was started. Lines on stdin report leaders (`L pid
ticks`), adopted orphans (`M pid ticks`) and ends (`E pid`). The end of stdin or of the daemon means that the
daemon was killed: a daemon that stops ends its guardian first.

Of several daemons on one database each moves a deadline on as long as it owns its projects. It is a number in
the file that is stdout. After it the guardian ends everything that the daemon, which may be stopped, has
started, until the number has grown.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import struct
import sys
import time

STEP_SECONDS = 1.0
"""How often it looks what the leaders have started; only while there are any."""
ROUND_SECONDS = 0.02
QUIET_ROUNDS = 3
"""So many rounds in a row must find nothing: a program being loaded shows no environment."""
GIVING_UP_SECONDS = 60.0
FAMILY_BITS = 24
"""The last bits of a birthmark are those of one child; the rest is the same for all of a daemon."""
BIRTHMARK = b"Max realtime timeout"
OVERDUE_SECONDS = 0.1
"""How often it looks for new processes after the deadline."""

Found = tuple[int, int, int]
"""Parent, session, and the tick of its start."""


class Guardian:
    """The known processes of the daemon."""

    def __init__(self, name: str, variable: str, birthmark: int, since: int) -> None:
        self.mark = os.fsencode(f"{variable}={name}.")
        self.birthmark = birthmark >> FAMILY_BITS
        self.since = since
        self.sessions: dict[int, tuple[int, int]] = {}
        self.known: dict[int, int] = {}
        self._rest = b""
        self._looked = 0.0

    def listen(self) -> bool:
        """Read the daemon's lines; return False at its end."""
        try:
            chunk = os.read(0, 1 << 16)
        except BlockingIOError:
            return False
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self.take(line)
        return bool(chunk)

    def take(self, line: bytes) -> None:
        kind, pid, *rest = line.split()
        number = int(pid)
        if kind == b"E":
            self.sessions.pop(number, None)
            self.known.pop(number, None)
            return
        since, found = int(rest[0]), look_at(number)
        started = found[2] if found is not None and found[2] >= since else 0
        if kind == b"L":
            self.sessions[number] = since, started
        if started:
            self.known[number] = started

    def look(self) -> None:
        """Remember the children of known processes: one that loses its parents, session and marker could not
        be recognised later."""
        if time.monotonic() < self._looked + STEP_SECONDS:
            return
        self._looked = time.monotonic()
        waiting = list(self.known)
        for pid in waiting:
            found = look_at(pid)
            if found is None or found[2] != self.known[pid]:
                del self.known[pid]
                continue
            for child in children_of(pid):
                born = look_at(child) if child not in self.known else None
                if born is not None and born[0] == pid:
                    self.known[child] = born[2]
                    waiting.append(child)

    def mine(self) -> dict[int, Found]:
        """Return the daemon's living processes, wherever they are."""
        living = {pid: found for pid in all_pids() if (found := look_at(pid)) and found[2] >= self.since}
        children: dict[int, list[int]] = {}
        for pid, (parent, _, _) in living.items():
            children.setdefault(parent, []).append(pid)
        waiting = [pid for pid, found in living.items() if self.is_mine(pid, found, living)]
        mine: dict[int, Found] = {}
        while waiting:
            pid = waiting.pop()
            if pid not in mine and pid != os.getpid():
                mine[pid] = living[pid]
                waiting += children.get(pid, ())
        return mine

    def is_mine(self, pid: int, found: Found, living: dict[int, Found]) -> bool:
        _, session, started = found
        if self.known.get(pid) == started:
            return True
        since, leader_started = self.sessions.get(session, (sys.maxsize, 0))
        # The number of a session is nobody else's while it lasts; afterwards it may be.
        if started >= since and (session not in living or living[session][2] == leader_started):
            return True
        return self.has_birthmark(pid) or self.has_mark(pid)

    def has_birthmark(self, pid: int) -> bool:
        try:
            with open(f"/proc/{pid}/limits", "rb", 0) as file:
                line = file.read(4096).partition(BIRTHMARK)[2]
        except OSError:
            return False
        value = line.split(None, 1)[0] if line else b""
        return value.isdigit() and int(value) >> FAMILY_BITS == self.birthmark

    def has_mark(self, pid: int) -> bool:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                content = file.read()
        except OSError:
            return False
        return content.startswith(self.mark) or b"\0" + self.mark in content

    def end_all(self) -> None:
        """Kill until nothing is left. Those found are stopped before the first is killed: killing
        cuts children off from their parents, and what is stopped starts nothing."""
        quiet = 0
        for _ in range(round(GIVING_UP_SECONDS / ROUND_SECONDS)):
            found: dict[int, int] = {}
            while new := {pid: one[2] for pid, one in self.mine().items() if found.get(pid) != one[2]}:
                stopped = {pid: started for pid, started in new.items() if send(pid, started, signal.SIGSTOP)}
                found |= stopped
                if not stopped:
                    break
            self.known |= found
            for pid, started in found.items():
                send(pid, started, signal.SIGKILL)
            quiet = 0 if found else quiet + 1
            if quiet == QUIET_ROUNDS:
                return
            select.poll().poll(ROUND_SECONDS * 1000)


def look_at(pid: int) -> Found | None:
    """Return what there is to know about a living process."""
    try:
        with open(f"/proc/{pid}/stat", "rb", 0) as file:
            content = file.read(4096)
    except OSError:
        return None
    fields = content[content.rfind(b")") + 2 :].split()
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    return int(fields[1]), int(fields[3]), int(fields[19])


def all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def children_of(pid: int) -> list[int]:
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb", 0) as file:
                found += [int(child) for child in file.read(1 << 20).split()]
    except OSError:
        pass
    return found


def send(pid: int, started: int, number: int) -> bool:
    """Signal exactly this process, and tell whether that was possible."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        now = look_at(pid)
        if now is None or now[2] != started:
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def seconds_left() -> float | None:
    """Return how far away the deadline is; None without one."""
    if not stat.S_ISREG(os.fstat(1).st_mode) or len(found := os.pread(1, 8, 0)) < 8:
        return None
    at: float = struct.unpack("=d", found)[0]
    return at - time.clock_gettime(time.CLOCK_BOOTTIME)


def watch(guardian: Guardian, daemon: int) -> None:
    """Listen to the daemon until it is gone."""
    poller = select.poll()
    poller.register(0, select.POLLIN)
    poller.register(daemon, select.POLLIN)
    while True:
        left = seconds_left()
        waits = [STEP_SECONDS] if guardian.known else []
        waits += [] if left is None else [max(left, OVERDUE_SECONDS)]
        ready = [descriptor for descriptor, _ in poller.poll(min(waits) * 1000 if waits else None)]
        if ready and not (0 in ready and guardian.listen()):
            return
        guardian.look()
        if (left := seconds_left()) is not None and left <= 0:
            guardian.end_all()


def main() -> None:
    name, variable, birthmark, since, parent = sys.argv[1:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        # A service manager may send these to all processes of the daemon, which then stops by itself.
        signal.signal(number, signal.SIG_IGN)
    os.set_blocking(0, False)
    guardian = Guardian(name, variable, int(birthmark), int(since))
    try:
        daemon = os.pidfd_open(int(parent))
        if os.getppid() == int(parent):
            watch(guardian, daemon)
    except ProcessLookupError:
        pass
    while guardian.listen():
        pass
    guardian.end_all()


if __name__ == "__main__":
    main()
