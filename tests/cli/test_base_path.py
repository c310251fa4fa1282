"""Commands and clients at a daemon below a path prefix: found by its data folder, and by its address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from kaged_client import Kaged, errors

from tests.driver.kaged import WAIT_SECONDS, DaemonProcess, Home

pytestmark = pytest.mark.requirement("deployment.base_path")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    home = Home(tmp_path_factory.mktemp("home"))
    home.config.write_text(f'{home.config.read_text()}base_path = "/team/library"\n')
    with DaemonProcess(home).start() as running:
        yield running


def test_the_printed_addresses_have_the_prefix(daemon: DaemonProcess) -> None:
    url, made = daemon.ready["url"], daemon.home.json("token", "link")
    assert url.endswith("/team/library")
    for link in (daemon.ready["launch_url"], made["url"]):
        assert link.startswith(f"{url}/launch?token=")
    assert httpx2.get(made["url"], trust_env=False, timeout=WAIT_SECONDS).headers["set-cookie"]
    shown = daemon.home.json("token", "link", "--base-url", "https://kaged.example.org/team/library/")
    assert shown["url"].startswith("https://kaged.example.org/team/library/launch?token=")


def test_commands_find_the_daemon_by_its_data_folder(daemon: DaemonProcess) -> None:
    sent = daemon.home.run("send", "read the file")
    assert sent.returncode == 0, sent.stderr
    assert "It lends books." in sent.stdout


def test_commands_take_an_address_with_the_prefix_and_refuse_one_without(
    daemon: DaemonProcess, tmp_path: Path
) -> None:
    elsewhere = Home(tmp_path)
    token = (daemon.home.data_dir / "token").read_text().strip()
    url = daemon.ready["url"]
    sent = elsewhere.run(
        "send", "--project", str(daemon.home.project), "read it", KAGED_URL=f"{url}/", KAGED_TOKEN=token
    )
    assert sent.returncode == 0, sent.stderr
    assert "It lends books." in sent.stdout
    without = url.removesuffix("/team/library")
    refused = elsewhere.run("session", "list", KAGED_URL=without, KAGED_TOKEN=token)
    assert refused.returncode == 1
    assert "This daemon is served below /team/library (daemon.base_path)" in refused.stderr


def test_the_python_client_takes_an_address_with_the_prefix(daemon: DaemonProcess) -> None:
    token = (daemon.home.data_dir / "token").read_text().strip()
    (project,) = daemon.ready["projects"]
    with Kaged(daemon.ready["url"], token=token) as kaged:
        session = kaged.sessions.create(project_id=project["id"])
        assert "It lends books." in session.run("read it").wait().text
    with (
        Kaged(daemon.ready["url"].removesuffix("/team/library"), token=token) as kaged,
        pytest.raises(errors.ApiError, match=r"daemon\.base_path"),
    ):
        kaged.sessions.create(project_id=project["id"])
