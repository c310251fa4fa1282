"""The daemon process: one socket, one server, an orderly start and stop.

Owns: listening before the heavy imports are done, signals, the ready line, the data folder's lock. Never:
building services (`lifespan`) or routes (`api`).

`/healthz` is answered from the first connection on; other requests wait until the services are up. Their
imports, the slowest part of the start, run in a thread.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson
import uvicorn

from app import __version__
from app.api.base_path import BasePath
from app.config import Settings, environment_secrets, refuse_exposure, secret_values
from app.connections import (
    BoundedWebSocket,
    bounded_http,
    raise_descriptor_limit,
    tell_lack_of_descriptors_once,
)
from app.errors import ConfigError, KagedError, ProjectFileInvalid, Unavailable
from app.gateway import Gateway
from app.observability import Redactor, start_logging, without_controls
from app.process_memory import freeze_loaded, keep_freed_pages, load_undisturbed
from app.storage.file_failures import check_room
from app.storage.lock import DataFolderLock

if TYPE_CHECKING:
    from app.daemon.services import Services

log = logging.getLogger("kaged.daemon")

MAX_FRAME_BYTES = 1024 * 1024
CLOSE_SOCKETS_SECONDS = 5


def run_server(
    settings: Settings,
    *,
    project_paths: list[Path],
    json_ready: bool,
    trust: bool = False,
    when_ready: Callable[[Services], Coroutine[Any, Any, None]] | None = None,
) -> int:
    """Run the daemon until a signal stops it; return the exit code. `trust` trusts the projects loaded at the
    start. `when_ready` runs beside it from the ready line on.

    Errors of the start go to standard error; with `json_ready` they are raised as `KagedError`."""
    keep_freed_pages()
    load_undisturbed()
    redactor = Redactor((*secret_values(settings), *environment_secrets()))
    output = start_logging(level=settings.log.level, line_format=settings.log.format, redactor=redactor)
    try:
        refuse_exposure(settings)
        with DataFolderLock(settings.daemon.data_dir) as lock:
            check_room(settings.daemon.data_dir)
            daemon = Daemon(
                settings,
                redactor,
                lock,
                project_paths=project_paths,
                json_ready=json_ready,
                trust=trust,
                when_ready=when_ready,
            )
            return asyncio.run(daemon.run())
    except ProjectFileInvalid as error:
        if json_ready:
            raise
        _complain(error)
        for found in error.details.get("diagnostics", ()):
            place = f"{found['file']}:{found['line']}:{found['column']}"
            message = f"{place}: {found['severity']}[{found['code']}]: {found['message']}"
            click.echo(without_controls(message), err=True)
        return 1
    except KagedError as error:
        if json_ready:
            raise
        _complain(error)
        return 1
    finally:
        output.close()


def _complain(error: KagedError) -> None:
    click.echo(without_controls(f"kaged: {error.message}"), err=True)


class Daemon:
    """One run of the daemon."""

    def __init__(
        self,
        settings: Settings,
        redactor: Redactor,
        lock: DataFolderLock,
        *,
        project_paths: list[Path],
        json_ready: bool,
        trust: bool,
        when_ready: Callable[[Services], Coroutine[Any, Any, None]] | None,
    ) -> None:
        self._settings = settings
        self._redactor = redactor
        self._lock = lock
        self._project_paths = project_paths
        self._json_ready = json_ready
        self._trust = trust
        self._when_ready = when_ready
        self._stop = asyncio.Event()

    async def run(self) -> int:
        """Start, serve until a signal, drain, stop."""
        raise_descriptor_limit()
        tell_lack_of_descriptors_once()
        self._handle_signals()
        listener = listen(self._settings.daemon.host, self._settings.daemon.port)
        url = url_of(listener) + self._settings.daemon.base_path
        gateway = Gateway()
        server = _Server(self._uvicorn_config(gateway))
        serving = asyncio.create_task(server.serve(sockets=[listener]), name="http server")
        try:
            async with AsyncExitStack() as stack:
                services = await self._start(stack, gateway, url)
                self._lock.announce(url)
                self._announce(services, url)
                stopping = asyncio.create_task(self._stop.wait(), name="stop signal")
                async with self._beside(services):
                    await asyncio.wait({stopping, serving}, return_when=asyncio.FIRST_COMPLETED)
                stopping.cancel()
                log.info("stopping: running sessions are paused")
        finally:
            gateway.abandon()
            server.should_exit = True
            await serving
        return 0

    async def _start(self, stack: AsyncExitStack, gateway: Gateway, url: str) -> Services:
        application = await asyncio.to_thread(importlib.import_module, "app.api.application")
        lifespan = await asyncio.to_thread(importlib.import_module, "app.daemon.lifespan")
        services: Services = await stack.enter_async_context(
            lifespan.open_services(self._settings, self._redactor, url=url, lost=start_again)
        )
        for path in self._project_paths:
            try:
                project = await services.decisions.loader.load(path)
            except Unavailable as problem:
                if services.decisions.ownership is None:
                    raise
                log.warning("%s: %s", path, problem.message)
                continue
            if self._trust and project.trust.state != "trusted" and project.trust.digest is not None:
                await services.decisions.grant(project.id, project.trust.digest, actor="serve --trust")
        app: Any = await asyncio.to_thread(application.build_application, self._settings)
        app.state.services = services
        stack.push_async_callback(app.state.mcp.close)
        freeze_loaded()
        gateway.open(app)
        return services

    @asynccontextmanager
    async def _beside(self, services: Services) -> AsyncIterator[None]:
        """Run `when_ready` until serving ends."""
        if self._when_ready is None:
            yield
            return
        task = asyncio.create_task(self._when_ready(services), name="questions at the terminal")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _uvicorn_config(self, gateway: Gateway) -> uvicorn.Config:
        return uvicorn.Config(
            BasePath(gateway, self._settings.daemon.base_path),
            lifespan="off",
            http=bounded_http(self._settings.limits.connections_per_address),
            ws=BoundedWebSocket,
            ws_max_size=MAX_FRAME_BYTES,
            ws_per_message_deflate=False,
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=CLOSE_SOCKETS_SECONDS,
        )

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal)

    def _on_signal(self) -> None:
        if self._stop.is_set():
            # Acknowledged data is stored; recovery at the next start does the rest.
            os._exit(1)
        self._stop.set()

    def _announce(self, services: Services, url: str) -> None:
        launch = services.access.launch_url(url)
        projects = [
            {
                "id": project.id,
                "slug": project.slug,
                "root": str(project.root),
                # This line often ends up in a log.
                "trust": services.redactor.data(services.projects.wire_trust(project.id)),
            }
            for project in services.projects.all()
        ]
        if self._json_ready:
            for project in projects:
                if project["trust"]["state"] == "untrusted":
                    log.warning(
                        "project %s is not trusted, so nothing of it runs: kaged trust %s",
                        project["slug"],
                        project["root"],
                    )
            line = {
                "event": "ready",
                "url": url,
                "launch_url": launch,
                "token_file": str(services.access.token_file),
                "pid": os.getpid(),
                "projects": projects,
            }
            click.echo(orjson.dumps(line).decode())
            return
        click.echo(f"kaged {__version__} is ready at {url}")
        click.echo(f"Open in a browser:  {launch}")
        click.echo(f"Token for scripts:  {services.access.token_file}")
        for project in projects:
            click.echo(without_controls(f"Project {project['slug']}:  {project['root']}  ({project['id']})"))
            if project["trust"]["state"] != "trusted":
                click.echo(without_controls(_how_to_trust(project)))
        click.echo("Stop with Ctrl-C.")


def start_again(reason: str) -> None:
    """Replace this process by a new one of the same command, in any thread: nothing that it has in memory may
    be written any more. The guardian ends its child processes."""
    click.echo(f"kaged starts again: {reason}", err=True)
    try:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    except OSError:
        os._exit(1)


def _how_to_trust(project: dict[str, Any]) -> str:
    does = {
        "untrusted": "is not trusted: nothing of it runs",
        "changed": "asks for more than is trusted: the trusted version stays active",
    }[project["trust"]["state"]]
    return f"  It {does}. Look at it on its page, then trust it there, or: kaged trust {project['root']}"


class _Server(uvicorn.Server):
    """Leaves signals to the daemon, so that sessions drain before sockets close."""

    def capture_signals(self) -> Any:
        return nullcontext()


def listen(host: str, port: int) -> socket.socket:
    """Return a bound socket. Raises `ConfigError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, because asyncio switches off Nagle's delay (40 ms for each answer) only where it is.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise ConfigError(
            f"Cannot listen on {host}:{port}: {error}. Choose another address with --host and --port "
            "(--port 0 takes a free one)."
        ) from None
    listener.set_inheritable(False)
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the address for clients on this machine: the loopback's for a daemon that listens everywhere."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
