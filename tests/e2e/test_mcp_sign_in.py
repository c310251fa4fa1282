"""A running daemon uses the sign-in of `kaged mcp login` at once, refreshes it, and says nothing of it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon_process import REPOSITORY, DaemonProcess, write_config
from tests.driver.oauth_server import OAuthServer, write_browser
from tests.driver.sessions import Driver, write_project
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("mcp.client.sign_in")

YAML = """\
version: 1
project: shop
primary:
  model: main
  system_prompt: project:/prompts/primary.md
  cage: disabled
  tools_loading: eager
  tools: { "signed_*": { enabled: true } }
mcp:
  signed: { url: "%s" }
"""
CALL = (Reply((ToolCall("signed_echo", {"text": "the echo"}, id="a"),)), text_reply("Done."))


async def logged_in(folder: Path, config: Path) -> None:
    """Run the command as a person does, in the project's folder."""
    command = [sys.executable, "-m", "app", "mcp", "login", "signed"]
    command += ["--data-dir", str(folder / "data"), "--config", str(config)]
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(REPOSITORY),
        "BROWSER": str(write_browser(folder / "browser", folder / "pages")),
        "KAGED_PROJECTS__TRUSTED": str(folder),
    }
    done = await asyncio.to_thread(
        subprocess.run,
        command,
        cwd=folder / "shop",
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


async def result(fake: FakeProvider, driver: Driver, text: str) -> str:
    """Return what the server's tool answers in a run."""
    fake.script(*CALL)
    await driver.run(text)
    results = [one["content"] for one in fake.requests[-1].json["messages"] if one["role"] == "tool"]
    return str(results[-1])


async def test_a_running_daemon_uses_refreshes_and_loses_a_sign_in(tmp_path: Path) -> None:
    with OAuthServer() as server:
        async with FakeProvider() as fake:
            root = write_project(tmp_path / "shop", YAML % server.url)
            config = write_config(tmp_path / "config.toml", fake.port)
            config.write_text(config.read_text().replace('level = "warning"', 'level = "debug"'))
            daemon = await DaemonProcess.start(tmp_path / "data", config, root)
            headers = {"authorization": f"Bearer {daemon.token}"}
            try:
                async with httpx2.AsyncClient(
                    base_url=daemon.url, headers=headers, trust_env=False, verify=False, timeout=30
                ) as client:
                    await story(server, fake, Driver(daemon, client), tmp_path, config)
            finally:
                await daemon.stop()
        issued = server.control()["issued"]
    assert len(issued) >= 6
    log = (tmp_path / "data.log").read_text()
    assert "kaged mcp login signed" in log
    folders = [tmp_path / "data.log", *(tmp_path / "data").rglob("*"), *root.rglob("*")]
    readable = [one for one in folders if one.is_file() and one.parent.name != "sign-ins"]
    assert len(readable) > 5
    for file in readable:
        content = file.read_bytes()
        assert not any(token.encode() in content for token in issued), file


async def story(server: OAuthServer, fake: FakeProvider, driver: Driver, folder: Path, config: Path) -> None:
    driver.project_id = driver.daemon.project_id
    await driver.new_session()
    fake.script(text_reply("No tool."))
    await driver.run("Look")
    assert "tools" not in fake.requests[-1].json or "signed_echo" not in str(fake.requests[-1].json["tools"])
    (shown,) = (await driver.call("GET", f"/projects/{driver.project_id}/mcp"))["items"]
    assert (shown["state"], shown["failures"]) == ("stopped", 0)
    assert "`kaged mcp login signed`" in shown["reason"]

    await logged_in(folder, config)
    await driver.new_session()
    assert (await result(fake, driver, "First")).endswith("the echo")
    server.control(expire=True)
    assert (await result(fake, driver, "Refreshed")).endswith("the echo")
    assert server.control()["grants"] == ["refresh_token"]

    server.control(revoke=True)
    refused = await result(fake, driver, "Revoked")
    assert refused.startswith("Error mcp_unavailable: mcp server signed is unavailable: it needs a sign-in")
    assert "`kaged mcp login signed`" in refused
    await logged_in(folder, config)
    assert (await result(fake, driver, "Again")).endswith("the echo")
    audit: dict[str, Any] = await driver.call("GET", "/audit?limit=100")
    assert "mcp.sign_in_needed" in {row["event"] for row in audit["items"]}
