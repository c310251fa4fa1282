"""What a caged caller, or a rule, keeps out of reach: by no name, no link and at no moment in reach."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from app.cages.protected_names import READ_ONLY_NAMES, is_protected
from app.tools.contract.rules import PermissionRule
from app.tools.dispatch.service import ToolService
from app.workspace import linked_files
from app.workspace.linked_files import LinkedFiles
from tests.tools.conftest import tool_registry

SECRET = "top secret"
ROUNDS, SECONDS = 3_000, 20.0


@pytest.fixture
def caged(desk):
    """`src` may be written, `docs` may be read, `data` is denied within what is granted."""
    desk.put("src/main.ts", "main")
    desk.put("docs/a.md", "docs")
    desk.put("data/secrets.json", SECRET)
    desk.put("src/data/inner.json", SECRET)
    desk.put("srcfoo/twin.txt", SECRET)
    return desk.caged(("rw", "./src"), ("ro", "docs"), ("deny", "src/data"))


async def assert_closed(desk, path: str) -> None:
    before = desk.snapshot()
    calls = {
        "file.read": {"path": path},
        "file.write": {"path": path, "content": "mine"},
        "file.create": {"path": path, "content": "mine"},
        "edit.text": {"path": path, "old_string": "top", "new_string": "mine"},
    }
    for tool, arguments in calls.items():
        envelope = await desk.call(tool, arguments)
        assert envelope.is_error, (tool, path)
        assert SECRET not in str(envelope.as_json())
        assert envelope.code in {"capability_denied", "invalid_path", "invalid_params", "file_not_found"}, (
            tool
        )
    assert desk.snapshot() == before


# -- paths -------------------------------------------------------------------------------------


@pytest.mark.requirement("authorisation.read_cage")
async def test_src_may_be_read_and_data_may_not(caged):
    assert "main" in (await caged.ok("file.read", path="./src/main.ts"))["content"]
    envelope = await caged.call("file.read", path="./data/secrets.json")
    assert envelope.code == "capability_denied"
    line = "fs: [{ mode: ro, path: data/secrets.json }]"
    assert envelope.detail == {"needed": "fs ro on data/secrets.json", "allow": [line], "rpc_code": -32001}


@pytest.mark.requirement("authorisation.write_cage")
async def test_what_is_granted_for_reading_is_not_granted_for_writing(caged):
    await caged.ok("file.read", path="docs/a.md")
    for tool, more in (("file.write", {"content": ""}), ("edit.text", {"old_string": "d", "new_string": ""})):
        envelope = await caged.call(tool, path="docs/a.md", **more)
        assert (envelope.code, envelope.detail["needed"]) == ("capability_denied", "fs rw on docs/a.md")
    assert await caged.code("file.create", path="docs/b.md", content="") == "capability_denied"
    assert (caged.root / "docs/a.md").read_text() == "docs"


@pytest.mark.requirement("authorisation.uncaged")
async def test_without_a_cage_every_path_of_the_project_is_open(caged):
    primary = caged.as_agent("primary")
    for path in ("src/main.ts", "docs/a.md", "data/secrets.json", "src/data/inner.json", "srcfoo/twin.txt"):
        await primary.ok("file.read", path=path)
        await primary.ok("file.write", path=path, content="new")
    await primary.ok("file.create", path=".git/x", content="")


@pytest.mark.requirement("authorisation.paths")
@pytest.mark.parametrize(
    "path",
    [
        "data/secrets.json", "./data/secrets.json", "src/../data/secrets.json", "src//..//data/./a",
        "src/data/inner.json", "src/data/../data/inner.json", "srcfoo/twin.txt", "src/../srcfoo/twin.txt",
        "src/../../project/data/secrets.json", "data/secrets.json.", "DATA/secrets.json", "data./x",
        "data/secrets.json\0", "src/main.ts\0/../../data/secrets.json", "src\\..\\data\\secrets.json",
        "/proc/self/cwd/data/secrets.json", "/proc/self/cwd/../../etc/passwd", "/dev/stdin", "/dev/zero",
        "~/x", "src/\ud800", "//etc/passwd", "/etc/passwd", "src/../../outside",
    ],
)  # fmt: skip
async def test_no_spelling_reaches_what_is_not_granted(caged, path):
    await assert_closed(caged, path)


@pytest.mark.requirement("authorisation.paths")
@pytest.mark.parametrize(
    "target",
    [
        "../data",
        "../data/secrets.json",
        "data",
        "../srcfoo",
        "/proc/self/cwd/data",
        "/proc/self/root",
        "/dev",
    ],
)
async def test_no_link_reaches_what_is_not_granted(caged, target):
    (caged.root / "src/link").symlink_to(target)
    for path in (
        "src/link",
        "src/link/secrets.json",
        "src/link/inner.json",
        "src/link/twin.txt",
        "src/link/zero",
    ):
        await assert_closed(caged, path)


@pytest.mark.requirement("authorisation.paths")
async def test_devices_pipes_and_sockets_are_no_files(caged):
    os.mkfifo(caged.root / "src/pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(caged.root / "src", os.O_RDONLY)
        server.bind(f"/proc/self/fd/{here}/door")
        os.close(here)
        for path in ("src/pipe", "src/door"):
            await assert_closed(caged, path)


@pytest.mark.requirement("authorisation.paths")
async def test_a_write_does_not_go_through_a_hard_link(caged):
    outside = caged.base / "outside.txt"
    outside.write_text("theirs")
    os.link(outside, caged.root / "src/hard.txt")
    await caged.ok("file.read", path="src/hard.txt")
    await caged.ok("file.write", path="src/hard.txt", content="mine")
    await caged.ok("edit.text", path="src/hard.txt", old_string="mine", new_string="mine too")
    assert outside.read_text() == "theirs"
    assert (caged.root / "src/hard.txt").read_text() == "mine too"


@pytest.mark.requirement("authorisation.paths", "authorisation.protected")
@pytest.mark.parametrize("cage", [None, {"fs": [{"mode": "rw", "path": "."}]}])
async def test_a_hard_link_to_a_file_of_the_daemon_is_the_daemons(desk, children, cage):
    config = desk.base / "kaged.toml"
    config.write_text(SECRET)
    (desk.base / "data/token").write_text(SECRET)
    registry = tool_registry(
        reads=desk.reads, children=children, data_dir=desk.base / "data", config_file=config
    )
    desk = replace(desk, service=ToolService(registry)).as_agent("primary", cage)
    os.link(config, desk.root / "innocent.txt")
    os.link(desk.base / "data/token", desk.root / "innocent2.txt")
    (desk.root / "link").symlink_to("innocent.txt")
    for path in ("innocent.txt", "innocent2.txt", "link"):
        await assert_closed(desk, path)
    desk.put("mine.txt", SECRET)
    for mode in ("content", "files_with_matches", "count"):
        found = await desk.ok("search.grep", pattern="secret", output_mode=mode)
        assert [one["file"] for one in found["matches"]] == ["./mine.txt"]
    for _ in range(2):  # walked through, and then out of the kept list
        assert (await desk.ok("search.glob", pattern="*.txt"))["files"] == ["./mine.txt"]
    desk.put("twice", "x")
    os.link(desk.root / "twice", desk.root / "again")
    await desk.ok("file.read", path="again")


@pytest.mark.requirement("authorisation.paths", "authorisation.protected")
async def test_a_hard_link_to_a_file_deep_in_the_daemons_folder_is_the_daemons(desk, children, monkeypatch):
    data = desk.base / "data"
    desk = replace(
        desk, service=ToolService(tool_registry(reads=desk.reads, children=children, data_dir=data))
    )
    for name in ("sessions/one/output.txt", "uploads/two", "cages/quarantine/theirs"):
        (data / name).parent.mkdir(parents=True)
        (data / name).write_text(SECRET)
    looked = []
    look = LinkedFiles._look
    monkeypatch.setattr(LinkedFiles, "_look", lambda self: looked.append(1) or look(self))
    desk.put("mine.txt", SECRET)
    await desk.ok("file.read", path="mine.txt")
    assert not looked  # without a further name nothing is looked for
    os.link(desk.root / "mine.txt", desk.root / "again.txt")
    await desk.ok("file.read", path="again.txt")
    assert looked
    os.link(data / "sessions/one/output.txt", desk.root / "innocent.txt")
    await assert_closed(desk, "innocent.txt")
    os.link(data / "uploads/two", desk.root / "innocent2.txt")
    await assert_closed(desk, "innocent2.txt")
    os.link(data / "cages/quarantine/theirs", desk.root / "theirs.txt")
    await desk.ok("file.read", path="theirs.txt")
    shown = {"./mine.txt", "./again.txt", "./theirs.txt"}
    found = await desk.ok("search.grep", pattern="secret")
    assert {one["file"] for one in found["matches"]} == shown
    assert set((await desk.ok("search.glob", pattern="*.txt"))["files"]) == shown


@pytest.mark.requirement("authorisation.protected")
def test_the_daemons_folder_is_looked_through_again_only_after_a_change(tmp_path, monkeypatch):
    known = LinkedFiles(str(tmp_path / "data"))
    looked = []
    look = LinkedFiles._look
    monkeypatch.setattr(LinkedFiles, "_look", lambda self: looked.append(1) or look(self))
    (tmp_path / "data/deep").mkdir(parents=True)
    (tmp_path / "data/deep/file").write_text("x")
    (tmp_path / "one").write_text("x")
    os.link(tmp_path / "one", tmp_path / "two")
    monkeypatch.setattr(linked_files, "SETTLED_NS", -10_000_000_000)  # as if all that were long ago
    monkeypatch.setattr(LinkedFiles, "_clock_is_the_same", lambda self: True)
    assert not known.holds(os.stat(tmp_path / "one"))
    assert not known.holds(os.stat(tmp_path / "two"))
    assert len(looked) == 1
    monkeypatch.undo()
    os.link(tmp_path / "data/deep/file", tmp_path / "three")
    assert known.holds(os.stat(tmp_path / "three"))
    (tmp_path / "data/deep/file").unlink()
    os.link(tmp_path / "three", tmp_path / "four")
    assert not known.holds(os.stat(tmp_path / "four"))


# -- variables ---------------------------------------------------------------------------------


@pytest.mark.requirement("authorisation.variables")
@pytest.mark.parametrize("path", ["{workspace}/src", "{workspace}/./src/", "src"])
async def test_the_workspace_is_the_projects_root(desk, path):
    desk.put("src/a", "x")
    await desk.caged(("ro", path)).ok("file.read", path="src/a")
    assert await desk.caged(("ro", path)).code("file.read", path=".") == "capability_denied"


@pytest.mark.requirement("authorisation.variables")
@pytest.mark.parametrize(
    "path", ["{ad-hoc}", "{user-data}", "{user-data}/src", "{unknown}", "{}/src", "{src", "{workspace"]
)
async def test_a_variable_that_stands_for_nothing_grants_nothing(desk, path):
    for name in ("src/a", f"{path}/a"):
        desk.put(name, "x")
        assert await desk.caged(("rw", path)).code("file.read", path=name) == "capability_denied"


@pytest.mark.requirement("authorisation.variables")
async def test_a_denial_that_cannot_be_understood_denies_everything(desk):
    desk.put("src/a", "x")
    caged = desk.caged(("rw", "."), ("deny", "{unknown}/src"))
    assert await caged.code("file.read", path="src/a") == "capability_denied"


# -- protected names ---------------------------------------------------------------------------


@pytest.mark.requirement("authorisation.protected")
@pytest.mark.parametrize("name", sorted(READ_ONLY_NAMES))
async def test_a_caged_caller_never_writes_what_runs_code_or_steers_the_daemon(desk, name):
    caged = desk.caged(("rw", "."))
    for path in (
        name,
        f"{name}/x",
        f"deep/er/{name}",
        name.upper(),
        f"{name}.",
        f"{name} ",
        f"{name}/../{name}",
    ):
        assert await caged.code("file.create", path=path, content="x") == "capability_denied", path
    assert list(desk.root.iterdir()) == []
    desk.put(f"{name}/x", "readable")
    await caged.ok("file.read", path=f"{name}/x")


@pytest.mark.requirement("authorisation.protected")
@pytest.mark.parametrize(
    "name",
    [".GIT", ".gIt", "\uff0egit", ".g\u200cit", ".git.", ".git ", ".git. .", ".git::$INDEX_ALLOCATION",
     "GIT~1", ".Kaged", ".\u212aaged", ".ka\u00adged", ".ENVRC"],
)  # fmt: skip
def test_names_that_some_file_system_takes_for_protected_ones_are_protected(name):
    assert is_protected(name)


@pytest.mark.parametrize(
    "name", [".gitignore", ".github", ".gitattributes", "git", "kaged", ".env", ".vscodeignore"]
)
def test_other_names_are_not_protected(name):
    assert not is_protected(name)


@pytest.mark.requirement("authorisation.protected")
async def test_a_link_to_a_protected_name_is_protected(desk):
    desk.put(".git/hooks/x", "")
    (desk.root / "hooks").symlink_to(".git/hooks")
    caged = desk.caged(("rw", "."))
    assert await caged.code("file.create", path="hooks/pre-commit", content="x") == "capability_denied"
    assert not (desk.root / ".git/hooks/pre-commit").exists()


@pytest.mark.requirement("authorisation.protected")
async def test_the_data_folder_is_hidden_also_when_it_lies_in_the_project(desk, children):
    desk.put("state/kaged.db", SECRET)
    registry = tool_registry(reads=desk.reads, children=children, data_dir=desk.root / "state")
    desk = replace(desk, service=ToolService(registry))
    (desk.root / "link").symlink_to("state")
    for one in (desk, desk.caged(("rw", "."))):
        for path in ("state/kaged.db", "link/kaged.db", "state/new", "state"):
            await assert_closed(one, path)
        assert "state" not in (await one.ok("file.read", path="."))["content"]


# -- races -------------------------------------------------------------------------------------


@contextmanager
def _swapping(first: Path, second: Path) -> Iterator[list[int]]:
    """A thread lets two names change places without pause, and counts how often."""
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    stop, swaps = threading.Event(), [0]

    def swap() -> None:
        one, other = os.fsencode(first), os.fsencode(second)
        while not stop.is_set():
            swaps[0] += exchange(-100, one, -100, other, 2) == 0

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield swaps
    finally:
        stop.set()
        thread.join(30)


@pytest.mark.requirement("authorisation.race")
@pytest.mark.parametrize("kind", ["cage", "rules", "outside"])
async def test_a_link_swapped_between_check_and_use_does_not_escape(desk, kind):
    """`src/door` is a folder at one moment and a link to what is closed at the next."""
    closed = desk.base / "outside" if kind == "outside" else desk.root / "data"
    closed.mkdir()
    (closed / "a.txt").write_text(SECRET)
    desk.put("src/door/a.txt", "harmless")
    (desk.root / "src/bait").symlink_to(closed)
    if kind == "rules":
        actor = desk.ruled(PermissionRule("*", "data/**", "deny", "manifest", True))
    else:
        actor = desk.caged(("rw", "src"))
    codes: set[str | None] = set()
    refused = {"capability_denied", "permission_denied", "invalid_path"}
    end = time.monotonic() + SECONDS
    with _swapping(desk.root / "src/door", desk.root / "src/bait") as swaps:
        for turn in count():
            over = turn >= ROUNDS or time.monotonic() > end
            if over and swaps[0] > turn and None in codes and codes & refused:
                break
            read = await actor.call("file.read", path="src/door/a.txt")
            assert SECRET not in read.model_text()
            codes.add(read.code)
            if turn % 10 == 0:
                made = await actor.call("file.create", path=f"src/door/new-{turn}.txt", content="x")
                codes.add(made.code)
    assert (closed / "a.txt").read_text() == SECRET
    assert [one.name for one in closed.iterdir()] == ["a.txt"]
    assert "internal_error" not in codes
