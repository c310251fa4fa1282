"""A folder that is swapped for a link to the outside, again and again, while it is used."""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.errors import ToolError
from app.tools.authorisation.cage_policy import CagePolicy
from app.workspace import Policy, Workspace, descriptors
from tests.driver.rounds import rounds
from tests.driver.swapping import CANARY, Arena, swapping

ROUNDS = rounds(3_000, 20_000)
FEWER = rounds(1_200, 4_000)
PATIENCE_SECONDS = 80
Use = Callable[[Workspace, Arena, int], None]


@pytest.fixture
def arena(tmp_path) -> Iterator[Arena]:
    made = Arena.make(tmp_path)
    yield made
    os.close(made.door)


def _read(workspace: Workspace, arena: Arena, _turn: int) -> None:
    arena.put("secret")
    with workspace.open("door/secret") as opened:
        assert os.pread(opened.descriptor, 100, 0) != CANARY
    with workspace.open("door") as opened:
        assert "leaf" not in os.listdir(opened.descriptor)


def _write(workspace: Workspace, arena: Arena, turn: int) -> None:
    arena.put("secret")
    with workspace.target("door/secret") as target:
        assert target.read() != CANARY
        target.replace(b"mine %d" % turn)
    with workspace.target(f"door/deep/{turn}/new") as target:
        target.create(b"new")


def _rename(workspace: Workspace, arena: Arena, turn: int) -> None:
    arena.put("one")
    with workspace.entry("door/one") as old, workspace.entry(f"safe/{turn}") as new:
        old.move_to(new)
    assert (arena.root / f"safe/{turn}").read_bytes() != CANARY
    with workspace.entry(f"safe/{turn}") as old, workspace.entry(f"door/{turn}") as new:
        old.move_to(new)


def _delete(workspace: Workspace, arena: Arena, turn: int) -> None:
    arena.put("victim")
    with workspace.entry("door/victim") as entry:
        entry.remove()
    if turn % 4 == 0:
        arena.put_tree()
        with workspace.entry("door/tree") as entry:
            entry.remove()


USES: dict[str, Use] = {"read": _read, "write": _write, "rename": _rename, "delete": _delete}


def _race(arena: Arena, rounds: int, policy: Policy | None = None) -> dict[str, Counter[str]]:
    """Use the swapped folder in turn for everything, `rounds` times and until each use has ended in both
    ways; return how often each ended how."""
    workspace = Workspace(arena.root, policy=policy)
    ends: dict[str, Counter[str]] = {name: Counter() for name in USES}
    until = time.monotonic() + PATIENCE_SECONDS
    with swapping(arena.root / "door", arena.root / "bait"):
        for turn in itertools.count():
            enough = turn >= rounds and all(counted["done"] and len(counted) > 1 for counted in ends.values())
            if enough or (turn >= rounds and time.monotonic() > until):
                break
            name = list(USES)[turn % len(USES)]
            try:
                USES[name](workspace, arena, turn)
            except ToolError as refused:
                ends[name][refused.code] += 1
            else:
                ends[name]["done"] += 1
    return ends


def _check(arena: Arena, ends: dict[str, Counter[str]], *, refused: str = "invalid_path") -> None:
    assert arena.is_untouched()
    for name, counted in ends.items():
        assert counted["done"], f"{name} never came to its end, so nothing was shown: {counted}"
        assert counted[refused], f"{name} never met the link, so nothing was shown: {counted}"
        assert "internal_error" not in counted


@pytest.mark.timeout(300)
@pytest.mark.requirement("cages.paths.races")
def test_no_use_of_a_swapped_folder_escapes(arena):
    _check(arena, _race(arena, ROUNDS))


@pytest.mark.timeout(300)
@pytest.mark.requirement("cages.paths.races")
def test_no_use_escapes_where_the_kernel_cannot_help(arena, monkeypatch):
    monkeypatch.setattr(descriptors, "_syscall", lambda: None)
    _check(arena, _race(arena, FEWER))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kernel_helps", [True, False])
@pytest.mark.requirement("cages.paths.races")
def test_no_use_of_what_is_granted_reaches_what_is_not(tmp_path, kernel_helps, monkeypatch):
    if not kernel_helps:
        monkeypatch.setattr(descriptors, "_syscall", lambda: None)
    arena = Arena.make(tmp_path, "project/hidden")
    cage = {"fs": [{"mode": "rw", "path": "door"}, {"mode": "rw", "path": "safe"}]}
    try:
        ends = _race(arena, FEWER, CagePolicy(cage, arena.root))
    finally:
        os.close(arena.door)
    _check(arena, ends, refused="capability_denied")


def _resolve_then_open(root: Path, path: str) -> bytes:
    """How it is not done: look where the path leads, then open the path."""
    whole = os.path.realpath(root / path)
    if not Path(whole).is_relative_to(root):
        return b""
    with open(root / path, "rb") as file:
        return file.read()


@pytest.mark.timeout(180)
@pytest.mark.requirement("cages.paths.races")
def test_the_race_is_lost_by_resolving_first_and_opening_then(arena):
    """Shows that the race can be lost, and so that not losing it means something."""
    arena.put("secret")
    until = time.monotonic() + 150
    with swapping(arena.root / "door", arena.root / "bait", at_least=1):
        while time.monotonic() < until:
            try:
                if _resolve_then_open(arena.root, "door/secret") == CANARY:
                    return
            except OSError:
                continue
    pytest.fail("it was never lost: the swapping is too slow to show anything")
