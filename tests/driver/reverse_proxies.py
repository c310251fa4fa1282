"""nginx and Caddy with the files of `examples/proxy`, on a free port, with a certificate of their own.

Owns: what such a file says of the machine (ports, nonces, certificate), and the process. Never: what is asked
of it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.driver.daemon_process import REPOSITORY
from tests.driver.machine import find_deployment_tool, find_nginx
from tests.driver.ports import steady_port

EXAMPLES = REPOSITORY / "examples" / "proxy"
NAME = "kaged.example.org"
WAIT_SECONDS = 60
NGINX = """\
daemon off;
pid nginx.pid;
error_log stderr;
events {}
http {
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    include site.conf;
}
"""


@dataclass(frozen=True, slots=True)
class Backend:
    """A daemon as the examples know it: its port, and the nonce that the proxy sends."""

    port: int
    nonce: str


@dataclass(frozen=True, slots=True)
class ReverseProxy:
    """A running proxy, which answers for `https://kaged.example.org` at a port of this machine."""

    port: int
    certificate: Path


@asynccontextmanager
async def running_proxy(
    which: str, folder: Path, backends: Mapping[str, Backend], sign_in: int
) -> AsyncIterator[ReverseProxy]:
    """Run `nginx` or `caddy` with its example. `backends` are the daemons by the names in it."""
    folder.mkdir()
    proxy = ReverseProxy(steady_port(), await _certified(folder))
    start = _nginx if which == "nginx" else _caddy
    command, environment = start(folder, proxy, backends, sign_in)
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env=os.environ | environment, stdout=log, stderr=log
        )
    try:
        await until_listening(proxy.port, process, folder / "log")
        yield proxy
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()


async def until_listening(port: int, process: asyncio.subprocess.Process, log: Path) -> None:
    """Wait until the process listens on the port; `log` says why it has ended."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not await _listens(port):
            assert process.returncode is None, log.read_text()
            await asyncio.sleep(0.05)


def _nginx(
    folder: Path, proxy: ReverseProxy, backends: Mapping[str, Backend], sign_in: int
) -> tuple[list[str], dict[str, str]]:
    text = _replaced(
        (EXAMPLES / "nginx.conf").read_text(),
        {
            "listen 443 ssl;": f"listen 127.0.0.1:{proxy.port} ssl;",
            "/etc/ssl/kaged": str(folder),
            **_ports(backends, sign_in),
            **{f"replace-me-with-the-nonce-of-{name}": one.nonce for name, one in backends.items()},
        },
    )
    (folder / "site.conf").write_text(text)
    (folder / "nginx.conf").write_text(NGINX)
    return [str(find_nginx()), "-p", str(folder), "-c", "nginx.conf"], {}


def _caddy(
    folder: Path, proxy: ReverseProxy, backends: Mapping[str, Backend], sign_in: int
) -> tuple[list[str], dict[str, str]]:
    options = "{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\n\n"
    certificate = f"\n\tbind 127.0.0.1\n\ttls {folder}/fullchain.pem {folder}/privkey.pem\n"
    text = _replaced(
        (EXAMPLES / "Caddyfile").read_text(),
        {
            f"\n{NAME} {{\n": f"\nhttps://{NAME}:{proxy.port} {{{certificate}",
            **_ports(backends, sign_in),
        },
    )
    (folder / "Caddyfile").write_text(options + text)
    nonces = {f"KAGED_{name.upper()}_NONCE": one.nonce for name, one in backends.items()}
    command = [str(find_deployment_tool("caddy")), "run", "--adapter", "caddyfile", "--config", "Caddyfile"]
    return command, {
        **nonces,
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }


def _ports(backends: Mapping[str, Backend], sign_in: int) -> dict[str, str]:
    written = {name: f"127.0.0.1:{number}" for number, name in enumerate(("shop", "tools", "site"), 7781)}
    own = {written[name]: f"127.0.0.1:{one.port}" for name, one in backends.items()}
    return {**own, "127.0.0.1:4180": f"127.0.0.1:{sign_in}"}


def _replaced(text: str, changes: Mapping[str, str]) -> str:
    for old, new in changes.items():
        assert old in text, f"the example has no {old!r}"
        text = text.replace(old, new)
    return text


async def _certified(folder: Path) -> Path:
    certificate = folder / "fullchain.pem"
    process = await asyncio.create_subprocess_exec(
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-days", "2", "-subj", "/CN=kaged", "-addext", f"subjectAltName=DNS:{NAME}"),
        *("-keyout", str(folder / "privkey.pem"), "-out", str(certificate)),
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert await process.wait() == 0
    return certificate


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True
