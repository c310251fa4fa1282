"""`kaged issue` against a running daemon: all that its interface can do with issues."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

from app.cli.root import COMMANDS
from tests.driver.kaged import DaemonProcess, Home

pytestmark = pytest.mark.requirement("command_line.issue")


def issue(daemon: DaemonProcess, *arguments: str) -> str:
    """Run a command that must succeed; return what it printed."""
    done = daemon.home.run("issue", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(daemon: DaemonProcess, *arguments: str, code: int = 1) -> str:
    done = daemon.home.run("issue", *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr


def new(daemon: DaemonProcess, title: str, *more: str) -> dict[str, Any]:
    made = daemon.home.json("issue", "new", title, *more)
    assert isinstance(made, dict)
    return made


def filed(daemon: DaemonProcess, title: str, body: str = "") -> str:
    """File an issue where the command for it is not to be shown; return its number."""
    path = f"/projects/{daemon.project_id}/issues"
    return str(daemon.call("POST", path, {"title": title, "body": body})["number"])


def test_an_issue_is_filed_listed_and_shown(daemon: DaemonProcess) -> None:
    made = new(daemon, "Late books are forgotten", "--body", "Nobody is *reminded*.")
    number = str(made["number"])

    listed = issue(daemon, "list")
    shown = issue(daemon, "show", number)

    assert made["status"] == "open"
    assert [f"#{number}", "open"] == next(
        line.split()[:2] for line in listed.splitlines() if "Late books" in line
    )
    assert listed.splitlines()[0].split() == ["ID", "STATUS", "ASSIGNED", "TO", "UPDATED", "TITLE"]
    assert shown.splitlines()[0] == f"#{number} Late books are forgotten"
    assert "open · filed by operator:" in shown
    assert "Nobody is *reminded*." in shown
    assert daemon.home.json("issue", "show", number)["todos"] == []
    assert issue(daemon, "view", number) == shown


def test_a_text_comes_from_a_file_or_from_standard_input(daemon: DaemonProcess) -> None:
    (daemon.home.project / "text.md").write_text("from a file")
    filed = new(daemon, "From a file", "--body-file", "text.md")
    piped = daemon.home.run(
        "issue", "create", "--title", "Piped", "--body-file", "-", "--json", stdin="piped\n"
    )
    edited = daemon.home.run("issue", "edit", str(filed["number"]), "--body", "-", "--json", stdin="again")

    assert filed["body"] == "from a file"
    assert json.loads(piped.stdout)["body"] == "piped\n"
    assert json.loads(edited.stdout)["body"] == "again"
    assert json.loads(edited.stdout)["original_body"] == "from a file"


def test_it_is_discussed_and_moved_and_the_history_shows_it(daemon: DaemonProcess) -> None:
    number = filed(daemon, "Shelf three is empty")

    issue(daemon, "comment", number, "It was full in spring.")
    issue(daemon, "comment", number, "Ask the night shift.", "--internal")
    assert "open → triaged" in issue(daemon, "move", number, "triaged")
    issue(daemon, "edit", number, "--title", "Shelf 3 is empty")
    assert "triaged → resolved" in issue(daemon, "resolve", number, "-m", "Filled again.")
    assert "resolved → reopened" in issue(daemon, "reopen", number, "-m", "Empty again.")
    assert "reopened → rejected" in issue(daemon, "reject", number, "-m", "It is sold.")

    shown = issue(daemon, "show", number)
    history = shown.partition("History\n")[2]
    said = [line.strip() for line in history.splitlines()]
    assert "It was full in spring." in said
    assert any(line.endswith("comment · operators only") for line in said)
    assert any(line.endswith("status: open → triaged") for line in said)
    assert any("title: Shelf three is empty → Shelf 3 is empty" in line for line in said)
    assert "It is sold." in said
    assert f"#{number}" not in issue(daemon, "list")
    assert f"#{number} " in issue(daemon, "list", "--all")
    assert f"#{number} " in issue(daemon, "list", "--status", "rejected")


def test_what_cannot_be_is_refused_with_what_can(daemon: DaemonProcess) -> None:
    number = filed(daemon, "A leaking roof")

    assert "triaged" in refused(daemon, "resolve", number, "-m", "done")
    assert "--comment" in refused(daemon, "resolve", number, code=2)
    assert "99999" in refused(daemon, "show", "99999")
    assert "workflow" in refused(daemon, "assign", number, "workflow:absent")
    assert "TARGET" in refused(daemon, "assign", number, code=2)
    assert "give --title" in refused(daemon, "edit", number, code=2)
    assert "cannot be read" in refused(daemon, "attach", number, "absent.pdf", code=2)
    refused(daemon, "move", number, "nowhere", code=2)
    failed = daemon.home.run("issue", "resolve", number, "-m", "done", "--json")
    error = json.loads(failed.stderr)["error"]
    assert (failed.returncode, error["code"], error["details"]["reason"]) == (
        1,
        "conflict",
        "invalid_transition",
    )
    assert "resolved" not in error["details"]["legal"]


def test_an_issue_that_is_filed_but_not_assigned_is_named(daemon: DaemonProcess) -> None:
    said = refused(daemon, "new", "A broken lock", "--assign", "workflow:absent")
    filed = json.loads(issue(daemon, "list", "--search", '"broken lock"', "--json"))["items"]

    assert [one["title"] for one in filed] == ["A broken lock"]
    assert f"#{filed[0]['number']} is filed, but not assigned" in said
    assert said.count("no workflow absent") == 1, "it is said once"
    assert "is empty" in refused(daemon, "new", "")


def test_issues_are_searched(daemon: DaemonProcess) -> None:
    first = filed(daemon, "The catalogue forgets umlauts", "Müller is not found.")
    issue(daemon, "comment", first, "Also with zyzzyva.")

    by_comment = daemon.home.json("issue", "list", "--search", "zyzzyva")
    by_text = daemon.home.json("issue", "list", "-S", "müller")
    nothing = issue(daemon, "list", "--search", "quokka")

    assert [str(one["number"]) for one in by_comment["items"]] == [first]
    assert [str(one["number"]) for one in by_text["items"]] == [first]
    assert "no such issues" in nothing


def test_issues_are_linked_and_unlinked(daemon: DaemonProcess) -> None:
    one, two = (filed(daemon, title) for title in ("Buy shelves", "Move the books"))

    issue(daemon, "link", one, "blocks", two)
    assert f"blocks #{two} Move the books (open)" in issue(daemon, "show", one)
    assert f"is blocked by #{one} Buy shelves (open)" in issue(daemon, "show", two)
    assert "no link" in refused(daemon, "unlink", two, "blocks", one)
    issue(daemon, "unlink", one, "blocks", two)
    assert "Links" not in issue(daemon, "show", one)


def test_files_are_attached_fetched_and_taken_away(daemon: DaemonProcess, tmp_path: Path) -> None:
    report = tmp_path / "report.bin"
    report.write_bytes(bytes(range(256)) * 5000)
    number = str(new(daemon, "With a report", "--attach", str(report))["number"])

    assert "report-2.bin  1.3 MB  upl_" in issue(daemon, "attach", number, str(report))
    assert "report.bin  1.3 MB  upl_" in issue(daemon, "show", number)
    fetched = tmp_path / "fetched.bin"
    issue(daemon, "download", number, "report-2.bin", "-o", str(fetched))
    assert fetched.read_bytes() == report.read_bytes()
    assert "exists already" in refused(daemon, "download", number, "report.bin", "-o", str(fetched))
    issue(daemon, "detach", number, "report-2.bin")
    files = daemon.home.json("issue", "show", number)["attachments"]
    assert [file["name"] for file in files] == ["report.bin"]
    assert "its files: report.bin" in refused(daemon, "download", number, "absent")


def test_a_checklist_is_kept_and_signed_off(daemon: DaemonProcess) -> None:
    number = filed(daemon, "Open on Sundays")
    assert "has no checklist" in issue(daemon, "todo", number)

    issue(daemon, "todo", number, "add", "Ask the staff", "Print a sign", "--phase", "Plan")
    issue(daemon, "todo", number, "add", "A reader came in on a Sunday", "--criterion")
    issue(daemon, "todo", number, "start", "1")
    issue(daemon, "todo", number, "note", "ask the STAFF", "Two want to.")
    issue(daemon, "todo", number, "done", "staff")
    issue(daemon, "todo", number, "edit", "2", "Print two signs")
    listed = issue(daemon, "todo", number, "drop", "two signs")

    assert listed.splitlines()[0] == "Plan:"
    assert "  1 [x] Ask the staff" in listed
    assert "Two want to." in listed
    assert "  2 [-] Print two signs" in listed
    assert "  3 [ ] A reader came in on a Sunday  (criterion)" in listed

    issue(daemon, "todo", number, "done", "Sunday")
    assert "claimed, waits for your sign-off" in issue(daemon, "show", number)
    assert "[ ] A reader" in issue(daemon, "decline", number, "Sunday", "-m", "Only the cat did.")
    issue(daemon, "move", number, "triaged")
    accepted = issue(daemon, "accept", number, "3", "--resolve", "It works.")
    assert "accepted by operator:" in accepted
    assert daemon.home.json("issue", "show", number)["status"] == "resolved"


def test_words_that_mean_no_entry_or_several_are_reported(daemon: DaemonProcess) -> None:
    number = filed(daemon, "Paint the door")
    issue(daemon, "todo", number, "add", "Buy red paint", "Buy a brush")

    assert "has no entry" in refused(daemon, "todo", number, "done", "green")
    several = refused(daemon, "todo", number, "done", "buy")
    assert "2 entries" in several
    assert "Buy a brush" in several
    assert "takes one ENTRY" in refused(daemon, "todo", number, "done", "Buy", "red", code=2)
    assert "go with add" in refused(daemon, "todo", number, "done", "Buy red paint", "--criterion", code=2)


CREW = """\
version: 1
project: library
primary:
  model: demo
  system_prompt: prompts/primary.md
  cage: disabled
  tools:
    file.*: { enabled: true }
  subagents:
    clerk:
      description: Knows the shelves
      model: demo
      system_prompt: prompts/primary.md
      cage: disabled
      tools:
        file.*: { enabled: true }
"""
ASKED = """\
chunk_delay: 0
conversations:
  - when: ask the clerk
    steps:
      - answer:
          - tool_call: { name: agent-clerk, arguments: { task: what is to be done } }
      - answer:
          - text: The clerk has spoken.
  - when: what is to be done
    steps:
      - answer:
          - text: "This:\\n\\n```todos\\n- [ ] Dust the shelves\\n- [ ] Feed the cat\\n```\\n"
"""


def test_what_subagents_propose_is_put_on_the_list_or_refused(home: Home) -> None:
    daemon = DaemonProcess(home.give(CREW, ASKED)).start()
    try:
        number = filed(daemon, "Spring cleaning")
        sent = home.run("send", "--issue", number, "ask the clerk")
        assert sent.returncode == 0, sent.stderr

        listed = home.run("session", "proposals").stdout.splitlines()
        ids = {line.partition("clerk  ")[2]: line.split()[0] for line in listed[1:]}
        assert set(ids) == {"Dust the shelves", "Feed the cat"}
        decided = home.run(
            "session",
            "proposals",
            "last",
            "--accept",
            ids["Dust the shelves"],
            "--reject",
            ids["Feed the cat"],
        )
        assert decided.returncode == 0, decided.stderr
        assert [line.split()[1] for line in decided.stdout.splitlines()[1:]] == ["rejected", "accepted"]
        assert "no proposal is open" in home.run("session", "proposals").stdout
        todos = home.json("issue", "todo", number)["items"]
        assert [todo["content"] for todo in todos] == ["Dust the shelves"]
        assert todos[0]["origin_agent"].endswith("clerk")
    finally:
        daemon.stop()


def test_the_page_of_the_command_line_has_every_command() -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    words = set(re.findall(r"[a-z-]+", page))
    groups = [importlib.import_module(f"app.cli.{name}").command for name in COMMANDS]
    below = [name for group in groups if isinstance(group, click.Group) for name in group.commands]
    assert [name for name in (*COMMANDS, *below) if name not in words] == []
