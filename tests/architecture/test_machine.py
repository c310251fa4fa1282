"""What is missing on a machine is left out of a run of the tests, and told at its end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT
from tests.driver.machine import TOOLS, Lack, lacking, starts, summary

pytestmark = pytest.mark.timeout(300)
IN_THE_DARK = "tests/e2e/test_readme.py"
"""Has a test that needs curl, and tests that do not."""


def run_tests(*arguments: str, path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        env={**known, "PATH": str(path), **environment},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.mark.requirement("fresh_machine.ordinary_user")
def test_what_is_missing_is_skipped_and_the_end_says_how_to_get_it(tmp_path: Path) -> None:
    done = run_tests("-n", "0", IN_THE_DARK, "-k", "by_hand or link_to", path=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "1 passed, 1 skipped" in done.stdout
    assert f"to have it tested: {TOOLS}" in done.stdout
    assert "  1 test: curl (not installed)" in done.stdout


@pytest.mark.requirement("fresh_machine.ordinary_user")
def test_in_ci_nothing_is_left_out(tmp_path: Path) -> None:
    done = run_tests("-n", "0", IN_THE_DARK, "-k", "by_hand", path=tmp_path, CI="true")
    assert done.returncode == 1
    assert "skipped, which CI does not allow" in done.stdout


@pytest.mark.requirement("usability.make")
def test_a_run_says_how_many_tests_there_are_and_about_how_long_they_take(tmp_path: Path) -> None:
    done = run_tests("-n", "1", IN_THE_DARK, "-k", "link_to", path=tmp_path)
    first, _, rest = done.stdout.partition("collecting the tests; their number and time follow")
    assert "created:" not in first
    assert "1 tests: up to 1 minutes on this machine" in rest


@pytest.mark.requirement("fresh_machine.ordinary_user")
def test_a_program_that_is_there_and_cannot_begin_is_missing(tmp_path: Path) -> None:
    (whole := tmp_path / "whole").write_text("#!/bin/sh\necho no such option >&2\nexit 2\n")
    (half := tmp_path / "half").write_text("#!/bin/sh\nexec /nowhere/rust-analyzer\n")
    (orphan := tmp_path / "orphan").write_text("#!/nowhere/sh\n")
    for program in (whole, half, orphan):
        program.chmod(0o755)
    assert starts(str(whole), "--version")
    assert not starts(str(half), "--version")
    assert not starts(str(orphan), "--version")
    assert not starts(str(tmp_path / "absent"))


@pytest.mark.requirement("fresh_machine.ordinary_user")
def test_what_was_left_out_is_reported_by_the_command_that_installs_it() -> None:
    reason = f"Skipped: {Lack('cages of tier full', 'bubblewrap is not installed', TOOLS)}"
    lines = summary([reason, reason, "Skipped: there is only one file system"])
    assert lines == [
        f"Not tested on this machine; to have it tested: {TOOLS}",
        "  2 tests: cages of tier full (bubblewrap is not installed)",
    ]


@pytest.mark.requirement("fresh_machine.ordinary_user")
def test_the_tier_of_this_machine_is_found_by_holding_a_cage() -> None:
    lack = lacking("cages")
    assert lack is None or lack.what == "cages of tier full"
