"""The arguments that describe a cage to bubblewrap.

Owns: the arguments and descriptors. Places of the project are bound by descriptor, safe against swapped
links. Never: starting it.
"""

from __future__ import annotations

import base64
import errno
import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from app.bridges.sandbox import entrance_process, holder_process, system_view
from app.bridges.sandbox.mounts import Bound, Places, lies_below, place_fields
from app.bridges.sandbox.system_view import Shown

FIRST_PASSED = 3
ENTRANCE = "/run/kaged/entrance.py"
READ_ONLY = ["/proc", *(f"/dev/{name}" for name in system_view.DEVICES), "/dev", "/run/kaged/masks", "/"]
"""What is made read-only at the end. The devices are the host's: their owner could change their modes."""

_PROGRAMS = {
    entrance_process.HOLDER: Path(str(holder_process.__file__)).read_bytes(),
    ENTRANCE: Path(str(entrance_process.__file__)).read_bytes(),
}
"""Read once, at the daemon's start: who could change the files later would change what runs with rights."""

State = tuple[int, int] | None
_INTERPRETER_FLAGS = ("-I", "-S", "-E", "-B")
_APART = (
    "--unshare-user",
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--cap-drop",
    "ALL",
    # For the entrance, which gives them up before anything else runs.
    "--cap-add",
    "CAP_SYS_ADMIN",
    "--cap-add",
    "CAP_SETPCAP",
    "--hostname",
    "cage",
    "--as-pid-1",
)


@dataclass(slots=True)
class Wrapping:
    """The arguments and descriptors of one start. `control` is the holder's end of its socket, which it
    gets as the first. Closing it closes what was made here."""

    control: int
    arguments: list[str] = field(default_factory=list)
    passed: list[int] = field(default_factory=list)
    held: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.passed.append(self.control)  # the plan is the next: `entrance_process` knows their numbers

    def close(self) -> None:
        self.held.close()

    def add(self, *arguments: str) -> None:
        self.arguments += arguments

    def passing(self, descriptor: int) -> str:
        """Pass a descriptor on, and return the number that it will have there."""
        self.passed.append(descriptor)
        return str(FIRST_PASSED + len(self.passed) - 1)

    def content(self, content: bytes) -> str:
        """Pass a file in memory on."""
        descriptor = os.memfd_create("cage", os.MFD_CLOEXEC)
        self.held.callback(os.close, descriptor)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return self.passing(descriptor)

    def command(self, program: str) -> list[str]:
        """Return the command line: the arguments themselves are in a file, as there may be many."""
        plain = b"".join(os.fsencode(argument) + b"\0" for argument in self.arguments)
        number = self.content(plain)
        interpreter = system_view.interpreter()
        return [program, "--args", number, "--", interpreter, *_INTERPRETER_FLAGS, ENTRANCE]


def wrap(
    wrapping: Wrapping, places: Places, *, links: Sequence[Shown], filter_bytes: bytes, state: State
) -> None:
    """Tell everything. `links` are other names of what is shown; `state` are descriptors of the folders
    that are kept as home and /tmp, None where they go with the cage."""
    staged = [] if state is None else [bound for bound in places.outer if _kept_around(bound.path)]
    plan = {
        "places": place_fields(places.inner),
        "staged": _staged(staged),
        "granted_read_only": place_fields([bound for bound in places.outer if bound.how == "ro"]),
        "read_only": READ_ONLY,
        "filter": base64.b64encode(filter_bytes).decode(),
    }
    wrapping.content(json.dumps(plan).encode())
    wrapping.add(*_APART)
    _system(wrapping)
    _own_folders(wrapping, state)
    if state is not None and any(_kept_around(one.path) for one in links):
        raise OSError(errno.ELOOP, "a folder that is kept has no room for a link to the project")
    _project(wrapping, places.outer, links, staged)
    wrapping.add("--perms", "0755", "--size", "1048576", "--tmpfs", entrance_process.MASKS, "--chdir", "/")


def _system(wrapping: Wrapping) -> None:
    for one in system_view.system_folders():
        _show(wrapping, one)
    wrapping.add("--proc", "/proc", "--dev", "/dev")
    for path in system_view.masked_proc():
        if os.path.isdir(path):
            wrapping.add("--size", "4096", "--tmpfs", path, "--remount-ro", path)
        else:
            wrapping.add("--ro-bind", "/dev/null", path)
    files = (
        ("/etc/passwd", system_view.passwd()),
        ("/etc/group", system_view.group()),
        ("/etc/hosts", system_view.HOSTS),
        ("/etc/nsswitch.conf", system_view.NAME_SERVICE),
    )
    for path, content in files:
        wrapping.add("--perms", "0444", "--ro-bind-data", wrapping.content(content), path)
    for path, program in _PROGRAMS.items():
        wrapping.add("--perms", "0444", "--ro-bind-data", wrapping.content(program), path)


def _own_folders(wrapping: Wrapping, state: State) -> None:
    size = str(system_view.TMP_BYTES)
    if state is None:
        for path, mode in ((system_view.HOME, "0755"), (system_view.TMP, "1777")):
            wrapping.add("--perms", mode, "--size", size, "--tmpfs", path)
    else:
        for path, descriptor in zip((system_view.HOME, system_view.TMP), state, strict=True):
            wrapping.add("--bind-fd", wrapping.passing(descriptor), path)
    wrapping.add("--perms", "1777", "--size", str(system_view.SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm")
    wrapping.add("--perms", "1777", "--size", size, "--tmpfs", "/var/tmp", "--dir", "/run")


def _project(
    wrapping: Wrapping, outer: Sequence[Bound], links: Sequence[Shown], staged: Sequence[Bound]
) -> None:
    for one in links:
        _show(wrapping, one)
    for bound in outer:
        path = _stage(staged.index(bound)) if bound in staged else bound.path
        wrapping.add("--bind-fd", wrapping.passing(bound.descriptor), path)


def _stage(number: int) -> str:
    return f"{entrance_process.STAGE}/{number}"


def _staged(bounds: Sequence[Bound]) -> list[dict[str, object]]:
    """Return the places in kept folders as the entrance gets them."""
    return [
        {"path": one.path, "folder": one.folder, "from": _stage(number), "kept": _kept_around(one.path)}
        for number, one in enumerate(bounds)
    ]


def _kept_around(path: str) -> str | None:
    """Return the folder that may be kept from run to run and that a path lies in."""
    return next((one for one in (system_view.HOME, system_view.TMP) if lies_below(path, one)), None)


def _show(wrapping: Wrapping, one: Shown) -> None:
    if one.link is not None:
        wrapping.add("--symlink", one.link, one.path)
    else:
        wrapping.add("--ro-bind", one.path, one.path)
