"""Keys of providers are stored over HTTP and by the command: used at once, private, and never seen again."""

from __future__ import annotations

import asyncio
import stat
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.config import load_settings
from tests.driver.daemon import Daemon, running_daemon
from tests.driver.daemon_process import REPOSITORY, DaemonProcess, write_config
from tests.driver.sessions import write_project
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("providers.stored_keys")

KEY = "sk-stored-and-never-shown-again"
PATH = "/api/v1/providers/spare/key"


def settings(model: FakeProvider, **more: Any) -> dict[str, Any]:
    """Return settings with one provider that has a key, and one whose variable is not set."""
    server = {"driver": "openai", "base_url": f"{model.base_url}/v1"}
    return {
        "models": {"main": ["fake:model-a"], "other": ["spare:model-a"]},
        "providers": {
            "fake": {**server, "api_key": "sk-test-secret"},
            "spare": {**server, "api_key_env": "KAGED_TEST_NO_SUCH_KEY"},
        },
        **more,
    }


async def entry(client: httpx2.AsyncClient) -> dict[str, Any]:
    items = (await client.get("/api/v1/providers")).json()["items"]
    found: dict[str, Any] = next(one for one in items if one["name"] == "spare")
    return found


async def test_a_key_is_used_at_once_kept_privately_and_never_seen_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data_dir = tmp_path / "data"
    async with (
        FakeProvider() as model,
        running_daemon(data_dir, **settings(model)) as daemon,
        daemon.client() as client,
    ):
        assert (await entry(client))["ready"] is False
        answer = await client.put(PATH, json={"key": KEY})
        assert (answer.status_code, answer.json()["key_from"]) == (200, "stored")
        assert (await entry(client))["ready"] is True
        model.script(text_reply("ok"))
        tested = await client.post("/api/v1/providers/spare/test")
        assert tested.json()["ok"] is True
        assert model.requests[-1].headers["authorization"] == f"Bearer {KEY}"

        audit = (await client.get("/api/v1/audit?event=operator.set_provider_key")).json()
        assert audit["items"][0]["data"]["name"] == "spare"
        whole = [await client.get("/api/v1/audit"), await client.get("/api/v1/logs"), answer, tested]
        bad = [{"key": KEY + "\n"}, {"key": KEY + "ü"}, {"key": [KEY]}, {"key": KEY * 400}]
        whole += [await client.put(PATH, json=one) for one in bad]
        assert [one.status_code for one in whole[5:]] == [400, 400, 400]
        assert not any(KEY in one.text for one in whole)
        assert KEY not in caplog.text

        file = data_dir / "provider-keys.json"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        again = load_settings(environ={}, overrides={"daemon.data_dir": data_dir, **settings(model)})
        assert again.providers["spare"].key_from == "stored"
        assert KEY not in repr(again)

        deleted = await client.delete(PATH)
        assert (deleted.status_code, deleted.json()["ready"], deleted.json()["key_from"]) == (
            200,
            False,
            None,
        )
        assert (await client.delete(PATH)).status_code == 404
        refused = await client.put("/api/v1/providers/fake/key", json={"key": KEY})
        assert (refused.status_code, refused.json()["error"]["details"]["reason"]) == (
            409,
            "key_in_settings",
        )
        assert (await client.put("/api/v1/providers/none/key", json={"key": KEY})).status_code == 404


async def asked(daemon: Daemon, headers: dict[str, str], token: str | None = None) -> str:
    """Return `stored`, or the reason of the refusal."""
    async with daemon.client(token) as client:
        answer = await client.put(PATH, json={"key": KEY}, headers=headers)
    return "stored" if answer.status_code == 200 else str(answer.json()["error"]["details"]["reason"])


async def test_a_key_is_refused_where_others_could_read_it(tmp_path: Path) -> None:
    auth = {"allowed_hosts": ["kaged.example.org"]}
    async with (
        FakeProvider() as model,
        running_daemon(tmp_path / "data", **settings(model, auth=auth)) as daemon,
    ):
        outside = {"host": "kaged.example.org"}
        assert await asked(daemon, {}) == "stored"
        assert await asked(daemon, outside) == "not_encrypted"
        assert await asked(daemon, {"x-forwarded-for": "192.0.2.1"}) == "not_encrypted"
        assert await asked(daemon, {**outside, "x-forwarded-proto": "http"}) == "not_encrypted"
        assert await asked(daemon, {**outside, "x-forwarded-proto": "https"}) == "stored"
        async with daemon.client() as client:
            made = await client.post("/api/v1/tokens", json={"name": "look", "scope": "read-only"})
        assert await asked(daemon, {}, made.json()["token"]) == "read_only"


async def test_the_command_tells_a_running_daemon_and_stores_without_one(tmp_path: Path) -> None:
    root = write_project(tmp_path / "shop")
    async with FakeProvider() as model:
        config = write_config(tmp_path / "config.toml", model.port)
        with config.open("a") as file:
            file.write(
                '[providers.spare]\ndriver = "openai"\napi_key_env = "KAGED_TEST_NO_SUCH_KEY"\n'
                f'base_url = "http://127.0.0.1:{model.port}/v1"\n'
            )

        async def command(*arguments: str, key: str = "") -> int:
            given = ["--data-dir", str(tmp_path / "data"), "--config", str(config)]
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "app", "providers", "key", "spare", *arguments, *given),
                cwd=REPOSITORY,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            said, _ = await process.communicate(key.encode())
            assert KEY not in said.decode()
            return int(process.returncode or 0)

        assert await command(key=f"{KEY}\n") == 0
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            async with daemon.client() as client:
                items = (await client.get("/providers")).json()["items"]
                assert {one["name"]: one["key_from"] for one in items}["spare"] == "stored"
                assert await command("--delete") == 0
                items = (await client.get("/providers")).json()["items"]
                assert {one["name"]: one["key_from"] for one in items}["spare"] is None
                assert await command("--delete") == 1
                assert await command(key="two words") == 2
        finally:
            await daemon.stop()
