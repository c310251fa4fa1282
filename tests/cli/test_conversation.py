"""`kaged send`, `attach`, `session` and `record` against a running daemon."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import orjson
import pexpect
import pytest

from tests.driver.kaged import DaemonProcess, Home


@pytest.mark.requirement("command_line.send", "command_line.discovery")
def test_in_a_pipe_the_answer_goes_to_standard_output_and_the_rest_beside_it(daemon: DaemonProcess) -> None:
    done = daemon.home.run("send", "please read it")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Let me look.\nIt lends books.\nThe other file is not there.\n"
    assert "Where would that be written?" in done.stderr
    assert "✓ file.read README.md" in done.stderr
    assert "✗ file.read ABSENT.md" in done.stderr
    assert "run succeeded · 2 steps" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.requirement("command_line.send")
def test_in_a_terminal_thinking_is_dimmed_and_each_call_is_one_line(daemon: DaemonProcess) -> None:
    terminal = daemon.home.terminal("send", "please read it")
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert terminal.exitstatus == 0
    screen = terminal.before
    assert "\x1b[2mWhere " in screen
    # The two calls run at the same time, so either may be done first.
    assert len(re.findall(r"\x1b\[32m✓ file\.read README\.md \d+ ms", screen)) == 1
    assert len(re.findall(r"\x1b\[31m✗ file\.read ABSENT\.md \d+ ms", screen)) == 1
    assert "It lends books." in screen
    assert "run succeeded · 2 steps" in screen


@pytest.mark.requirement("command_line.send")
def test_ctrl_c_cancels_the_run_and_keeps_what_was_said(daemon: DaemonProcess) -> None:
    terminal = daemon.home.terminal("send", "stall please")
    terminal.expect("Thinking it over")
    terminal.sendintr()
    terminal.expect("run cancelled")
    terminal.wait()
    assert terminal.exitstatus == 1
    newest = daemon.newest_session()
    assert newest["state"] == "idle"


def test_a_run_is_paused_resumed_and_cancelled_from_another_terminal(daemon: DaemonProcess) -> None:
    terminal = daemon.home.terminal("send", "stall please")
    terminal.expect("Thinking it over")
    paused = daemon.home.run("session", "pause", "last", "--reason", "lunch")
    session = paused.stdout.partition(":")[0]
    assert "paused; `kaged session resume ses_" in paused.stdout
    terminal.wait()
    again = daemon.home.run("session", "pause", session)
    assert (again.returncode, "paused" in again.stderr) == (1, True)
    assert daemon.home.run("session", "resume", session, "--checkpoint", "ckp_none").returncode == 1
    going = daemon.home.run("session", "resume", "last")
    assert f"`kaged attach {session}` follows it" in going.stdout
    shown = daemon.home.terminal("attach", session)
    shown.expect("Thinking it over")
    assert daemon.home.json("session", "cancel", session)["state"] == "idle"
    refused = daemon.home.run("session", "resume", session)
    assert (refused.returncode, refused.stdout) == (1, "")


@pytest.mark.requirement("command_line.send", "command_line.exits")
def test_with_json_every_frame_is_a_line(daemon: DaemonProcess) -> None:
    done = daemon.home.run("send", "--json", "please read it")
    frames = [orjson.loads(line) for line in done.stdout.splitlines()]
    assert frames[0]["type"] == "sync"
    assert frames[-1]["type"] == "run.ended"
    assert [frame["type"] for frame in frames].count("message.tool_result") == 2
    numbers = [frame["seq"] for frame in frames if frame["type"] not in ("sync", "heartbeat")]
    assert numbers == sorted(set(numbers))


@pytest.mark.requirement("command_line.send")
def test_a_session_continues_with_its_id_or_as_the_last_one(daemon: DaemonProcess) -> None:
    daemon.home.run("send", "--title", "Books", "please read it")
    first = daemon.home.json("session", "list")["items"][0]
    assert first["title"] == "Books"
    for session in (first["id"], "last"):
        assert daemon.home.run("send", "--session", session, "please read it").returncode == 0
    assert daemon.home.json("session", "list")["items"][0]["id"] == first["id"]


def test_the_message_may_come_from_standard_input(daemon: DaemonProcess) -> None:
    done = daemon.home.run("send", "-", stdin="please\nread it\n")
    assert done.stdout.startswith("Let me look.")


def test_a_failed_run_says_why_once_and_exits_with_1(daemon: DaemonProcess) -> None:
    done = daemon.home.run("send", "fail please")
    assert done.returncode == 1
    assert done.stderr.count("the key was refused") == 1
    assert "run failed" in done.stderr


def test_control_characters_of_a_model_do_not_reach_the_terminal(daemon: DaemonProcess) -> None:
    done = daemon.home.run("send", "escape please")
    assert done.stdout == "title ]0;owned and [31mred\n"


@pytest.mark.requirement("command_line.attach")
def test_attach_shows_the_history_and_then_what_happens(daemon: DaemonProcess) -> None:
    daemon.home.run("send", "--title", "Watched", "please read it")
    watching = daemon.home.terminal("attach", "last")
    watching.expect("▌ please read it")
    watching.expect(r"✓ file\.read README\.md")
    watching.expect("The other file is not there")
    daemon.home.run("send", "--session", "last", "escape please")
    watching.expect("▌ escape please")
    watching.expect("and .31mred")
    watching.expect("run succeeded")
    watching.sendintr()
    watching.wait()
    assert watching.exitstatus == 0


def one_waits(daemon: DaemonProcess, text: str) -> tuple[str, pexpect.spawn, pexpect.spawn]:
    """Begin a run whose answer stalls, and send it a message that waits; return the session and the terminals
    of both, which end with their last reference."""
    stalled = daemon.home.terminal("send", "stall please")
    stalled.expect("Thinking it over")
    session = daemon.newest_session()["id"]
    waiting = daemon.home.terminal("send", "--session", session, text)
    waiting.expect("queued|waits|wait")
    return session, stalled, waiting


@pytest.mark.requirement("command_line.attach", "websocket.snapshot")
def test_attach_shows_all_of_an_answer_that_is_being_written(daemon: DaemonProcess) -> None:
    # The message that waits is an event that is newer than what the answer has said.
    session, *_terminals = one_waits(daemon, "read it")
    shown = daemon.home.terminal("attach", session)
    shown.expect("Thinking it over")
    daemon.home.run("session", "cancel", session)


@pytest.mark.requirement("command_line.attach", "command_line.exits")
def test_attach_with_json_replays_every_durable_frame(daemon: DaemonProcess) -> None:
    daemon.home.run("send", "please read it")
    done = daemon.home.run("attach", "last", "--json", "--until-idle")
    assert done.returncode == 0
    types = [orjson.loads(line)["type"] for line in done.stdout.splitlines()]
    assert types[0] == "sync"
    assert types.count("message.start") == types.count("message.end") == 2
    assert types[-1] in ("run.ended", "session.state")


@pytest.mark.requirement("command_line.session")
def test_a_session_is_listed_exported_and_imported_again_bit_for_bit(
    daemon: DaemonProcess, tmp_path: Path
) -> None:
    daemon.home.run("send", "--title", "Carried", "please read it")
    session = daemon.newest_session()["id"]
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    written = daemon.home.json("session", "export", session, "--output", str(first))
    assert written == {"session_id": session, "file": str(first), "bytes": first.stat().st_size}
    refused = daemon.home.run("session", "import", str(first))
    assert refused.returncode == 1
    assert session in refused.stderr
    daemon.call("DELETE", f"/sessions/{session}")
    assert daemon.home.json("session", "import", str(first))["id"] == session
    daemon.home.json("session", "export", session, "--output", str(second))
    assert second.read_bytes() == first.read_bytes()
    assert "Carried" in daemon.home.run("session", "list").stdout


@pytest.mark.requirement("checkpoint.rollback", "checkpoint.fork")
def test_a_session_is_rolled_back_brought_back_and_forked(daemon: DaemonProcess, tmp_path: Path) -> None:
    daemon.home.run("send", "--title", "Winding", "please read it")
    session = daemon.newest_session()["id"]
    exported = tmp_path / "winding.jsonl"
    daemon.home.run("session", "export", session, "--output", str(exported))
    lines = [json.loads(line) for line in exported.read_text().splitlines()]
    first = next(line["data"]["id"] for line in lines if line["kind"] == "message")
    made = daemon.home.json("session", "rollback", session, first)
    assert made["messages"] > 0
    assert "messages restored" in daemon.home.run("session", "undo", session, made["id"]).stdout
    made = daemon.home.json("session", "rollback", session, first, "--files")
    assert made["files"]["restored"] == [], made  # nothing was written
    assert daemon.home.run("session", "undo", session, made["id"]).returncode == 0
    assert daemon.home.run("session", "rollback", session, first, "--stage").returncode == 2
    fork = daemon.home.json("session", "fork", session, first)
    assert fork["title"] == "Winding (fork)"


def test_what_is_exported_or_recorded_is_readable_by_its_owner_alone(
    daemon: DaemonProcess, tmp_path: Path
) -> None:
    daemon.home.run("send", "please read")
    for words, name in ((("session", "export"), "all.jsonl"), (("record",), "all.yaml")):
        file = tmp_path / name
        done = daemon.home.run(*words, "last", "--output", str(file))
        assert done.returncode == 0, done.stderr
        assert file.stat().st_mode & 0o777 == 0o600


def test_an_export_never_replaces_a_file(daemon: DaemonProcess, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("mine")
    done = daemon.home.run("session", "export", "last", "--output", str(kept))
    assert done.returncode == 2
    assert kept.read_text() == "mine"


@pytest.mark.requirement("providers.record")
def test_a_recorded_session_replays_the_same_answers(daemon: DaemonProcess, tmp_path: Path) -> None:
    answer = daemon.home.run("send", "please read it").stdout
    other_home = Home(tmp_path / "other")
    (other_home.folder / "demo.yaml").unlink()
    recorded = daemon.home.json("record", "last", "--output", str(other_home.folder / "demo.yaml"))
    assert recorded["messages"] == 5
    other = DaemonProcess(other_home).start()
    try:
        again = other_home.run("send", "please read it")
        assert again.stdout == answer
        assert "✓ file.read README.md" in again.stderr
    finally:
        other.stop()


@pytest.mark.requirement("bad_input.session")
@pytest.mark.parametrize("command", [("send", "--session"), ("attach",), ("session", "export"), ("record",)])
def test_an_unknown_session_is_named(daemon: DaemonProcess, command: tuple[str, ...]) -> None:
    unknown = "ses_01JZ0000000000000000000000"
    arguments = (*command, unknown, "hello") if command[0] == "send" else (*command, unknown)
    done = daemon.home.run(*arguments)
    assert done.returncode == 1
    assert unknown in done.stderr


def test_a_folder_without_a_project_says_how_to_make_one(daemon: DaemonProcess, tmp_path: Path) -> None:
    done = daemon.home.run("send", "--project", str(tmp_path), "hello")
    assert done.returncode == 1
    assert "kaged init" in done.stderr


def test_the_only_project_of_the_daemon_is_taken_from_anywhere(daemon: DaemonProcess, tmp_path: Path) -> None:
    assert daemon.home.run("send", "please read it", cwd=tmp_path).returncode == 0


def test_of_a_project_that_no_longer_compiles_the_last_good_version_is_used(daemon: DaemonProcess) -> None:
    project_file = daemon.home.project / ".kaged" / "project.yaml"
    good = project_file.read_text()
    project_file.write_text(good.replace("primary:", "primry:"))
    try:
        sent = daemon.home.run("send", "please read it")
        listed = daemon.home.run("issue", "list", "--json")
    finally:
        project_file.write_text(good)
    assert (sent.returncode, listed.returncode) == (0, 0), sent.stderr + listed.stderr
    assert "It lends books." in sent.stdout
    assert "the last good version is used" in sent.stderr
    assert listed.stderr == ""


def test_of_a_project_that_never_compiled_every_finding_is_shown(
    daemon: DaemonProcess, tmp_path: Path
) -> None:
    (tmp_path / ".kaged").mkdir()
    (tmp_path / ".kaged" / "project.yaml").write_text("version: 1\nproject: broken\nprimry: {}\n")
    done = daemon.home.run("send", "please read it", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[missing_key]" in done.stderr
    assert "project.yaml:3:1: error[unknown_key]" in done.stderr


def test_a_first_message_that_is_refused_leaves_no_session_behind(daemon: DaemonProcess) -> None:
    before = daemon.call("GET", "/sessions")["total"]
    done = daemon.home.run("send", "hi", "--model", "nope")
    assert done.returncode == 1
    assert "Known aliases: demo" in done.stderr
    assert daemon.call("GET", "/sessions")["total"] == before


def test_what_is_erased_again_fits_on_one_line_of_a_narrow_terminal(daemon: DaemonProcess) -> None:
    narrow = daemon.home.terminal("send", "please read it", COLUMNS="20").read()
    drawn = re.findall(r"\x1b\[2m(… [^\x1b]*)\x1b\[0m\r\x1b\[2K", narrow)
    assert drawn
    assert max(map(len, drawn)) < 20


def test_a_dumb_terminal_is_sent_no_control_sequences(daemon: DaemonProcess) -> None:
    shown = daemon.home.terminal("send", "please read it", TERM="dumb").read()
    assert "✓ file.read README.md" in shown
    assert "It lends books." in shown
    assert "\x1b" not in shown


@pytest.mark.requirement("durability.stuck_run")
def test_a_run_that_goes_in_circles_is_no_success(daemon: DaemonProcess) -> None:
    done = daemon.home.run("send", "run in circles")
    assert done.returncode == 1
    assert "run interrupted · stuck" in done.stderr


@pytest.mark.requirement("operations.retry", "operations.model")
def test_a_failed_run_is_tried_again_and_a_session_has_another_model(daemon: DaemonProcess) -> None:
    assert daemon.home.run("send", "fail please").returncode == 1
    session = daemon.newest_session()["id"]
    tried = daemon.home.run("session", "retry", session)
    assert "retried as run_" in tried.stdout
    shown = daemon.home.run("attach", session, "--until-idle")
    assert shown.returncode == 0
    changed = daemon.home.json("session", "model", session, "demo")
    assert changed["overrides"] == {"model": "demo"}
    assert "the model of its agent" in daemon.home.run("session", "model", session, "--default").stdout
    assert daemon.home.run("session", "model", session).returncode == 2
    assert daemon.home.run("session", "model", session, "nobody").returncode == 1


@pytest.mark.requirement("operations.queue", "operations.cancel")
def test_what_waits_is_listed_changed_and_taken_away(daemon: DaemonProcess) -> None:
    session, terminal, waiting = one_waits(daemon, "wait for it")
    listed = daemon.home.json("session", "queue", session)["items"]
    assert [one["content"] for one in listed] == ["wait for it"]
    message = listed[0]["id"]
    assert "still queued" in daemon.home.run("session", "edit", session, message, "please read it").stdout
    assert "please read it" in daemon.home.run("session", "queue", session).stdout
    assert "removed" in daemon.home.run("session", "unqueue", session, message).stdout
    assert "no message is queued" in daemon.home.run("session", "queue", session).stdout
    waiting.expect("removed before it was run")
    waiting.wait()
    assert waiting.exitstatus == 1
    unknown = daemon.home.run("session", "cancel", session, "--run", "run_01JZ0000000000000000000000")
    assert (unknown.returncode, "There is no run" in unknown.stderr) == (1, True)
    daemon.home.run("session", "cancel", session)
    terminal.wait()


@pytest.mark.requirement("command_line.discovery")
def test_last_is_the_newest_session_of_the_project_that_one_is_in(home: Home) -> None:
    other = home.project.parent / "other"
    shutil.copytree(home.project, other)
    with DaemonProcess(home).start():
        assert home.run("send", "read").returncode == 0
        first = home.json("session", "list")["items"][0]["id"]
        refused = home.run("session", "mode", "last", cwd=other)
        assert refused.returncode == 1 and f"no session of {other}" in refused.stderr
        assert home.run("send", "read", cwd=other).returncode == 0
        second = home.json("session", "list")["items"][0]["id"]
        assert first != second
        below = other / "below"
        below.mkdir()
        for folder, expected in ((home.project, first), (other, second), (below, second)):
            assert home.json("session", "mode", "last", cwd=folder)["session_id"] == expected
        assert home.json("session", "mode", "last", cwd=home.project.parent)["session_id"] == second
