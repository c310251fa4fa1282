"""`kaged mcp`: adding, listing, testing and removing the MCP servers that agents use."""

from __future__ import annotations

import sys
from pathlib import Path

import orjson
import pytest

from tests.driver.kaged import PROJECT_YAML, Home

pytestmark = pytest.mark.requirement("mcp.client.declarations")

SERVER = Path(__file__).parents[1] / "fakes" / "mcp_server.py"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.needs("cages")
def test_a_command_is_added_tested_listed_and_removed(home: Home) -> None:
    (home.project / "server.py").write_text(SERVER.read_text())
    added = home.run(
        "mcp", "add", "notes", "--env", "TOKEN=very-secret-value", "--", sys.executable, "server.py"
    )
    assert added.returncode == 0
    assert "notes_*" in added.stdout
    assert "very-secret-value" not in added.stdout
    (file,) = home.project.parent.rglob("servers.json")
    assert file.stat().st_mode & 0o777 == 0o600
    assert orjson.loads(file.read_bytes())["servers"][0]["env"] == {"TOKEN": "very-secret-value"}
    (row,) = home.json("mcp", "list")["items"]
    assert (row["name"], row["from"], row["env"]) == ("notes", "added", ["TOKEN"])
    found = home.json("mcp", "test", "notes")
    assert found["ok"]
    assert "readNote" in [one["name"] for one in found["tools"]]
    assert home.run("mcp", "remove", "notes").returncode == 0
    assert home.json("mcp", "list")["items"] == []
    again = home.run("mcp", "remove", "notes")
    assert again.returncode == 1
    assert "no MCP server notes was added" in again.stderr


def test_a_server_of_all_projects_is_not_removed_for_one(home: Home) -> None:
    assert home.run("mcp", "add", "notes", "--url", "https://example.org").returncode == 0
    assert home.run("mcp", "add", "links", "--url", "https://example.org", "--project", ".").returncode == 0

    for_one = home.run("mcp", "remove", "notes", "--project", ".")
    for_all = home.run("mcp", "remove", "links")

    assert (for_one.returncode, for_all.returncode) == (1, 1)
    assert "notes was added for all projects: leave --project out" in for_one.stderr
    said = f"links was added for {home.project}: say --project {home.project}"
    assert said in " ".join(for_all.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("Bad Name", "--url", "https://example.org"), "a server's name has"),
        (("web", "--url", "https://example.org"), "begins the names of other tools"),
        (("notes",), "say one of"),
        (("notes", "--url", "https://example.org", "--write"), "are for a command"),
        (("notes", "--url", "ftp://example.org"), "url"),
        (("notes", "--allow", "10.0.0.1", "--", "true"), "addresses are never allowed"),
        (("notes", "--npm", "not a package"), "--npm takes PACKAGE@VERSION"),
        (("notes", "--env", "novalue", "--", "true"), "write NAME=VALUE"),
    ],
    ids=["name", "reserved", "nothing", "cage-of-url", "scheme", "host", "package", "variable"],
)
def test_what_cannot_be_added_is_refused_with_the_reason(
    home: Home, arguments: tuple[str, ...], said: str
) -> None:
    refused = home.run("mcp", "add", *arguments)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert home.json("mcp", "list")["items"] == []


@pytest.mark.needs("cages")
def test_a_server_of_an_untrusted_project_is_not_started(tmp_path: Path) -> None:
    home = Home(tmp_path, trusted=False)
    (home.project / "server.py").write_text("open('started', 'w')")
    text = PROJECT_YAML + f"mcp:\n  own:\n    command: [{sys.executable}, server.py]\n    cage: disabled\n"
    (home.project / ".kaged" / "project.yaml").write_text(text)
    (row,) = home.json("mcp", "list")["items"]
    assert (row["name"], row["from"]) == ("own", "project file")
    refused = home.run("mcp", "test", "own")
    assert refused.returncode == 1
    assert "is not trusted" in refused.stderr
    assert not (home.project / "started").exists()


def test_servers_of_other_programs_files_are_taken_over_after_trust(tmp_path: Path) -> None:
    home = Home(tmp_path, trusted=False)
    (home.project / ".vscode").mkdir()
    (home.project / ".mcp.json").write_text(
        '{"mcpServers": {"My Notes": {"command": "python3", "args": ["${workspaceFolder}/n.py"], '
        '"env": {"KEY": "${env:NOTES_KEY}"}}, "far": {"type": "http", "url": "https://example.org/mcp"}}}'
    )
    (home.project / ".vscode" / "mcp.json").write_text(
        '{"servers": {"in": {"command": "${input:x}"}, "odd": 5}}'
    )
    refused = home.run("mcp", "import", "--yes")
    assert refused.returncode == 1
    assert "is not trusted" in refused.stderr
    assert home.run("trust").returncode == 0
    taken = home.json("mcp", "import", "--yes")
    assert [one["name"] for one in taken["added"]] == ["my-notes", "far"]
    assert {one["name"] for one in taken["left_out"]} == {"in", "odd"}
    rows = {one["name"]: one for one in home.json("mcp", "list")["items"]}
    assert rows["my-notes"]["project"] == str(home.project)
    assert rows["my-notes"]["runs"] == f"python3 {home.project}/n.py"
    (file,) = tmp_path.rglob("servers.json")
    assert b"${NOTES_KEY}" in file.read_bytes()
