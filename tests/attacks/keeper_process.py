"""The process around an attacked daemon: it takes rights away before, and tells afterwards who is left.

Owns: the daemon's user, whether it can make namespaces, and every process that the daemon leaves behind.
Never: anything outside of the standard library; it is run as a file.

    keeper_process.py REPORT UID yes|no PROGRAM ARGUMENT...

`no` refuses new user namespaces to the daemon, as many containers do. SIGTERM is handed on. The report is
JSON: `exit_code` and `survivors`, the command lines of those that were still there some seconds later.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
CLONE_NEWUSER = 0x10000000
NUMBERS = {"x86_64": (56, 272, 435, 165), "aarch64": (220, 97, 435, 40)}
"""clone, unshare, clone3, mount"""
PATIENCE = 30.0

libc = ctypes.CDLL(None, use_errno=True)


def refuse_namespaces() -> None:
    """EPERM for clone and unshare with CLONE_NEWUSER and for mount, ENOSYS for clone3; for ever, and for
    all children."""
    clone, unshare, clone3, mount = NUMBERS[os.uname().machine]
    load, equal, has, give = 0x20, 0x15, 0x45, 0x06
    number, argument = 0, 16
    allow, eperm, enosys = 0x7FFF0000, 0x00050001, 0x00050026
    program = [
        (load, 0, 0, number),
        (equal, 5, 0, clone3),
        (equal, 5, 0, mount),
        (equal, 1, 0, clone),
        (equal, 0, 4, unshare),
        (load, 0, 0, argument),
        (has, 1, 2, CLONE_NEWUSER),
        (give, 0, 0, enosys),
        (give, 0, 0, eperm),
        (give, 0, 0, allow),
    ]
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.create_string_buffer(header, len(header)), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "the filter was refused")


def below(pid: int) -> list[int]:
    """Return all processes below `pid`, zombies left out."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                children.setdefault(int(parent), []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        mine = children.get(waiting.pop(), [])
        found += mine
        waiting += mine
    return found


def reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def survivors() -> list[str]:
    """Return who is still there after a while, and kill them."""
    deadline = time.monotonic() + PATIENCE
    while left := below(os.getpid()):
        reap()
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    lines = []
    for pid in left:
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            os.kill(pid, signal.SIGKILL)
        except OSError:
            continue
        lines.append(f"{pid} {line}")
    return lines


def main(report: str, uid: str, namespaces: str, *command: str) -> None:
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    daemon = os.fork()
    if not daemon:
        if int(uid) != os.geteuid():
            os.setgroups([])
            os.setgid(int(uid))
            os.setuid(int(uid))
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if namespaces == "no":
            refuse_namespaces()
        os.execvp(command[0], command)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os.kill(daemon, signal.SIGTERM))
    code = os.waitstatus_to_exitcode(os.waitpid(daemon, 0)[1])
    Path(report).write_text(json.dumps({"exit_code": code, "survivors": survivors()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
