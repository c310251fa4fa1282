"""Another process that lets two names change places again and again, while a test uses one of them.

It rests now and then, so that a use of several steps can come to its end on a slow machine, too. The swaps
between two rests are odd in number, so that it rests on either name in turn.
Owns: the folders of the race, and what must be true of the outside when it is over.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

CANARY = b"canary of the outside"

_SWAPPER = """
import ctypes, select, sys
libc = ctypes.CDLL(None, use_errno=True)
door, bait = (name.encode() for name in sys.argv[1:])
swaps = bursts = 0
print("swapping", flush=True)
while not select.select([0], [], [], 0.003 if bursts % 15 == 14 else 0)[0]:
    for _ in range(51):
        swaps += libc.renameat2(-100, door, -100, bait, 2) == 0
    bursts += 1
print(swaps)
"""


@contextmanager
def swapping(first: Path, second: Path, *, at_least: int = 500) -> Iterator[None]:
    """Let two names change places while the body runs; at the end it is certain that they did so
    `at_least` that often."""
    child = subprocess.Popen(
        [sys.executable, "-c", _SWAPPER, str(first), str(second)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "swapping\n"
        yield
    finally:
        swaps, _ = child.communicate("stop", timeout=60)
    assert int(swaps) >= at_least


@dataclass
class Arena:
    """`root/door` is a folder, `root/bait` a link to `outside`; `door` is the folder whatever it is
    called. Inside and outside have the same names, so that what is done in the wrong one shows."""

    root: Path
    outside: Path
    door: int

    @classmethod
    def make(cls, base: Path, outside: str = "outside") -> Arena:
        """Make the folders; `outside` is the name of the one that nothing may get to, below `base`."""
        root, outside_of_it = base / "project", base / outside
        for folder in (root / "door", root / "safe", outside_of_it / "tree"):
            folder.mkdir(parents=True, exist_ok=True)
        for name in ("secret", "one", "victim", "tree/leaf"):
            (outside_of_it / name).write_bytes(CANARY)
        (root / "bait").symlink_to(outside_of_it)
        return cls(root, outside_of_it, os.open(root / "door", os.O_PATH | os.O_DIRECTORY))

    def put(self, name: str, content: bytes = b"harmless") -> None:
        """Put a file into the folder, unless it is there."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o600, dir_fd=self.door)
        try:
            if os.fstat(descriptor).st_size == 0:
                os.write(descriptor, content)
        finally:
            os.close(descriptor)

    def put_tree(self) -> None:
        """Put a folder with something in it into the folder, unless it is there."""
        with suppress(FileExistsError):
            os.mkdir("tree", dir_fd=self.door)
        self.put("tree/leaf")

    def is_untouched(self) -> bool:
        """Whether the outside has exactly what it had."""
        seen = {
            str(one.relative_to(self.outside)): one.read_bytes() if one.is_file() else None
            for one in self.outside.rglob("*")
        }
        whole = dict.fromkeys(("secret", "one", "victim", "tree/leaf"), CANARY)
        return seen == {**whole, "tree": None}
