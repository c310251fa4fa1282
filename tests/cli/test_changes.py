"""`kaged changes`, `kaged diff` and `kaged revert` against a running daemon and real git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from tests.driver.kaged import COMMAND, PROJECT_YAML, DaemonProcess, Home

pytestmark = pytest.mark.requirement("changes.command_line")

TRANSCRIPT = """\
chunk_delay: 0
conversations:
  - when: change
    steps:
      - answer:
          - tool_call: { name: file.read, arguments: { path: README.md } }
      - answer:
          - tool_call: { name: file.write, arguments: { path: README.md, content: "# Shelf\\n\\nIt lends books.\\nAnd maps.\\n" } }
          - tool_call: { name: file.create, arguments: { path: "new folder/note ü.txt", content: "no newline" } }
      - answer:
          - text: Done.
"""  # noqa: E501
LATIN = "grün\r\nblau\r\n".encode("latin-1")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    home = Home(tmp_path_factory.mktemp("home")).give(PROJECT_YAML, TRANSCRIPT)
    root = home.project
    for name in ("moved.txt", "gone.txt"):
        (root / name).write_text("".join(f"{name} {number}\n" for number in range(9)))
    (root / "latin.txt").write_bytes(LATIN)
    (root / "tool.sh").write_text("#!/bin/sh\n")
    (root / os.fsdecode(b"caf\xe9")).write_text("first\n")
    (root / "picture").write_bytes(b"\0\1")
    with DaemonProcess(home).start() as running:
        assert running.home.run("send", "please change it").returncode == 0
        (root / "moved.txt").rename(root / "there.txt")
        (root / "gone.txt").unlink()
        (root / "latin.txt").write_bytes("grün\r\nweiß\r\n".encode("latin-1"))
        (root / "tool.sh").chmod(0o755)
        (root / os.fsdecode(b"caf\xe9")).write_text("second\n")
        (root / "empty").touch()
        yield running


def originals(home: Home, to: Path) -> Path:
    """Make the project as it was when the session began."""
    to.mkdir()
    (to / "README.md").write_text("# Library\n\nIt lends books.\n")
    for name in ("moved.txt", "gone.txt"):
        (to / name).write_text("".join(f"{name} {number}\n" for number in range(9)))
    (to / "latin.txt").write_bytes(LATIN)
    (to / "tool.sh").write_text("#!/bin/sh\n")
    (to / os.fsdecode(b"caf\xe9")).write_text("first\n")
    return to


def test_the_list_shows_status_lines_and_authors(daemon: DaemonProcess) -> None:
    done = daemon.home.run("changes")
    assert done.returncode == 0, done.stderr
    rows = [line.split("  ") for line in done.stdout.splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    shown = {row[-1]: tuple(row[:-1]) for row in cells}
    assert shown["README.md"] == ("modified", "+2 -1", "primary")
    assert shown["moved.txt => there.txt"] == ("renamed", "+0 -0", "others")
    assert shown["gone.txt"] == ("deleted", "+0 -9", "others")
    assert done.stdout.splitlines()[-1].startswith("8 files, +5 -12")
    answer = daemon.home.json("changes", "last")
    assert (answer["total"], len(answer["items"])) == (8, 8)
    assert daemon.home.run("changes", "--since", "head").returncode == 1


def test_git_takes_the_patch_and_its_result_is_the_project(daemon: DaemonProcess, tmp_path: Path) -> None:
    environment = daemon.home.environment()
    patch = subprocess.run(
        [*COMMAND, "diff"], cwd=daemon.home.project, env=environment, capture_output=True, check=True
    ).stdout
    copy = originals(daemon.home, tmp_path / "copy")
    subprocess.run(["git", "init", "-q"], cwd=copy, check=True)
    applied = subprocess.run(["git", "apply", "-"], cwd=copy, input=patch, capture_output=True, check=False)
    assert applied.returncode == 0, (applied.stderr, patch)
    for file in copy.rglob("*"):
        if file.is_file() and ".git" not in file.relative_to(copy).parts:
            original = daemon.home.project / file.relative_to(copy)
            assert file.read_bytes() == original.read_bytes(), file
            assert file.stat().st_mode & 0o111 == original.stat().st_mode & 0o111, file
    assert not (copy / "gone.txt").exists()
    assert not (copy / "moved.txt").exists()
    assert (copy / "empty").exists()


def test_a_terminal_shows_colours_and_numbers_of_hunks(daemon: DaemonProcess) -> None:
    terminal = daemon.home.terminal("diff", "README.md")
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert terminal.exitstatus == 0
    assert "\x1b[31m-# Library" in terminal.before
    assert "\x1b[32m+# Shelf" in terminal.before
    assert "hunk 1" in terminal.before
    stat = daemon.home.run("diff", "last", "README.md", "--stat").stdout
    assert "+2 -1  README.md" in stat


def test_a_file_and_a_hunk_are_reverted_and_brought_again(daemon: DaemonProcess) -> None:
    home, file = daemon.home, daemon.home.project / "README.md"
    after = file.read_text()
    made = home.json("revert", "README.md")
    assert file.read_text() == "# Library\n\nIt lends books.\n"
    done = home.run("revert", "last", "--undo", made["id"])
    assert done.returncode == 0, done.stderr
    assert file.read_text() == after
    hunk = home.run("revert", "last", "README.md", "--hunk", "1")
    assert "--undo rvt_" in hunk.stdout, hunk.stderr
    assert file.read_text() == "# Library\n\nIt lends books.\n"
    undo = hunk.stdout.partition("--undo ")[2].partition("`")[0]
    assert home.run("revert", "--undo", undo).returncode == 0
    listed = home.run("revert", "--list")
    assert [one.split()[0] for one in listed.stdout.splitlines()[1:3]] == [undo, made["id"]], listed
    assert "1 hunk of README.md" in listed.stdout and listed.stdout.count("undone") == 2
    assert file.read_text() == after
    missing = home.run("revert", "README.md", "--hunk", "7")
    assert (missing.returncode, "has no hunk 7, only 1" in missing.stderr) == (1, True)
    for wrong in (("revert",), ("revert", "a", "--undo", "rvt_1", "--hunk", "1"), ("diff", "a", "b", "c")):
        assert home.run(*wrong).returncode == 2


def test_a_path_that_no_list_has_is_explained_and_any_bytes_are_taken(daemon: DaemonProcess) -> None:
    home = daemon.home
    for path in ("../README.md", "/etc/passwd", ".", ""):
        for words in (("diff", "last"), ("diff", "--stat", "last"), ("revert", "last")):
            refused = home.run(*words, path)
            assert refused.returncode == 2, (words, path, refused)
            assert "relative to the project's folder, such as src/app.py" in refused.stderr, (words, path)
    for path in ("./README.md", ".//README.md", os.fsdecode(b"caf\xe9")):
        done = subprocess.run(
            [*COMMAND, "diff", "last", path],
            cwd=home.project,
            env=home.environment(),
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stdout[:11]) == (0, b"diff --git "), done.stderr
    unknown = home.run("diff", "--stat", "nowhere.txt")
    assert (unknown.returncode, "does not differ" in unknown.stderr) == (1, True)
