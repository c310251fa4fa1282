"""Hot reload: real files, changed the ways that editors and version control change them."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from anyio import to_thread

from app.harness.dsl import watcher as watcher_module
from app.harness.dsl.watcher import ProjectChange, ProjectWatcher, WatchList
from tests.driver.project_files import MINIMAL, compiled

PATIENCE = 30.0
TEXT = MINIMAL + (
    "  subagents:\n    helper: {model: m, system_prompt: prompts/shared.md, description: d, cage: disabled}\n"
    "    other: {model: m, system_prompt: config:/other.md, description: d, cage: disabled}\n"
    "    twin: {model: m, system_prompt: prompts/shared.md, description: d, cage: disabled}\n"
)
FILES = {"prompts/shared.md": "Shared.\n", ".kaged/other.md": "Other.\n"}


class Heard:
    """Collects changes; waiting is bounded."""

    def __init__(self) -> None:
        self.changes: asyncio.Queue[ProjectChange] = asyncio.Queue()

    async def __call__(self, change: ProjectChange) -> None:
        await self.changes.put(change)

    async def next(self) -> ProjectChange:
        return await asyncio.wait_for(self.changes.get(), PATIENCE)


@asynccontextmanager
async def watching(root: Path, *, poll_seconds: float = 600.0, missing: float = 1.0) -> AsyncIterator[Heard]:
    heard = Heard()
    watched = WatchList.of(compiled(root, TEXT, FILES).require())
    watcher = ProjectWatcher(
        watched, heard, debounce_seconds=0.02, missing_seconds=missing, poll_seconds=poll_seconds
    )
    await watcher.start()
    try:
        yield heard
    finally:
        await asyncio.wait_for(watcher.stop(), PATIENCE)


def in_place(path: Path) -> None:
    path.write_text(path.read_text() + "# changed\n")


def replaced(path: Path) -> None:
    fresh = path.with_name("." + path.name + ".swp")
    fresh.write_text(path.read_text() + "# replaced\n")
    fresh.rename(path)


def backed_up(path: Path) -> None:
    text = path.read_text()
    path.rename(path.with_name(path.name + "~"))
    path.write_text(text + "# backed up\n")


@pytest.mark.parametrize("save", [in_place, replaced, backed_up])
async def test_a_saved_project_file_is_one_change_of_the_project(
    tmp_path: Path, save: Callable[[Path], None]
) -> None:
    async with watching(tmp_path) as heard:
        save(tmp_path / ".kaged/project.yaml")
        change = await heard.next()
        assert (change.kind, change.agents) == ("project", ())
        assert change.files == (str(tmp_path / ".kaged/project.yaml"),)
        save(tmp_path / "prompts/shared.md")
        assert (await heard.next()).kind == "prompts"  # and no second change of the project before it


@pytest.mark.parametrize("save", [in_place, replaced, backed_up])
async def test_a_saved_prompt_names_the_agents_that_use_it(
    tmp_path: Path, save: Callable[[Path], None]
) -> None:
    async with watching(tmp_path) as heard:
        save(tmp_path / "prompts/shared.md")
        change = await heard.next()
        assert change.kind == "prompts"
        assert change.agents == ("primary.subagents.helper", "primary.subagents.twin")


async def test_an_overlay_or_a_local_prompt_is_noticed_when_it_appears(tmp_path: Path) -> None:
    async with watching(tmp_path) as heard:
        (tmp_path / ".kaged/project.local.yaml").write_text("limits: {max_steps: 1}\n")
        assert (await heard.next()).kind == "project"
        (tmp_path / ".kaged/other.local.md").write_text("Mine.\n")
        assert (await heard.next()).agents == ("primary.subagents.other",)


async def test_a_file_that_is_gone_for_a_moment_is_not_reported_missing(tmp_path: Path) -> None:
    file = tmp_path / ".kaged/project.yaml"
    async with watching(tmp_path, missing=PATIENCE) as heard:
        text = file.read_text()
        file.unlink()
        await asyncio.sleep(0.2)  # long enough for the absence to be seen
        assert heard.changes.empty()
        file.write_text(text + "# back\n")
        assert (await heard.next()).kind == "project"
        assert heard.changes.empty()


async def test_a_file_that_stays_away_is_reported_and_again_when_it_is_back(tmp_path: Path) -> None:
    file = tmp_path / ".kaged/project.yaml"
    async with watching(tmp_path, missing=0.1) as heard:
        file.unlink()
        assert (await heard.next()).kind == "project"
        file.write_text(TEXT)
        assert (await heard.next()).kind == "project"


async def test_a_folder_that_is_replaced_is_watched_again(tmp_path: Path) -> None:
    both = ("primary.subagents.helper", "primary.subagents.twin")
    async with watching(tmp_path, poll_seconds=600) as heard:
        for text in ("First.\n", "Second.\n"):
            shutil.rmtree(tmp_path / "prompts")
            (tmp_path / "prompts").mkdir()
            (tmp_path / "prompts/shared.md").write_text(text)
            (tmp_path / "prompts/primary.md").write_text("You help.\n")
            assert (await heard.next()).agents == both
            for _ in range(3):
                in_place(tmp_path / "prompts/shared.md")
                assert (await heard.next()).agents == both


async def test_a_linked_prompt_is_watched_at_both_ends(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for name in ("one.md", "two.md"):
        (tmp_path / "texts" / name).write_text(name)
    (tmp_path / "prompts").mkdir()
    link = tmp_path / "prompts/primary.md"
    heard = Heard()
    project = compiled(tmp_path, MINIMAL).require()
    link.unlink()
    link.symlink_to("../texts/one.md")
    watcher = ProjectWatcher(WatchList.of(project), heard, debounce_seconds=0.02, poll_seconds=600)
    await watcher.start()
    try:
        in_place(tmp_path / "texts/one.md")
        assert (await heard.next()).agents == ("primary",)
        fresh = tmp_path / "prompts/fresh"
        fresh.symlink_to("../texts/two.md")
        fresh.rename(link)
        assert (await heard.next()).agents == ("primary",)
        in_place(tmp_path / "texts/two.md")
        assert (await heard.next()).agents == ("primary",)
        link.unlink()
        link.symlink_to(link)  # a circle
        assert (await heard.next()).agents == ("primary",)
        link.unlink()
        link.write_text("A file again.\n")
        assert (await heard.next()).agents == ("primary",)
    finally:
        await asyncio.wait_for(watcher.stop(), PATIENCE)


async def test_writing_the_same_content_is_no_change(tmp_path: Path) -> None:
    async with watching(tmp_path) as heard:
        file = tmp_path / "prompts/shared.md"
        file.write_text(file.read_text())
        (tmp_path / "prompts/unrelated.md").write_text("x")
        in_place(tmp_path / ".kaged/other.md")
        assert (await heard.next()).agents == ("primary.subagents.other",)
        assert heard.changes.empty()


async def test_contents_are_compared_where_no_events_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deaf(*_: object, **__: object) -> AsyncIterator[set[tuple[int, str]]]:
        raise OSError("no space left on device")
        yield set()

    monkeypatch.setattr("app.harness.dsl.watcher.awatch", deaf)
    async with watching(tmp_path, poll_seconds=0.05) as heard:
        in_place(tmp_path / "prompts/shared.md")
        assert (await heard.next()).kind == "prompts"


async def test_a_file_that_is_emptied_before_it_is_written_is_one_change(tmp_path: Path) -> None:
    async with watching(tmp_path, missing=PATIENCE) as heard:
        path = tmp_path / ".kaged/project.yaml"
        with path.open("w") as file:
            await asyncio.sleep(0.3)  # the watcher reads the empty file in this time
            file.write(TEXT + "# written\n")
        assert (await heard.next()).kind == "project"
        in_place(tmp_path / "prompts/shared.md")
        assert (await heard.next()).kind == "prompts"


async def test_other_files_can_be_watched_after_a_compilation(tmp_path: Path) -> None:
    heard = Heard()
    project = compiled(tmp_path, MINIMAL).require()
    watcher = ProjectWatcher(WatchList.of(project), heard, debounce_seconds=0.02, poll_seconds=600)
    await watcher.start()
    try:
        (tmp_path / ".kaged/project.yaml").write_text(TEXT)
        assert (await heard.next()).kind == "project"
        await watcher.watch(WatchList.of(compiled(tmp_path, TEXT, FILES).require()))
        in_place(tmp_path / "prompts/shared.md")
        assert (await heard.next()).agents == ("primary.subagents.helper", "primary.subagents.twin")
    finally:
        await asyncio.wait_for(watcher.stop(), PATIENCE)


async def test_a_file_that_a_broken_version_looks_for_is_noticed_when_it_appears(tmp_path: Path) -> None:
    heard = Heard()
    good = compiled(tmp_path, MINIMAL).require()
    broken = compiled(tmp_path, TEXT)
    assert broken.project is None
    watcher = ProjectWatcher(
        WatchList.of(good, also=broken.watch_files), heard, debounce_seconds=0.02, poll_seconds=600
    )
    await watcher.start()
    try:
        (tmp_path / ".kaged/other.md").write_text("Other.\n")
        assert (await heard.next()).kind == "project"
        in_place(tmp_path / "prompts/primary.md")
        assert (await heard.next()).agents == ("primary",)
    finally:
        await asyncio.wait_for(watcher.stop(), PATIENCE)


async def test_a_listener_that_fails_hears_the_next_change(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    heard = Heard()

    async def listener(change: ProjectChange) -> None:
        await heard(change)
        if change.kind == "project":
            raise ValueError("does not compile")

    watcher = ProjectWatcher(
        WatchList.of(compiled(tmp_path, MINIMAL).require()), listener, debounce_seconds=0.02, poll_seconds=600
    )
    await watcher.start()
    try:
        with caplog.at_level(logging.ERROR):
            in_place(tmp_path / ".kaged/project.yaml")
            assert (await heard.next()).kind == "project"
            in_place(tmp_path / "prompts/primary.md")
            assert (await heard.next()).agents == ("primary",)
        assert "a listener failed" in caplog.text
    finally:
        await asyncio.wait_for(watcher.stop(), PATIENCE)


async def test_many_watched_projects_leave_the_threads_that_requests_need(tmp_path: Path) -> None:
    """A watcher waits in a thread; there are forty for everything that is not its own."""
    watched = WatchList.of(compiled(tmp_path / "shop", TEXT, FILES).require())
    watchers = [ProjectWatcher(watched, Heard(), poll_seconds=600) for _ in range(45)]
    for watcher in watchers:
        await watcher.start()
    try:
        for _ in range(5):  # each of them has begun to wait by then
            await asyncio.sleep(0.05)
        assert await asyncio.wait_for(to_thread.run_sync(lambda: "served"), PATIENCE) == "served"
    finally:
        await asyncio.wait_for(asyncio.gather(*(watcher.stop() for watcher in watchers)), PATIENCE)
    assert to_thread.current_default_thread_limiter().total_tokens == 40


async def test_files_that_are_watched_while_contents_are_compared_have_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, compared, watched_again = Heard(), threading.Event(), threading.Event()
    project = compiled(tmp_path, MINIMAL).require()
    more = WatchList.of(compiled(tmp_path, TEXT, FILES).require())
    watcher = ProjectWatcher(WatchList.of(project), heard, debounce_seconds=0.02, poll_seconds=600)
    await watcher.start()
    read = watcher_module._contents

    def slow(files: Collection[str]) -> dict[str, str]:
        contents = read(files)
        if files == WatchList.of(project).files() and not compared.is_set():
            compared.set()
            watched_again.wait(PATIENCE)
        return contents

    monkeypatch.setattr(watcher_module, "_contents", slow)
    try:
        os.utime(tmp_path / ".kaged/project.yaml")
        assert await asyncio.to_thread(compared.wait, PATIENCE)
        await watcher.watch(more)
        watched_again.set()
        in_place(tmp_path / "prompts/shared.md")
        assert (await heard.next()).agents == ("primary.subagents.helper", "primary.subagents.twin")
    finally:
        watched_again.set()
        await asyncio.wait_for(watcher.stop(), PATIENCE)
