"""Mounts on a folder that is swapped for a link meanwhile, in mounts of its own, and says what came of it.

Run by `test_mount_races` as a program: by descriptor as the entrance of a cage does it, or by path. By
descriptor another process swaps: how often the folder is met in which of its two shapes is up to the machine
and what else it does, and the race goes on until every end that is asked for was seen often enough. By path
the folder is swapped in the worst moment, between the look and the mount.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

from app.bridges.sandbox.entrance_process import MountPoint, Swapped, called, libc, opened, prepare, put

_BIND, _DETACH = 4096, 2
_HERE, _EXCHANGE = -100, 2


def by_descriptor(place: MountPoint) -> int:
    """Mount as the entrance does; return a descriptor of what was mounted."""
    prepare(place, 0)
    try:
        put(place, -1)
    except BaseException:
        os.close(place.tree)
        raise
    return place.tree


def by_path(place: MountPoint) -> int:
    """Mount as it is not done: after looking, by name, and swapped in between."""
    descriptor = opened(place.path)
    name = os.fsencode(place.path)
    try:
        called("renameat2", _HERE, name, _HERE, os.fsencode(Path(place.path).with_name("bait")), _EXCHANGE)
        called("mount", name, name, None, _BIND, None)
        return os.open(place.path, os.O_PATH)
    finally:
        os.close(descriptor)


def round_of(mount: str, door: Path, outside: Path, at: list[int]) -> str:
    """Mount once, look where, and take it away again."""
    place = MountPoint({"path": str(door), "how": "ro", "at": at})
    try:
        mounted = by_descriptor(place) if mount == "descriptor" else by_path(place)
    except (Swapped, OSError):
        return "swapped"
    try:
        found = os.fstat(mounted)
        escaped = [found.st_dev, found.st_ino] != at or is_mount(outside)
        return "escaped" if escaped else "mounted"
    finally:
        libc.umount2(f"/proc/self/fd/{mounted}".encode(), _DETACH)
        os.close(mounted)
        libc.umount2(os.fsencode(outside), _DETACH)


def is_mount(path: Path) -> bool:
    return f" {path} " in Path("/proc/self/mountinfo").read_text()


def main() -> None:
    mount, project, outside = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    at, wanted, seconds = json.loads(sys.argv[4]), json.loads(sys.argv[5]), float(sys.argv[6])
    ends: Counter[str] = Counter()
    until = time.monotonic() + seconds
    while any(ends[end] < times for end, times in wanted.items()) and time.monotonic() < until:
        ends[round_of(mount, project / "door", outside, at)] += 1
    sys.stdout.write(json.dumps(ends))


if __name__ == "__main__":
    main()
