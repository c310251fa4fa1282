"""OpenHands' agent server as a separate process, in its cheapest configuration.

It has no authentication, no tools but its own two (`finish`, `think`), no titles by the model, no VS Code, no
preloaded tools, one workspace for all conversations, and only warnings in its log. Its model streams.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import orjson

from bench.processes import Process, free_port, wait_for

VERSIONS = ("version", "sdk_version", "tools_version", "python_version")
INSTALL = """\
OPENHANDS_PYTHON is not set. To measure OpenHands' agent server beside kaged (it needs Python 3.12 or newer):
  python3.12 -m venv DIR
  DIR/bin/pip install openhands-agent-server openhands-sdk openhands-tools
  OPENHANDS_PYTHON=DIR/bin/python python -m bench load_openhands"""


class OpenHands(Process):
    """A ready agent server, and the agent that all of its conversations have."""

    health = "/health"

    def __init__(self, url: str, pid: int, folder: Path, model_port: int) -> None:
        super().__init__(url, pid)
        model = {
            "model": "openai/model-a",
            "base_url": f"http://127.0.0.1:{model_port}/v1",
            "api_key": "sk-bench",
            "stream": True,
            "num_retries": 0,
            "input_cost_per_token": 0,
            "output_cost_per_token": 0,
        }
        self._start = {
            "workspace": {"working_dir": str(folder / "project")},
            "agent": {"kind": "Agent", "llm": model, "tools": []},
            "autotitle": False,
        }

    @property
    def headers(self) -> dict[str, str]:
        return {}

    def cpu_seconds(self) -> float:
        """CPU time of the process so far, threads that have ended included."""
        user, system = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def websocket_url(self, session_id: str) -> str:
        return f"ws{self.url.removeprefix('http')}/sockets/events/{session_id}"

    async def make_session(self, client: httpx2.AsyncClient) -> str:
        answer = await client.post("/api/conversations", json=self._start)
        return str(answer.raise_for_status().json()["id"])

    async def post(self, client: httpx2.AsyncClient, session_id: str) -> httpx2.Response:
        said = {"role": "user", "content": [{"type": "text", "text": "Go"}], "run": True}
        return await client.post(f"/api/conversations/{session_id}/events", json=said)

    def state_in(self, text: str) -> str:
        """Return `running`, or the state in which a run has ended, where the event says one; else ``."""
        if '"key":"execution_status"' not in text:
            return ""
        state = str(orjson.loads(text)["value"])
        return {"finished": "succeeded", "idle": ""}.get(state, state)


def _environment(folder: Path, at_once: int) -> dict[str, str]:
    settings = {
        "HOME": str(folder),
        "TMUX_TMPDIR": str(folder),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LOG_LEVEL": "WARNING",
        "NO_PROXY": "127.0.0.1",
        "OH_ENABLE_VSCODE": "false",
        "OH_MAX_CONCURRENT_RUNS": str(at_once),
        "OH_PRELOAD_TOOLS": "false",
        "OPENHANDS_SUPPRESS_BANNER": "1",
    }
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | settings


@contextmanager
def agent_server(python: str, model_port: int, at_once: int) -> Iterator[OpenHands]:
    """Start OpenHands' agent server in a temporary folder; yield it when it is ready."""
    folder = Path(tempfile.mkdtemp(prefix="openhands-bench-"))
    port, log = free_port(), folder / "log"
    url = f"http://127.0.0.1:{port}"
    command = [python, "-m", "openhands.agent_server", "--host", "127.0.0.1", "--port", str(port)]
    environment = _environment(folder, at_once)
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )

    def ready() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"the agent server has ended:\n{log.read_text()[-2000:]}")
        try:
            return httpx2.get(f"{url}/ready", trust_env=False).status_code == 200
        except httpx2.HTTPError:
            return False

    try:
        wait_for(ready, 180)
        about = httpx2.get(f"{url}/server_info", trust_env=False).json()
        print(", ".join(f"{name} {about[name].split()[0]}" for name in VERSIONS), flush=True)
        yield OpenHands(url, process.pid, folder, model_port)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        print("".join(f"log of OpenHands: {line}\n" for line in log.read_text().splitlines()[-5:]), end="")
        shutil.rmtree(folder, ignore_errors=True)
