"""A daemon with a scripted model, as a process of its own, on a project that asks before it writes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.ports import steady_port
from tests.driver.sessions import PROJECT_YAML, write_project
from tests.fakes.provider_server import FakeProvider

RULES = 'permissions: [{ permission: file.write, pattern: "**", action: ask }]\n'


@dataclass
class Desk:
    """The daemon, its model and its project; `restart` kills the daemon and starts it on the same port."""

    folder: Path
    root: Path
    model: FakeProvider
    daemon: DaemonProcess

    async def restart(self) -> None:
        port = int(self.daemon.url.rpartition(":")[2])
        await self.daemon.kill()
        config = self.folder / "config.toml"
        self.daemon = await DaemonProcess.start(self.folder / "data", config, self.root, port=port)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    root = write_project(tmp_path / "shop", PROJECT_YAML + RULES)
    async with FakeProvider() as model:
        config = write_config(tmp_path / "config.toml", model.port)
        daemon = await DaemonProcess.start(tmp_path / "data", config, root, port=steady_port())
        at = Desk(tmp_path, root, model, daemon)
        try:
            yield at
        finally:
            await at.daemon.stop()
