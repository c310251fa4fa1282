"""The commands of docs/interop.md, run as they are written there, against a daemon of its own."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from tests.driver.daemon_process import REPOSITORY, DaemonProcess, write_config
from tests.driver.machine import need
from tests.driver.sessions import write_project
from tests.e2e.pasted_commands import steps
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider

INTEROP = REPOSITORY / "docs" / "interop.md"
CHAT = "Chat completions"


def blocks(language: str) -> list[str]:
    """Return the blocks of one language in the section about chat completions."""
    section = INTEROP.read_text().partition(f"## {CHAT}\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


async def run(script: list[str], home: Path, daemon: DaemonProcess) -> str:
    """Run commands in one shell and return what they printed."""
    binaries = home / "bin"
    binaries.mkdir()
    (binaries / "kaged").write_text(
        f'#!/bin/sh\nexec {sys.executable} -m app "$@" --url {daemon.url} --token {daemon.token}\n'
    )
    (binaries / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for one in binaries.iterdir():
        one.chmod(0o755)
    address = daemon.url.removeprefix("http://")
    process = await asyncio.create_subprocess_exec(
        *("sh", "-eu", "-c", "\n".join(script).replace("127.0.0.1:7777", address)),
        cwd=home,
        env={
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(REPOSITORY),
            "NO_PROXY": "127.0.0.1",
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()


@pytest.mark.requirement("chat.answers", "chat.sessions")
async def test_curl_and_the_sdk_talk_to_an_agent(tmp_path: Path) -> None:
    need("curl")
    home = tmp_path / "home"
    home.mkdir()
    [enabled, *_] = blocks("toml")
    [example] = blocks("python")
    root = write_project(tmp_path / "shop")
    async with FakeProvider() as model:
        config = write_config(tmp_path / "config.toml", model.port)
        config.write_text(f"{config.read_text()}\n{enabled}")
        model.script(*(text_reply(one) for one in ("It sells.", "Below tests.", "A shop.", "In tests.")))
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            script = [step.script for step in steps(INTEROP) if step.heading == CHAT]
            (home / "example.py").write_text(example.replace("http://127.0.0.1:7777", daemon.url))
            printed = await run([*script, "python example.py"], home, daemon)
            async with daemon.client() as client:
                sessions = (await client.get("/sessions")).json()["items"]
        finally:
            await daemon.stop()
    assert '"id":"shop/primary"' in printed
    assert '"content":"It sells."' in printed
    assert "data: [DONE]" in printed
    assert printed.endswith("A shop.\nIn tests.")
    assert len(sessions) == 2
    assert [len(request.json["messages"]) for request in model.requests] == [2, 4, 2, 4]
