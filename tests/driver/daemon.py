"""A whole daemon in the test's own process: real server, real port, real data folder.

Owns: starting and stopping it, and clients for it. Never: replacing a part of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import orjson
import uvicorn
from fastapi import FastAPI
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from app.api.application import build_application
from app.api.base_path import BasePath
from app.config import Settings, load_settings, secret_values
from app.connections import BoundedWebSocket, bounded_http
from app.daemon.lifespan import open_services
from app.daemon.services import Services
from app.main import MAX_FRAME_BYTES, listen
from app.observability import Redactor
from tests.driver.daemon_process import ANSWER_SECONDS, OPEN_SECONDS, WAIT_SECONDS

PROJECT_YAML = """\
version: 1
project: shop
description: A project for tests
primary:
  model: main
  system_prompt: ./prompts/primary.md
  cage: disabled
  tools:
    file.read: { enabled: true }
    file.write: { enabled: true }
"""


def write_project(root: Path) -> Path:
    """Write a small valid project into `root` and return it."""
    (root / ".kaged").mkdir(parents=True)
    (root / "prompts").mkdir()
    (root / ".kaged" / "project.yaml").write_text(PROJECT_YAML)
    (root / "prompts" / "primary.md").write_text("You keep the shop.\n")
    (root / "README.md").write_text("# Shop\n\nIt sells things.\n")
    return root


@dataclass
class Daemon:
    """A running daemon and how to reach it."""

    app: FastAPI
    services: Services
    server: uvicorn.Server
    port: int
    token: str

    @property
    def base_path(self) -> str:
        return self.services.settings.daemon.base_path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.base_path}"

    def client(self, token: str | None = None, **options: Any) -> httpx2.AsyncClient:
        """Return a client with the operator's token, or with `token` ("" sends none)."""
        chosen = self.token if token is None else token
        headers = {"authorization": f"Bearer {chosen}"} if chosen else {}
        headers.update(options.pop("headers", {}))
        # Certificates take a tenth of a second to load, and nothing here is encrypted.
        options = {"trust_env": False, "timeout": ANSWER_SECONDS, "verify": False, **options}
        return httpx2.AsyncClient(base_url=self.url, headers=headers, **options)

    def websocket(
        self,
        path: str,
        *,
        token: str | None = None,
        origin: str | None = None,
        name: str = "127.0.0.1",
        **options: Any,
    ) -> connect:
        """Return a connection to a WebSocket below `/api/v1`, to be used with `async with`. `name` is
        the host that the client believes it talks to."""
        chosen = self.token if token is None else token
        headers = dict(options.pop("additional_headers", {}))
        options.setdefault("open_timeout", OPEN_SECONDS)
        if chosen:
            headers["authorization"] = f"Bearer {chosen}"
        if origin is not None:
            headers["origin"] = origin
        url = f"ws://{name}:{self.port}{self.base_path}/api/v1{path}"
        return connect(
            url, host="127.0.0.1", port=self.port, additional_headers=headers, proxy=None, **options
        )


@asynccontextmanager
async def running_daemon(data_dir: Path, **overrides: Any) -> AsyncIterator[Daemon]:
    """Start a daemon over `data_dir`; `overrides` are settings by section."""
    settings = settings_for(data_dir, **overrides)
    async with open_services(settings, Redactor(secret_values(settings))) as services:
        app = build_application(settings)
        app.state.services = services
        server = uvicorn.Server(
            uvicorn.Config(
                BasePath(app, settings.daemon.base_path),
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                http=bounded_http(settings.limits.connections_per_address),
                ws=BoundedWebSocket,
                ws_max_size=MAX_FRAME_BYTES,
                ws_per_message_deflate=False,
                lifespan="off",
                timeout_graceful_shutdown=2,
            )
        )
        listener = listen("127.0.0.1", 0)
        port = listener.getsockname()[1]
        listener.listen()
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            token = services.access.token_file.read_text().strip()
            yield Daemon(app, services, server, port, token)
        finally:
            await app.state.mcp.close()
            services.events.close()
            server.should_exit = True
            await serving


def settings_for(data_dir: Path, **overrides: Any) -> Settings:
    """Return settings that trust the projects beside `data_dir`, and leave out the files of who runs the
    tests, unless `overrides` say otherwise."""
    overrides.setdefault("instructions", {"user": False})
    daemon = {"data_dir": str(data_dir), **overrides.pop("daemon", {})}
    projects = overrides.pop("projects", {"trusted": [str(data_dir.parent)]})
    return load_settings(environ={}, overrides={"daemon": daemon, "projects": projects, **overrides})


async def next_frame(socket: ClientConnection, *types: str) -> dict[str, Any]:
    """Return the next frame of one of `types` (of any, without); waits at most `WAIT_SECONDS`."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            frame: dict[str, Any] = orjson.loads(await socket.recv())
            if not types or frame["type"] in types:
                return frame


async def close_code(socket: ClientConnection) -> int | None:
    """Wait until the server closes the socket and return its code."""
    with suppress(ConnectionClosed):
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                await socket.recv()
    return socket.close_code
