"""What every cage sees of the system: its folders read-only, a few files of /etc, devices, /proc.

Owns: which those are. Never: what a cage grants.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HOME = "/home/agent"
"""The home folder inside a cage."""
TMP = "/tmp"
TMP_BYTES = 1 << 30
SHARED_MEMORY_BYTES = 256 << 20

_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
_ETC = (
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "dotnet",
    "fonts",
    "gai.conf",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "lsb-release",
    "magic",
    "magic.mime",
    "mime.types",
    "os-release",
    "pki/ca-trust",
    "pki/tls/certs",
    "protocols",
    "services",
    "shells",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
)
_MASKED_PROC = (
    *("acpi", "asound", "interrupts", "iomem", "ioports", "kallsyms", "kcore", "keys", "key-users", "kmsg"),
    *("kpagecgroup", "kpagecount", "kpageflags", "latency_stats", "modules", "pagetypeinfo", "sched_debug"),
    *("scsi", "slabinfo", "sysrq-trigger", "timer_list", "vmallocinfo"),
)
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


@dataclass(frozen=True, slots=True)
class Shown:
    """A folder or file of the host at the same place in the cage, read-only; by `link` a symbolic link."""

    path: str
    link: str | None = None


def system_folders() -> Iterator[Shown]:
    """Yield what is shown of the system's folders and of /etc, where it is there."""
    for path in (*_FOLDERS, *(f"/etc/{name}" for name in _ETC)):
        try:
            found = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISLNK(found.st_mode) and not path.startswith("/etc/"):
            yield Shown(path, os.readlink(path))
        elif os.path.exists(path):
            yield Shown(path)


def interpreter_folders() -> Iterator[Shown]:
    """Yield where the daemon's interpreter lies: the holder is run by it, and virtual environments of
    projects lead to it."""
    for prefix in dict.fromkeys((sys.base_prefix, sys.base_exec_prefix, sys.prefix)):
        yield from folder_and_alias(Path(prefix))


def folder_and_alias(path: Path) -> Iterator[Shown]:
    """Yield a folder at its real place, and the name that it was called by when that is another."""
    real = os.path.realpath(path)
    if real == "/" or _below_usr(real) or not os.path.exists(real):
        return
    yield Shown(real)
    if real != str(path) and not _below_usr(str(path)):
        yield Shown(str(path), real)


def interpreter() -> str:
    """Return the real path of the interpreter that runs a holder."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def masked_proc() -> Sequence[str]:
    """Return the present files and folders of /proc that expose the host."""
    return tuple(f"/proc/{name}" for name in _MASKED_PROC if os.path.exists(f"/proc/{name}"))


def passwd() -> bytes:
    """Return the file that gives the cage's only user a name."""
    lines = [f"agent:x:{os.getuid()}:{os.getgid()}:agent:{HOME}:/bin/sh"]
    if os.getuid() != 65534:
        lines.append("nobody:x:65534:65534:nobody:/:/usr/sbin/nologin")
    return "".join(line + "\n" for line in lines).encode()


def group() -> bytes:
    lines = [f"agent:x:{os.getgid()}:"]
    if os.getgid() != 65534:
        lines.append("nogroup:x:65534:")
    return "".join(line + "\n" for line in lines).encode()


HOSTS = b"127.0.0.1 localhost\n::1 localhost ip6-localhost\n"
NAME_SERVICE = b"passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"


def _below_usr(path: str) -> bool:
    return path == "/usr" or path.startswith("/usr/")
