"""What git prints is read as git means it: hunks of a diff lead forth and back, a status has every file."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from app.harness.files.git_status import ARGUMENTS, parse_status
from app.harness.git_output.hunks import applied, read_diff, without_hunks
from app.harness.git_output.status import status_lines
from tests.driver.file_reader import GIT, git

LINES = (b"a", b"b", b"c\r", b"", b"@@ -1 +1 @@", b"\\ No newline", b"\xff")


@pytest.mark.requirement("changes.revert")
def test_hunks_lead_from_one_side_to_the_other(tmp_path: Path) -> None:
    chance = random.Random(7)
    for _ in range(60):
        old, new = (
            b"\n".join(chance.choices(LINES, k=chance.randint(0, 14))) + chance.choice((b"", b"\n"))
            for _ in range(2)
        )
        (tmp_path / "old").write_bytes(old)
        (tmp_path / "new").write_bytes(new)
        command = ["git", "diff", "--no-index", "--text", f"-U{chance.randint(0, 3)}", "old", "new"]
        done = subprocess.run(command, cwd=tmp_path, env=os.environ | GIT, capture_output=True, check=False)
        hunks = read_diff(done.stdout).hunks
        assert (applied(old, hunks), without_hunks(new, hunks)) == (new, old), done.stdout
        assert len({one.digest for one in hunks}) == len(hunks)


@pytest.mark.requirement("http.files")
def test_a_status_has_every_file_of_every_kind(tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9\n?")
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "sub").mkdir()
    for name in ("sub/a b", "gone", "moved", "changed", "both"):
        (tmp_path / name).write_text(f"{name}\n" * 30)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    for branch in ("other", "main"):
        git(tmp_path, "checkout", "-q", *(("-b",) if branch == "other" else ()), branch)
        (tmp_path / "both").write_text(branch)
        git(tmp_path, "commit", "-qam", branch)
    git(tmp_path, "merge", "other", fails=True)
    git(tmp_path, "mv", "moved", "sub/new name")
    (tmp_path / "gone").unlink()
    (tmp_path / "changed").write_text("new\n")
    (tmp_path / odd).write_text("odd\n")

    asked = ["git", *ARGUMENTS, "--find-renames", "--", "."]
    done = subprocess.run(asked, cwd=tmp_path, env=os.environ | GIT, capture_output=True, check=True)
    marks = {line.name: (line.marks, line.is_conflict, line.old_name) for line in status_lines(done.stdout)}
    assert marks == {
        b"both": ("UU", True, None),
        b"gone": (".D", False, None),
        b"changed": (".M", False, None),
        b"sub/new name": ("R.", False, b"moved"),
        os.fsencode(odd): ("??", False, None),
    }
    whole = parse_status(done.stdout, "")
    words = {path: one.word for path, one in whole.files.items()}
    assert words == {
        "both": "conflicted",
        "gone": "deleted",
        "changed": "modified",
        "sub/new name": "renamed",
        odd: "untracked",
    }
    assert (whole.branch, whole.files["sub/new name"].old_path) == ("main", "moved")
    assert parse_status(done.stdout, "sub/").files["new name"].old_path is None
