"""Edits, creations, renames and removals applied as one: all of them, or everything as it was."""

from __future__ import annotations

import asyncio
import ctypes
import os
import random
import signal
import stat
import sys
from dataclasses import replace
from functools import partial
from itertools import count

import pytest

from app.errors import ToolError
from app.tools.dispatch.registry import ToolRegistry
from app.tools.dispatch.service import ToolService
from app.tools.edit import text as edit_text
from app.tools.project_files.file_locks import FileLocks
from app.tools.project_files.file_operations import Create, Delete, FileOperation, Move, Rewrite
from app.tools.project_files.file_scope import MAX_NAME_CHANGES
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.read_tracker import digest_of
from app.workspace import entry, new_file, target

pytestmark = pytest.mark.requirement("language_servers.edits.transaction")


@pytest.fixture
def files(desk) -> ProjectFiles:
    return ProjectFiles(reads=desk.reads, closed=(desk.base / "data",))


def rewrite(desk, path: str, content: str, *, at: str | None = None) -> Rewrite:
    """`at` is where the file lies on the disk, when that is elsewhere."""
    return Rewrite(path, digest_of((desk.root / (at or path)).read_bytes()), content.encode())


def tree(desk) -> dict[str, str | None]:
    """Everything below the root with its text, None for folders; also what was left behind."""
    return {
        str(path.relative_to(desk.root)): path.read_text() if path.is_file() else None
        for path in sorted(desk.root.rglob("*"))
    }


async def refused(files: ProjectFiles, desk, *operations: FileOperation) -> ToolError:
    """Nothing may have changed, not even a folder or a mode."""
    before = desk.snapshot()
    with pytest.raises(ToolError) as found:
        await files.apply_operations(operations, desk.context)
    assert desk.snapshot() == before
    return found.value


# What is applied.


async def test_all_kinds_in_their_order(desk, files):
    for name in ("src/a.py", "src/b.py", "old/deep/c.py", "gone.py", "empty.d/.keep"):
        desk.put(name, name)
    (desk.root / "empty.d/.keep").unlink()
    applied = await files.apply_operations(
        [
            rewrite(desk, "src/a.py", "A"),
            Move("src/b.py", "lib/new/b.py"),
            rewrite(desk, "lib/new/b.py", "B", at="src/b.py"),
            Move("old", "fresh"),
            rewrite(desk, "fresh/deep/c.py", "C", at="old/deep/c.py"),
            Create("fresh/made/d.py", b"x"),
            Rewrite("fresh/made/d.py", digest_of(b"x"), b"D"),
            Delete("gone.py"),
            Delete("empty.d"),
        ],
        desk.context,
    )
    assert tree(desk) == {
        "fresh": None, "fresh/deep": None, "fresh/deep/c.py": "C", "fresh/made": None, "fresh/made/d.py": "D",
        "lib": None, "lib/new": None, "lib/new/b.py": "B", "src": None, "src/a.py": "A",
    }  # fmt: skip
    assert applied.changed == ["src/a.py", "lib/new/b.py", "fresh/deep/c.py"]
    assert applied.created == ["fresh/made/d.py"]
    assert applied.moved == [("src/b.py", "lib/new/b.py"), ("old", "fresh")]
    assert applied.deleted == ["gone.py", "empty.d"]


async def test_names_can_change_places(desk, files):
    desk.put("a", "1")
    desk.put("b", "2")
    await files.apply_operations(
        [Move("a", "t"), Move("b", "a"), Move("t", "b"), rewrite(desk, "a", "two", at="b")], desk.context
    )
    assert tree(desk) == {"a": "two", "b": "1"}


async def test_two_edits_of_one_file_follow_each_other(desk, files):
    desk.put("a", "1")
    steps = [Rewrite("a", digest_of(b"1"), b"2"), Rewrite("./a", digest_of(b"2"), b"3")]
    await files.apply_operations(steps, desk.context)
    assert tree(desk) == {"a": "3"}
    error = await refused(
        files, desk, Rewrite("a", digest_of(b"3"), b"4"), Rewrite("a", digest_of(b"9"), b"5")
    )
    assert error.code == "file_changed_since_read"


async def test_a_name_can_be_made_again_after_it_went(desk, files):
    desk.put("a/x", "old")
    await files.apply_operations([Delete("a", recursive=True), Create("a", b"a file now")], desk.context)
    assert tree(desk) == {"a": "a file now"}


@pytest.mark.parametrize("links", [True, False])
async def test_overwriting_and_ignoring_are_as_asked(desk, files, monkeypatch, links):
    if not links:

        def none(*_names, **_more):
            raise PermissionError(1, "no links here")

        monkeypatch.setattr(os, "link", none)
        monkeypatch.setattr(new_file, "_UNNAMED", 0)
    for name in "abcd":
        desk.put(name, name)
    (desk.root / "b").chmod(0o600)
    await files.apply_operations(
        [
            Create("b", b"made", overwrite=True, ignore_if_exists=True),
            Create("a", b"no", ignore_if_exists=True),
            Move("c", "d", overwrite=True),
            Move("a", "b", ignore_if_exists=True),
            Delete("missing", ignore_if_missing=True),
        ],
        desk.context,
    )
    assert tree(desk) == {"a": "a", "b": "made", "d": "c"}
    assert stat.S_IMODE((desk.root / "b").stat().st_mode) == 0o600


async def test_mode_and_folders_of_what_moves_are_kept(desk, files):
    desk.put("bin/run", "x").chmod(0o755)
    (desk.root / "bin/link").symlink_to("run")
    await files.apply_operations(
        [Move("bin", "tools/bin"), rewrite(desk, "tools/bin/run", "y", at="bin/run")], desk.context
    )
    assert stat.S_IMODE((desk.root / "tools/bin/run").stat().st_mode) == 0o755
    assert (desk.root / "tools/bin/link").readlink().name == "run"
    assert (desk.root / "tools/bin/link").read_text() == "y"


async def test_content_that_is_there_already_is_not_written(desk, files):
    file = desk.put("a", "same")
    before = file.stat()
    applied = await files.apply_operations([rewrite(desk, "a", "same")], desk.context)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert applied.changed == []


async def test_names_that_begin_with_a_tilde_are_names(desk, files):
    desk.put("~a/x", "1")
    await files.apply_operations(
        [Move("./~a", "./~b"), rewrite(desk, "./~b/x", "2", at="~a/x")], desk.context
    )
    assert tree(desk) == {"~b": None, "~b/x": "2"}


async def test_what_agents_have_read_follows_the_files(desk, files):
    for name in ("a.txt", "d/b.txt", "seen.txt", "stale.txt", "gone.txt"):
        desk.put(name, "old\n")
    other = desk.as_agent("primary.other")
    for name in ("a.txt", "d/b.txt", "stale.txt"):
        await other.ok("file.read", path=name)
    await desk.ok("file.read", path="stale.txt")
    await desk.ok("file.read", path="gone.txt")
    desk.put("stale.txt", "changed by others\n")
    await files.apply_operations(
        [
            Move("a.txt", "z.txt"),
            Move("d", "e"),
            rewrite(desk, "seen.txt", "new\n"),
            rewrite(desk, "stale.txt", "changed by others, and renamed\n"),
            Create("made.txt", b"new\n"),
            Delete("gone.txt"),
        ],
        desk.context,
    )
    await other.ok("edit.text", path="z.txt", old_string="old", new_string="x")
    await other.ok("edit.text", path="e/b.txt", old_string="old", new_string="x")
    await desk.ok("edit.text", path="seen.txt", old_string="new", new_string="x")
    await desk.ok("edit.text", path="made.txt", old_string="new", new_string="x")
    assert await desk.code("file.write", path="stale.txt", content="x") == "file_changed_since_read"
    desk.put("gone.txt", "old\n")
    assert await desk.code("file.write", path="gone.txt", content="x") == "file_not_read"


# What is refused before anything is touched.


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        ([Create("a")], "file_exists"),
        ([Create("d")], "file_exists"),
        ([Create("d", overwrite=True)], "is_directory"),
        ([Create("new"), Create("new")], "file_exists"),
        ([Move("a", "b")], "file_exists"),
        ([Move("a", "d", overwrite=True)], "is_directory"),
        ([Move("d", "a", overwrite=True)], "is_directory"),
        ([Move("none", "x")], "file_not_found"),
        ([Move("d", "d/inside")], "invalid_path"),
        ([Move("d/x", "d", overwrite=True)], "invalid_path"),
        ([Move("a", "b/x")], "file_not_found"),
        ([Delete("none")], "file_not_found"),
        ([Delete("a"), Delete("a")], "file_not_found"),
        ([Move("a", "x"), Move("a", "y")], "file_not_found"),
        ([Delete("a"), Rewrite("a", digest_of(b"a"), b"")], "file_not_found"),
        ([Rewrite("none", digest_of(b""), b"")], "file_not_found"),
        ([Rewrite("d", digest_of(b""), b"")], "is_directory"),
        ([Create("n/x"), Rewrite("n", digest_of(b""), b"")], "is_directory"),
        ([Rewrite("a", digest_of(b"other"), b"")], "file_changed_since_read"),
        ([Create("n", b"x"), Rewrite("n", digest_of(b""), b"")], "file_changed_since_read"),
        ([Delete("d")], "directory_not_empty"),
        ([Move("link", "x")], "symbolic_link"),
        ([Delete("link")], "symbolic_link"),
        ([Create("link", overwrite=True)], "symbolic_link"),
        ([Delete("pipe")], "rename_scope_exceeds_cage"),
        ([Create("a" * 256)], "rename_scope_exceeds_cage"),
        ([Delete(".", recursive=True)], "rename_scope_exceeds_cage"),
        ([Create("a\0b")], "rename_scope_exceeds_cage"),
        ([Create(f"n{number}") for number in range(MAX_NAME_CHANGES + 1)], "too_many_files"),
    ],
)  # fmt: skip
async def test_what_cannot_be_done_changes_nothing(desk, files, operations, code):
    for name in ("a", "b", "d/x", "good"):
        desk.put(name, name)
    (desk.root / "link").symlink_to("a")
    os.mkfifo(desk.root / "pipe")
    good = [rewrite(desk, "good", "changed"), Create("fresh/folder/file")]
    assert (await refused(files, desk, *good, *operations)).code == code


@pytest.mark.requirement("language_servers.edits.scope")
async def test_all_paths_outside_the_cage_are_listed(desk, files):
    for name in ("src/a", "src/fixed/b", "src/dir/hidden/c", "lib/d", "src/dir/e"):
        desk.put(name, name)
    caged = desk.caged(("rw", "src"), ("ro", "src/fixed"), ("deny", "src/dir/hidden"))
    error = await refused(
        files,
        caged,
        rewrite(desk, "src/a", "x"),
        rewrite(desk, "src/fixed/b", "x"),
        rewrite(desk, "lib/d", "x"),
        Move("src/dir", "src/moved"),
        Move("src/a", "lib/a"),
        Create("../outside"),
        Create("src/.git/hooks/x"),
    )
    assert (error.code, error.detail["files"], error.detail["count"]) == ("rename_scope_exceeds_cage", [], 1)
    assert (await refused(files, desk, Create("../outside"))).detail["files"] == ["../outside"]
    error = await refused(
        files,
        caged,
        rewrite(desk, "src/a", "x"),
        rewrite(desk, "src/fixed/b", "x"),
        rewrite(desk, "lib/d", "x"),
        Move("src/dir", "src/moved"),
        Move("src/a", "lib/a"),
        Create("src/.git/hooks/x"),
    )
    assert (error.detail["files"], error.detail["count"]) == (["src/.git/hooks/x", "src/fixed/b"], 6)
    assert "src/fixed/b and 4 files that may not be named" in error.message
    assert "hidden" not in error.message
    paths = ["src/a", "lib/d", "src/fixed/b", "lib/d", "/etc/passwd"]
    assert files.paths_not_writable(paths, caged.context) == ["lib/d", "src/fixed/b", "/etc/passwd"]
    await files.apply_operations([rewrite(desk, "src/a", "x"), Move("src/dir/e", "src/e")], caged.context)
    assert (desk.root / "src/e").read_text() == "src/dir/e"


@pytest.mark.requirement("language_servers.edits.scope")
@pytest.mark.parametrize(
    "operation",
    [
        Create(".git/hooks/post-commit"),
        Create("sub/.GIT/config"),
        Move("a", ".kaged/project.yaml"),
        Delete(".git", recursive=True),
        Move(".git", "x"),
        Move("a", "hooks/x"),
        Create(".envrc"),
    ],
)
async def test_names_that_steer_programs_are_closed_to_every_caller(desk, files, operation):
    desk.put("a", "a")
    desk.put(".git/config", "x")
    desk.put(".git/hooks/y", "x")
    (desk.root / "hooks").symlink_to(".git/hooks")
    assert (await refused(files, desk, operation)).code == "rename_scope_exceeds_cage"


@pytest.mark.requirement("language_servers.edits.scope")
async def test_the_daemons_own_files_are_closed(desk):
    own = desk.put("own/data/tokens", "secret").parent
    files = ProjectFiles(reads=desk.reads, closed=(own,))
    for operation in (
        Delete("own", recursive=True),
        Move("own", "mine"),
        Delete("own/data/tokens"),
        Move("own/data", "mine"),
        Create("own/data/x"),
        rewrite(desk, "own/data/tokens", "x"),
    ):
        assert (await refused(files, desk, operation)).code == "rename_scope_exceeds_cage"


@pytest.mark.requirement("language_servers.edits.scope")
async def test_a_link_in_a_folder_that_moved_leads_no_tree_past_the_cage(desk, files):
    """At the check `e/l` is no link yet; where the tree really goes is looked at again."""
    desk.put("src/secret", "mine")
    desk.put("d/x", "x")
    desk.put("target/y", "y")
    (desk.root / "d/l").symlink_to("../target")
    caged = desk.caged(("rw", "."), ("deny", "target/src/secret"))
    error = await refused(files, caged, Move("d", "e"), Move("src", "e/l/src"))
    assert (error.code, error.detail["count"]) == ("rename_scope_exceeds_cage", 1)


@pytest.mark.parametrize("kind", ["out", "absolute"])
async def test_links_that_lead_out_are_refused(desk, files, kind):
    outside = desk.base / "outside"
    outside.mkdir()
    (outside / "f").write_text("secret")
    (desk.root / "link").symlink_to(outside if kind == "absolute" else "../outside")
    desk.put("a", "a")
    for operation in (Move("a", "link/a"), Move("link/f", "f"), Delete("link/f"), Create("link/n")):
        assert (await refused(files, desk, operation)).code == "rename_scope_exceeds_cage"
    desk.put("d/x", "x")
    (desk.root / "d/l").symlink_to(outside)
    await files.apply_operations([Delete("d", recursive=True)], desk.context)
    assert (outside / "f").read_text() == "secret"


# Failures on the way.


def crowded(desk) -> list[FileOperation]:
    for name in ("a", "b", "c", "d/e", "d/f/g", "h", "i", "j"):
        desk.put(name, f"{name} as it was")
    return [
        rewrite(desk, "a", "A"),
        rewrite(desk, "b", "B"),
        Move("c", "new/place/c"),
        rewrite(desk, "new/place/c", "C", at="c"),
        Move("d", "D"),
        rewrite(desk, "D/f/g", "G", at="d/f/g"),
        Create("D/made/x", b"x"),
        Create("i", b"over", overwrite=True),
        Move("h", "j", overwrite=True),
        Delete("D/e"),
        Delete("b"),
    ]


STEPS = {
    "content is staged": (new_file.NewFile, "write"),
    "content is put": (target, "change_places"),
    "a name is moved": (entry, "move_name"),
    "a file is linked": (os, "link"),
    "a file is renamed": (os, "rename"),
    "a folder is made": (os, "mkdir"),
}


@pytest.mark.parametrize("step", STEPS)
async def test_a_failure_at_any_step_takes_everything_back(desk, files, monkeypatch, step):
    """The n-th time that something is done the disk is full, for every n that comes."""
    where, name = STEPS[step]
    real = getattr(where, name)
    operations = crowded(desk)
    before = desk.snapshot()
    left = 0

    def full(*given, **more):
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(28, "No space left on device")
        return real(*given, **more)

    monkeypatch.setattr(where, name, full)
    for failing in range(1, 1000):
        left = failing
        try:
            await files.apply_operations(operations, desk.context)
        except ToolError as problem:
            assert problem.code == "no_space", problem
            assert desk.snapshot() == before, failing
            continue
        break
    assert failing > 1
    assert (desk.root / "D/f/g").read_text() == "G"
    assert not list(desk.root.rglob(".kaged-*"))


async def test_a_really_full_disk_takes_everything_back(desk, files):
    """The new content does not fit into a small file system that is mounted for the test."""
    libc = ctypes.CDLL(None, use_errno=True)
    place = desk.root / "small"
    place.mkdir()
    if libc.mount(b"none", os.fsencode(place), b"tmpfs", 0, b"size=256k") != 0:
        pytest.skip("mounting is not permitted here")
    try:
        desk.put("small/a", "a")
        desk.put("small/b", "b")
        desk.put("c", "c")
        before = desk.snapshot()
        with pytest.raises(ToolError) as problem:
            await files.apply_operations(
                [Move("c", "d"), rewrite(desk, "small/a", "A"), Create("small/x", b"x" * 400_000)],
                desk.context,
            )
        assert problem.value.code == "no_space"
        assert desk.snapshot() == before
        error = await refused(files, desk, rewrite(desk, "c", "C"), Move("small/a", "a"))
        assert (error.code, "file system" in error.message) == ("io_error", True)
    finally:
        assert libc.umount2(os.fsencode(place), 2) == 0


@pytest.mark.parametrize("exchange", ["no exchange", "no unnamed files", "no renameat2"])
async def test_a_poor_file_system_is_served_and_taken_back_too(desk, files, monkeypatch, exchange):
    def refuse(*_names):
        raise OSError(22, "not here")

    if exchange == "no exchange":
        monkeypatch.setattr(new_file, "_exchange", refuse)
    elif exchange == "no renameat2":
        monkeypatch.setattr(new_file, "_renameat2", lambda: None)
    else:
        monkeypatch.setattr(new_file, "_UNNAMED", 0)
    operations = crowded(desk)
    assert (await refused(files, desk, *operations, Delete("D"))).code == "directory_not_empty"
    await files.apply_operations(operations, desk.context)
    assert (desk.root / "j").read_text() == "h as it was"
    assert not list(desk.root.rglob(".kaged-*"))


async def test_others_work_on_what_was_changed_stays_and_is_named(desk, files, monkeypatch):
    """A file that others replace before everything is taken back is theirs."""
    desk.put("a", "a")
    desk.put("b", "b")
    desk.put("d/x", "x")
    put_aside = entry.Entry.put_aside

    def late(self):
        (desk.root / "moved").unlink()
        (desk.root / "moved").write_text("theirs")
        (desk.root / "a").write_text("theirs too")
        raise ToolError("io_error", "the disk is on fire")

    monkeypatch.setattr(entry.Entry, "put_aside", late)
    with pytest.raises(ToolError) as problem:
        await files.apply_operations(
            [rewrite(desk, "a", "A"), Move("b", "moved"), Delete("d", recursive=True)], desk.context
        )
    monkeypatch.setattr(entry.Entry, "put_aside", put_aside)
    assert (problem.value.code, problem.value.detail["paths"]) == ("partly_applied", ["moved"])
    assert tree(desk) == {"a": "theirs too", "moved": "theirs", "d": None, "d/x": "x"}


async def test_old_content_that_cannot_be_put_back_is_not_thrown_away(desk, files, monkeypatch):
    desk.put("a", "old")
    desk.put("d/x", "x")
    put = target.change_places
    calls = []

    def broken(*given):
        calls.append(given)
        if len(calls) > 1:
            raise OSError(5, "Input/output error")
        return put(*given)

    monkeypatch.setattr(target, "change_places", broken)
    with pytest.raises(ToolError) as problem:
        await files.apply_operations([rewrite(desk, "a", "new"), Delete("d")], desk.context)
    assert (problem.value.code, problem.value.detail["paths"]) == ("partly_applied", ["a"])
    (kept,) = desk.root.glob(".kaged-*")
    assert (kept.read_text(), (desk.root / "a").read_text()) == ("old", "new")


async def test_a_file_that_is_swapped_before_it_moves_is_not_moved(desk, files, monkeypatch):
    desk.put("a", "a")
    real, swapped = entry.move_name, []

    def late(source, old, destination, new):
        if not swapped:
            swapped.append(old)
            (desk.root / "theirs").write_text("theirs")
            (desk.root / "theirs").rename(desk.root / "a")
        return real(source, old, destination, new)

    monkeypatch.setattr(entry, "move_name", late)
    with pytest.raises(ToolError, match="was replaced meanwhile"):
        await files.apply_operations([Move("a", "b")], desk.context)
    assert tree(desk) == {"a": "theirs"}


async def test_a_name_that_is_taken_at_the_last_moment_is_not_replaced(desk, files, monkeypatch):
    desk.put("a", "a")
    desk.put("z", "z")
    real = entry.move_name

    def late(source, old, destination, new):
        if new == "b":
            (desk.root / "b").write_text("theirs")
        return real(source, old, destination, new)

    monkeypatch.setattr(entry, "move_name", late)
    with pytest.raises(ToolError) as problem:
        await files.apply_operations([rewrite(desk, "z", "Z"), Move("a", "b")], desk.context)
    assert problem.value.code == "file_exists"
    assert tree(desk) == {"a": "a", "b": "theirs", "z": "z"}


SWAPPER = """
import ctypes, os, sys
root, outside = sys.argv[1:]
os.chdir(root)
os.symlink(outside, "spare")
rename = ctypes.CDLL(None).renameat2
print("ready", flush=True)
while True:
    rename(-100, b"dir", -100, b"spare", 2)
"""


async def test_a_folder_swapped_for_a_link_leads_no_change_out(desk, files):
    outside = desk.base / "outside"
    outside.mkdir()
    (outside / "f").write_text("secret")
    desk.put("dir/f", "inside")
    desk.put("a", "a")
    swapper = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SWAPPER, str(desk.root), str(outside), stdout=asyncio.subprocess.PIPE
    )
    assert swapper.stdout is not None
    await swapper.stdout.readline()
    try:
        for number in range(400):
            operations = [
                [Create(f"dir/n{number}", b"x")],
                [Move("dir/f", "dir/g")],
                [Move("dir/g", "dir/f")],
                [Create("dir/t", b"t", ignore_if_exists=True), Delete("dir/t")],
            ][number % 4]
            try:
                await files.apply_operations(operations, desk.context)
            except ToolError as problem:
                assert problem.code in {
                    "rename_scope_exceeds_cage", "file_not_found", "file_exists", "file_busy",
                    "symbolic_link", "invalid_path", "partly_applied", "file_changed_since_read",
                    "is_directory",
                }, problem  # fmt: skip
    finally:
        swapper.kill()
        await swapper.wait()
    assert sorted(os.listdir(outside)) == ["f"]
    assert (outside / "f").read_text() == "secret"
    # The allowed neighbour: in the folder itself, wherever it was left, the same is done.
    folder = "spare" if (desk.root / "dir").is_symlink() else "dir"
    await files.apply_operations([Create(f"{folder}/after", b"x")], desk.context)
    assert (desk.root / folder / "after").read_bytes() == b"x"


# Others at the same time.


@pytest.mark.parametrize("locks", ["shared", "of their own"])
async def test_forty_calls_on_the_same_files_lose_nothing(desk, files, locks):
    """Renames of everything beside single edits: each is whole or names a conflict. With locks of their
    own it is the content alone that tells."""
    if locks == "shared":
        tools = (desk.service.registry.get("file.read"), edit_text.build(files))
        desk = replace(desk, service=ToolService(ToolRegistry(tools)))
    count = 12
    for number in range(count):
        desk.put(f"pkg/m{number}.py", f"name_0 = {number}\nx = 0\n")
    turns, wins = [0], []

    async def rename(number: int) -> None:
        for _ in range(40):
            paths = [f"pkg/m{at}.py" for at in range(count)]
            random.Random(number).shuffle(paths)
            operations: list[FileOperation] = []
            for path in paths:
                content = (desk.root / path).read_bytes()
                turn = int(content.split(b" ", 1)[0].removeprefix(b"name_"))
                new = content.replace(f"name_{turn}".encode(), f"name_{turn + 1}".encode())
                operations.append(Rewrite(path, digest_of(content), new))
            try:
                await files.apply_operations(operations, desk.as_agent(f"primary.a{number}").context)
            except ToolError as problem:
                assert problem.code in {"file_changed_since_read", "file_busy"}
                continue
            wins.append(number)
            return

    async def edit(number: int) -> None:
        agent = desk.as_agent(f"primary.b{number}")
        path = f"pkg/m{number % count}.py"
        while True:
            await agent.ok("file.read", path=path)
            envelope = await agent.call("edit.text", path=path, old_string="x = ", new_string="x = 1 + ")
            if envelope.code is None:
                turns[0] += 1
                return
            assert envelope.code in {"file_changed_since_read", "file_busy"}

    async with asyncio.timeout(120):
        await asyncio.gather(*map(rename, range(16)), *map(edit, range(24)))
    contents = [(desk.root / f"pkg/m{number}.py").read_text() for number in range(count)]
    assert [content.split(" ")[0] for content in contents] == [f"name_{len(wins)}"] * count
    assert sum(content.count("1 + ") for content in contents) == turns[0] == 24
    assert wins
    assert not list(desk.root.rglob(".kaged-*"))


async def test_calls_in_other_orders_do_not_wait_for_each_other(desk):
    files = ProjectFiles(reads=desk.reads, locks=FileLocks(wait_seconds=60))  # their turns come, but late
    for name in "abcdef":
        desk.put(name, "0")

    async def call(names: str) -> None:
        while True:
            steps = [
                Rewrite(name, digest_of(now), str(int(now) + 1).encode())
                for name in names
                for now in [(desk.root / name).read_bytes()]
            ]
            try:
                await files.apply_operations(steps, desk.context)
                return
            except ToolError as problem:
                assert problem.code == "file_changed_since_read"

    async with asyncio.timeout(60):
        await asyncio.gather(*(call(names) for names in ["abcdef", "fedcba", "cfa", "bde"] * 5))
    assert [(desk.root / name).read_text() for name in "abcdef"] == ["15"] * 6


async def test_a_cancelled_call_is_whole_or_not_at_all(desk, files):
    settled = []
    for turn, delay in enumerate([*range(0, 40, 4), None]):
        for number in range(20):
            desk.put(f"d{turn}/f{number}", "1")
        steps: list[FileOperation] = [rewrite(desk, f"d{turn}/f{number}", "2") for number in range(20)]
        steps += [Move(f"d{turn}", f"e{turn}"), Delete(f"e{turn}/f0"), Create(f"e{turn}/made")]
        task = asyncio.create_task(files.apply_operations(steps, desk.context, settled.append))
        await asyncio.wait({task}, timeout=None if delay is None else delay / 1000)
        task.cancel()
        await asyncio.wait({task})
        whole = (desk.root / f"e{turn}").exists()
        place = desk.root / (f"e{turn}" if whole else f"d{turn}")
        names = {f"f{number}" for number in range(20)}
        assert set(os.listdir(place)) == (names - {"f0"} | {"made"} if whole else names)
        texts = {path.read_text() for path in place.iterdir()}
        assert texts == ({"2", ""} if whole else {"1"})
        assert len(settled) == sum((desk.root / f"e{one}").exists() for one in range(turn + 1))
    assert settled


KILLED = """
import os, sys
from pathlib import Path
from app.tools.project_files.file_operations import *
from app.tools.project_files.file_transaction import apply_together, identities
from app.tools.project_files.read_tracker import digest_of
from app.workspace import Workspace
root = Path(sys.argv[1])
new, before = b"new" * 100_000, digest_of(b"old" * 1000)
steps = [Rewrite(f"src/f{n}", before, new) for n in range(30)]
steps += [Move("src", "lib"), Move("lib/f0", "lib/g0"), Delete("lib/f1")]
steps += [Move("lib/f2", "lib/f3", overwrite=True)]
steps += [Create(f"made/{n}", new) for n in range(5)]
workspace = Workspace(root)
arranged = arrange(workspace, steps)
print("ready", flush=True)
sys.stdin.readline()
apply_together(workspace, arranged, identities(workspace, arranged))
print("done", flush=True)
"""


async def test_a_kill_at_any_moment_leaves_every_file_old_or_new(desk, files, monkeypatch):
    chance = random.Random(4)
    cut = 0
    old, new = b"old" * 1000, b"new" * 100_000
    for turn in count():
        if turn >= 14 and cut:
            break
        root = desk.root / f"p{turn}"
        for number in range(30):
            desk.put(f"p{turn}/src/f{number}", old)
        program = await asyncio.create_subprocess_exec(
            sys.executable, "-c", KILLED, str(root),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert program.stdin is not None and program.stdout is not None
        assert await program.stdout.readline() == b"ready\n"
        program.stdin.write(b"\n")
        await program.stdin.drain()
        done = asyncio.create_task(program.stdout.readline())
        await asyncio.wait({done}, timeout=chance.random() * 0.12)
        if program.returncode is None:
            program.send_signal(signal.SIGKILL)
        cut += await program.wait() == -signal.SIGKILL
        await done
        seen = 0
        for path in root.rglob("*"):
            if path.is_file() and not path.name.startswith(".kaged-"):
                seen += 1
                assert path.read_bytes() in {old, new}, path
        assert seen >= 28
        assert not ((root / "src").exists() and (root / "lib").exists())
    later = new_file.time.time() + new_file.LEFTOVER_SECONDS + 60
    monkeypatch.setattr(new_file.time, "time", lambda: later)
    for path in {left.parent for left in desk.root.rglob(".kaged-*")}:
        await files.apply_operations([Create(str(path.relative_to(desk.root) / "touched"))], desk.context)
    assert not list(desk.root.rglob(".kaged-*"))


async def test_what_lies_aside_is_not_swept_while_it_is_needed(desk, files, monkeypatch):
    """An old file that is put aside keeps its old time; a daemon beside us must not remove it."""
    for name in ("d/a", "d/b", "e"):
        os.utime(desk.put(name, name), (1, 1))
    before = desk.snapshot()
    real = entry.Entry.put_aside

    def swept(self):
        name = real(self)
        for folder in (desk.root, desk.root / "d"):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                assert new_file.remove_leftovers(descriptor) == 0
            finally:
                os.close(descriptor)
        return name

    monkeypatch.setattr(entry.Entry, "put_aside", swept)
    with pytest.raises(ToolError):
        await files.apply_operations(
            [rewrite(desk, "d/a", "A"), Delete("d/b"), Move("e", "f"), Delete("d")], desk.context
        )
    assert desk.snapshot() == before


def test_moving_never_replaces_without_the_kernels_help_either(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    (tmp_path / "d").mkdir()
    (tmp_path / "e").mkdir()
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        move = partial(new_file._move_by_reserving, descriptor)
        for old, new in (("a", "b"), ("d", "e"), ("a", "d"), ("d", "a")):
            with pytest.raises(FileExistsError):
                move(old, descriptor, new)
        move("a", descriptor, "c")
        move("d", descriptor, "f")
    finally:
        os.close(descriptor)
    assert sorted(os.listdir(tmp_path)) == ["b", "c", "e", "f"]
    assert (tmp_path / "c").read_text() == "a"
