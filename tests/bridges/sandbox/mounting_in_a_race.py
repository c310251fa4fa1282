"""Mounts on a folder that is swapped for a link meanwhile, in mounts of its own, and says what came of it.

Run by `test_mount_races` as a program: by descriptor as the entrance of a cage does it, or by path.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

from app.bridges.sandbox.entrance_process import Place, Swapped, called, libc, opened, prepare, put

_BIND, _DETACH = 4096, 2


def by_descriptor(place: Place) -> int:
    """Mount as the entrance does; return a descriptor of what was mounted."""
    prepare(place, 0)
    try:
        put(place, -1)
    except BaseException:
        os.close(place.tree)
        raise
    return place.tree


def by_path(place: Place) -> int:
    """Mount as it is not done: after looking, by name."""
    descriptor = opened(place.path)
    name = os.fsencode(place.path)
    try:
        called("mount", name, name, None, _BIND, None)
        return os.open(place.path, os.O_PATH)
    finally:
        os.close(descriptor)


def round_of(mount: str, door: Path, outside: Path, at: list[int]) -> str:
    """Mount once, look where, and take it away again."""
    place = Place({"path": str(door), "how": "ro", "at": at})
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
    mount, rounds, project, outside = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
    at = json.loads(sys.argv[5])
    ends = Counter(round_of(mount, project / "door", outside, at) for _ in range(rounds))
    sys.stdout.write(json.dumps(ends))


if __name__ == "__main__":
    main()
