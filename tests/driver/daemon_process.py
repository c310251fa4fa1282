"""A daemon as a process of its own, that can be killed at any moment and started again.

Owns: the process, its ready line, clients for it. Never: what the daemon is asked to do.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any, BinaryIO

import httpx2
import orjson
from websockets.asyncio.client import connect

from tests.driver.warm_start import WARM, WarmTask

REPOSITORY = Path(__file__).parents[2]
START_SECONDS = 150
"""A quiet machine does not wait; a container beside others takes its time to start."""
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
MAX_FRAME = 16 * 1024 * 1024
WAIT_SECONDS = 45.0
"""For what is sure to come: a busy machine takes its time, and a quiet one does not wait."""
ANSWER_SECONDS = 60.0
"""For the answer to a request; likewise."""
OPEN_SECONDS = 60.0
"""For a WebSocket to open: a hundred at once take longer than 10 s where others have the processors."""


def write_config(file: Path, model_port: int) -> Path:
    """Write a configuration in which the alias `main` is the scripted model at `model_port`."""
    file.write_text(
        '[models]\nmain = "fake:model-a"\n\n[providers.fake]\ndriver = "openai"\n'
        f'base_url = "http://127.0.0.1:{model_port}/v1"\napi_key = "sk-test"\n\n[log]\nlevel = "warning"\n'
    )
    return file


async def _spawn(
    arguments: list[str], env: dict[str, str], log: BinaryIO
) -> asyncio.subprocess.Process | WarmTask:
    if not WARM.cold:
        return await WarmTask(WARM.start(arguments, cwd=REPOSITORY, env=env, stderr=log)).open()
    command = [sys.executable, "-m", "app", *arguments]
    return await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=log, cwd=REPOSITORY, env=env
    )


class DaemonProcess:
    """One life of a daemon on a data folder. Standard error goes to `errors`."""

    def __init__(self, process: asyncio.subprocess.Process | WarmTask, errors: Path) -> None:
        self.process = process
        self.errors = errors
        self.url = ""
        self.launch_url = ""
        self.token = ""
        self.project_id = ""

    @classmethod
    async def spawn(
        cls, data_dir: Path, config: Path, *projects: Path, port: int = 0, trust: bool = True
    ) -> DaemonProcess:
        """Start the process and return at once; `ready` waits. Port 0 takes a free one. `trust`: the settings
        trust the projects beside the data folder."""
        arguments = [
            "serve",
            "--json",
            "--port",
            str(port),
            "--data-dir",
            str(data_dir),
            "--config",
            str(config),
        ]
        for project in projects:
            arguments += ["--project", str(project)]
        trusted = {"KAGED_PROJECTS__TRUSTED": f"{data_dir.parent}"} if trust else {}
        errors = data_dir.with_suffix(".log")
        with errors.open("ab") as log:
            # Compiled files kept from start to start: half of the time that a start takes.
            env = {name: value for name, value in os.environ.items() if name != _NO_BYTECODE} | trusted
            return cls(await _spawn(arguments, env, log), errors)

    @classmethod
    async def start(
        cls, data_dir: Path, config: Path, *projects: Path, port: int = 0, trust: bool = True
    ) -> DaemonProcess:
        daemon = await cls.spawn(data_dir, config, *projects, port=port, trust=trust)
        try:
            await daemon.ready()
        except BaseException:
            await daemon.kill()
            raise
        return daemon

    async def ready(self, seconds: float = START_SECONDS) -> None:
        """Wait for the ready line."""
        assert self.process.stdout is not None
        async with asyncio.timeout(seconds):
            line = await self.process.stdout.readline()
        assert line.endswith(b"\n"), f"the daemon did not start: {self.errors.read_text()[-3000:]}"
        said = orjson.loads(line)
        self.url = said["url"]
        self.launch_url = said["launch_url"]
        self.token = self.on_host(said["token_file"]).read_text().strip()
        self.projects: list[dict[str, Any]] = said["projects"]
        self.project_id = self.projects[0]["id"] if self.projects else ""

    def on_host(self, path: str) -> Path:
        """Return where a file of the daemon's data folder lies, by the path that the daemon says."""
        return Path(path)

    @property
    def pid(self) -> int:
        return self.process.pid

    def client(self) -> httpx2.AsyncClient:
        headers = {"authorization": f"Bearer {self.token}"}
        url = f"{self.url}/api/v1"
        return httpx2.AsyncClient(
            base_url=url, headers=headers, trust_env=False, timeout=ANSWER_SECONDS, verify=False
        )

    async def launch_link(self) -> str:
        """Return a link that signs a browser in: the one of the ready line until somebody has followed it."""
        async with self.client() as client:
            made = (await client.post("/tokens/launch-link")).raise_for_status()
        link: str = made.json()["url"]
        return link

    def websocket(self, path: str, **options: Any) -> connect:
        headers = {"authorization": f"Bearer {self.token}"}
        url = f"ws{self.url.removeprefix('http')}/api/v1{path}"
        options.setdefault("open_timeout", OPEN_SECONDS)
        return connect(url, additional_headers=headers, proxy=None, max_size=MAX_FRAME, **options)

    def send_signal(self, number: signal.Signals) -> None:
        if self.process.returncode is None:
            os.kill(self.process.pid, number)

    async def kill(self) -> None:
        """SIGKILL, and wait until the process is gone."""
        self.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def stop(self, *, seconds: float = 60) -> int:
        """SIGTERM, and return the exit code."""
        self.send_signal(signal.SIGTERM)
        async with asyncio.timeout(seconds):
            return await self.process.wait()
