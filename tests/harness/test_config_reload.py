"""A changed config file counts from the next model call on, also of a run that is under way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.config import Settings, load_settings
from app.observability import MASK, Redactor
from tests.driver.sessions import WAIT_SECONDS, Driver, driven, provider_settings
from tests.fakes.provider_script import Hold, Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("providers.routes", "providers.credentials")


@pytest.fixture
def config(tmp_path: Path, fake: FakeProvider) -> Path:
    file = tmp_path / "config" / "config.toml"
    file.parent.mkdir()
    file.write_text(text_of(fake, "model-a", "sk-the-first-key"))
    return file


@pytest.fixture
async def driver(
    config: Path, project_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Driver]:
    """A session of a daemon that has its providers from a config file."""

    def settings_for(data_dir: Path, **_: Any) -> Settings:
        told = {"daemon.data_dir": str(data_dir), "projects.trusted": [str(tmp_path)]}
        return load_settings(config_file=config, environ={}, overrides=told)

    monkeypatch.setattr("tests.driver.daemon.settings_for", settings_for)
    async with driven(tmp_path / "data", project_root) as driver:
        yield driver


def text_of(fake: FakeProvider, model: str, key: str) -> str:
    return (
        f'[models]\nmain = "fake:{model}"\n'
        f'[providers.fake]\ndriver = "openai"\nbase_url = "{fake.base_url}/v1"\napi_key = "{key}"\n'
    )


async def until_the_alias_is(driver: Driver, chain: list[str]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            if (await driver.call("GET", "/models"))["items"][0]["chain"] == chain:
                return
            await asyncio.sleep(0.02)


async def test_the_next_call_of_a_running_turn_goes_where_the_alias_points_now(
    driver: Driver, fake: FakeProvider, config: Path
) -> None:
    hold = Hold()
    fake.script(Reply((hold, ToolCall("file_read", {"path": "README.md"}))), text_reply("Done."))
    async with driver.watching() as watch:
        await driver.post("Go")
        await watch.until_type("step.started")
        await fake.until_requests(1)
        config.write_text(text_of(fake, "model-b", "sk-another-key-of-it"))
        await until_the_alias_is(driver, ["fake:model-b"])
        hold.gate.set()
        await watch.until_type("run.ended")
    assert [request.json["model"] for request in fake.requests] == ["model-a", "model-b"]
    keys = [request.headers["authorization"] for request in fake.requests]
    assert keys == ["Bearer sk-the-first-key", "Bearer sk-another-key-of-it"]
    assert [frame["payload"]["model"] for frame in watch.of("message.start")] == ["model-a", "model-b"]


async def test_a_key_that_came_later_is_as_secret_as_the_first(
    driver: Driver, fake: FakeProvider, config: Path, project_root: Path
) -> None:
    config.write_text(text_of(fake, "model-b", "plain-word-key-77"))
    await until_the_alias_is(driver, ["fake:model-b"])
    fake.script(
        Reply((ToolCall("file_write", {"path": "plain-word-key-77.txt", "content": "x"}),)), text_reply("Ok.")
    )
    await driver.run("Write")
    rows = await driver.call("GET", "/audit?limit=100")
    assert MASK in str(rows)
    assert "plain-word-key-77" not in str(rows)
    assert Redactor().text("plain-word-key-77") == "plain-word-key-77"  # or this test shows nothing


async def test_a_file_with_a_mistake_leaves_the_last_good_one_in_use(
    driver: Driver, fake: FakeProvider, config: Path
) -> None:
    config.write_text("[models\n")
    config.write_text('[models]\nmain = "nobody:model"\n')
    fake.script(text_reply("Still here."))
    await driver.run("Go")
    assert fake.requests[0].json["model"] == "model-a"
    config.write_text(text_of(fake, "model-c", "sk-the-first-key"))
    await until_the_alias_is(driver, ["fake:model-c"])


async def test_a_config_file_that_is_made_later_is_taken_up_too(
    fake: FakeProvider, project_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = tmp_path / "home" / "settings" / "kaged" / "config.toml"
    later.parent.parent.parent.mkdir()
    monkeypatch.setattr("app.daemon.background.default_config_file", lambda: later)
    first = {"models": {"main": ["fake:model-a"]}, "providers": provider_settings("openai", fake.base_url)}
    async with driven(tmp_path / "data", project_root, **first) as driver:
        later.parent.mkdir(parents=True)
        later.write_text(text_of(fake, "model-later", "sk-later"))
        await until_the_alias_is(driver, ["fake:model-later"])
        fake.script(text_reply("Here."))
        await driver.run("Go")
    assert fake.requests[0].json["model"] == "model-later"


async def test_a_change_while_the_daemon_starts_is_taken_up(
    fake: FakeProvider, config: Path, project_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came after the file was read, and before anybody watched it."""

    def settings_for(data_dir: Path, **_: Any) -> Settings:
        told = {"daemon.data_dir": str(data_dir), "projects.trusted": [str(tmp_path)]}
        settings = load_settings(config_file=config, environ={}, overrides=told)
        config.write_text(text_of(fake, "model-changed", "sk-the-first-key"))
        return settings

    monkeypatch.setattr("tests.driver.daemon.settings_for", settings_for)
    async with driven(tmp_path / "data", project_root) as driver:
        await until_the_alias_is(driver, ["fake:model-changed"])


async def test_an_agent_cannot_make_the_config_file_that_would_be_taken_up(
    fake: FakeProvider, project_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = project_root / "config.toml"
    for module in ("daemon.lifespan", "daemon.background"):
        monkeypatch.setattr(f"app.{module}.default_config_file", lambda: place)
    first = {"models": {"main": ["fake:model-a"]}, "providers": provider_settings("openai", fake.base_url)}
    async with driven(tmp_path / "data", project_root, **first) as driver:
        write = ToolCall("file_create", {"path": "config.toml", "content": text_of(fake, "evil", "sk-evil")})
        fake.script(Reply((write,)), text_reply("Hm."))
        await driver.run("Go")
        (result,) = [m for m in await driver.messages() if m["role"] == "tool"]
    assert result["details"]["isError"]
    assert not place.exists()
