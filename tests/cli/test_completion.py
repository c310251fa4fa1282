"""`kaged completion`, in the shells themselves."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pexpect
import pytest

from tests.driver.kaged import COMMAND, WAIT_SECONDS, Home

pytestmark = pytest.mark.requirement("command_line.completion")

SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"], "source {script}"),
    "zsh": (["-f", "-i"], "autoload -Uz compinit && compinit -D -u && source {script}"),
    "fish": (["--no-config", "-i"], "source {script}"),
}


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the command `kaged`."""
    folder = tmp_path / "programs"
    folder.mkdir()
    program = folder / "kaged"
    program.write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    "shell",
    [
        pytest.param("bash"),
        pytest.param("zsh", marks=pytest.mark.needs("zsh")),
        pytest.param("fish", marks=pytest.mark.needs("fish")),
    ],
)
def test_a_shell_completes_commands_and_values(home: Home, programs: Path, shell: str) -> None:
    arguments, source = SHELLS[shell]
    script = home.folder / "script"
    script.write_text(home.run("completion", shell).stdout)
    environment = home.environment(PATH=f"{programs}:{os.environ['PATH']}", TERM="dumb", PS1="$ ")
    program = shutil.which(shell)
    assert program is not None
    terminal = pexpect.spawn(
        program, arguments, env=environment, encoding="utf-8", timeout=WAIT_SECONDS, dimensions=(40, 120)
    )
    terminal.sendline(source.format(script=script) + "; echo rea''dy")
    terminal.expect("ready")
    # A command, then the value of its argument: what is run is what the shell has completed.
    terminal.send("kaged compl\t")
    terminal.expect("kaged completion ")
    terminal.send("zs\t\n")
    terminal.expect("#compdef kaged")
    terminal.close(force=True)


def complete(home: Home, words: str, position: int, **extra: str) -> tuple[list[str], str]:
    done = home.run(_KAGED_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(position), **extra)
    assert done.returncode == 0, done.stderr
    return [line.partition(",")[2] for line in done.stdout.splitlines()], done.stderr


def test_completing_a_command_imports_no_command(home: Home) -> None:
    found, imports = complete(home, "kaged s", 1, PYTHONPROFILEIMPORTTIME="1")
    assert found == ["serve", "status", "stop", "send", "session", "share"]
    imported = {line.rpartition("|")[2].strip() for line in imports.splitlines()}
    assert not imported & {"app.cli.serve", "httpx2", "pydantic", "sqlalchemy"}
    assert "click" in imported


def test_options_and_commands_of_a_group_are_completed_and_a_wrong_line_is_not(home: Home) -> None:
    assert "--follow" in complete(home, "kaged logs --f", 2)[0]
    assert complete(home, "kaged token re", 2)[0] == ["revoke"]
    assert complete(home, "kaged logs --level w", 3)[0] == ["warning"]
    assert complete(home, "kaged nonsense ", 2)[1] == ""


def test_the_script_is_json_too_and_other_shells_are_wrong_use(home: Home) -> None:
    assert home.json("completion", "fish")["script"] == home.run("completion", "fish").stdout
    assert home.run("completion", "tcsh").returncode == 2
    assert sys.executable not in home.run("completion", "bash").stdout
