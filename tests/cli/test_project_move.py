"""`kaged project move`: a project whose folder was moved keeps what belongs to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from tests.driver.kaged import WAIT_SECONDS, DaemonProcess, Home

pytestmark = pytest.mark.requirement("operations.move")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home whose settings trust nobody."""
    return Home(tmp_path, trusted=False)


def begun(home: Home) -> tuple[DaemonProcess, dict[str, Any]]:
    """Start a daemon that trusts the project, with a session and an issue in it; return the session."""
    daemon = DaemonProcess(home, ("--trust",)).start()
    assert home.run("send", "read this please").returncode == 0
    home.json("issue", "create", "The roof leaks")
    (session,) = home.json("session", "list")["items"]
    return daemon, session


def kept(home: Home, daemon: DaemonProcess, root: Path, session: dict[str, Any], project_id: str) -> None:
    headers = {"authorization": f"Bearer {daemon.token}"}
    with httpx2.Client(
        base_url=f"{daemon.ready['url']}/api/v1", headers=headers, trust_env=False, timeout=WAIT_SECONDS
    ) as client:
        project = client.get(f"/projects/{project_id}").json()
        assert (project["root"], project["trust"]["state"]) == (str(root), "trusted")
        assert [one["id"] for one in client.get("/projects").json()["items"]] == [project_id]
        assert client.get(f"/sessions/{session['id']}").json()["project_id"] == project_id
        assert [one["title"] for one in client.get(f"/projects/{project_id}/issues").json()["items"]] == [
            "The roof leaks"
        ]
        (row,) = client.get("/audit?event=project.moved").json()["items"]
        assert row["data"] == {"from": str(home.project), "to": str(root)}
    done = home.run("send", "--session", session["id"], "read this again", cwd=root)
    assert done.returncode == 0, done.stderr
    assert "It lends books" in done.stdout


def test_a_running_daemon_continues_with_a_moved_project_and_all_that_belongs_to_it(
    home: Home, tmp_path: Path
) -> None:
    daemon, session = begun(home)
    root = tmp_path / "elsewhere" / "library"
    root.parent.mkdir()
    home.project.rename(root)
    moved = home.json("project", "move", str(home.project), str(root), cwd=root)
    assert moved == {"root": str(root)}
    assert home.json("project", "move", str(root), str(root), cwd=root) == moved  # no second record
    kept(home, daemon, root, session, session["project_id"])
    (root / "prompts" / "primary.md").write_text("")
    answer = home.run("project", "move", "prj_unknown", str(root), cwd=root)
    assert (answer.returncode, "there is no project" in answer.stderr) == (1, True)
    daemon.stop()


def test_without_a_daemon_the_next_one_goes_on_and_an_empty_project_makes_room(
    home: Home, tmp_path: Path
) -> None:
    daemon, session = begun(home)
    root = tmp_path / "elsewhere"
    home.project.rename(root)
    # Whoever loads the folder at its new place first has an empty project there.
    loaded = home.json("trust", str(root), cwd=root)
    assert loaded["trust"]["state"] == "trusted"
    daemon.stop()
    assert home.json("project", "move", session["project_id"], str(root), cwd=root) == {"root": str(root)}
    daemon = DaemonProcess(home, ("--project", str(root)))
    home.project.mkdir()
    daemon.start()
    kept(home, daemon, root, session, session["project_id"])
    daemon.stop()


def test_a_project_at_work_and_a_place_that_is_taken_are_refused(home: Home, tmp_path: Path) -> None:
    daemon, session = begun(home)
    other = tmp_path / "other"
    (other / ".kaged").mkdir(parents=True)
    (other / "prompts").mkdir()
    for name in (".kaged/project.yaml", "prompts/primary.md"):
        (other / name).write_bytes((home.project / name).read_bytes())
    home.json("trust", str(other))
    home.json("issue", "create", "Another roof leaks", "--project", str(other))
    taken = home.run("project", "move", str(home.project), str(other), "--json")
    assert (taken.returncode, orjson.loads(taken.stderr)["error"]["details"]["reason"]) == (
        1,
        "project_exists",
    )

    stalled = home.terminal("send", "--session", session["id"], "stall please")
    stalled.expect("Thinking it over")
    root = tmp_path / "elsewhere"
    home.project.rename(root)
    busy = home.run("project", "move", str(home.project), str(root), "--json", cwd=root)
    error = orjson.loads(busy.stderr)["error"]
    assert (error["details"]["reason"], error["details"]["sessions"]) == ("project_busy", [session["id"]])
    assert home.run("session", "cancel", session["id"], cwd=root).returncode == 0
    assert home.run("project", "move", str(home.project), str(root), cwd=root).returncode == 0
    stalled.close(force=True)
    daemon.stop()
