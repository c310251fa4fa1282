"""The filter of system calls: error numbers of calls with bad arguments, with the filter and without."""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from app.bridges.sandbox.seccomp_rules import ABSENT, DEBUGGING, REFUSED, Seccomp, filter_bytes
from app.bridges.sandbox.system_calls import AARCH64, ARCHITECTURES, HIGHEST_KNOWN, X86_64
from tests.bridges.sandbox.filter_machine import ALLOWED, verdict

ORACLE = Path(__file__).with_name("system_call_oracle.py")
CALLS = ARCHITECTURES[platform.machine()].calls
BAD = 1
"""No address."""
NOBODY = 2**22 + 7
"""No process has this number."""
ALL_BITS = 0xFFFFFFFF
EPERM, ENOSYS, EINVAL, EBADF, EFAULT = errno.EPERM, errno.ENOSYS, errno.EINVAL, errno.EBADF, errno.EFAULT

HARMLESS: dict[str, tuple[int, ...]] = {
    "ptrace": (16, NOBODY),
    "process_vm_readv": (NOBODY, BAD, 1, BAD, 1, 1),
    "process_vm_writev": (NOBODY, BAD, 1, BAD, 1, 1),
    "process_madvise": (ALL_BITS, BAD, 1, 0, 1),
    "kcmp": (NOBODY, NOBODY, 0, 0, 0),
    "pidfd_getfd": (ALL_BITS, 0, 1),
    "umount2": (BAD, 0x1000),
    "setns": (ALL_BITS, 0),
    "bpf": (ALL_BITS, BAD, 8),
    "userfaultfd": (ALL_BITS,),
    "io_uring_setup": (1, BAD),
    "io_uring_enter": (ALL_BITS,),
    "io_uring_register": (ALL_BITS, ALL_BITS),
    "keyctl": (99_999,),
    "kexec_load": (0, 17, BAD, 0),
    "kexec_file_load": (ALL_BITS, ALL_BITS, 0, 0, 0x1000),
    "finit_module": (ALL_BITS, BAD, ALL_BITS),
    "reboot": (0, 0, 0, 0),
    "syslog": (99, 0, 0),
    "vhangup": (),
    "quotactl": (0xFFFF00, BAD, 0, BAD),
    "quotactl_fd": (ALL_BITS, 0xFFFF00, 0, BAD),
    "iopl": (99,),
    "ioperm": (ALL_BITS, 1, 1),
    "clock_settime": (99, BAD),
    "clock_adjtime": (99, BAD),
    "open_by_handle_at": (ALL_BITS, BAD, 0),
    "name_to_handle_at": (ALL_BITS, BAD, BAD, BAD, ALL_BITS),
    "fanotify_init": (ALL_BITS,),
    "fanotify_mark": (ALL_BITS, ALL_BITS, 0, ALL_BITS, BAD),
    "migrate_pages": (NOBODY, 0, BAD, BAD),
    "move_pages": (NOBODY, 0, BAD, BAD, BAD, ALL_BITS),
    "ustat": (0xFFFF, BAD),
    "sysfs": (99,),
    "clone3": (BAD, 0),
    "openat2": (ALL_BITS, BAD, BAD, 24),
    "fsmount": (ALL_BITS, ALL_BITS, 0),
    "mount_setattr": (ALL_BITS, BAD, ALL_BITS, BAD, 32),
}
"""Arguments that the kernel itself finds bad, where an address that is none is not enough."""


def oracle(calls: Iterable[Sequence[int]], content: bytes | None, *, legacy: bool = False) -> list[int]:
    asked = {"filter": content and content.hex(), "calls": [list(one) for one in calls], "legacy": legacy}
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(ORACLE)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[int] = json.loads(done.stdout)
    return found


def harmless(name: str) -> list[int]:
    return [CALLS[name], *HARMLESS.get(name, (BAD,) * 6)]


def of_machine(names: Iterable[str]) -> list[str]:
    return [name for name in names if name in CALLS]


@pytest.mark.requirement("cages.kernel.seccomp")
def test_refused_calls_end_with_another_number_than_without_the_filter() -> None:
    names = of_machine((*REFUSED, *DEBUGGING, *ABSENT))
    calls = [harmless(name) for name in names]
    bare = dict(zip(names, oracle(calls, None), strict=True))
    caged = dict(zip(names, oracle(calls, filter_bytes()), strict=True))
    assert caged == {name: ENOSYS if name in ABSENT else EPERM for name in names}
    told = {name for name in names if bare[name] not in (EPERM, ENOSYS)}
    assert len(told) >= (45 if os.geteuid() == 0 else 25), bare
    always = {"ptrace", "mount", "setns", "bpf", "add_key", "keyctl", "io_uring_enter", "clone3", "openat2"}
    assert told >= always


NEVER = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd"),
    *("mount", "umount2", "pivot_root", "chroot", "setns"),
    *("move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "clone3"),
    *("bpf", "perf_event_open", "userfaultfd", "add_key", "request_key", "keyctl"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "kexec_load", "kexec_file_load"),
    *("init_module", "finit_module", "delete_module", "reboot", "swapon", "swapoff", "acct", "syslog"),
    *("open_by_handle_at", "quotactl", "clock_settime", "settimeofday", "sethostname", "fanotify_init"),
)
"""Written down here once more: a rule that is lost is not missed by a test that reads the rules."""


@pytest.mark.requirement("cages.kernel.seccomp")
def test_no_rule_is_lost() -> None:
    found = oracle([harmless(name) for name in NEVER], filter_bytes(unix_sockets=True))
    assert {name for name, number in zip(NEVER, found, strict=True) if number not in (EPERM, ENOSYS)} == set()


@pytest.mark.requirement("cages.kernel.seccomp")
def test_relaxed_allows_debugging_and_nothing_else() -> None:
    names = of_machine((*REFUSED, *DEBUGGING, *ABSENT))
    calls = [harmless(name) for name in names]
    bare = dict(zip(names, oracle(calls, None), strict=True))
    relaxed = dict(zip(names, oracle(calls, filter_bytes("relaxed")), strict=True))
    for name in names:
        refused = ENOSYS if name in ABSENT else EPERM
        assert relaxed[name] == (bare[name] if name in DEBUGGING else refused), name


NAMESPACES = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
SHARED_HANDLERS, SHARED_FILES, NEW_TIME, NO_FLAG = 0x800, 0x400, 0x80, 0x1
UPPER = 1 << 40
"""Above the 32 bits that the kernel reads."""


@pytest.mark.requirement("cages.kernel.seccomp")
@pytest.mark.parametrize("upper", [0, UPPER])
def test_no_call_makes_namespaces(upper: int) -> None:
    clone, unshare = CALLS["clone"], CALLS["unshare"]
    # Handlers cannot be shared without memory: the kernel itself makes no process of these.
    clones = [(clone, flag | SHARED_HANDLERS | upper, 0) for flag in NAMESPACES]
    unshares = [(unshare, flag | NO_FLAG | upper) for flag in (*NAMESPACES, NEW_TIME)]
    neighbours = [(clone, SHARED_HANDLERS, 0), (unshare, NO_FLAG), (unshare, SHARED_FILES)]
    calls = [*clones, *unshares, *neighbours]
    assert oracle(calls, None) == [EINVAL] * (len(calls) - 1) + [0]
    expected = [EPERM] * (len(clones) + len(unshares)) + [EINVAL, EINVAL, 0]
    assert oracle(calls, filter_bytes()) == expected


@pytest.mark.requirement("cages.kernel.seccomp")
def test_nobody_types_into_a_terminal_but_everybody_may_ask_its_size() -> None:
    kinds = (0x5412, 0x541C, 0x5423)
    calls = [(CALLS["ioctl"], ALL_BITS, kind | upper) for kind in kinds for upper in (0, 1 << 32)]
    calls += [(CALLS["ioctl"], ALL_BITS, kind) for kind in (0x5413, 0x5401, 0x540E)]
    assert oracle(calls, None) == [EBADF] * 9
    assert oracle(calls, filter_bytes()) == [EPERM] * 6 + [EBADF] * 3


@pytest.mark.requirement("cages.kernel.seccomp")
def test_no_copy_of_a_whole_volume_is_made_and_single_files_may_share_their_blocks() -> None:
    """Some kernels look only at whose the folder is that is asked by, and copy all of the volume."""
    volumes = (0x50009401, 0x50009417, 0x5000940E, 0x500094FF)
    calls = [(CALLS["ioctl"], ALL_BITS, kind | upper) for kind in volumes for upper in (0, 1 << 32)]
    files = [(CALLS["ioctl"], ALL_BITS, kind) for kind in (0x40049409, 0x4020940D, 0xC0189436)]
    assert oracle(calls + files, None) == [EBADF] * 11
    assert oracle(calls + files, filter_bytes()) == [EPERM] * 8 + [EBADF] * 3


@pytest.mark.requirement("cages.kernel.seccomp")
@pytest.mark.parametrize("namespaces", [False, True])
def test_nobody_holds_a_lease_on_a_file_and_everybody_may_lock_one(namespaces: bool) -> None:
    """Who opens a leased file waits for its holder, who needs no right to write it."""
    calls = [(CALLS["fcntl"], ALL_BITS, kind | upper) for kind in (1024, 1040) for upper in (0, 1 << 32)]
    calls += [(CALLS["fcntl"], ALL_BITS, kind) for kind in (4, 6, 37, 1025, 1030)]
    assert oracle(calls, None) == [EBADF] * 9
    assert oracle(calls, filter_bytes(namespaces=namespaces)) == [EPERM] * 4 + [EBADF] * 5


UNIX, INTERNET, INTERNET_6, NETLINK, VSOCK = 1, 2, 10, 16, 40
STREAM, DATAGRAM, RAW, PACKETS, NO_KIND, CLOSED_ON_EXEC = 1, 2, 3, 5, 12, 0o2000000


@pytest.mark.requirement("cages.kernel.seccomp")
@pytest.mark.parametrize("unix_sockets", [False, True])
@pytest.mark.parametrize("namespaces", [False, True])
def test_only_the_cages_own_network_has_sockets(unix_sockets: bool, namespaces: bool) -> None:
    families = range(1, 46)
    calls = [(CALLS["socket"], family | upper, NO_KIND, 0) for family in families for upper in (0, UPPER)]
    content = filter_bytes(unix_sockets=unix_sockets, namespaces=namespaces)
    found = oracle(calls, content)
    allowed = {
        family for family, number in zip(sorted([*families] * 2), found, strict=True) if number != EPERM
    }
    expected = {INTERNET, INTERNET_6, NETLINK} if namespaces else set()
    assert allowed == expected | ({UNIX} if unix_sockets else set())
    assert oracle([(CALLS["socket"], NETLINK, RAW, 9)], content) == [EPERM]
    if namespaces:
        assert oracle([(CALLS["socket"], NETLINK, RAW, 0)], content) == [0]
    assert EPERM not in oracle(calls[:4], None)


@pytest.mark.requirement("cages.kernel.seccomp")
def test_a_pair_of_sockets_cannot_be_connected_to_another_one() -> None:
    pair = CALLS["socketpair"]
    kinds = (STREAM, PACKETS, STREAM | CLOSED_ON_EXEC, DATAGRAM, RAW, DATAGRAM | CLOSED_ON_EXEC)
    calls = [(pair, UNIX, kind, 0, BAD) for kind in kinds]
    unfiltered = [EFAULT] * 6
    assert oracle(calls, None) == unfiltered
    assert oracle(calls, filter_bytes()) == unfiltered[:3] + [EPERM] * 3
    assert oracle(calls, filter_bytes(unix_sockets=True)) == unfiltered


MODE_CALLS = {
    "chmod": (BAD, -1),
    "fchmod": (ALL_BITS, -1),
    "fchmodat": (ALL_BITS, BAD, -1),
    "fchmodat2": (ALL_BITS, BAD, -1, 0),
    "creat": (BAD, -1),
    "open": (BAD, 0x40, -1),
    "openat": (ALL_BITS, BAD, 0x40, -1),
    "mknod": (BAD, -1, 0),
    "mknodat": (ALL_BITS, BAD, -1, 0),
}


@pytest.mark.requirement("cages.kernel.seccomp")
@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o6755, 0o104755])
def test_no_file_gets_the_rights_of_its_owner(mode: int) -> None:
    names = of_machine(MODE_CALLS)

    def calls(wanted: int) -> list[list[int]]:
        return [[CALLS[name], *(wanted if one == -1 else one for one in MODE_CALLS[name])] for name in names]

    assert not set(oracle(calls(mode), None)) & {EPERM, 0}
    assert oracle(calls(mode), filter_bytes()) == [EPERM] * len(names)
    assert oracle(calls(0o1777), filter_bytes()) == oracle(calls(0o1777), None)
    # What only opens has no mode; what stands there is left over from something else.
    reading = [(CALLS["openat"], ALL_BITS, BAD, 0, mode)]
    assert oracle(reading, filter_bytes()) == oracle(reading, None) == [EFAULT]


@pytest.mark.requirement("cages.kernel.landlock")
def test_without_namespaces_nothing_is_reached_that_the_user_shares() -> None:
    calls = [
        (CALLS["fchmod"], ALL_BITS, 0o666),
        (CALLS["prlimit64"], NOBODY, 99, BAD, 0),
        (CALLS["prlimit64"], NOBODY, 99, UPPER, 0),
        (CALLS["sched_setaffinity"], NOBODY, 0, BAD),
        (CALLS["setpriority"], 9, NOBODY, 0),
        (CALLS["ioprio_set"], 9, NOBODY, 0),
        (CALLS["shmget"], 0, 0, 0),
        (CALLS["msgget"], 7, 0),
        (CALLS["semget"], 7, ALL_BITS, 0),
        (CALLS["mq_open"], BAD, 0, 0, 0),
    ]
    attributes = [(CALLS["setxattr"], BAD, BAD, BAD, 0, 0), (CALLS["fremovexattr"], ALL_BITS, BAD)]
    assert oracle(attributes, filter_bytes(namespaces=False)) == [errno.EOPNOTSUPP] * 2
    assert oracle(attributes, filter_bytes()) == oracle(attributes, None)
    own = [(CALLS["prlimit64"], 0, 99, BAD, 0), (CALLS["prlimit64"], NOBODY, 0, 0, BAD)]
    own += [(CALLS["fchmod"], ALL_BITS, 0o775)]
    assert EPERM not in oracle(calls, None)
    assert oracle(calls, filter_bytes(namespaces=False)) == [EPERM] * len(calls)
    assert oracle(own, filter_bytes(namespaces=False)) == oracle(own, None)
    assert oracle(calls, filter_bytes()) == oracle(calls, None)


@pytest.mark.requirement("cages.kernel.seccomp")
def test_newer_calls_and_other_conventions_are_not_there() -> None:
    calls = [[number, ALL_BITS, BAD, BAD, ALL_BITS] for number in range(HIGHEST_KNOWN + 1, 560)]
    calls += [[0x40000000 | one] for one in (0, 1, 39, 520)] + [[0xFFFFFFFF], [0x7FFFFFFF]]
    assert set(oracle(calls, filter_bytes())) == {ENOSYS}


@pytest.mark.requirement("cages.kernel.seccomp")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the older convention is that of i386")
def test_the_older_convention_of_the_machine_is_refused() -> None:
    assert oracle([], filter_bytes(), legacy=True) == [ENOSYS]
    assert oracle([], None, legacy=True)[0] != ENOSYS


ORDINARY = """
import asyncio, os, socket, subprocess, tempfile, threading
from concurrent.futures import ProcessPoolExecutor

async def main():
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    assert await reader.read() == b""
    child = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    assert (await child.communicate(b"through"))[0] == b"through"

asyncio.run(main())
thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o755)
    subprocess.run(["sh", "-c", "mkdir a && cp -p /bin/true a/b && chmod +x a/b && ./a/b && ls -l | wc -l"],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL)
with ProcessPoolExecutor(1) as pool:
    assert pool.submit(abs, -1).result() == 1
"""


@pytest.mark.requirement("cages.kernel.seccomp")
@pytest.mark.parametrize("seccomp", ["default", "relaxed"])
def test_ordinary_programs_do_not_notice_the_filter(seccomp: Seccomp, tmp_path: Path) -> None:
    program = f"""
import runpy, sys
sys.stdin = open({str(tmp_path / "asked")!r})
runpy.run_path({str(ORACLE)!r})
{ORDINARY}
"""
    asked = {"filter": filter_bytes(seccomp).hex(), "calls": [], "legacy": False}
    (tmp_path / "asked").write_text(json.dumps(asked))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.requirement("cages.kernel.seccomp")
@pytest.mark.parametrize("architecture", [X86_64, AARCH64])
def test_the_filter_of_every_machine_refuses_the_same(architecture: object) -> None:
    here = X86_64 if architecture is X86_64 else AARCH64
    content = filter_bytes(machine=here.name)

    def judge(name: str, *arguments: int, number: int = here.number) -> int:
        return verdict(content, number, here.calls[name], arguments)

    assert {judge(name) for name in (*REFUSED, *DEBUGGING) if name in here.calls} == {EPERM}
    assert {judge(name) for name in ABSENT} == {ENOSYS}
    assert judge("openat", 0, 0, 0o100, 0o644) == judge("clone", 17) == ALLOWED
    assert judge("ioctl", 0, 0x5412) == judge("socket", VSOCK) == judge("clone", 0x10000011) == EPERM
    assert judge("fcntl", 0, 1024, 1) == EPERM
    other = AARCH64 if here is X86_64 else X86_64
    assert judge("openat", 0, 0, 0, 0, number=other.number) == ENOSYS
    assert judge("openat", 0, 0, 0, 0, number=0x40000003) == ENOSYS


@pytest.mark.requirement("cages.kernel.seccomp")
def test_a_machine_without_a_table_has_no_filter() -> None:
    with pytest.raises(ValueError, match="riscv64"):
        filter_bytes(machine="riscv64")


HEADERS = {
    X86_64.name: Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    AARCH64.name: Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.requirement("cages.kernel.seccomp")
@pytest.mark.parametrize("architecture", [X86_64.name, AARCH64.name])
def test_the_tables_are_those_of_the_kernels_headers(architecture: str) -> None:
    header = HEADERS[architecture]
    if not header.exists():
        pytest.skip("the kernel's headers are not installed")
    said = {
        name: int(number) for name, number in re.findall(r"#define __NR_(\w+)\s+(\d+)\b", header.read_text())
    }
    calls = ARCHITECTURES[architecture].calls
    assert len(said.keys() & calls.keys()) > len(calls) - 10
    assert {name: number for name, number in calls.items() if said.get(name, number) != number} == {}
