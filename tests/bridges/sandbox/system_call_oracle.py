"""Makes system calls and tells how each ended: the oracle of the filter's tests. Run as a file.

Owns: installing a filter on itself, making the calls, one child each. Never: which calls, which filter.

On stdin: `{"filter": hex or null, "calls": [[number, argument, ...], ...], "legacy": bool}`. On stdout the
error number of each call (0: it succeeded), then, when `legacy` is asked for, what the machine's older
convention (`int 0x80`) gives for "which process am I".
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2
LEGACY_GETPID = bytes.fromhex("b814000000cd80c3")
DIED = 1000


class FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def install(content: bytes) -> None:
    program = FilterProgram(len(content) // 8, content)
    for arguments in ((NO_NEW_PRIVILEGES, 1, 0, 0, 0), (SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0)):
        if LIBC.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "the filter cannot be installed")


def call(number: int, *arguments: int) -> int:
    values = [ctypes.c_ulong(one) for one in (*arguments, *[0] * (6 - len(arguments)))]
    return ctypes.get_errno() if LIBC.syscall(ctypes.c_long(number), *values) == -1 else 0


def legacy() -> int:
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(LEGACY_GETPID)
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    return max(0, -function())


def in_a_child(number: int, *arguments: int) -> int:
    """Some calls change who makes them."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, b"%d" % (legacy() if number < 0 else call(number, *arguments)))
        os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    with open(reader, "rb") as answer:
        return int(answer.read() or DIED)


def main() -> None:
    asked = json.load(sys.stdin)
    os.setsid()
    if asked["filter"] is not None:
        install(bytes.fromhex(asked["filter"]))
    calls = asked["calls"] + ([[-1]] if asked["legacy"] else [])
    json.dump([in_a_child(*one) for one in calls], sys.stdout)


main()
