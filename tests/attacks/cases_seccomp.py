"""System calls that no cage makes: asked with bad arguments, so that the error number tells who answered.

Unfiltered, the kernel complains of the arguments (EFAULT, EBADF, EINVAL); filtered it does not look at them.
"""

from __future__ import annotations

import errno
import platform

from app.bridges.sandbox.system_calls import ARCHITECTURES
from tests.attacks.case import Case
from tests.attacks.commands import control, output, python, run
from tests.attacks.scene import Scene

AREA = "seccomp"
CALLS = ARCHITECTURES[platform.machine()].calls
BAD = 1
ALL_BITS = 0xFFFFFFFF
NOBODY = 2**22 + 7

FORBIDDEN: dict[str, tuple[int, ...]] = {
    "ptrace": (16, NOBODY),
    "process_vm_readv": (NOBODY, BAD, 1, BAD, 1, 1),
    "process_vm_writev": (NOBODY, BAD, 1, BAD, 1, 1),
    "pidfd_getfd": (ALL_BITS, 0, 1),
    "mount": (BAD, BAD, BAD, 0, BAD),
    "umount2": (BAD, 0x1000),
    "pivot_root": (BAD, BAD),
    "fsopen": (BAD, 99),
    "fsmount": (ALL_BITS, 99, 99),
    "move_mount": (ALL_BITS, BAD, ALL_BITS, BAD, 0),
    "open_tree": (ALL_BITS, BAD, 0),
    "mount_setattr": (ALL_BITS, BAD, 0, BAD, 32),
    "unshare": (0x10000000,),
    "setns": (ALL_BITS, 0),
    "clone3": (BAD, 64),
    "bpf": (ALL_BITS, BAD, 8),
    "perf_event_open": (BAD, 0, ALL_BITS, ALL_BITS, 0),
    "userfaultfd": (ALL_BITS,),
    "io_uring_setup": (1, BAD),
    "keyctl": (99_999,),
    "add_key": (BAD, BAD, 0, 0, 0),
    "request_key": (BAD, BAD, BAD, 0),
    "kexec_load": (0, 17, BAD, 0),
    "init_module": (BAD, 1, BAD),
    "open_by_handle_at": (ALL_BITS, BAD, 0),
    "fanotify_init": (ALL_BITS,),
}
TERMINAL = {"TIOCSTI": 0x5412, "TIOCLINUX": 0x541C}
DEBUGGING = {"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"}

ASK = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def ask(*arguments):
    ended = libc.syscall(*[ctypes.c_ulong(one) for one in (*arguments, *[0] * (7 - len(arguments)))])
    print("error", ctypes.get_errno() if ended == -1 else 0, flush=True)
"""
UNKNOWN_FILE = (CALLS["openat"], ALL_BITS, BAD)
"""An allowed call with bad arguments: EFAULT, with the filter and without."""


def _errors(scene: Scene, agent: str, *calls: tuple[int, ...]) -> list[int]:
    """Return the error numbers of these calls, each made in a process of its own."""
    lines = "\n".join(f"ask{call}" for call in calls)
    said = output(run(scene, agent, python(ASK + lines)))
    return [int(line.split()[1]) for line in said.splitlines() if line.startswith("error ")]


def _forbidden(name: str, agent: str, *calls: tuple[int, ...]) -> Case:
    def attack(scene: Scene) -> None:
        if scene.kind.tier == "none":
            run(scene, agent, "true")
            return
        found = _errors(scene, agent, *calls)
        assert len(found) == len(calls)
        assert set(found) <= {errno.EPERM, errno.ENOSYS}, found

    def allowed(scene: Scene) -> None:
        shown = f"error {errno.EFAULT}"
        control(scene, agent, python(f"{ASK}\nask{UNKNOWN_FILE}"), shown)

    return Case(AREA, name, attack, allowed)


def _unfiltered() -> Case:
    """The same calls without a cage: the kernel looks at the arguments. Only a privileged user is not
    refused before that."""

    def attack(scene: Scene) -> None:
        if scene.kind.user != "root" or scene.kind.tier == "none":
            return
        names = ("process_vm_readv", "setns", "io_uring_setup", "open_by_handle_at", "bpf")
        found = _errors(scene, "primary", *((CALLS[name], *FORBIDDEN[name]) for name in names))
        assert errno.ENOSYS not in found
        assert len(set(found) - {errno.EPERM}) >= 2, found

    def allowed(scene: Scene) -> None:
        assert _errors(scene, "primary", UNKNOWN_FILE) == [errno.EFAULT]

    return Case(AREA, "the-oracle-without-a-filter", attack, allowed)


def _relaxed() -> Case:
    """`relaxed` adds what debuggers need and nothing else."""

    def attack(scene: Scene) -> None:
        if scene.kind.tier == "none":
            run(scene, "relaxed", "true")
            return
        others = [(CALLS[name], *given) for name, given in FORBIDDEN.items() if name not in DEBUGGING]
        assert set(_errors(scene, "relaxed", *others)) <= {errno.EPERM, errno.ENOSYS}

    def allowed(scene: Scene) -> None:
        if scene.kind.tier == "none":
            control(scene, "relaxed", "cat a.txt", "")
            return
        assert _errors(scene, "relaxed", (CALLS["ptrace"], 16, NOBODY)) == [errno.ESRCH]

    return Case(AREA, "relaxed-is-not-everything", attack, allowed)


CASES: tuple[Case, ...] = (
    *(_forbidden(name, "runner", (CALLS[name], *given)) for name, given in FORBIDDEN.items()),
    *(_forbidden(name, "runner", (CALLS["ioctl"], 0, number, BAD)) for name, number in TERMINAL.items()),
    _forbidden("lease", "runner", (CALLS["fcntl"], BAD, 1024, 1)),
    _forbidden("clone-with-a-user-namespace", "runner", (CALLS["clone"], 0x10000000 | 17)),
    _forbidden("unix-socket", "runner", (CALLS["socket"], 1, 1, 0), (CALLS["socket"], 1, 5, 0)),
    _unfiltered(),
    _relaxed(),
)
