"""How bubblewrap is told what a cage is.

Owns: its arguments, and the descriptors that go with them. Everything of the project is bound by
descriptor: by path, 12 of 30 racing launches mounted what lay outside. Never: starting it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from app.bridges.sandbox import holder_process, system_view
from app.bridges.sandbox.mounts import Bound
from app.bridges.sandbox.system_view import Shown

FIRST_PASSED = 3
_INTERPRETER_FLAGS = ("-I", "-S", "-E", "-B")
_APART = (
    "--unshare-user",
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--cap-drop",
    "ALL",
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
        self.passed.append(self.control)

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
        return [program, "--args", number, "--", interpreter, *_INTERPRETER_FLAGS, system_view.HOLDER]


def wrap(
    wrapping: Wrapping,
    bounds: Sequence[Bound],
    *,
    shown: Iterable[Shown],
    filter_bytes: bytes,
    state: tuple[int, int] | None,
    devices: str | None,
) -> None:
    """Tell everything. `state` are descriptors of the folders that are kept as home and /tmp; `devices` is
    a folder with devices that are nobody's in particular, None to take the host's."""
    wrapping.add(*_APART)
    _system(wrapping, devices)
    _own_folders(wrapping, state)
    masks = _project(wrapping, bounds, shown)
    _finish(wrapping, masks)
    wrapping.add("--chdir", "/", "--seccomp", wrapping.content(filter_bytes))


def _system(wrapping: Wrapping, devices: str | None) -> None:
    for one in system_view.system_folders():
        _show(wrapping, one)
    wrapping.add("--proc", "/proc", "--dev", "/dev")
    for path in system_view.masked_proc():
        if os.path.isdir(path):
            wrapping.add("--tmpfs", path, "--remount-ro", path)
        else:
            wrapping.add("--ro-bind", "/dev/null", path)
    for name in system_view.DEVICES if devices is not None else ():
        wrapping.add("--dev-bind", f"{devices}/{name}", f"/dev/{name}")
    files = (
        ("/etc/passwd", system_view.passwd()),
        ("/etc/group", system_view.group()),
        ("/etc/hosts", system_view.HOSTS),
        ("/etc/nsswitch.conf", system_view.NAME_SERVICE),
    )
    for path, content in files:
        wrapping.add("--perms", "0444", "--ro-bind-data", wrapping.content(content), path)
    with open(holder_process.__file__, "rb") as file:
        wrapping.add("--perms", "0444", "--ro-bind-data", wrapping.content(file.read()), system_view.HOLDER)


def _own_folders(wrapping: Wrapping, state: tuple[int, int] | None) -> None:
    size = str(system_view.TMP_BYTES)
    if state is None:
        for path, mode in ((system_view.HOME, "0755"), (system_view.TMP, "1777")):
            wrapping.add("--perms", mode, "--size", size, "--tmpfs", path)
    else:
        for path, descriptor in zip((system_view.HOME, system_view.TMP), state, strict=True):
            wrapping.add("--bind-fd", wrapping.passing(descriptor), path)
    wrapping.add("--perms", "1777", "--size", str(system_view.SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm")
    wrapping.add("--perms", "1777", "--size", size, "--tmpfs", "/var/tmp", "--dir", "/run")


def _project(wrapping: Wrapping, bounds: Sequence[Bound], shown: Iterable[Shown]) -> list[str]:
    """Show what else is of the host, shallow places first; return the places that are hidden."""
    masks = []
    explicit = {bound.path for bound in bounds}
    everything: list[Bound | Shown] = [one for one in shown if one.path not in explicit]
    everything += bounds
    for one in sorted(everything, key=lambda one: one.path.rstrip("/").count("/")):
        if isinstance(one, Shown):
            _show(wrapping, one)
        elif one.how == "hidden" and one.folder:
            wrapping.add("--perms", "0111", "--size", "4096", "--tmpfs", one.path)
            masks.append(one.path)
        elif one.how == "hidden":
            wrapping.add("--ro-bind", "/dev/null", one.path)
        else:
            assert one.descriptor is not None
            option = "--bind-fd" if one.how == "rw" else "--ro-bind-fd"
            wrapping.add(option, wrapping.passing(one.descriptor), one.path)
    return masks


def _show(wrapping: Wrapping, one: Shown) -> None:
    if one.link is not None:
        wrapping.add("--symlink", one.link, one.path)
    else:
        wrapping.add("--ro-bind", one.path, one.path)


def _finish(wrapping: Wrapping, masks: Sequence[str]) -> None:
    """What was written to while the cage was made is read-only from here on."""
    for path in (*masks, "/proc", "/dev", "/"):
        wrapping.add("--remount-ro", path)
