"""Wrong ids, empty names and folders that are none: each gets an error that says so, and does nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.driver.kaged import DaemonProcess, Home

pytestmark = pytest.mark.requirement("usability.commands")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with a running daemon, which has one session."""
    home = Home(tmp_path_factory.mktemp("home"))
    daemon = DaemonProcess(home).start()
    assert home.run("send", "read this please").returncode == 0
    yield home
    daemon.stop()


def refused(home: Home, *arguments: str) -> str:
    """Run a command that must fail, and return what it says. It names no route and leaves the session."""
    done = home.run(*arguments)
    assert done.returncode in (1, 2), (arguments, done.stdout)
    assert done.stderr.startswith("kaged: "), done.stderr
    assert "Traceback" not in done.stderr and "/api/v1" not in done.stderr
    return done.stderr


def test_an_id_that_is_none_leads_to_nothing_else(home: Home) -> None:
    """`..` in the place of a message would otherwise be the address of its session."""
    (session,) = home.json("session", "list")["items"]
    number = session["id"]
    wrong = "../../projects"
    for command in (
        *(("session", "unqueue", number, one) for one in ("..", ".", "", wrong)),
        ("session", "edit", number, "..", "text"),
        ("session", "undo", number, ".."),
        ("session", "cancel", number, "--run", ".."),
        ("session", "retry", number, "--run", wrong),
        ("session", "pause", ""),
        ("attach", wrong),
        ("runs", "show", "."),
        ("runs", "cancel", ".."),
        ("token", "revoke", ".."),
    ):
        refused(home, *command)
    (left,) = home.json("session", "list")["items"]
    assert (left["id"], left["updated_at"]) == (number, session["updated_at"])


def test_an_empty_path_is_not_the_current_folder(home: Home) -> None:
    for command in (
        ("trust", ""),
        ("trust", "--data-dir", ""),
        ("check", ""),
        ("init", ""),
        ("project", "move", "", str(home.project)),
        ("project", "move", str(home.project), ""),
        ("serve", "--project", ""),
    ):
        assert "empty" in refused(home, *command), command


@pytest.mark.parametrize("running", [True, False])
def test_a_folder_that_is_not_there_is_not_one_without_a_project(home: Home, running: bool) -> None:
    there = home.folder / "empty"
    there.mkdir(exist_ok=True)
    data = () if running else ("--data-dir", str(home.folder / "other data"))
    for command in (("trust", *data), ("project", "move", str(home.project), *data)):
        assert "there is no folder" in refused(home, *command, str(home.folder / "nowhere"))
        assert "kaged init" in refused(home, *command, str(there))


def test_a_group_without_a_command_shows_its_help(home: Home) -> None:
    done = home.run("session")
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: kaged session")
