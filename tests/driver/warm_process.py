"""A process that has loaded kaged's code, and forks one that runs `python -m app` at each request.

Owns: the forks, and the words about their ends. Never: who asks for one (`warm_start`). A fork takes its
arguments, environment, folder and standard streams from the request; it then runs what `app/__main__.py`
runs, and ends as any Python process does.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import socket
import sys
from contextlib import suppress

import orjson

LOADED = ("app.main", "app.api.application", "app.daemon.lifespan")
MAX_REQUEST_BYTES = 1 << 20
_STREAMS = 3


def serve(asked: socket.socket) -> list[str] | None:
    """Fork at each request. Return its arguments in the fork, and None where nobody asks any more."""
    alive: dict[int, tuple[int, int]] = {}
    poll = select.poll()
    poll.register(asked, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready != asked.fileno():
                poll.unregister(ready)
                pid, told = alive.pop(ready)
                os.close(ready)
                _, status = os.waitpid(pid, 0)
                _tell(told, os.waitstatus_to_exitcode(status))
                os.close(told)
                continue
            content, given, _, _ = socket.recv_fds(asked, MAX_REQUEST_BYTES, _STREAMS + 1)
            if not content:
                return None
            *streams, told = given
            if (pid := os.fork()) == 0:
                for number in (asked.detach(), told, *alive, *(one for _, one in alive.values())):
                    os.close(number)
                return _become(orjson.loads(content), streams)
            for number in streams:
                os.close(number)
            _tell(told, pid)
            alive[watch := os.pidfd_open(pid)] = pid, told
            poll.register(watch, select.POLLIN)


def _tell(told: int, number: int) -> None:
    with suppress(BrokenPipeError):  # who asked may have ended
        os.write(told, b"%d\n" % number)


def _become(request: dict[str, object], streams: list[int]) -> list[str]:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # Those of the interpreter know what the descriptors were when it began.
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    os.chdir(str(request["cwd"]))
    environment = request["env"]
    assert isinstance(environment, dict)
    os.environ.clear()
    os.environ.update(environment)
    arguments = request["arguments"]
    assert isinstance(arguments, list)
    return arguments


def main() -> int:
    """Load, serve, and be the command in each fork."""
    asked = socket.socket(fileno=int(sys.argv[1]))
    entry = importlib.import_module("app.__main__")
    commands = importlib.import_module("app.cli.root").COMMANDS
    for name in (*LOADED, *(f"app.cli.{command}" for command in commands)):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    arguments = serve(asked)
    if arguments is None:
        return 0
    sys.argv = [str(entry.__file__), *arguments]
    # What the command would have been started with: it replaces itself by that.
    sys.orig_argv = [sys.executable, "-m", "app", *arguments]
    result: int = entry.main()
    return result


if __name__ == "__main__":
    sys.exit(main())
