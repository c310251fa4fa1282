"""A loaded project follows its files: new versions for new sessions, the last good one while it is broken."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from app.errors import ProjectFileInvalid, StorageError
from app.harness.dsl.compiler import CompileResult, compile_in_thread
from app.harness.projects import project_loader
from app.harness.projects.loaded_project import LoadedProject
from app.harness.projects.project_loader import ProjectLoader
from app.harness.projects.project_trust import ProjectTrusts
from app.harness.projects.projects import ProjectRegistry
from app.harness.projects.prompts.store import PromptFailure
from app.storage.storage import Storage
from tests.driver.project_files import MINIMAL, write_project
from tests.driver.sessions import WAIT_SECONDS
from tests.driver.tool_registry import tool_registry

TEXT = MINIMAL + "  tools: {file.read: {enabled: true}}\n"


class Daemon:
    """A project registry over a real database, and the prompt changes it told about."""

    def __init__(self, storage: Storage, trusted: Path) -> None:
        self.reloaded: list[tuple[str, ...]] = []
        self.failed: list[PromptFailure] = []
        self.registry = ProjectRegistry(ProjectTrusts(storage, (trusted,)))
        self.loader = ProjectLoader(
            self.registry,
            storage,
            tool_registry(),
            known_models=lambda: ["smart"],
            prompts_changed=self._prompts_changed,
        )

    async def _prompts_changed(
        self, project_id: str, agents: tuple[str, ...], failed: Collection[PromptFailure]
    ) -> None:
        if agents:
            self.reloaded.append(agents)
        self.failed.extend(failed)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    storage = await Storage.open(None, tmp_path / "data")
    daemon = Daemon(storage, tmp_path)
    yield daemon
    await daemon.loader.close()
    await storage.close()


@pytest.fixture
async def loaded(daemon: Daemon, tmp_path: Path) -> LoadedProject:
    return await daemon.loader.load(write_project(tmp_path / "project", TEXT))


@pytest.mark.requirement("project_file.reload")
async def test_a_saved_project_file_is_compiled_for_new_sessions(
    daemon: Daemon, loaded: LoadedProject
) -> None:
    before = daemon.registry.compiled(loaded.id)
    write_project(loaded.root, TEXT + "  max_steps: 7\n")
    await until(lambda: daemon.registry.compiled(loaded.id).root.max_steps == 7)
    assert daemon.registry.compiled(loaded.id).digest != before.digest
    assert await daemon.registry.snapshot(loaded.id, before.digest) == before


@pytest.mark.requirement("project_file.reload")
async def test_what_is_saved_while_the_project_is_loaded_is_taken_up(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_project(tmp_path / "busy", TEXT)

    async def compiled_before_it(*arguments: Any, **more: Any) -> CompileResult:
        result = await compile_in_thread(*arguments, **more)
        (root / ".kaged" / "project.yaml").write_text(TEXT + "  max_steps: 7\n")
        return result

    monkeypatch.setattr(project_loader, "compile_in_thread", compiled_before_it)
    project = await daemon.loader.load(root)
    await until(lambda: daemon.registry.compiled(project.id).root.max_steps == 7)


@pytest.mark.requirement("replicas.takeover")
async def test_a_project_of_another_daemon_is_there_once_it_is_recovered(
    daemon: Daemon, loaded: LoadedProject
) -> None:
    """A session that is begun earlier would be taken for one that a crash has left."""
    daemon.registry.take_out(loaded.id)
    assert loaded.watcher is not None
    await loaded.watcher.stop()
    seen: list[LoadedProject | None] = []

    async def recover() -> None:
        seen.append(daemon.registry.find(loaded.id))
        if len(seen) == 1:
            raise StorageError("on purpose")

    with pytest.raises(StorageError):
        await daemon.loader.restore_one(loaded.id, recover)
    assert daemon.registry.find(loaded.id) is None
    assert await daemon.loader.restore_one(loaded.id, recover)
    assert daemon.registry.find(loaded.id) is not None
    assert seen == [None, None]


@pytest.mark.requirement("project_file.reload")
async def test_a_file_that_no_longer_compiles_leaves_the_last_good_version_and_says_so(
    daemon: Daemon, loaded: LoadedProject, caplog: pytest.LogCaptureFixture
) -> None:
    before = daemon.registry.compiled(loaded.id)
    with caplog.at_level(logging.ERROR):
        write_project(loaded.root, TEXT + "nonsense: 1\n")
        await until(lambda: daemon.registry.get(loaded.id).row.state == "invalid")
        await until(lambda: "error[unknown_key]" in caplog.text)
    assert daemon.registry.compiled(loaded.id) == before
    with pytest.raises(ProjectFileInvalid, match="unknown key `nonsense`"):
        await daemon.loader.reload(loaded.id)


async def test_a_project_heals_when_the_file_it_was_missing_appears(
    daemon: Daemon, loaded: LoadedProject
) -> None:
    write_project(loaded.root, TEXT.replace("prompts/primary.md", "prompts/new.md"))
    await until(lambda: daemon.registry.get(loaded.id).row.state == "invalid")
    write_project(
        loaded.root, TEXT.replace("prompts/primary.md", "prompts/new.md"), {"prompts/new.md": "New.\n"}
    )
    await until(lambda: daemon.registry.get(loaded.id).row.state == "loaded")
    assert daemon.registry.compiled(loaded.id).root.system_prompt_file.endswith("prompts/new.md")


@pytest.mark.requirement("project_file.reload")
async def test_a_saved_prompt_is_read_again(daemon: Daemon, loaded: LoadedProject) -> None:
    store = await daemon.registry.prompts_of(loaded.id, daemon.registry.compiled(loaded.id))
    (loaded.root / "prompts/primary.md").write_text("You help more.\n")
    await until(lambda: daemon.reloaded == [("primary",)])
    assert store.get("primary").text == "You help more.\n"


async def test_two_copies_of_a_project_keep_their_own_prompts(
    daemon: Daemon, loaded: LoadedProject, tmp_path: Path
) -> None:
    copy = await daemon.loader.load(
        write_project(tmp_path / "copy", TEXT, {"prompts/primary.md": "You copy.\n"})
    )
    digest = daemon.registry.compiled(copy.id).digest
    again = await daemon.registry.snapshot(copy.id, digest)
    assert again is not None
    assert (await daemon.registry.prompts_of(copy.id, again)).get("primary").text == "You copy.\n"
    assert (await daemon.registry.prompts_of(loaded.id, daemon.registry.compiled(loaded.id))).get(
        "primary"
    ).text == "You help.\n"
