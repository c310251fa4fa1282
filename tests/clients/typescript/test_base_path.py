"""The built TypeScript client at a daemon below a path prefix: its `baseUrl` has the prefix."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.typescript.programs import printed
from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.sessions import write_project
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider


@pytest.mark.requirement("client.typescript", "deployment.base_path")
async def test_requests_and_streams_go_below_the_prefix(tmp_path: Path, built: Path, node: list[str]) -> None:
    root = write_project(tmp_path / "shop")
    async with FakeProvider() as model:
        model.script(text_reply("It sells things."))
        config = write_config(tmp_path / "config.toml", model.port)
        config.write_text(f'{config.read_text()}[daemon]\nbase_path = "/shop"\n')
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            async with daemon.client() as client:
                made = await client.post("/sessions", json={"project_id": daemon.project_id})
            place = (daemon.token, made.json()["id"], "What is it?")
            answered = await printed(node, "run.mjs", built, f"{daemon.url}/", *place)
            refused = await printed(node, "run.mjs", built, daemon.url.removesuffix("/shop"), *place)
        finally:
            await daemon.stop()
    assert answered == {"text": "It sells things.", "state": "succeeded", "asked": []}
    assert refused == {"name": "KagedError", "code": "not_found", "status": 404}
