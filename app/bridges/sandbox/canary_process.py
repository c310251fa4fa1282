"""The program that runs in a trial cage. It runs as a program text.

Owns: trying what must work and what must not, and reporting. Never: imports of this package; changes outside
its folder.

Its argument is JSON: `granted`, `outside` (a folder with a file `canary`), `port` (a listener of the host),
`daemon` (process id), `namespaces` (name to the host's), `system_calls` (name, number, arguments and the
error number that each must end with). It prints JSON: `passed`, the names of the checks that hold, and
`failed`, names and observations.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys

TYPE_CHECKING = False  # the real one is slow to load
if TYPE_CHECKING:
    from typing import Any

    Asked = dict[str, Any]

MUST_BE_OWN = ("mnt", "pid", "net", "ipc", "uts", "user")


def granted_files_read(asked: Asked) -> str | None:
    with open(os.path.join(asked["granted"], "canary")) as file:
        return None if file.read() == asked["word"] else "another file is read"


def granted_files_written(asked: Asked) -> str | None:
    with open(os.path.join(asked["granted"], "answer"), "w") as file:
        file.write(asked["word"])
    return None


def processes_start(asked: Asked) -> str | None:
    pid = os.fork()
    if pid == 0:
        os._exit(7)
    return None if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7 else "a child ended otherwise"


def other_files_absent(asked: Asked) -> str | None:
    for flags in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.close(os.open(os.path.join(asked["outside"], "canary"), flags))
        except OSError:
            continue
        return "a file outside was opened"
    try:
        os.close(os.open(os.path.join(asked["outside"], "answer"), os.O_WRONLY | os.O_CREAT))
    except OSError:
        return None
    return "a file was made outside"


def system_read_only(asked: Asked) -> str | None:
    for folder in ("/usr", "/etc", "/bin", "/dev", "/proc/sys/kernel"):
        if os.access(folder, os.W_OK):
            return folder + " can be written"
    try:
        os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
    except OSError:
        return None
    return "the kernel's settings can be written"


def network_absent(asked: Asked) -> str | None:
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
            one.settimeout(1)
            one.connect(("127.0.0.1", asked["port"]))
    except OSError:
        return None
    return "a port of the host was reached"


def daemon_untouchable(asked: Asked) -> str | None:
    if asked["own_processes"]:
        return None if os.getpid() < 100 else "it sees the host's process ids"
    try:
        os.kill(asked["daemon"], 0)
    except OSError:
        return None
    return "the daemon can be signalled"


def namespaces_own(asked: Asked) -> str | None:
    for name in MUST_BE_OWN:
        outside = asked["namespaces"].get(name)
        if outside is not None and os.readlink("/proc/self/ns/" + name) == outside:
            return "the namespace " + name + " is the host's"
    return None


def rights_dropped(asked: Asked) -> str | None:
    with open("/proc/self/status") as file:
        fields = dict(line.strip().split(":", 1) for line in file if ":" in line)
    for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        if int(fields[name], 16) != 0:
            return name + " is not empty"
    if fields["NoNewPrivs"].strip() != "1":
        return "programs may gain rights"
    return None if fields["Seccomp"].strip() == "2" else "system calls are not filtered"


def system_calls_refused(asked: Asked) -> str | None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    for name, number, arguments, expected in asked["system_calls"]:
        ctypes.set_errno(0)
        libc.syscall(ctypes.c_long(number), *[ctypes.c_ulong(one) for one in arguments])
        if ctypes.get_errno() != expected:
            return f"{name} ended with error {ctypes.get_errno()}"
    return None


def environment_empty(asked: Asked) -> str | None:
    try:
        with open("/proc/1/environ", "rb") as file:
            return "the environment of the first process is not empty" if file.read(1) else None
    except OSError:
        return None


EVERYWHERE = (
    *(granted_files_read, granted_files_written, processes_start, other_files_absent),
    *(network_absent, daemon_untouchable, system_calls_refused),
)
WITH_NAMESPACES = (namespaces_own, system_read_only, rights_dropped, environment_empty)


def main() -> None:
    asked = json.loads(sys.argv[1])
    passed: list[str] = []
    failed: dict[str, str] = {}
    for check in EVERYWHERE + (WITH_NAMESPACES if asked["own_processes"] else ()):
        try:
            seen = check(asked)
        except (OSError, ValueError, KeyError) as problem:
            seen = f"{type(problem).__name__}: {problem}"
        name = check.__name__.replace("_", " ")
        if seen is None:
            passed.append(name)
        else:
            failed[name] = seen
    json.dump({"passed": passed, "failed": failed}, sys.stdout)


if __name__ == "__main__":
    main()
