"""Events of changed files, for those who follow a session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import Driver, Frame, driven, write_project
from tests.fakes.provider_server import FakeProvider
from tests.harness.changes.desk import revert
from tests.harness.checkpoints.test_files import YAML, create, git, read, repository, shell, work, write

pytestmark = pytest.mark.requirement("changes.event")

TYPE = "changes.updated"


@pytest.fixture(params=["git", "plain"])
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    root = write_project(tmp_path / "repo", YAML)
    if request.param == "git":
        return repository(root)
    (root / "a.txt").write_text("a, first\n")
    return root


@pytest.fixture
async def at(
    root: Path, tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> AsyncIterator[Driver]:
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        yield driver


def of(path: str) -> Any:
    return lambda frame: frame["type"] == TYPE and path in frame["payload"]["paths"]


async def test_edits_commands_people_and_reverts_are_reported_at_most_twice_a_second(
    at: Driver, fake: FakeProvider, root: Path
) -> None:
    async with at.watching() as watch:
        await work(at, fake, "Change", (read("a.txt"),), (write("a.txt", "b\nc\n"), create("new.txt", "n\n")))
        told = await watch.until(lambda f: f["type"] == TYPE and f["payload"]["total"] == 2)
        assert (told["payload"]["additions"], told["payload"]["deletions"]) == (3, 1)
        await work(
            at, fake, "Command", (shell("for n in $(seq 30); do echo $n > made.$n; sleep 0.05; done"),)
        )
        await watch.until(of("made.30"))
        (root / "mine.txt").write_text("mine\n")
        await watch.until(of("mine.txt"))
        seen = len(watch.frames)
        await revert(at, "a.txt")
        last = await watch.until(of("a.txt"), start=seen)
        assert last["payload"]["total"] == 32
        assert_apart(watch.of(TYPE))


def assert_apart(frames: list[Frame]) -> None:
    """No second holds three of them: the times are those of their making."""
    times = [datetime.fromisoformat(frame["ts"].replace("Z", "+00:00")).timestamp() for frame in frames]
    assert all(third - first >= 0.95 for first, third in zip(times, times[2:], strict=False)), times


async def test_what_git_ignores_or_does_itself_is_no_news(at: Driver, fake: FakeProvider, root: Path) -> None:
    (root / ".gitignore").write_text("*.log\n")
    await work(at, fake, "Begin", (create("one.txt", "1\n"),))
    async with at.watching() as watch:
        (root / "own.log").write_text("ignored\n")
        if (root / ".git").exists():
            git(root, "add", ".")
            git(root, "commit", "-q", "-m", "second")
        (root / "last.txt").write_text("last\n")
        told = await watch.until(of("last.txt"))
        assert told["payload"]["total"] == 2
        named = {path for frame in watch.of(TYPE) for path in frame["payload"]["paths"]}
        assert named == {"last.txt", "one.txt"}
