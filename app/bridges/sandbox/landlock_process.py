"""The launcher of a command in the landlock tier: it restricts itself, then loads the command.

Owns: dropping rights, the landlock rules, limits, the system-call filter. Never: imports, variables or files
that an agent could have written.

Descriptor 3 is a file in memory with JSON: `argv`, `env` (bytes as latin-1), `limits`, `groups` (files by
which it joins control groups), `filter` (hex) and `rules`, each with `path` or `descriptor` (counted from 5),
`rights` (read, write, device) and `without`: paths below it, as lists of names, that stay read-only.
Descriptor 4 gets JSON with `errno` and `step` after a failure, and is closed without a word when the program
is loaded.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import stat
import struct

TYPE_CHECKING = False  # the real one is slow to load
if TYPE_CHECKING:
    from typing import Any

    Rule = dict[str, Any]

SPECIFICATION, REPORT, FIRST_PLACE = 3, 4, 5
HIGHEST_DESCRIPTOR = 65_536
MOST_RULES = 20_000
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _DEVICE_CALLS = 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_FOLDER
_WRITE = _READ | _WRITE_FILE | _TRUNCATE | sum(1 << bit for bit in (4, 5, 7, 8, 9, 10, 12, 13))
"""Removing and making all but devices, and moving from folder to folder."""
RIGHTS = {"read": _READ, "write": _WRITE, "device": _READ_FILE | _WRITE_FILE | _DEVICE_CALLS}
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _DEVICE_CALLS
_EVERYTHING = (1 << 16) - 1
_CONNECT_AND_BIND, _SOCKETS_AND_SIGNALS = 3, 3
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER, _BOUNDS_DROP, _SECURE_BITS = 38, 22, 2, 24, 28
_AMBIENT, _CLEAR_ALL = 47, 4
_ROOT_IS_NOBODY = 0b101111
_CAPABILITY_VERSION = 0x20080522
_MOST_CAPABILITIES = 64

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long


def check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def call(number: int, *arguments: object) -> int:
    return check(LIBC.syscall(ctypes.c_long(number), *arguments))


def drop_rights() -> None:
    """No capability, now or by any program; root is an ordinary user without its rights."""
    LIBC.prctl(_SECURE_BITS, _ROOT_IS_NOBODY, 0, 0, 0)
    LIBC.prctl(_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    for number in range(_MOST_CAPABILITIES):
        LIBC.prctl(_BOUNDS_DROP, number, 0, 0, 0)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    check(LIBC.capset(header, bytes(24)))
    check(LIBC.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))


class Ruleset:
    """What will be allowed. Everything else that landlock knows of is not."""

    def __init__(self) -> None:
        attributes = struct.pack("=QQQ", _EVERYTHING, _CONNECT_AND_BIND, _SOCKETS_AND_SIGNALS)
        self._descriptor = call(_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
        self._rules = 0

    def allow(self, place: int, rights: int) -> None:
        self._rules += 1
        if self._rules > MOST_RULES:
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, place)
        call(_ADD, ctypes.c_int(self._descriptor), ctypes.c_int(_BENEATH), rule, ctypes.c_uint(0))

    def allow_around(self, place: int, without: list[list[str]]) -> None:
        """Allow writing below a folder, but not in what `without` names, nor new entries in the folders on
        the way there: a right holds for everything below, and cannot be taken back deeper."""
        if not without:
            self.allow(place, _WRITE)
            return
        self.allow(place, _READ)
        below: dict[str, list[list[str]]] = {}
        for names in without:
            below.setdefault(names[0], []).append(names[1:])
        listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place)
        try:
            entries = os.listdir(listed)
        finally:
            os.close(listed)
        for name in entries:
            deeper = below.get(name, [])
            if [] not in deeper:
                self._allow_entry(place, name, deeper)

    def _allow_entry(self, folder: int, name: str, without: list[list[str]]) -> None:
        try:
            place = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except FileNotFoundError:
            return
        try:
            kind = os.fstat(place).st_mode
            if stat.S_ISDIR(kind):
                self.allow_around(place, without)
            elif stat.S_ISREG(kind):
                self.allow(place, _WRITE)
        finally:
            os.close(place)

    def enforce(self) -> None:
        call(_RESTRICT, ctypes.c_int(self._descriptor), ctypes.c_uint(0))
        os.close(self._descriptor)


def add(rules: Ruleset, rule: Rule) -> None:
    """Add one rule. A path that is not there is left out."""
    if "descriptor" in rule:
        place = FIRST_PLACE + rule["descriptor"]
        if rule["rights"] == "write" and stat.S_ISDIR(os.fstat(place).st_mode):
            rules.allow_around(place, rule["without"])
        else:
            rules.allow(place, RIGHTS[rule["rights"]])
        return
    try:
        place = os.open(rule["path"], os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    rules.allow(place, RIGHTS[rule["rights"]])
    os.close(place)


def filter_calls(content: bytes) -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    program = Program(len(content) // 8, content)
    check(LIBC.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0))


def bound(what: int, value: int) -> None:
    """Set a limit, not above what there is."""
    _, hard = resource.getrlimit(what)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (value, value))


def execute(argv: list[bytes], env: dict[bytes, bytes]) -> None:
    """Become the program; one without a slash is looked for along the PATH of its environment."""
    if b"/" in argv[0]:
        os.execve(argv[0], argv, env)
    problem: OSError = FileNotFoundError(errno.ENOENT, "no program")
    for folder in env.get(b"PATH", b"/usr/bin:/bin").split(b":"):
        try:
            os.execve((folder or b".") + b"/" + argv[0], argv, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as other:
            problem = other
    raise problem


def main() -> None:
    step = "read"
    try:
        with open(SPECIFICATION, "rb") as file:
            file.seek(0)
            asked = json.loads(file.read())
        fcntl.fcntl(REPORT, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
        env = dict(entry.encode("latin-1").split(b"=", 1) for entry in asked["env"])
        step = "limits"
        for path in asked["groups"]:
            with open(path, "wb", buffering=0) as file:
                file.write(b"0")
        step = "rules"
        rules = Ruleset()
        for rule in asked["rules"]:
            add(rules, rule)
        step = "rights"
        drop_rights()
        step = "rules"
        rules.enforce()
        os.closerange(FIRST_PLACE, HIGHEST_DESCRIPTOR)
        step = "limits"
        for name, value in asked["limits"].items():
            bound(getattr(resource, name), value)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        step = "filter"
        filter_calls(bytes.fromhex(asked["filter"]))
        step = "load"
        marks = {name: value for name, value in os.environb.items() if name.startswith(b"KAGED_")}
        execute([part.encode("latin-1") for part in asked["argv"]], {**env, **marks})
    except OSError as problem:
        os.write(REPORT, json.dumps({"errno": problem.errno or 0, "step": step}).encode())
    finally:
        os._exit(127)


if __name__ == "__main__":
    main()
