"""What plugins keep: by project, plugin and key, within bounds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.bridges.plugins.manager import StorageRefused
from app.harness import plugin_storage
from app.harness.plugin_storage import StoredPluginValues
from app.ids import now_ms
from app.storage.models import Project
from app.storage.storage import Storage

pytestmark = pytest.mark.requirement("R6.plugins.wire")


@pytest.fixture
async def values(tmp_path: Path) -> AsyncIterator[StoredPluginValues]:
    storage = await Storage.open(None, tmp_path)
    for number in (1, 2):
        row = Project(
            id=f"prj_{number}", root=f"/p{number}", slug="p", created_at=now_ms(), loaded_at=now_ms()
        )
        await storage.write(lambda uow, row=row: uow.projects.add(row))  # type: ignore[misc]
    yield StoredPluginValues(storage)
    await storage.close()


async def test_values_are_kept_apart_by_project_and_plugin(values: StoredPluginValues) -> None:
    whose = (("prj_1", "a"), ("prj_1", "b"), ("prj_2", "a"))
    for number, (project, plugin) in enumerate(whose):
        await values.set(project, plugin, "key", {"n": number, "text": "\u2028 \0 ø", "none": None})
    for number, (project, plugin) in enumerate(whose):
        found = await values.get(project, plugin, "key")
        assert found == {"n": number, "text": "\u2028 \0 ø", "none": None}
    await values.set("prj_1", "a", "key", [1])
    assert await values.get("prj_1", "a", "key") == [1]
    assert await values.delete("prj_1", "a", "key") is True
    assert await values.delete("prj_1", "a", "key") is False
    assert await values.get("prj_1", "a", "key") is None
    assert await values.get("prj_1", "b", "key") is not None
    await values.set("prj_1", "b", "key", None)
    assert await values.list("prj_1", "b", "", "", 10) == []


async def test_keys_are_listed_by_prefix_in_their_order_page_by_page(values: StoredPluginValues) -> None:
    names = ["a", "a%b", "a_b", "A_b", "a b", "b", "a" * 256]
    for name in names:
        await values.set("prj_1", "p", name, 1)
    await values.set("prj_1", "other", "a_c", 1)
    assert await values.list("prj_1", "p", "", "", 100) == sorted(names)
    assert await values.list("prj_1", "p", "a_", "", 100) == ["a_b"]
    assert await values.list("prj_1", "p", "a%", "", 100) == ["a%b"]
    whole: list[str] = []
    while page := await values.list("prj_1", "p", "a", whole[-1] if whole else "", 2):
        whole += page
    assert whole == sorted(name for name in names if name.startswith("a"))


async def test_a_plugin_keeps_no_more_than_is_allowed(
    values: StoredPluginValues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_storage, "MAX_KEYS", 3)
    monkeypatch.setattr(plugin_storage, "MAX_VALUE_BYTES", 100)
    monkeypatch.setattr(plugin_storage, "MAX_TOTAL_BYTES", 200)
    with pytest.raises(StorageRefused, match="102 bytes"):
        await values.set("prj_1", "p", "key", "x" * 100)
    for number in range(2):
        await values.set("prj_1", "p", f"key{number}", "x" * 98)
    with pytest.raises(StorageRefused, match="200 bytes of values"):
        await values.set("prj_1", "p", "one more", "")
    await values.set("prj_1", "p", "key1", 1)  # in place of the one before
    await values.set("prj_1", "p", "key2", 1)
    with pytest.raises(StorageRefused, match="3 keys"):
        await values.set("prj_1", "p", "one more", 1)
    await values.set("prj_1", "other", "key", 1)
    with pytest.raises(StorageRefused, match="not known"):
        await values.set("prj_9", "p", "key", 1)
