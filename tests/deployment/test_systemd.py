"""The systemd unit: systemd takes it, it is hardened, and it leaves bubblewrap what cages need."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.deployment.examples import UNIT, directives, unit
from tests.driver.machine import find_deployment_tool

pytestmark = pytest.mark.requirement("deployment.systemd")

EXPOSURE = 45
"""In tenths, as `systemd-analyze security` counts; a unit without hardening has 96."""
OF_CAGES = frozenset(
    {
        *("clone", "clone3", "unshare", "setns", "mount", "mount_setattr", "umount2", "pivot_root"),
        *("prctl", "capset", "sethostname", "ptrace", "seccomp", "prlimit64", "pidfd_open"),
        *("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"),
    }
)
"""System calls that the daemon, bubblewrap and a caged command were seen to make while a cage was tried."""
COVERS_PROC = {"ProtectKernelTunables", "ProtectKernelLogs", "ProcSubset"}
"""With these the kernel refuses a cage its own `/proc`."""
BREAKS = COVERS_PROC | {
    *("RestrictNamespaces", "ProtectHostname", "ProtectControlGroups"),
    *("MemoryDenyWriteExecute", "LockPersonality", "PrivateUsers", "RootDirectory", "DynamicUser"),
}


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The unit of one project, with a program that is there."""
    file = tmp_path / "kaged@shop.service"
    file.write_text(UNIT.read_text("utf-8").replace("/usr/local/bin/kaged", "/bin/true"))
    return file


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = find_deployment_tool("systemd-analyze")
    assert program is not None
    return subprocess.run(
        [program, *arguments],
        env={"PATH": os.environ["PATH"], "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": "cat", "LANG": "C.UTF-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.needs("systemd-analyze")
def test_systemd_takes_the_unit_without_a_word(installed: Path) -> None:
    done = analyze("verify", installed)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.needs("systemd-analyze")
def test_the_unit_is_hardened(installed: Path) -> None:
    done = analyze("security", "--offline=true", f"--threshold={EXPOSURE}", "--no-pager", installed)
    assert done.returncode == 0, done.stdout


@pytest.mark.needs("systemd-analyze")
def test_the_filter_of_system_calls_leaves_what_cages_need() -> None:
    groups: dict[str, set[str]] = {}
    for line in analyze("syscall-filter", "--no-pager").stdout.splitlines():
        if line.startswith("@"):
            current = groups.setdefault(line.strip(), set())
        elif re.match(r"    [@a-z_]", line):
            current.add(line.strip())

    def expanded(name: str) -> set[str]:
        return set().union(*map(expanded, groups[name])) if name.startswith("@") else {name}

    allowed = {
        call for line in directives("SystemCallFilter") for word in line.split() for call in expanded(word)
    }
    assert allowed >= OF_CAGES
    assert allowed.isdisjoint({"bpf", "init_module", "kexec_load", "reboot", "swapon"})


def test_nothing_in_the_unit_takes_the_cages_away() -> None:
    names = {name for name, _ in unit()}
    assert names.isdisjoint(BREAKS)
    comments = "".join(line for line in UNIT.read_text("utf-8").splitlines() if line.startswith("#"))
    assert {name for name in BREAKS if name not in comments} == {"DynamicUser"}
    assert directives("ProtectProc") == ["invisible"], "which hides processes and covers nothing"
    assert directives("NoNewPrivileges") == ["yes"]


def test_a_stop_is_of_the_daemon_and_a_lack_of_memory_of_the_command() -> None:
    assert (directives("KillMode"), directives("OOMPolicy")) == (["mixed"], ["continue"])


def test_the_link_that_signs_in_is_in_no_journal() -> None:
    [command] = directives("ExecStart")
    assert command.endswith("--json"), "with it only the ready line is on standard output"
    assert directives("StandardOutput") == ["null"]
