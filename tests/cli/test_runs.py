"""`kaged run` and `kaged runs` against a running daemon: started, followed, cancelled, left alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pexpect
import pytest

from tests.driver.kaged import DaemonProcess, Home

pytestmark = pytest.mark.requirement("command_line.run")

PROJECT = """\
version: 1
project: library
primary:
  model: demo
  system_prompt: prompts/primary.md
  cage: disabled
  tools:
    file.*: { enabled: true }
    kaged.ask: { enabled: true }
workflows:
  count:
    description: Count the books
    system_prompt: prompts/count.md
    inputs:
      shelf: { type: integer, required: true }
      share: { type: number, default: 0.5 }
      loudly: { type: boolean, default: false }
      kind: { type: enum, options: [novels, poems], default: novels }
      list: { type: file }
      remarks: { type: text }
  refuse:
    description: Cannot be done
    system_prompt: prompts/count.md
  stall:
    description: Takes for ever
    system_prompt: prompts/count.md
  choose:
    description: Asks first
    system_prompt: prompts/count.md
"""

TRANSCRIPT = """\
chunk_delay: 0
conversations:
  - when: "workflow `count`"
    steps:
      - answer:
          - text: Let me look.
          - tool_call: { name: file.read, arguments: { path: README.md } }
      - answer:
          - text: "There are 12 books.\\nNone is lost."
  - when: "workflow `refuse`"
    steps:
      - answer:
          - error: { kind: auth, message: the key was refused }
  - when: "workflow `stall`"
    steps:
      - answer:
          - text: "Counting "
          - stall: true
  - when: "workflow `choose`"
    steps:
      - answer:
          - tool_call:
              name: kaged.ask
              arguments:
                summary: There are two shelves.
                questions:
                  - id: shelf
                    title: Which shelf?
                    options: [{ label: left, description: the red one }, { label: right }]
      - expect: { tool_result: "right" }
        answer:
          - text: The right one has 7.
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A running daemon whose project has workflows."""
    home = Home(tmp_path_factory.mktemp("home")).give(PROJECT, TRANSCRIPT)
    (home.project / "prompts" / "count.md").write_text("Count.\n")
    with DaemonProcess(home).start() as running:
        yield running


def test_without_a_name_the_workflows_are_listed(daemon: DaemonProcess) -> None:
    listed = daemon.home.run("run")
    assert listed.returncode == 0, listed.stderr
    line = next(line for line in listed.stdout.splitlines() if line.startswith("count "))
    assert "shelf*:integer share:number loudly:boolean" in line
    assert line.endswith("Count the books")
    names = [one["name"] for one in daemon.home.json("run")["items"]]
    assert names == ["choose", "count", "refuse", "stall"]


def test_without_questions_a_question_ends_the_run(daemon: DaemonProcess) -> None:
    for more in ((), ("--json",)):
        done = daemon.home.run("run", "choose", "--no-questions", *more)
        assert done.returncode == 1
        assert "the run asks, and nobody answers: There are two shelves." in done.stderr
    assert json.loads(done.stdout)["state"] == "cancelled"
    assert daemon.home.run("run", "count", "-i", "shelf=3", "--no-questions").returncode == 0
    assert daemon.home.run("run", "count", "--detach", "--no-questions").returncode == 2


def test_in_a_pipe_only_the_output_goes_to_standard_output(daemon: DaemonProcess) -> None:
    done = daemon.home.run("run", "count", "--input", "shelf=3")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "There are 12 books.\nNone is lost.\n"
    assert "Let me look." in done.stderr
    assert "✓ file.read README.md" in done.stderr
    assert "count succeeded · wfr_" in done.stderr


def test_inputs_are_what_the_workflow_declares(daemon: DaemonProcess) -> None:
    (daemon.home.project / "list.csv").write_text("a;b\n")
    (daemon.home.project / "remarks.txt").write_text("line one\nline two\n")
    number = daemon.home.json("issue", "new", "Count the books")["number"]
    inputs = ("-i", "shelf=3", "-i", "share=0.25", "-i", "loudly=yes", "-i", "kind=poems")
    files = ("-f", "list=list.csv", "-f", "remarks=remarks.txt")

    run = daemon.home.json("run", "count", *inputs, *files, "--issue", str(number))

    assert run["state"] == "succeeded"
    assert run["output"] == "There are 12 books.\nNone is lost."
    assert run["issue_number"] == number
    kept = run["inputs"].pop("list")
    assert kept.startswith("upl_")
    assert run["inputs"] == {
        "shelf": 3,
        "share": 0.25,
        "loudly": True,
        "kind": "poems",
        "remarks": "line one\nline two\n",
    }


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("count",), 1, "inputs.shelf"),
        (("count", "-i", "shelf=many"), 2, "no whole number"),
        (("count", "-i", "shelf=1", "-i", "loudly=perhaps"), 2, "true or false"),
        (("count", "-i", "shelf=1", "-i", "kind=maps"), 1, "inputs.kind"),
        (("count", "-i", "shelf=1", "-i", "colour=red"), 1, "inputs.colour"),
        (("count", "-i", "shelf=1", "-f", "list=absent.csv"), 2, "cannot be read"),
        (("count", "-i", "shelf"), 2, "NAME=VALUE"),
        (("count", "-i", "shelf=1", "-i", "shelf=2"), 2, "given twice"),
        (("count", "-i", "shelf=1", "--issue", "9999"), 1, "9999"),
        (("absent",), 1, "the project's: choose, count, refuse, stall"),
        (("-i", "shelf=1"), 2, "name the workflow"),
    ],
)
def test_what_cannot_be_started_is_reported(
    daemon: DaemonProcess, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = daemon.home.run("run", *arguments)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert said in done.stderr


def test_a_run_that_fails_says_why_and_exits_with_1(daemon: DaemonProcess) -> None:
    done = daemon.home.run("run", "refuse")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "the key was refused" in done.stderr
    assert "refuse failed" in done.stderr
    as_json = daemon.home.run("run", "refuse", "--json")
    assert (as_json.returncode, json.loads(as_json.stdout)["state"]) == (1, "failed")


def test_a_detached_run_is_listed_shown_followed_and_cancelled(daemon: DaemonProcess) -> None:
    started = daemon.home.run("run", "stall", "--detach")
    run_id = started.stdout.split()[0]
    assert f"kaged runs follow {run_id}" in started.stdout

    listed = daemon.home.run("runs", "list", "--state", "running")
    following = daemon.home.terminal("runs", "follow", run_id)
    following.expect("Counting")
    cancelled = daemon.home.run("runs", "cancel", run_id)
    following.expect("stall cancelled")
    following.expect(pexpect.EOF)
    following.wait()
    again = daemon.home.run("runs", "cancel", run_id)

    assert any(line.split()[:2] == [run_id, "running"] for line in listed.stdout.splitlines())
    assert cancelled.returncode == 0, cancelled.stderr
    assert following.exitstatus == 1
    assert again.returncode == 1
    assert "ended already" in again.stderr
    assert f"stall cancelled · {run_id}" in daemon.home.run("runs", "show", run_id).stdout


def test_a_list_that_is_cut_says_how_many_there_are(daemon: DaemonProcess) -> None:
    for _ in range(2):
        daemon.home.json("runs", "cancel", daemon.home.json("run", "stall", "--detach")["id"])
    assert re.search(r"\n1 of \d+; more with --limit", daemon.home.run("runs", "list", "--limit", "1").stdout)


def test_ctrl_c_leaves_a_run_that_is_only_followed(daemon: DaemonProcess) -> None:
    run_id = daemon.home.json("run", "stall", "--detach")["id"]
    following = daemon.home.terminal("runs", "follow", run_id)
    following.expect("Counting")
    following.sendintr()
    following.expect("the run continues")
    following.expect(pexpect.EOF)
    following.wait()
    assert following.exitstatus == 1
    assert daemon.home.json("runs", "show", run_id)["state"] == "running"
    daemon.home.json("runs", "cancel", run_id)


def test_ctrl_c_cancels_a_run_that_was_started_here(daemon: DaemonProcess) -> None:
    running = daemon.home.terminal("run", "stall")
    running.expect("Counting")
    running.sendintr()
    running.expect("cancelling the run")
    running.expect("stall cancelled")
    running.expect(pexpect.EOF)
    running.wait()
    assert running.exitstatus == 1
    newest = daemon.home.json("runs", "list", "--workflow", "stall")["items"][0]
    assert newest["state"] == "cancelled"


def test_a_second_run_waits_for_its_turn(daemon: DaemonProcess) -> None:
    first = daemon.home.json("run", "stall", "--detach")["id"]
    second = daemon.home.terminal("run", "stall")
    second.expect("is queued")
    daemon.home.json("runs", "cancel", first)
    second.expect("Counting")
    second.sendintr()
    second.expect("stall cancelled")
    second.expect(pexpect.EOF)
    second.wait()


def test_a_question_of_a_run_is_answered_at_the_terminal(daemon: DaemonProcess) -> None:
    running = daemon.home.terminal("run", "choose")
    running.expect("Which shelf")
    running.expect("1  left – the red one")
    running.expect("type a number")
    running.sendline("7")
    running.expect("type a number")
    running.sendline("2")
    running.expect("The right one has 7.")
    running.expect("choose succeeded")
    running.expect(pexpect.EOF)
    running.wait()
    assert running.exitstatus == 0
