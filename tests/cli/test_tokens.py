"""`kaged token`, and how a command gets past the daemon's door."""

from __future__ import annotations

import httpx2
import pytest

from tests.driver.kaged import WAIT_SECONDS, DaemonProcess

pytestmark = pytest.mark.requirement("command_line.token")


def test_a_created_token_works_until_it_is_revoked(daemon: DaemonProcess) -> None:
    created = daemon.home.json("token", "create", "dashboard", "--expires-in", "12h")
    address = f"{daemon.ready['url']}/api/v1/projects"
    headers = {"authorization": f"Bearer {created['token']}"}
    assert httpx2.get(address, headers=headers, trust_env=False, timeout=WAIT_SECONDS).status_code == 200
    assert daemon.home.json("token", "revoke", created["id"])["revoked_at"]
    assert httpx2.get(address, headers=headers, trust_env=False, timeout=WAIT_SECONDS).status_code == 401
    listed = {item["id"]: item for item in daemon.home.json("token", "list")["items"]}
    assert listed[created["id"]]["revoked_at"]
    assert created["token"] not in str(listed)


def test_the_list_is_a_table_for_people(daemon: DaemonProcess) -> None:
    daemon.home.json("token", "create", "table", "--read-only")
    lines = daemon.home.run("token", "list").stdout.splitlines()
    assert lines[0].split() == ["ID", "NAME", "SCOPE", "CREATED", "(UTC)", "STATE"]
    assert any("table" in line and "read-only" in line and "valid" in line for line in lines)


def test_a_token_of_an_agent_may_be_for_the_last_session(daemon: DaemonProcess) -> None:
    daemon.home.run("send", "please read it")
    created = daemon.home.json("token", "create", "bot", "--session", "last", "--agent", "primary")
    assert created["session_id"] == daemon.newest_session()["id"]


def test_a_token_that_may_only_read_lists_what_belongs_to_a_project(daemon: DaemonProcess) -> None:
    created = daemon.home.json("token", "create", "reader", "--read-only")
    token = ("--token", created["token"])
    for command in (("issue", "list"), ("run",), ("runs", "list"), ("session", "list", "--project", ".")):
        done = daemon.home.run(*command, *token)
        assert done.returncode == 0, done.stderr
    refused = daemon.home.run("issue", "new", "No", *token)
    assert refused.returncode == 1
    assert "read-only" in refused.stderr


def test_the_token_alone_is_on_standard_output(daemon: DaemonProcess) -> None:
    done = daemon.home.run("token", "create", "script")
    assert len(done.stdout.split()) == 1
    assert "not shown again" in done.stderr


def test_a_command_takes_another_token_and_address(daemon: DaemonProcess) -> None:
    created = daemon.home.json("token", "create", "remote", "--read-only")
    done = daemon.home.run("session", "list", "--url", daemon.ready["url"], "--token", created["token"])
    assert done.returncode == 0
    refused = daemon.home.run(
        "token", "create", "more", "--url", daemon.ready["url"], "--token", created["token"]
    )
    assert refused.returncode == 1
    assert "read" in refused.stderr


def test_the_local_token_is_not_sent_to_another_address(daemon: DaemonProcess) -> None:
    other = daemon.ready["url"].replace("127.0.0.1", "localhost")
    done = daemon.home.run("session", "list", "--url", other)
    assert done.returncode == 1
    assert "--token" in done.stderr


@pytest.mark.parametrize("lifetime", ["soon", "0d", "3", "-1h"])
def test_a_lifetime_that_is_none_is_wrong_use(daemon: DaemonProcess, lifetime: str) -> None:
    done = daemon.home.run("token", "create", "x", f"--expires-in={lifetime}")
    assert done.returncode == 2
    assert "30d" in done.stderr


def test_a_link_signs_a_browser_in_once(daemon: DaemonProcess) -> None:
    link = daemon.home.run("token", "link").stdout.strip()
    assert daemon.home.json("token", "link")["url"] == link
    with httpx2.Client(trust_env=False, timeout=WAIT_SECONDS, follow_redirects=True) as browser:
        assert browser.get(link).status_code == 200
        assert browser.get(f"{daemon.ready['url']}/api/v1/projects").status_code == 200
    assert httpx2.get(link, trust_env=False, timeout=WAIT_SECONDS).status_code == 401
    assert daemon.home.run("token", "link").stdout.strip() != link
    behind = daemon.home.run("token", "link", "--base-url", "https://kaged.example.org/").stdout
    assert behind.startswith("https://kaged.example.org/launch?token=")
    assert daemon.home.run("token", "link", "--base-url", "kaged.example.org").returncode == 2


@pytest.mark.requirement("daemon.scopes")
def test_a_token_is_made_for_one_agent_or_one_plugin(daemon: DaemonProcess) -> None:
    project = daemon.project_id
    session = daemon.call("POST", "/sessions", {"project_id": project})["id"]
    agent = daemon.home.json("token", "create", "a", "--session", session, "--agent", "primary")
    plugin = daemon.home.json("token", "create", "p", "--project-id", project, "--plugin", "notes")
    both = daemon.home.run("token", "create", "x", "--read-only", "--session", session)
    assert (agent["scope"], agent["agent_path"], agent["project_id"]) == ("agent", "primary", project)
    assert (plugin["scope"], plugin["plugin"]) == ("plugin", "notes")
    assert both.returncode == 2
    listed = {item["id"]: item["scope"] for item in daemon.home.json("token", "list")["items"]}
    assert (listed[agent["id"]], listed[plugin["id"]]) == ("agent", "plugin")
