"""Folders and links that are exchanged while the daemon looks, and what a command plants for it to find."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.attacks.case import Case, worked
from tests.attacks.commands import control, run
from tests.attacks.place import NEIGHBOUR
from tests.attacks.scene import Scene, unique

AREA = "races"
ROUNDS = 40
EXCHANGE = 2
AT_CURRENT = -100
libc = ctypes.CDLL(None, use_errno=True)


def _exchange(one: Path, other: Path) -> None:
    libc.renameat2(AT_CURRENT, os.fsencode(one), AT_CURRENT, os.fsencode(other), EXCHANGE)


@contextmanager
def _swapping(scene: Scene) -> Iterator[str]:
    """Exchange a folder of the project and a link to the outside, without end. Gives its name."""
    source = scene.place.project / "src"
    folder, link = source / unique("swapped"), source / unique("away")
    folder.mkdir()
    for name in ("secret.txt", "deep.py"):
        (folder / name).write_text(f"{NEIGHBOUR}\n")
    link.symlink_to(scene.place.outside)
    scene.place.give(source)
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            _exchange(folder, link)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield folder.name
    finally:
        ended.set()
        thread.join()
        for left in (folder, link):
            if left.is_symlink():
                left.unlink()


def _racing(name: str, agent: str, tool: str, params: Callable[[str], dict[str, Any]]) -> Case:
    """Many calls of a tool while a folder of its path is exchanged for a link."""

    def attack(scene: Scene) -> None:
        with _swapping(scene) as folder:
            for _ in range(ROUNDS):
                scene.call(agent, tool, params(folder))

    def allowed(scene: Scene) -> None:
        worked(scene.call(agent, "file.read", {"path": "src/a.txt"}), NEIGHBOUR)

    return Case(AREA, name, attack, allowed)


def _command_in_a_swapped_folder() -> Case:
    """The folder of a command is exchanged at the moment at which it starts."""

    def attack(scene: Scene) -> None:
        with _swapping(scene) as folder:
            for _ in range(10):
                scene.shell("runner", "cat secret.txt; pwd -P; ls", cwd=f"src/{folder}")

    def allowed(scene: Scene) -> None:
        control(scene, "runner", "cat a.txt", NEIGHBOUR)

    return Case(AREA, "folder-of-a-command", attack, allowed)


def _planted(name: str, command: str, *looks: tuple[str, dict[str, Any]]) -> Case:
    """What a command leaves in the project must not lead the daemon's own tools outside, and protected
    names that it makes are taken away."""

    def attack(scene: Scene) -> None:
        run(scene, "runner", command)
        for tool, params in looks:
            scene.call("runner", tool, params)
        for protected in (".git", ".vscode", ".kaged", ".envrc"):
            assert not os.path.lexists(scene.place.project / "src" / protected)

    def allowed(scene: Scene) -> None:
        made = unique("made")
        control(scene, "runner", f"echo {NEIGHBOUR} > {made}.txt; cat {made}.txt", NEIGHBOUR)

    return Case(AREA, name, attack, allowed)


def _read(path: str) -> tuple[str, dict[str, Any]]:
    return "file.read", {"path": path}


CASES: tuple[Case, ...] = (
    _racing("read", "reader", "file.read", lambda folder: {"path": f"src/{folder}/secret.txt"}),
    _racing(
        "read-by-the-root-agent", "primary", "file.read", lambda folder: {"path": f"src/{folder}/secret.txt"}
    ),
    _racing("list", "reader", "file.read", lambda folder: {"path": f"src/{folder}"}),
    _racing(
        "write",
        "writer",
        "file.create",
        lambda folder: {"path": f"src/{folder}/{unique('m')}", "content": "x"},
    ),
    _racing(
        "search",
        "reader",
        "search.grep",
        lambda folder: {"pattern": "canary", "path": f"src/{folder}", "output_mode": "content"},
    ),
    _racing(
        "edit",
        "writer",
        "edit.text",
        lambda folder: {"path": f"src/{folder}/secret.txt", "old_string": "allowed", "new_string": "changed"},
    ),
    _command_in_a_swapped_folder(),
    _planted(
        "planted-link", "ln -s <outside>/secret.txt planted; ln -s <outside> planted2", _read("src/planted")
    ),
    _planted("planted-link-in-a-folder", "mkdir -p p; ln -s <outside> p/q", _read("src/p/q/secret.txt")),
    _planted("planted-pipe", "rm -f piped; mkfifo piped", _read("src/piped")),
    _planted(
        "planted-device", "mknod device c 1 3; mknod disk b 8 0", _read("src/disk"), _read("src/device")
    ),
    _planted(
        "planted-repository",
        "mkdir -p .git/hooks; printf '[core]\\n\\tfsmonitor = <outside>/program.sh\\n' > .git/config; "
        "echo 'ref: refs/heads/x' > .git/HEAD; ls",
        ("search.grep", {"pattern": "neighbour", "path": "src"}),
    ),
    _planted(
        "planted-settings", "mkdir -p .vscode .kaged; echo x > .vscode/tasks.json; echo x > .kaged/x; ls"
    ),
    _planted(
        "planted-by-renaming", "mkdir -p innocent; echo x > innocent/tasks.json; mv innocent .vscode; ls"
    ),
    _planted("planted-start-file", "echo 'touch <outside>/made.txt' > .envrc; ls"),
    _planted(
        "planted-deep",
        "mkdir -p a/b/c; cd a/b/c; for n in $(seq 300); do mkdir d && cd d; done; ls",
        _read("src/a"),
    ),
    _planted("planted-name-with-escapes", "touch \"$(printf 'a\\033[2Jb\\nc')\"; ls -b", _read("src")),
)
