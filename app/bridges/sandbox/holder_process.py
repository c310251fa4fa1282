"""The holder: the first process of a cage, which starts all others.

Owns: forking, what a new process inherits, reaping. It serves `holder_protocol` on descriptor 3. Never:
imports of this package.

Processes of the cage run as the same user, so the holder is not dumpable, keeps no other descriptors, and has
no secret.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import select
import signal
import socket
import termios
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Request = dict[str, Any]

CONTROL = 3
MAX_MESSAGE = 65_536
MAX_DESCRIPTORS = 16
HIGHEST_DESCRIPTOR = 65_536
LOADING_SECONDS = 10.0
"""How long a program may take to be loaded."""
_OWN_HANDLERS = (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)


class Holder:
    """The commands of one cage, by the number that the daemon gave each."""

    def __init__(self) -> None:
        self.control = socket.socket(fileno=CONTROL)
        self.running: dict[int, int] = {}
        """Their process ids."""
        self.unseen: dict[int, int] = {}
        """Those that the daemon has not looked at yet: they stay unreaped, so that it can."""
        self.lingering: set[int] = set()
        self.woken, self._wake = os.pipe()
        for end in (self.woken, self._wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Serve the requests of the daemon until it is gone."""
        self.say({"kind": "ready"})
        poller = select.poll()
        poller.register(self.control, select.POLLIN)
        poller.register(self.woken, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poller.poll()}
            if self.woken in ready:
                os.read(self.woken, 4096)
                self.reap()
            if CONTROL in ready and not self.listen():
                return

    def listen(self) -> bool:
        """Take one request; False when the daemon has closed its end."""
        content, descriptors, _, _ = socket.recv_fds(
            self.control, MAX_MESSAGE, MAX_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
        )
        try:
            if not content:
                return False
            request = json.loads(content)
            if request.get("elsewhere"):
                request = json.loads(whole(descriptors.pop(0)))
            self.answer(request, descriptors)
            return True
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def answer(self, request: Request, descriptors: list[int]) -> None:
        kind, number = request["kind"], request["number"]
        try:
            if kind == "start":
                self.start(request, descriptors)
            elif kind == "seen":
                self.unseen.pop(number, None)
                self.reap()
            elif kind == "signal":
                self.signal(number, request["signal"])
            elif kind == "listen":
                with listening(request.get("port", 0)) as one:
                    self.say({"kind": "opened", "number": number}, one.fileno())
            elif kind == "connect":
                with connecting(request["port"], request["host"]) as one:
                    self.say({"kind": "opened", "number": number}, one.fileno())
        except OSError as problem:
            self.say({"kind": "failed", "number": number, "errno": problem.errno or 0, "step": kind})

    def start(self, request: Request, descriptors: list[int]) -> None:
        number = request["number"]
        loaded, report = os.pipe()
        try:
            pid = os.fork()
            if pid == 0:
                become(request, descriptors, report)
        except OSError:
            os.close(loaded)
            raise
        finally:
            os.close(report)
        failure = self.failure(loaded, pid)
        if failure is not None:
            os.waitpid(pid, 0)
            self.say({"kind": "failed", "number": number, **failure})
            return
        try:
            known = os.pidfd_open(pid)
        except OSError:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        try:
            self.running[number] = self.unseen[number] = pid
            if request["lingers"]:
                self.lingering.add(number)
            self.say({"kind": "started", "number": number}, known)
        finally:
            os.close(known)

    def failure(self, loaded: int, pid: int) -> Request | None:
        """Wait until the program is loaded; say why when it is not."""
        try:
            poller = select.poll()
            poller.register(loaded, select.POLLIN)
            if not poller.poll(LOADING_SECONDS * 1000):
                os.kill(pid, signal.SIGKILL)
                return {"errno": errno.ETIMEDOUT, "step": "load"}
            problem = os.read(loaded, 4096)
            return json.loads(problem) if problem else None
        finally:
            os.close(loaded)

    def signal(self, number: int, what: int) -> None:
        pid = self.running.get(number)
        if pid is not None:
            try:
                os.killpg(pid, what)
            except ProcessLookupError:
                os.kill(pid, what)

    def reap(self) -> None:
        """Reap whatever has ended. While the daemon has yet to look at one, only those that it knows: the
        system does not say who ended without the one that ended first being reaped."""
        if self.unseen:
            for number, pid in list(self.running.items()):
                if number not in self.unseen and os.waitid(
                    os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT
                ):
                    self.ended(number, pid)
            return
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if found is None:
                return
            for number, pid in self.running.items():
                if pid == found.si_pid:
                    self.ended(number, pid)
                    break
            else:
                os.waitpid(found.si_pid, 0)

    def ended(self, number: int, pid: int) -> None:
        """Reap a command and say so. Its group goes first, while the number is still its own."""
        if number not in self.lingering:
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        self.lingering.discard(number)
        del self.running[number]
        _, status = os.waitpid(pid, 0)
        self.say({"kind": "ended", "number": number, "code": os.waitstatus_to_exitcode(status)})

    def say(self, message: Request, *descriptors: int) -> None:
        socket.send_fds(self.control, [json.dumps(message).encode()], descriptors)


def become(request: Request, descriptors: list[int], report: int) -> None:
    """In the new process: become the program, or report the failure."""
    step = "session"
    try:
        os.setsid()
        for handled in _OWN_HANDLERS:
            signal.signal(handled, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        step = "files"
        for number, file in enumerate(request["files"]):
            os.dup2(opened(file, descriptors), number)
        if request["terminal"]:
            fcntl.ioctl(1, termios.TIOCSCTTY, 0)
        os.closerange(CONTROL, report)
        os.closerange(report + 1, HIGHEST_DESCRIPTOR)
        step = "limits"
        for name, value in request["limits"].items():
            bound(getattr(resource, name), value)
        step = "cwd"
        enter(request["cwd"], request["at"])
        step = "load"
        execute(request)
    except OSError as problem:
        os.write(report, json.dumps({"errno": problem.errno or 0, "step": step}).encode())
    finally:
        os._exit(127)


def opened(file: int | str, descriptors: list[int]) -> int:
    """Return a descriptor for a file of the request: one that came with it, another one of the new
    process, or nothing that is read or written (opened here: the daemon's would be the host's)."""
    if isinstance(file, int):
        return descriptors[file]
    if file == "null":
        return os.open("/dev/null", os.O_RDWR)
    return 1


def bound(what: int, value: int) -> None:
    """Set a limit of the new process, not above what it has."""
    _, hard = resource.getrlimit(what)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (value, value))


def enter(path: str, at: list[int] | None) -> None:
    """Make a folder the working one, if it is the one that is meant."""
    os.chdir(path.encode("latin-1"))
    found = os.stat(".")
    if at is not None and [found.st_dev, found.st_ino] != at:
        raise FileNotFoundError(errno.ENOENT, "another folder")


def execute(request: Request) -> None:
    """Run the program; one without a slash is looked for along the new environment's PATH."""
    argv = [part.encode("latin-1") for part in request["argv"]]
    env = dict(entry.encode("latin-1").split(b"=", 1) for entry in request["env"])
    if b"/" in argv[0]:
        os.execve(argv[0], argv, env)
    problem: OSError = FileNotFoundError(errno.ENOENT, "no program")
    for folder in env.get(b"PATH", b"/usr/bin:/bin").split(b":"):
        try:
            os.execve((folder or b".") + b"/" + argv[0], argv, env)
        except FileNotFoundError:
            continue
        except OSError as other:
            problem = other
            if other.errno not in (errno.EACCES, errno.ENOTDIR):
                break
    raise problem


def whole(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        file.seek(0)
        return file.read()


def listening(port: int) -> socket.socket:
    """Return a socket that listens on a port of the cage's own loopback; 0 is any that is free."""
    one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        one.bind(("127.0.0.1", port))
        one.listen(128)
        return one
    except OSError:
        one.close()
        raise


def connecting(port: int, host: str) -> socket.socket:
    """Return a socket that is being connected to a port of the cage's own loopback."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    one = socket.socket(family, socket.SOCK_STREAM)
    one.setblocking(False)
    problem = one.connect_ex((host, port))
    if problem not in (0, errno.EINPROGRESS):
        one.close()
        raise OSError(problem, os.strerror(problem))
    return one


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    nothing = os.open("/dev/null", os.O_RDWR)
    for number in range(CONTROL):
        os.dup2(nothing, number)
    os.close(nothing)
    Holder().serve()


if __name__ == "__main__":
    main()
