"""The daemon and the scripted model as separate processes, so that each is measured alone."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import orjson

from tests.driver.sessions import write_project


@dataclass
class Process:
    """A server in a process of its own: its address, and what it uses."""

    url: str
    pid: int

    def cpu_seconds(self) -> float:
        """CPU time of the process so far, all threads that it has."""
        return self._scheduled(0)

    def waited_seconds(self) -> float:
        """How long its threads have been ready to run so far, and other processes had the processors."""
        return self._scheduled(1)

    def _scheduled(self, field: int) -> float:
        tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[field]) for task in tasks) / 1e9

    def memory_mib(self) -> float:
        """Resident memory now."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise RuntimeError("the server is gone")


@dataclass
class Running(Process):
    """A ready daemon: its process, its token and the project that it has loaded."""

    token: str
    project_id: str
    data_dir: Path
    health: str = "/healthz"

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    def client(self) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, headers=self.headers, trust_env=False, timeout=60)

    def new_session(self) -> str:
        with self.client() as client:
            answer = client.post("/api/v1/sessions", json={"project_id": self.project_id})
            answer.raise_for_status()
            return str(answer.json()["id"])

    async def make_session(self, client: httpx2.AsyncClient) -> str:
        answer = await client.post("/api/v1/sessions", json={"project_id": self.project_id})
        return str(answer.raise_for_status().json()["id"])

    async def post(self, client: httpx2.AsyncClient, session_id: str) -> httpx2.Response:
        return await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "Go"})

    def websocket_url(self, session_id: str) -> str:
        return f"ws{self.url.removeprefix('http')}/api/v1/sessions/{session_id}/ws"

    def state_in(self, text: str) -> str:
        """Return `running`, or the state in which a run has ended, where the frame says one; else ``."""
        start = text[:200]
        if '"type":"run.started"' in start:
            return "running"
        return str(orjson.loads(text)["payload"]["state"]) if '"type":"run.ended"' in start else ""

    def written_bytes(self) -> int:
        """Bytes that the daemon has handed to the file system so far, logs of the database included."""
        lines = Path(f"/proc/{self.pid}/io").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("write_bytes:")))


@contextmanager
def scripted_model(*arguments: str) -> Iterator[int]:
    """Run the scripted model and yield its port."""
    command = [sys.executable, "-m", "tests.fakes.provider_server", "--port", "0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield int(orjson.loads(process.stdout.readline())["port"])
    finally:
        process.terminate()
        process.wait()


@contextmanager
def clock_model(deltas: int, gap: float) -> Iterator[int]:
    """Run the model that says the time and yield its port."""
    command = [sys.executable, "-m", "bench.clock_model", str(deltas), str(gap)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait()


def daemon_command(data_dir: Path, config: Path, *arguments: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "app",
        "serve",
        "--json",
        "--port",
        "0",
        "--data-dir",
        str(data_dir),
        "--config",
        str(config),
        *arguments,
    ]


def write_config(file: Path, model_port: int | None, settings: str = "") -> Path:
    base = f"http://127.0.0.1:{model_port or 9}/v1"
    file.write_text(
        '[models]\nmain = "fake:model-a"\n\n[providers.fake]\ndriver = "openai"\n'
        f'base_url = "{base}"\napi_key = "sk-bench"\n\n[log]\nlevel = "warning"\n\n'
        f'[projects]\ntrusted = ["{file.parent}"]\n{settings}'
    )
    return file


@contextmanager
def daemon(
    model_port: int | None = None,
    *,
    readme: str = "",
    project: Callable[[Path], Path] = write_project,
    settings: str = "",
    code: Path | None = None,
) -> Iterator[Running]:
    """Start a daemon on a small project in a temporary folder; yield it when it is ready.

    `settings` are further tables of its configuration file, in TOML. `code` is a checkout of another revision
    that it is to run from.
    """
    folder = Path(tempfile.mkdtemp(prefix="kaged-bench-"))
    root = project(folder / "shop")
    if readme:
        (root / "README.md").write_text(readme)
    config = write_config(folder / "config.toml", model_port, settings)
    command = daemon_command(folder / "data", config, "--project", str(root))
    environment = None if code is None else {**os.environ, "PYTHONPATH": str(code)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=code, env=environment)
    try:
        assert process.stdout is not None
        ready: dict[str, Any] = orjson.loads(process.stdout.readline())
        token = Path(ready["token_file"]).read_text().strip()
        yield Running(ready["url"], ready["pid"], token, ready["projects"][0]["id"], folder / "data")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(condition: Any, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.01)
