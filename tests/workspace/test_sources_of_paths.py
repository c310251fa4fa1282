"""Who reads files beside the tools goes the same way: project files, prompts, notes of checkpoints."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from app.bridges.dap.breakpoint_lines import read as read_breakpoint_lines
from app.errors import ToolError
from app.harness.checkpoints.file_survey import FileSurvey
from app.harness.checkpoints.stored_objects import TreeEntry
from app.harness.dsl.paths import PathProblem, read_project_file
from app.harness.sessions.restoring import FileChange, FilePlan, apply_plan
from app.workspace import Workspace, read_beginning
from app.workspace.ignore_rules import RULES_FILE, read_rules
from tests.driver.swapping import CANARY, Arena, swapping

pytestmark = pytest.mark.requirement("cages.paths.one")


@pytest.fixture
def arena(tmp_path) -> Iterator[Arena]:
    made = Arena.make(tmp_path)
    yield made
    os.close(made.door)


def _prompt(root: Path) -> bytes:
    return read_project_file(root / "door/secret", root, 1_000)


def _surveyed(root: Path) -> bytes:
    found: list[bytes] = []
    FileSurvey(root, lambda content: hashlib.sha1(content).hexdigest()).look(
        [b"door/secret"], lambda _, content: found.append(content)
    )
    return b"".join(found)


READERS: dict[str, Callable[[Path], bytes]] = {"a prompt": _prompt, "a note": _surveyed}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.requirement("cages.paths.races")
def test_a_swapped_folder_does_not_lead_them_outside(arena, reader):
    read = READERS[reader]
    seen: set[bytes] = set()
    arena.put("secret")
    rounds, until = 0, time.monotonic() + 60
    with swapping(arena.root / "door", arena.root / "bait"):
        while rounds < 3_000 or ((b"harmless" not in seen or len(seen) < 2) and time.monotonic() < until):
            rounds += 1
            try:
                seen.add(read(arena.root))
            except (PathProblem, OSError):
                seen.add(b"refused")
    assert CANARY not in seen
    assert b"harmless" in seen
    assert len(seen) > 1, "the link was never met, so nothing was shown"


def test_a_project_file_may_be_a_link_within_its_project_and_not_out_of_it(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "outside").write_bytes(CANARY)
    (root / "real").write_bytes(b"prompt")
    (root / "inside").symlink_to("real")
    (root / "out").symlink_to("../outside")
    (root / "root").symlink_to(root)
    assert read_project_file(root / "inside", root, 100) == b"prompt"
    with pytest.raises(PathProblem) as refused:
        read_project_file(root / "out", root, 100)
    assert refused.value.code == "path_outside_project"
    with pytest.raises(OSError):  # the root is a real path, or it is none
        read_project_file(root / "root/real", root / "root", 100)


def test_a_root_that_became_a_link_is_not_followed(tmp_path):
    root, other = tmp_path / "project", tmp_path / "other"
    for folder in (root, other):
        folder.mkdir()
        (folder / "a").write_text(folder.name)
    workspace = Workspace(root)
    with workspace.open("a") as opened:
        assert os.read(opened.descriptor, 20) == b"project"
    root.rename(tmp_path / "moved")
    root.symlink_to(other)
    for use in (workspace.open, workspace.target, workspace.entry):
        with pytest.raises(ToolError) as refused, use("a"):
            pass
        assert refused.value.code == "invalid_path"
    root.unlink()
    (tmp_path / "moved").rename(root)
    with workspace.open("a") as opened:
        assert os.read(opened.descriptor, 20) == b"project"
    root.rename(tmp_path / "moved")
    root.mkdir()
    (root / "a").write_text("made anew")
    with workspace.open("a") as opened:
        assert os.read(opened.descriptor, 20) == b"made anew"


def test_a_folder_that_left_the_project_is_not_written_to_any_more(tmp_path):
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/old").write_text("old")
    workspace = Workspace(root)
    with (
        workspace.target("src/new") as new,
        workspace.target("src/old") as old,
        workspace.entry("src/x") as entry,
    ):
        old.read()
        (root / "src").rename(tmp_path / "elsewhere")
        for change in (lambda: new.create(b"x"), lambda: old.replace(b"x"), entry.make_folder):
            with pytest.raises(ToolError) as refused:
                change()
            assert refused.value.code == "file_changed_since_read"
    assert sorted(one.name for one in (tmp_path / "elsewhere").iterdir()) == ["old"]
    assert (tmp_path / "elsewhere/old").read_text() == "old"


def test_what_belongs_to_the_daemon_is_neither_noted_nor_restored(tmp_path):
    root = tmp_path / "project"
    (root / "state").mkdir(parents=True)
    (root / "state/token").write_bytes(CANARY)
    (root / "a").write_bytes(b"a")
    taken: dict[str, bytes] = {}
    survey = FileSurvey(root, lambda content: hashlib.sha1(content).hexdigest(), (root / "state",))
    found = survey.look([b"a", b"state/token"], taken.__setitem__)
    assert list(found.entries) == [b"a"] and found.left_out == {b"state/token": "it belongs to the daemon"}
    assert list(taken.values()) == [b"a"]

    now, then = (TreeEntry("100644", hashlib.sha1(one).hexdigest()) for one in (CANARY, b"old"))
    plan = FilePlan("", "", (FileChange("state/token", now, then),), ())
    contents = {now.oid: CANARY, then.oid: b"old"}
    with pytest.raises(ToolError) as refused:
        apply_plan(Workspace(root, closed=(root / "state",)), plan, contents)
    assert refused.value.code == "capability_denied"
    assert (root / "state/token").read_bytes() == CANARY


@pytest.mark.timeout(20)
def test_rules_of_a_folder_are_a_plain_file_or_none(tmp_path):
    (tmp_path / "hidden").write_bytes(CANARY)
    (tmp_path / RULES_FILE).symlink_to("hidden")
    assert read_rules(tmp_path) is None
    (tmp_path / RULES_FILE).unlink()
    os.mkfifo(tmp_path / RULES_FILE)
    assert read_rules(tmp_path) is None
    (tmp_path / RULES_FILE).unlink()
    (tmp_path / RULES_FILE).write_bytes(b"*.log\n")
    assert read_rules(tmp_path) == b"*.log\n"


@pytest.mark.timeout(20)
def test_a_pipe_in_the_place_of_a_file_holds_nobody_up(tmp_path):
    os.mkfifo(tmp_path / "main.py")
    assert read_breakpoint_lines(tmp_path / "main.py").lines is None
    with pytest.raises(OSError):
        read_beginning(tmp_path / "main.py", 10)
    (tmp_path / "other.py").write_text("pass\n")
    assert read_breakpoint_lines(tmp_path / "other.py").lines == ("pass",)
    assert read_beginning(tmp_path / "other.py", 3) == b"pas"


@pytest.mark.timeout(60)
def test_no_way_to_a_file_holds_on_to_it_in_a_child(tmp_path):
    """Descriptors of the workspace are not inherited by what the daemon starts."""
    (tmp_path / "a").write_text("x")
    workspace = Workspace(tmp_path)
    with workspace.open("a"), workspace.held(), workspace.target("b"):
        command = ["ls", "-l", "/proc/self/fd"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True, close_fds=False).stdout
        assert str(tmp_path) not in shown
        assert any(str(tmp_path) in place for place in _open_places())


def _open_places() -> Iterator[str]:
    """Yield what each descriptor of this process leads to."""
    for one in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the descriptor of the listing itself, or of another thread
            yield os.readlink(f"/proc/self/fd/{one}")
