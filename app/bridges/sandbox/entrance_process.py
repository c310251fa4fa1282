"""The entrance: the first program in a cage, which becomes the holder.

Owns: binding places in the cage, giving up rights, the filter of system calls. Never: imports of this
package. It runs as a file inside the cage.

Bubblewrap mounts by path. Below a project another process may swap a parent for a link, so these places are
opened here without following links, compared with what the daemon saw, and mounted by descriptor.

It cannot execute itself away: the holder is the parent of all processes of the cage for as long as that is
used, and needs Python. A new process would take the same memory and 20 ms more. So both stay small: they
import little, no `typing` among it, and give back what compiling took.
"""

from __future__ import annotations

import binascii
import ctypes
import json
import os
import stat
import struct
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CONTROL, PLAN = 3, 4
HOLDER = "/run/kaged/holder.py"
MASKS = "/run/kaged/masks"
STAGE = "/run/kaged/stage"
"""Where bubblewrap puts what lies in a folder that is kept from run to run: who was there before may have
left links on the way, and bubblewrap would follow them."""
HIGHEST_DESCRIPTOR = 65_536

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_CLONE, _CLOEXEC = 0x1, os.O_CLOEXEC
_NEW_MOUNTS = 0x20000
_EMPTY_PATH, _RECURSIVE = 0x1000, 0x8000
_FROM_EMPTY_PATH, _TO_EMPTY_PATH = 0x4, 0x40
_READ_ONLY, _PRIVATE = 0x1, 1 << 18
_WORKING_FOLDER = -100
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 4, 22, 24, 38, 47
_FILTER, _CLEAR_ALL = 2, 4
_CAPABILITY_VERSION = 0x20080522
_LAST_CAPABILITY = 63
_PATH_ONLY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC

libc = ctypes.CDLL(None, use_errno=True)


class Swapped(Exception):
    """Something else is in a place by now."""


class MountPoint:
    """A place below a granted folder that gets a mount of its own."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self.path: str = entry["path"]
        self.how: str = entry["how"]
        self.at: list[int] = entry["at"]
        self.tree = -1
        """A mount that is nowhere yet."""


def called(name: str, *arguments: Any) -> int:
    result: int = getattr(libc, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def opened(path: str, made_below: int | None = None) -> int:
    """Open a place by its absolute path without following any link. Folders that are missing are made
    where the file system is `made_below`, that of the masks: there nobody else is."""
    descriptor = os.open("/", _PATH_ONLY)
    try:
        for name in [part for part in path.split("/") if part]:
            if made_below is not None and os.fstat(descriptor).st_dev == made_below:
                made(name, descriptor)
            deeper = os.open(name, _PATH_ONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = deeper
            if stat.S_ISLNK(os.fstat(descriptor).st_mode):
                raise Swapped(path)
    except OSError as problem:
        os.close(descriptor)
        raise Swapped(path) from problem
    return descriptor


def made(name: str, folder: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=folder)


def unstage(staged: dict[str, Any]) -> None:
    """Mount what was put on the stage where it belongs, in a folder that is kept."""
    source = opened(staged["from"])
    parent, name = os.path.split(staged["path"])
    folder = opened(parent, os.stat(staged["kept"]).st_dev)
    if staged["folder"]:
        made(name, folder)
    else:
        with suppress(FileExistsError):
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=folder))
    target = os.open(name, _PATH_ONLY, dir_fd=folder)
    if stat.S_ISLNK(os.fstat(target).st_mode):
        raise Swapped(staged["path"])
    move(tree_of(source), target)
    for descriptor in (source, folder, target):
        os.close(descriptor)


def move(tree: int, target: int) -> None:
    called("syscall", _MOVE_MOUNT, tree, b"", target, b"", _FROM_EMPTY_PATH | _TO_EMPTY_PATH)


def is_there(place: MountPoint, descriptor: int) -> bool:
    found = os.fstat(descriptor)
    return [found.st_dev, found.st_ino] == place.at


def tree_of(descriptor: int) -> int:
    """Return a copy of the mounts at and below a descriptor that is nowhere yet."""
    flags = _CLONE | _CLOEXEC | _EMPTY_PATH | _RECURSIVE
    return called("syscall", _OPEN_TREE, descriptor, b"", flags)


def restrict(tree: int, *, read_only: bool, recursive: bool) -> None:
    attributes = struct.pack("QQQQ", _READ_ONLY if read_only else 0, 0 if read_only else _READ_ONLY, 0, 0)
    flags = _EMPTY_PATH | (_RECURSIVE if recursive else 0)
    called("syscall", _MOUNT_SETATTR, tree, b"", flags, attributes, len(attributes))


def keep_apart() -> None:
    """Have nothing mounted here that is mounted outside from now on: it would come as it is there, with its
    devices, and to be written to also where the folder around it is read-only."""
    attributes = struct.pack("QQQQ", 0, 0, _PRIVATE, 0)
    called("syscall", _MOUNT_SETATTR, _WORKING_FOLDER, b"/", _RECURSIVE, attributes, len(attributes))


def prepare(place: MountPoint, number: int) -> None:
    """Make the mount for a place, from what is there before anything is mounted."""
    descriptor = opened(place.path)
    try:
        if not is_there(place, descriptor):
            raise Swapped(place.path)
        if place.how != "hidden":
            place.tree = tree_of(descriptor)
            restrict(place.tree, read_only=place.how == "ro", recursive=place.how == "ro")
            return
        mask = f"{MASKS}/{number}"
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.mkdir(mask, 0o700)
        else:
            os.close(os.open(mask, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0))
    finally:
        os.close(descriptor)
    descriptor = os.open(mask, _PATH_ONLY)
    place.tree = tree_of(descriptor)
    os.close(descriptor)


def put(place: MountPoint, masks: int) -> None:
    """Mount what was prepared for a place, if the place is unchanged. `masks` is the file system of the
    masks."""
    target = opened(place.path, masks)
    try:
        if os.fstat(target).st_dev != masks and not is_there(place, target):
            raise Swapped(place.path)
        move(place.tree, target)
    finally:
        os.close(target)


def hide_stage() -> None:
    """Put an empty folder over the stage: what is there is seen where it belongs, and as it was granted."""
    os.mkdir(f"{MASKS}/stage", 0o700)
    mask, stage = opened(f"{MASKS}/stage"), opened(STAGE)
    move(tree_of(mask), stage)
    os.close(mask)
    os.close(stage)


def arrange(plan: dict[str, Any]) -> None:
    """Mount the places, shallow ones first, and make the temporary writable ones read-only. For an ordinary
    user bubblewrap adds a user namespace: this process can change its own mounts only, and nothing read-only
    can become writable again. So places below read-only ones are taken while those are still writable."""
    called("unshare", _NEW_MOUNTS)
    keep_apart()
    places = [MountPoint(entry) for entry in plan["places"]]
    masks = os.stat(MASKS).st_dev
    for entry in plan["staged"]:
        unstage(entry)
    for number, place in enumerate(places):
        prepare(place, number)
    for granted in [MountPoint(entry) for entry in plan["granted_read_only"]]:
        descriptor = opened(granted.path)
        if not is_there(granted, descriptor):
            raise Swapped(granted.path)
        restrict(descriptor, read_only=True, recursive=True)
        os.close(descriptor)
    for place in places:
        put(place, masks)
    if plan["staged"]:
        hide_stage()
    for folder, _, _ in os.walk(MASKS, topdown=False):
        os.chmod(folder, 0o111)
    for place in places:
        if place.how == "hidden":
            restrict(place.tree, read_only=True, recursive=False)
        os.close(place.tree)
    for path in plan["read_only"]:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        restrict(descriptor, read_only=True, recursive=False)
        os.close(descriptor)


def give_up_rights() -> None:
    """Drop every capability, for good."""
    called("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    called("prctl", _PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    for capability in range(_LAST_CAPABILITY + 1):
        if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break  # the kernel knows no more
    header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
    called("capset", header, bytes(24))


def filter_calls(program: bytes) -> None:
    """Have every system call from here on, of this and of all later processes, pass the filter."""
    instructions = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(instructions))
    called("prctl", _PR_SET_SECCOMP, _FILTER, described, 0, 0)


def main() -> None:
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    with open(PLAN, "rb") as file:
        plan = json.load(file)
    os.closerange(CONTROL + 1, HIGHEST_DESCRIPTOR)
    os.set_inheritable(CONTROL, False)
    with open(HOLDER, "rb") as file:
        holder = compile(file.read(), HOLDER, "exec")
    arrange(plan)
    give_up_rights()
    filter_calls(binascii.a2b_base64(plan["filter"]))
    with suppress(AttributeError):  # not every C library has it
        libc.malloc_trim(0)
    exec(holder, {"__name__": "__main__"})  # a new process would load everything again


if __name__ == "__main__":
    try:
        main()
    except Swapped as swapped:
        os.write(2, f"swapped: {swapped}\n".encode("utf-8", "surrogateescape"))
        sys.exit(2)
    except OSError as problem:
        os.write(2, f"{problem}\n".encode("utf-8", "replace"))
        sys.exit(1)
