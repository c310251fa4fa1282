"""`kaged trust`, `kaged serve` and `kaged init`: how an operator lets a project act."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.driver.kaged import PROJECT_YAML, DaemonProcess, Home

pytestmark = pytest.mark.requirement("security.trust")

MORE_YAML = PROJECT_YAML + "    shell.bash: { enabled: true }\n"
SCHEDULED_YAML = PROJECT_YAML + (
    "workflows:\n  nightly:\n    description: Nightly.\n"
    '    system_prompt: prompts/primary.md\n    schedule: "0 3 * * *"\n'
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home whose settings trust nobody."""
    return Home(tmp_path, trusted=False)


def trust_of(daemon: DaemonProcess) -> dict[str, Any]:
    (project,) = daemon.ready["projects"]
    found: dict[str, Any] = project["trust"]
    return found


@pytest.mark.requirement("in_use.headless")
def test_serve_without_a_terminal_serves_and_says_what_is_not_trusted_and_how_to_trust_it(home: Home) -> None:
    daemon = DaemonProcess(home).start()
    assert trust_of(daemon)["state"] == "untrusted"
    acts = {(act["kind"], act["text"]): act["line"] for act in trust_of(daemon)["acts"]}
    assert acts["grant", "it is not caged at all"] == PROJECT_YAML.splitlines().index("  cage: disabled") + 1
    refused = home.run("send", "read this please")
    assert refused.returncode == 1
    assert f"kaged trust {home.project}" in refused.stderr
    assert home.run("trust", "--show").returncode == 0
    assert home.run("send", "read this please").returncode == 1
    granted = home.json("trust")
    assert (granted["root"], granted["trust"]["state"]) == (str(home.project), "trusted")
    assert home.run("send", "read this please").returncode == 0
    daemon.stop()
    told = daemon.log()
    assert f"is not trusted, so nothing of it runs: kaged trust {home.project}" in told
    again = DaemonProcess(home).start()
    again.stop()
    assert "is not trusted" not in again.log()[len(told) :]


def test_trust_works_on_the_data_folder_that_it_is_given(home: Home, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    assert home.json("trust", str(home.project), "--data-dir", str(other))["trust"]["state"] == "trusted"
    assert home.json("trust", "--show")["trust"]["state"] == "untrusted"
    daemon = DaemonProcess(home, ("--data-dir", str(other))).start()
    assert trust_of(daemon)["state"] == "trusted"
    daemon.stop()


def test_a_project_that_does_not_compile_is_not_trusted(home: Home) -> None:
    (home.project / ".kaged" / "project.yaml").write_text(PROJECT_YAML + "nonsense: 1\n")
    done = home.run("trust")
    assert done.returncode == 1
    assert "unknown key `nonsense`" in done.stderr
    assert home.run("trust", "--show", "--remove").returncode == 2


@pytest.mark.requirement("in_use.container")
def test_a_container_trusts_the_folders_of_a_variable(home: Home) -> None:
    variables = home.environment(KAGED_PROJECTS__TRUSTED=f"/somewhere/else, {home.project}")
    home.environment = lambda **extra: {**variables, **extra}  # type: ignore[method-assign]
    daemon = DaemonProcess(home).start()
    assert (trust_of(daemon)["state"], trust_of(daemon)["by"]) == ("trusted", "settings")
    (home.project / ".kaged" / "project.yaml").write_text(MORE_YAML)
    assert home.json("trust", "--show")["trust"]["state"] == "trusted"
    assert home.run("send", "read this please").returncode == 0
    daemon.stop()


@pytest.mark.requirement("in_use.headless")
def test_serve_at_a_terminal_asks_and_an_answer_lets_the_project_act(home: Home) -> None:
    terminal = home.terminal("serve", "--log-level", "error")
    terminal.expect("it is not caged at all")
    terminal.expect("Trust it\\?")
    terminal.sendline("what?")
    terminal.expect("Trust it\\?")
    terminal.sendline("always")
    terminal.expect("library is trusted")
    assert home.json("trust", "--show")["trust"]["by"] == "always"
    terminal.sendintr()
    terminal.expect_exact("\r\n")
    terminal.wait()
    assert terminal.exitstatus == 0


def test_a_changed_version_that_is_declined_at_the_terminal_leaves_the_trusted_one(home: Home) -> None:
    home.json("trust")
    (home.project / ".kaged" / "project.yaml").write_text(MORE_YAML)
    terminal = home.terminal("serve", "--log-level", "error")
    terminal.expect("Trust it\\?")
    terminal.sendline("n")
    terminal.expect("The trusted version stays active")
    assert home.run("send", "read this please").returncode == 0
    terminal.kill(signal.SIGTERM)
    terminal.wait()
    assert terminal.exitstatus == 0


def test_a_command_says_that_a_changed_version_waits_and_which_one_is_used(home: Home) -> None:
    home.json("trust")
    daemon = DaemonProcess(home).start()
    assert "trusted version" not in home.run("send", "read this please").stderr
    (home.project / ".kaged" / "project.yaml").write_text(SCHEDULED_YAML)
    listed = home.run("run")
    assert "no workflows" in listed.stdout
    assert "asks for more than its trusted version" in listed.stderr
    assert f"kaged trust --show {home.project}" in listed.stderr
    home.json("trust")
    listed = home.run("run")
    assert "nightly" in listed.stdout and "trusted version" not in listed.stderr
    daemon.stop()


def test_a_question_at_the_terminal_does_not_hinder_the_end(home: Home) -> None:
    terminal = home.terminal("serve", "--log-level", "error")
    terminal.expect("Trust it\\?")
    terminal.kill(signal.SIGTERM)
    terminal.wait()
    assert terminal.exitstatus == 0
    assert home.json("trust", "--show")["trust"]["state"] == "untrusted"


def test_what_init_wrote_is_trusted_and_what_lay_there_before_is_not(home: Home, tmp_path: Path) -> None:
    fresh, foreign = tmp_path / "fresh", tmp_path / "foreign"
    assert home.json("init", str(fresh), "--model", "demo")["trusted"] is True
    (foreign / ".kaged").mkdir(parents=True)
    (foreign / ".kaged" / "project.local.yaml").write_text("tasks: { evil: { command: evil } }\n")
    assert home.json("init", str(foreign), "--model", "demo")["trusted"] is False
    daemon = DaemonProcess(home, ("--project", str(fresh), "--project", str(foreign))).start()
    states = {Path(one["root"]).name: one["trust"]["state"] for one in daemon.ready["projects"]}
    assert states == {"fresh": "trusted", "foreign": "untrusted"}
    daemon.stop()
