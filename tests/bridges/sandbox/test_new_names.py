"""Whose a new protected name is: what a cage hides at first, or makes while it is looked for, stays its."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from app.bridges.processes.child import SpawnFailed
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.protected import Found, ProtectedNames
from app.errors import ToolError
from tests.driver.caging import FULL, INSIDE, Caged, cage_of
from tests.driver.machine import need_tier

KEY = "test"


@pytest.fixture
async def cages(children: ChildProcesses, tmp_path: Path) -> AsyncIterator[Cages]:
    (tmp_path / "project").mkdir()
    need_tier(FULL)
    made = Cages(children, FULL, quarantine=tmp_path / "quarantine")
    yield made
    await made.aclose()


async def begun(cages: Cages, root: Path) -> Caged:
    cage = Caged(cages, await cages.children(KEY, cage_of(root), root), root)
    assert (await cage.sh("true")).exit_code == 0
    await cages.settle(KEY)
    return cage


async def next_command(cages: Cages, cage: Caged, script: str) -> None:
    """Run one that begins clearly after the one before: time stamps are some milliseconds coarse."""
    await asyncio.sleep(0.1)
    assert (await cage.sh(script)).exit_code == 0
    await cages.settle(KEY)


@pytest.mark.requirement("cages.policy.protected")
async def test_what_was_made_too_deep_to_be_seen_is_the_cages_when_it_is_brought_up(
    cages: Cages, tmp_path: Path
) -> None:
    root = tmp_path / "project"
    cage = await begun(cages, root)
    deep = "/".join(["d"] * 120)
    await next_command(cages, cage, f"mkdir -p {deep}/x/.vscode && echo run > {deep}/x/.vscode/tasks.json")
    await next_command(cages, cage, f"! test -d {deep}/x || mv {deep}/x .")
    assert not (root / "x/.vscode").exists()


@pytest.mark.requirement("cages.policy.protected")
@pytest.mark.parametrize("mode", ["000", "400", "100", "555"])
async def test_what_was_made_where_nobody_can_look_is_found_all_the_same(
    cages: Cages, tmp_path: Path, mode: str
) -> None:
    root = tmp_path / "project"
    cage = await begun(cages, root)
    script = f"mkdir -p x/y/.vscode && echo run > x/y/.vscode/tasks.json && chmod {mode} x/y x"
    await next_command(cages, cage, script)
    await cages.end(KEY)
    os.chmod(root / "x", 0o700)
    os.chmod(root / "x/y", 0o700)
    assert not (root / "x/y/.vscode").exists()


@pytest.mark.requirement("cages.policy.protected")
async def test_what_somebody_else_has_closed_stays_closed(cages: Cages, tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "x/.vscode").mkdir(parents=True)
    (root / "x").chmod(0)
    await asyncio.sleep(0.1)
    cage = await begun(cages, root)
    await next_command(cages, cage, "true")
    await cages.end(KEY)
    assert (root / "x").stat().st_mode & 0o777 == 0
    (root / "x").chmod(0o700)
    assert (root / "x/.vscode").exists()


@pytest.mark.requirement("cages.policy.protected")
async def test_a_start_that_fails_makes_nothing_the_cages(cages: Cages, tmp_path: Path) -> None:
    root = tmp_path / "project"
    cage = await begun(cages, root)
    with pytest.raises(SpawnFailed):
        await cage.starter.start(["no-such-program"], owner="test", cwd=root, env=INSIDE)
    await asyncio.sleep(0.1)
    (root / ".vscode").mkdir()
    await next_command(cages, cage, "true")
    await next_command(cages, cage, "true")
    assert (root / ".vscode").exists()


@pytest.mark.requirement("cages.policy.protected")
async def test_what_somebody_else_made_is_frozen_at_the_next_start_also_on_a_busy_machine(
    cages: Cages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = ProtectedNames.look

    def slow(names: ProtectedNames) -> list[Found]:
        time.sleep(0.05)  # others have the processor
        return look(names)

    monkeypatch.setattr(ProtectedNames, "look", slow)
    root = tmp_path / "project"
    cage = await begun(cages, root)
    await next_command(cages, cage, "true")
    await asyncio.sleep(0.1)
    (root / ".vscode").mkdir()
    await asyncio.sleep(0.1)
    assert (await cage.sh("echo run > .vscode/tasks.json")).exit_code != 0
    await cages.settle(KEY)
    assert list((root / ".vscode").iterdir()) == []


@pytest.mark.requirement("cages.policy.protected")
async def test_what_was_too_much_to_be_taken_away_at_once_is_taken_away_later(
    cages: Cages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.bridges.sandbox.protected.MAX_KNOWN", 5)
    monkeypatch.setattr("app.bridges.sandbox.new_names.MAX_ROUNDS", 2)
    root = tmp_path / "project"
    cage = await begun(cages, root)
    await next_command(cages, cage, "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do mkdir -p $i/.git; done")
    for _ in range(5):
        await next_command(cages, cage, "true")
    assert list(root.glob("*/.git")) == []
    await next_command(cages, cage, "for i in $(seq 30); do mkdir -p $i/.git; done")
    await cages.end(KEY)
    assert list(root.glob("*/.git")) == []


@pytest.mark.requirement("cages.policy.protected")
async def test_what_is_made_while_it_is_looked_for_is_the_cages(cages: Cages, tmp_path: Path) -> None:
    root = tmp_path / "project"
    for number in range(300):
        (root / f"{number}/full").mkdir(parents=True)
    cage = await begun(cages, root)
    script = "while :; do for i in $(seq 0 299); do mkdir -p $i/.git; done; touch made; done"
    child = await cage.start(script, stdout="null", stderr="null", lingers=True)
    async with asyncio.timeout(100):
        while not (root / "made").exists():  # noqa: ASYNC110  (nothing tells of it)
            await asyncio.sleep(0.01)
        for _ in range(10):
            await cages.settle(KEY)
    await child.aclose()
    await cages.end(KEY)
    assert list(root.glob("*/.git")) == []


@pytest.mark.requirement("cages.policy.protected")
async def test_what_was_frozen_is_not_reached_by_closing_the_folder_around_it(
    cages: Cages, tmp_path: Path
) -> None:
    root = tmp_path / "project"
    (root / "a/b/.git").mkdir(parents=True)
    (root / "late").mkdir()
    cage = await begun(cages, root)
    script = "while :; do chmod 000 a; chmod 700 a; touch begun; done"
    child = await cage.start(script, stdout="null", stderr="null", lingers=True)
    async with asyncio.timeout(100):
        while not (root / "begun").exists():  # noqa: ASYNC110  (nothing tells of it)
            await asyncio.sleep(0.01)
    for number in range(5):
        (root / f"late/{number}/.git").mkdir(parents=True)  # each of them makes a new holder necessary
        with suppress(ToolError):
            await cage.sh("chmod 700 a; touch a/b/.git/new")
    await child.aclose()
    (root / "a").chmod(0o700)
    assert os.listdir(root / "a/b/.git") == []


@pytest.mark.requirement("cages.policy.protected")
async def test_a_folder_that_somebody_else_has_closed_is_not_opened_in_a_cage(
    cages: Cages, tmp_path: Path
) -> None:
    root = tmp_path / "project"
    (root / "x/y/.git").mkdir(parents=True)
    (root / "x").chmod(0)
    await asyncio.sleep(0.1)
    cage = await begun(cages, root)
    assert (await cage.sh("chmod 700 x && touch x/y/.git/new")).exit_code != 0
    (root / "x").chmod(0o700)
    await asyncio.sleep(0.1)
    await cage.sh("touch x/y/.git/new")
    assert os.listdir(root / "x/y/.git") == []
