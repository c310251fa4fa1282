"""What plugins keep: by project, plugin and key, within bounds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.bridges.plugins.requests import StorageRefused
from app.daemon import plugin_storage
from app.daemon.plugin_storage import StoredPluginValues
from app.storage.repositories.plugin_values import PluginValueRepository
from app.storage.storage import Storage
from tests.driver.rows import project

pytestmark = pytest.mark.requirement("plugins.wire")


@pytest.fixture
async def values(storage: Storage) -> StoredPluginValues:
    for number in (1, 2):
        await storage.write(lambda uow, number=number: uow.projects.add(project(number)))  # type: ignore[misc]
    return StoredPluginValues(storage)


async def test_values_are_kept_apart_by_project_and_plugin(values: StoredPluginValues) -> None:
    whose = (("prj_00001", "a"), ("prj_00001", "b"), ("prj_00002", "a"))
    for number, (owner, plugin) in enumerate(whose):
        await values.set(owner, plugin, "key", {"n": number, "text": "\u2028 \0 ø", "none": None})
    for number, (owner, plugin) in enumerate(whose):
        found = await values.get(owner, plugin, "key")
        assert found == {"n": number, "text": "\u2028 \0 ø", "none": None}
    await values.set("prj_00001", "a", "key", [1])
    assert await values.get("prj_00001", "a", "key") == [1]
    assert await values.delete("prj_00001", "a", "key") is True
    assert await values.delete("prj_00001", "a", "key") is False
    assert await values.get("prj_00001", "a", "key") is None
    assert await values.get("prj_00001", "b", "key") is not None
    await values.set("prj_00001", "b", "key", None)
    assert await values.list("prj_00001", "b", "", "", 10) == []


async def test_keys_are_listed_by_prefix_in_their_order_page_by_page(values: StoredPluginValues) -> None:
    names = ["a", "a%b", "a_b", "A_b", "a b", "b", "a" * 256]
    for name in names:
        await values.set("prj_00001", "p", name, 1)
    await values.set("prj_00001", "other", "a_c", 1)
    assert await values.list("prj_00001", "p", "", "", 100) == sorted(names)
    assert await values.list("prj_00001", "p", "a_", "", 100) == ["a_b"]
    assert await values.list("prj_00001", "p", "a%", "", 100) == ["a%b"]
    whole: list[str] = []
    while page := await values.list("prj_00001", "p", "a", whole[-1] if whole else "", 2):
        whole += page
    assert whole == sorted(name for name in names if name.startswith("a"))


async def test_a_plugin_keeps_no_more_than_is_allowed(
    values: StoredPluginValues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_storage, "MAX_KEYS", 3)
    monkeypatch.setattr(plugin_storage, "MAX_VALUE_BYTES", 100)
    monkeypatch.setattr(plugin_storage, "MAX_TOTAL_BYTES", 200)
    with pytest.raises(StorageRefused, match="102 bytes"):
        await values.set("prj_00001", "p", "key", "x" * 100)
    for number in range(2):
        await values.set("prj_00001", "p", f"key{number}", "x" * 98)
    with pytest.raises(StorageRefused, match="200 bytes of values"):
        await values.set("prj_00001", "p", "one more", "")
    await values.set("prj_00001", "p", "key1", 1)  # in place of the one before
    await values.set("prj_00001", "p", "key2", 1)
    with pytest.raises(StorageRefused, match="3 keys"):
        await values.set("prj_00001", "p", "one more", 1)
    await values.set("prj_00001", "other", "key", 1)
    with pytest.raises(StorageRefused, match="not known"):
        await values.set("prj_9", "p", "key", 1)


@pytest.mark.requirement("plugins.hostile")
async def test_a_full_storage_that_is_written_to_without_end_leaves_the_writer_to_others(
    storage: Storage, values: StoredPluginValues, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []
    waiting: list[Any] = []
    used, submit = PluginValueRepository.used, Storage.submit

    def count(self: PluginValueRepository, project_id: str, plugin: str) -> tuple[int, int]:
        counted.append(plugin)
        return used(self, project_id, plugin)

    def note(self: Storage, work: Any, **more: Any) -> Any:
        waiting[:] = [one for one in waiting if not one.done()]
        waiting.append(submit(self, work, **more))
        most.append(len(waiting))
        return waiting[-1]

    most: list[int] = []
    monkeypatch.setattr(PluginValueRepository, "used", count)
    monkeypatch.setattr(Storage, "submit", note)
    monkeypatch.setattr(plugin_storage, "MAX_KEYS", 64)
    await asyncio.gather(*(values.set("prj_00001", "p", f"key{number}", number) for number in range(64)))
    flood = [
        asyncio.ensure_future(values.set("prj_00001", "p", f"key{number}", "again")) for number in range(64)
    ]
    await asyncio.sleep(0)
    for one in flood[::2]:
        one.cancel()
    await asyncio.gather(*flood, return_exceptions=True)
    assert max(most) == 1, "of one plugin a single write waits for the writer"
    assert counted == ["p"], "what it keeps is counted once"
    with pytest.raises(StorageRefused, match="64 keys"):
        await values.set("prj_00001", "p", "one more", 1)
    assert await values.delete("prj_00001", "p", "key0")
    await values.set("prj_00001", "p", "one more", 1)
