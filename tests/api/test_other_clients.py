"""Clients that we have not written: another WebSocket library, and a generator of hostile requests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import orjson
import pytest
import schemathesis
from httpx_ws import aconnect_ws
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api.daemon import Daemon, write_project

REPOSITORY = Path(__file__).parents[2]
DOCUMENT = REPOSITORY / "openapi" / "openapi.json"

schema = schemathesis.openapi.from_path(str(DOCUMENT))


@pytest.mark.requirement("R2.8.1")
async def test_another_websocket_library_gets_the_same_frames(daemon: Daemon, session_id: str) -> None:
    headers = {"authorization": f"Bearer {daemon.token}"}
    address = f"{daemon.url}/api/v1/sessions/{session_id}/ws"
    async with (
        httpx.AsyncClient(headers=headers, trust_env=False) as client,
        aconnect_ws(address, client) as socket,
    ):
        frame = orjson.loads(await socket.receive_text())
        await socket.send_text('{"type": "ping"}')
        answer = orjson.loads(await socket.receive_text())
    assert (frame["type"], frame["payload"]["from_seq"]) == ("sync", 1)
    assert answer["type"] == "pong"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A daemon of its own process, because the generator is not asynchronous: url and token."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "config.toml").write_text('[models]\nmain = "ollama:none"\n\n[log]\nlevel = "error"\n')
    command = [sys.executable, "-m", "app", "serve", "--json", "--port", "0"]
    command += ["--data-dir", str(folder / "data"), "--config", str(folder / "config.toml")]
    command += ["--project", str(write_project(folder / "shop"))]
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=REPOSITORY, env=kept) as process:
        try:
            assert process.stdout is not None
            ready = orjson.loads(process.stdout.readline())
            yield ready["url"], Path(ready["token_file"]).read_text().strip()
        finally:
            process.send_signal(signal.SIGTERM)


@pytest.mark.requirement("R2.7.12")
@schema.parametrize()
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_no_generated_request_breaks_the_daemon_or_its_own_document(
    case: schemathesis.Case, address: tuple[str, str]
) -> None:
    url, token = address
    answer = case.call(base_url=url, headers={"authorization": f"Bearer {token}"}, allow_redirects=False)
    case.validate_response(
        answer,
        checks=(
            not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_schema_conformance,
        ),
    )
