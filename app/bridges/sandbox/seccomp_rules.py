"""The system calls that a cage refuses, and their filter.

Owns: the rules, each with its reason, and `filter_bytes`. Never: installing a filter.

A refused call ends with EPERM. A call that older kernels lack ends with ENOSYS, so that libraries fall back
to one whose arguments the filter can judge.
Keeps S6 of docs/security.md.
"""

from __future__ import annotations

import errno
import platform
from dataclasses import dataclass
from typing import Literal

from app.bridges.sandbox.bpf import Comparison, Program
from app.bridges.sandbox.system_calls import ARCHITECTURES, HIGHEST_KNOWN, Architecture

Seccomp = Literal["default", "relaxed"]

DEBUGGING = ("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd")
"""What looks into other processes; `relaxed` allows it inside the cage."""

REFUSED: tuple[str, ...] = (
    # What makes or enters another view of the machine.
    *("mount", "umount2", "pivot_root", "chroot", "setns"),
    # Large parts of the kernel that no build, test or server needs.
    *("bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register"),
    # Keyrings are not divided by namespaces.
    *("add_key", "request_key", "keyctl"),
    # The machine itself.
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module"),
    *("get_kernel_syms", "query_module", "reboot", "swapon", "swapoff", "acct", "syslog", "vhangup"),
    *("sethostname", "setdomainname", "quotactl", "quotactl_fd", "iopl", "ioperm", "modify_ldt"),
    *("clock_settime", "clock_adjtime", "settimeofday", "adjtimex"),
    # Files by their number and not by their name; watching whole file systems.
    *("open_by_handle_at", "name_to_handle_at", "fanotify_init", "fanotify_mark"),
    *("migrate_pages", "move_pages", "mbind", "get_mempolicy", "set_mempolicy", "set_mempolicy_home_node"),
    # Of other times.
    *("lookup_dcookie", "nfsservctl", "uselib", "ustat", "sysfs", "_sysctl"),
)

ABSENT: tuple[str, ...] = (
    # Their arguments are behind a pointer. Without them the C library takes clone and openat.
    *("clone3", "openat2"),
    *("open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"),
    *("statmount", "listmount"),
)

SHARED_WITHOUT_NAMESPACES: tuple[str, ...] = (
    *("shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl"),
    *("semget", "semop", "semtimedop", "semctl", "mq_open", "mq_unlink"),
)
"""Memory, messages and semaphores of the machine: in a cage with namespaces they are the cage's own."""

ATTRIBUTES_WITHOUT_NAMESPACES: tuple[str, ...] = (
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
)
"""Lists of who may open a file are attributes, and landlock does not look at them: those of any file of the
user could be changed. They answer as on a file system without attributes."""

_NEW_NAMESPACES = 0x7E020000
_NEW_TIME_NAMESPACE = 0x80
TERMINAL_CALLS = (0x5412, 0x541C, 0x5423)
"""Typing on behalf of who sits at the terminal, pasting into a console, other line disciplines."""
_LEASES = (1024, 1040)
"""F_SETLEASE and F_SETDELEG. Whoever holds a lease on a file makes everybody else wait who opens it, for
three quarters of a minute each time, and it takes no more than reading a file of one's own user: also of
those that a cage sees read-only, as the daemon's own libraries."""
_VOLUMES, _VOLUME_MASK = 0x9400, 0xFF00
_SHARED_BLOCKS = (0x40049409, 0x4020940D, 0xC0189436)
"""What is asked of btrfs by descriptor, as a copy of the whole volume that a folder is part of; and what has
the same kind of number for all file systems, and is about single files."""
OTHER_FAMILIES = (17, 29, 31, 38, 40, 44)
"""The families of sockets with the worst record, or that reach beyond the machine's network: packet, can,
bluetooth, alg, vsock, xdp. A cage has no others than those it is given; a container has no such."""
_UNIX, _INTERNET, _INTERNET_6, _NETLINK, _NETLINK_ROUTE = 1, 2, 10, 16, 0
_STREAM, _PACKET_STREAM, _SOCKET_KIND = 1, 5, 0xF
_CREATES = 0x40 | 0x400000
"""O_CREAT and __O_TMPFILE: without them the mode is not looked at, and may be anything."""
_SET_ID, _OTHERS_WRITE = 0o6000, 0o002
_PERSONALITIES = (0, 0x8, 0x20000, 0x20008, 0x40000, 0x40008, 0xFFFFFFFF)
"""Linux, 32 bits, the name of an old kernel, no random addresses (debuggers ask for it), and "which?"."""

_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2}
"""Where the new mode is among the arguments."""
_OPENS = {"open": (1, 2), "openat": (2, 3)}
"""Where the flags and the mode are."""
_OF_OTHER_PROCESSES = {
    "sched_setaffinity": 0,
    "sched_setscheduler": 0,
    "sched_setparam": 0,
    "sched_setattr": 0,
    "setpriority": 1,
    "ioprio_set": 1,
}
"""The argument with the process id; 0 is the caller."""

_Case = tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class _Refusal:
    """`cases`: refused when all tests of one of them hold; None: always."""

    call: str
    errno: int = errno.EPERM
    cases: tuple[_Case, ...] | None = None


def filter_bytes(
    seccomp: Seccomp = "default",
    *,
    unix_sockets: bool = False,
    namespaces: bool = True,
    machine: str | None = None,
) -> bytes:
    """Return the filter as an array of `struct sock_filter`. The profile `relaxed` allows debugging other
    processes. `unix_sockets` allows AF_UNIX. Without `namespaces` (the tier landlock) there is no network,
    and nothing that processes of a user share. Raises ValueError for an unknown `machine`."""
    architecture = architecture_of(machine or platform.machine())
    program = Program()
    program.require_architecture(architecture.number, errno.ENOSYS)
    program.refuse_above(HIGHEST_KNOWN, errno.ENOSYS)
    for refusal in refusals(seccomp, unix_sockets=unix_sockets, namespaces=namespaces):
        number = architecture.calls.get(refusal.call)
        if number is None:
            continue
        if refusal.cases is None:
            program.refuse(number, refusal.errno)
        else:
            program.refuse_when(number, refusal.errno, refusal.cases)
    return program.to_bytes()


def architecture_of(machine: str) -> Architecture:
    found = ARCHITECTURES.get(machine.lower())
    if found is None:
        raise ValueError(f"there is no table of system calls for {machine}; x86_64 and aarch64 have one")
    return found


def refusals(seccomp: Seccomp, *, unix_sockets: bool, namespaces: bool) -> list[_Refusal]:
    """Return the refusals. Those that depend on arguments come first, because the kernel caches calls that
    are allowed with any."""
    found = [*_modes(namespaces), *_sockets(unix_sockets, namespaces), *_views()]
    found += [] if namespaces else _other_processes()
    terminals: tuple[_Case, ...] = tuple((Comparison(1, "equal", one),) for one in TERMINAL_CALLS)
    volumes = (Comparison(1, "equal", _VOLUMES, mask=_VOLUME_MASK), *_none_of(1, *_SHARED_BLOCKS))
    found.append(_Refusal("ioctl", cases=(*terminals, volumes)))
    found.append(_Refusal("fcntl", cases=tuple((Comparison(1, "equal", one),) for one in _LEASES)))
    found.append(_Refusal("personality", cases=(_none_of(0, *_PERSONALITIES),)))
    always = REFUSED + (() if seccomp == "relaxed" else DEBUGGING)
    always += () if namespaces else SHARED_WITHOUT_NAMESPACES
    found += [_Refusal(call) for call in always]
    if not namespaces:
        found += [_Refusal(call, errno.EOPNOTSUPP) for call in ATTRIBUTES_WITHOUT_NAMESPACES]
    return found + [_Refusal(call, errno.ENOSYS) for call in ABSENT]


def _modes(namespaces: bool) -> list[_Refusal]:
    """No file that runs with its owner's rights: outside the cage it would be one of the daemon's user.
    Without namespaces nor one that everybody writes: landlock does not look at changes of modes."""
    bits = _SET_ID if namespaces else _SET_ID | _OTHERS_WRITE
    opens = [
        _Refusal(
            call, cases=((Comparison(flags, "any_bit", _CREATES), Comparison(mode, "any_bit", _SET_ID)),)
        )
        for call, (flags, mode) in _OPENS.items()
    ]
    changes = {call: bits if "chmod" in call else _SET_ID for call in _MODES}
    return opens + [
        _Refusal(call, cases=((Comparison(_MODES[call], "any_bit", forbidden),),))
        for call, forbidden in changes.items()
    ]


def _sockets(unix_sockets: bool, namespaces: bool) -> list[_Refusal]:
    """The cage's own network and its tables; other families (vsock, alg, packet) are not divided by
    namespaces or have had their share of holes. A pair of datagram sockets could be connected again, to
    a socket of the host that lies in a mount; a pair of stream sockets cannot."""
    families: tuple[int, ...] = (_INTERNET, _INTERNET_6, _NETLINK) if namespaces else ()
    families += (_UNIX,) if unix_sockets else ()
    cases: tuple[_Case, ...] = (_none_of(0, *families),)
    if namespaces:
        cases += ((Comparison(0, "equal", _NETLINK), Comparison(2, "unequal", _NETLINK_ROUTE)),)
    pairs: tuple[_Case, ...] = (_none_of(0, _UNIX),)
    if not unix_sockets:
        pairs += (_none_of(1, _STREAM, _PACKET_STREAM, mask=_SOCKET_KIND),)
    return [
        _Refusal("socket", cases=cases if families else None),
        _Refusal("socketpair", cases=pairs),
    ]


def _views() -> list[_Refusal]:
    either = _NEW_NAMESPACES | _NEW_TIME_NAMESPACE
    return [
        _Refusal("clone", cases=((Comparison(0, "any_bit", _NEW_NAMESPACES),),)),
        _Refusal("unshare", cases=((Comparison(0, "any_bit", either),),)),
    ]


def _other_processes() -> list[_Refusal]:
    """Bounds and priorities of processes outside, where the cage has no processes of its own."""
    found = [
        _Refusal(call, cases=((Comparison(argument, "unequal", 0),),))
        for call, argument in _OF_OTHER_PROCESSES.items()
    ]
    other, new = Comparison(0, "unequal", 0), 2
    cases = tuple((other, Comparison(new, "unequal", 0, upper=upper)) for upper in (False, True))
    return [_Refusal("prlimit64", cases=cases), *found]


def _none_of(argument: int, *values: int, mask: int = 0xFFFFFFFF) -> _Case:
    return tuple(Comparison(argument, "unequal", value, mask=mask) for value in values)
