"""A language server between whose client and itself all bytes are kept.

Run as a program: the first argument is a folder, the others are the server's command. What the client sent is
in the file `sent` there, what the server sent in `received`. It ends with the server.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

_CHUNK = 64 * 1024


def main() -> int:
    folder, command = Path(sys.argv[1]), sys.argv[2:]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None and server.stdout is not None
    asking = threading.Thread(target=ask, args=(server.stdin, folder / "sent"), daemon=True)
    asking.start()
    copy(server.stdout.fileno(), 1, folder / "received")
    return server.wait()


def ask(server: IO[bytes], record: Path) -> None:
    copy(0, server.fileno(), record)
    server.close()


def copy(source: int, target: int, record: Path) -> None:
    """Copy until the end, or until nobody reads."""
    with record.open("ab", buffering=0) as kept:
        while chunk := os.read(source, _CHUNK):
            kept.write(chunk)
            while chunk:
                try:
                    chunk = chunk[os.write(target, chunk) :]
                except BrokenPipeError:
                    return


if __name__ == "__main__":
    sys.exit(main())
