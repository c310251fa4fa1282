"""The recipe for nginx, with a real nginx that encrypts: the page's requests, cookies and WebSockets."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from http.cookiejar import MozillaCookieJar
from pathlib import Path

import orjson
import pytest
from websockets.asyncio.client import unix_connect

from tests.driver.kaged import WAIT_SECONDS, DaemonProcess
from tests.driver.machine import find_nginx
from tests.driver.reverse_proxies import NGINX
from tests.e2e.interop_reader import Reader
from tests.e2e.recipes_page import Kitchen, prepare, written
from tests.fakes.provider_server import FakeProvider

pytestmark = [pytest.mark.requirement("recipes.nginx"), pytest.mark.needs("nginx", "curl")]

RECIPE = "Put it behind nginx"
SITE = "https://kaged.example.org"
FRAME = NGINX.replace("site.conf", "kaged.conf")


@dataclass
class Proxy:
    """nginx on a socket file, which `curl` on the reader's `PATH` takes for the site of the recipe."""

    folder: Path
    kitchen: Kitchen

    @property
    def socket(self) -> Path:
        return self.folder / "socket"

    @property
    def certificate(self) -> Path:
        return self.folder / "fullchain.pem"

    def start(self) -> subprocess.Popen[bytes]:
        """Start nginx, which says on its log what is wrong."""
        with (self.folder / "log").open("wb") as log:
            return subprocess.Popen([self.kitchen.reader.folder / "bin" / "nginx"], stderr=log)

    async def curl(self, *arguments: str) -> str:
        """Run curl with a jar for cookies."""
        jar = self.folder / "jar"
        done = await asyncio.to_thread(
            subprocess.run,
            [str(self.kitchen.reader.folder / "bin" / "curl"), "-sS", "-b", jar, "-c", jar, *arguments],
            env=self.kitchen.reader.environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def cookies(self) -> dict[str, str]:
        """Return the cookies that the site has set; a browser sends each of them to https only."""
        text = (self.folder / "jar").read_text().replace("#HttpOnly_", "")
        (self.folder / "read").write_text(text)
        jar = MozillaCookieJar(self.folder / "read")
        jar.load(ignore_discard=True)
        assert all(one.secure for one in jar)
        return {one.name: one.value or "" for one in jar}

    def websocket(self, path: str, origin: str = SITE) -> unix_connect:
        encryption = ssl.create_default_context(cafile=str(self.certificate))
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies().items())
        return unix_connect(
            str(self.socket),
            uri=f"wss://kaged.example.org{path}",
            ssl=encryption,
            additional_headers={"Cookie": cookie},
            origin=origin,  # type: ignore[arg-type]
            proxy=None,
            open_timeout=WAIT_SECONDS,
        )


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a short name: the path of a socket has at most 107 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="nginx"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
async def proxy(tmp_path: Path, short: Path) -> AsyncIterator[Proxy]:
    """nginx with the lines of the recipe, before a daemon with the settings of the recipe."""
    async with FakeProvider() as model:
        reader = Reader(tmp_path, model_port=model.port)
        prepare(reader)
        [settings] = written(RECIPE, "toml")
        reader.config.write_text(f"{reader.config.read_text()}\n{settings}")
        await reader.paste("kaged init --model smart", cwd=reader.project)
        with DaemonProcess(reader, ("--project", str(reader.project))).start() as daemon:
            found = Proxy(short, Kitchen(reader, daemon))
            await certify(found)
            [conf] = written(RECIPE, "nginx")
            conf = found.kitchen.at_home(conf).replace("/etc/ssl/kaged", str(short))
            assert "listen 443 ssl;" in conf
            (short / "kaged.conf").write_text(
                conf.replace("listen 443 ssl;", f"listen unix:{short}/socket ssl;")
            )
            (short / "nginx.conf").write_text(FRAME)
            nginx = find_nginx()
            reader.program("nginx", f'exec {nginx} -p {short} -c nginx.conf "$@"')
            curl = shutil.which("curl")
            reader.program(
                "curl", f'exec {curl} --unix-socket {short}/socket --cacert {found.certificate} "$@"'
            )
            server = found.start()
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    while not found.socket.exists():
                        assert server.poll() is None, (short / "log").read_text()
                        await asyncio.sleep(0.02)
                yield found
            finally:
                server.terminate()
                server.wait()


async def certify(proxy: Proxy) -> None:
    """Give the site a certificate of its own."""
    await proxy.kitchen.reader.paste(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=kaged "
        f"-addext subjectAltName=DNS:kaged.example.org -keyout {proxy.folder}/privkey.pem "
        f"-out {proxy.certificate}"
    )


async def test_the_page_signs_in_writes_and_streams_behind_nginx(proxy: Proxy) -> None:
    [commands] = written(RECIPE)
    printed = await proxy.kitchen.cook(commands)
    assert "syntax is ok" in printed
    link = printed.splitlines()[-1]
    assert link.startswith(f"{SITE}/launch?token=")
    await proxy.curl(link)
    cookies = proxy.cookies()
    assert set(cookies) == {"kaged_session", "kaged_csrf"}

    assert "<title>" in await proxy.curl(f"{SITE}/")
    body = orjson.dumps({"project_id": proxy.kitchen.daemon.project_id}).decode()
    post = ("-H", "Content-Type: application/json", "-d", body, f"{SITE}/api/v1/sessions")
    mine = ("-H", f"X-Kaged-CSRF: {cookies['kaged_csrf']}", "-H", f"Origin: {SITE}")
    session = orjson.loads(await proxy.curl(*mine, *post))["id"]
    foreign = orjson.loads(await proxy.curl(*mine[:2], "-H", "Origin: https://evil.example", *post))
    assert foreign["error"]["details"]["reason"] == "origin_not_allowed"
    without = orjson.loads(await proxy.curl(*mine[2:], *post))
    assert without["error"]["details"]["reason"] == "csrf_invalid"

    async with proxy.websocket(f"/api/v1/sessions/{session}/ws?after_seq=0") as socket:
        await socket.send('{"type": "ping", "id": "1"}')
        async with asyncio.timeout(WAIT_SECONDS):
            async for frame in socket:
                if orjson.loads(frame)["type"] == "pong":
                    break
