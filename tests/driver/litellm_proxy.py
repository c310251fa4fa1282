"""LiteLLM's proxy as a process: a server that kaged's authors did not write, and that speaks every wire.

Owns: its configuration, its start and its end. It answers by itself (`mock`), or passes a request on to a
server of chat completions in its own words (`passed-on`). It calls nobody else.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import orjson
import pytest

from tests.driver.machine import Lack
from tests.driver.ports import steady_port

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / ".litellm" / "bin" / "litellm"
KEY = "sk-litellm-master-key"
MOCK_ANSWER = "The mock answers."
_START_SECONDS = 600.0
"""Its first start compiles some thousand files."""
_LOOK_SECONDS = 0.2


def need_litellm() -> None:
    """Skip the test that runs where LiteLLM is not installed."""
    if not PROGRAM.exists():
        pytest.skip(str(Lack("LiteLLM's proxy", "not installed", ".ci/litellm")))


@dataclass(frozen=True, slots=True)
class LitellmProxy:
    base_url: str

    def address(self, driver: str) -> str:
        """Return what the configuration of a driver has as its base address."""
        return self.base_url if driver in ("anthropic", "google") else f"{self.base_url}/v1"


@asynccontextmanager
async def litellm_proxy(folder: Path, upstream: str) -> AsyncIterator[LitellmProxy]:
    """Run the proxy; the model `passed-on` is asked at `upstream`, which speaks chat completions."""
    mock = {"model": "openai/mock", "api_key": "none", "mock_response": MOCK_ANSWER}
    passed_on = {"model": "openai/model-a", "api_key": "sk-upstream", "api_base": f"{upstream}/v1"}
    models = [
        {"model_name": "mock", "litellm_params": mock},
        {"model_name": "passed-on", "litellm_params": passed_on},
    ]
    config = {"model_list": models, "general_settings": {"master_key": KEY}}
    file = folder / "litellm.json"
    file.write_bytes(orjson.dumps(config))  # JSON is YAML
    port = steady_port()
    with (folder / "litellm.log").open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            PROGRAM,
            *("--config", str(file), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(folder),
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                "NO_PROXY": "*",
            },
            start_new_session=True,
        )
    try:
        await _until_ready(process, f"http://127.0.0.1:{port}", folder / "litellm.log")
        yield LitellmProxy(f"http://127.0.0.1:{port}")
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _until_ready(process: asyncio.subprocess.Process, url: str, log: Path) -> None:
    async with asyncio.timeout(_START_SECONDS), httpx2.AsyncClient(trust_env=False) as client:
        while True:
            assert process.returncode is None, log.read_text(errors="replace")[-2000:]
            try:
                if (await client.get(f"{url}/health/liveliness")).status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            await asyncio.sleep(_LOOK_SECONDS)
