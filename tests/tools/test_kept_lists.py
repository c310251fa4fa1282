"""`search.glob` out of a kept list: at every moment the same answer as a walk gives."""

from __future__ import annotations

import asyncio
import mmap
import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from app.bridges.processes.process import ChildProcesses
from app.programs import ENVIRONMENT
from app.tools.dispatch.registry import ToolRegistry
from app.tools.dispatch.service import ToolService
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.read_tracker import ReadTracker
from app.tools.search import glob, kept_list
from app.tools.search.engine import Ripgrep, Walk
from app.tools.search.file_search import FileLimits
from app.tools.search.kept_lists import KeptLists
from app.workspace.folder_rules import ProjectRules
from app.workspace.tree_watch import TreeWatches
from tests.bridges.conftest import until
from tests.tools.searching import engine_called

pytestmark = pytest.mark.requirement("language_servers.watch.exact")


class CountingEngine(Ripgrep):
    """Walks, and counts how often."""

    walks = 0

    def files(self, walk: Walk) -> list[str]:
        self.walks += 1
        return super().files(walk)


@dataclass
class Both:
    """The tool with kept lists, and the one that always walks."""

    desk: Any
    walking: Any
    engine: CountingEngine
    lists: KeptLists
    watches: TreeWatches
    answered: int = field(default=0)

    @property
    def root(self) -> Path:
        return self.desk.root

    async def made(self) -> None:
        """See to it that there is a list."""
        while True:
            walks = self.engine.walks
            await self.desk.ok("search.glob", pattern="**")
            if self.engine.walks == walks:
                return
            await self.lists.made(self.root)

    async def same(self, pattern: str = "**", path: str = ".", *, walks: int | None = 0) -> Any:
        """Return the answer, which is the one that a walk gives; `walks` is how many it took."""
        before = self.engine.walks
        found = await self.desk.call("search.glob", pattern=pattern, path=path)
        took = self.engine.walks - before
        expected = await self.walking.call("search.glob", pattern=pattern, path=path)
        assert (found.data, found.code) == (expected.data, expected.code)
        assert walks is None or took == walks
        self.answered += took == 0
        return found.data


@asynccontextmanager
async def both_on(desk: Any, shown: int = 100) -> AsyncIterator[Both]:
    limits = FileLimits(shown=shown)
    children, watches = ChildProcesses(), TreeWatches(ProjectRules)
    processes = CallProcesses.uncaged(children)
    files = ProjectFiles(reads=ReadTracker(), closed=(desk.base / "data",))
    walker = engine_called("packaged", desk.base / "bin")
    lists = KeptLists(watches, processes, walker)
    counting = CountingEngine(walker.program)
    kept = ToolRegistry((glob.build(files, processes, {}, engine=counting, kept=lists, limits=limits),))
    plain = ToolRegistry((glob.build(files, processes, {}, engine=walker, limits=limits),))
    try:
        with_lists = replace(desk, service=ToolService(kept))
        yield Both(with_lists, replace(desk, service=ToolService(plain)), counting, lists, watches)
    finally:
        await lists.aclose()
        await watches.aclose()
        await children.aclose()


@pytest.fixture
async def both(desk):
    for path in ("a.py", "src/b.py", "src/deep/c.py", "src/deep/d.txt", ".hidden/e.py", "build/f.py"):
        desk.put(path, path)
    desk.put(".gitignore", "/build/\n*.log\n")
    async with both_on(desk) as found:
        await found.made()
        yield found


async def test_the_first_call_walks_and_the_next_one_looks_up(desk):
    desk.put("a.py", "")
    async with both_on(desk) as both:
        await both.same(walks=1)
        assert await both.lists.made(both.root)
        await both.same(walks=0)
        assert (await both.same("*.py"))["files"] == ["./a.py"]


async def test_what_anybody_does_is_seen_by_the_next_call(both):
    both.desk.put("new.py", "")
    assert "./new.py" in (await both.same())["files"]
    both.desk.put("src/deep/d.txt", "newer")
    assert (await both.same())["files"][0] == "./src/deep/d.txt"
    (both.root / "src/deep").rename(both.root / "moved")
    assert "./moved/c.py" in (await both.same())["files"]
    shutil.rmtree(both.root / "moved")
    both.desk.put("fresh/folder/x.py", "")
    both.desk.put("src/y.log", "ignored")
    (both.root / "a.py").rename(both.root / "src/a.py")
    (both.root / "link.py").symlink_to("src/a.py")
    os.mkfifo(both.root / "pipe.py")
    assert sorted((await both.same("*.py"))["files"]) == [
        *("./.hidden/e.py", "./fresh/folder/x.py", "./new.py", "./src/a.py", "./src/b.py"),
    ]
    os.utime(both.root / "src/b.py", ns=(1, 2**62))
    assert (await both.same())["files"][0] == "./src/b.py"
    (both.root / "src/b.py").unlink()
    (both.root / "src/b.py").symlink_to("a.py")
    await both.same()


async def test_below_the_root_and_where_only_a_walk_can_tell(both):
    assert (await both.same("*.py", "src"))["files"] == ["./src/deep/c.py", "./src/b.py"]
    await both.same("./*.py", "src")
    await both.same("deep/**", "./src")
    both.desk.put(".git/objects/x.py", "")
    (both.root / "link").symlink_to("src")
    assert await both.same("*.py", "link", walks=None)
    for path in ("build", ".git", ".git/objects", "src/b.py"):
        await both.same("*", path, walks=1)
    assert await both.same("*.py", "missing", walks=0) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / ".gitignore").write_text("src/\n"),
        lambda root: (root / ".gitignore").unlink(),
        lambda root: (root / "src/.gitignore").write_text("deep\n"),
        lambda root: (root / "src/.git").mkdir(),
        lambda root: (root / ".git").mkdir(),
        lambda root: (root / "src").rename(root / "build/src"),
        lambda root: (root / "build").rename(root / "built"),
        lambda root: (root.parent / ".gitignore").write_text("*.py\n"),
        lambda root: (root.parent / ".git").mkdir(),
        lambda root: [(root.parent / ".git").mkdir(), (root.parent / ".gitignore").write_text("*.py\n")],
        lambda root: root.rename(root.parent / "old") and shutil.copytree(root.parent / "old/src", root),
    ],
)
async def test_other_rules_and_other_roots(both, change):
    await both.same()
    change(both.root)
    await both.same(walks=None)
    await both.same("*.py", "src", walks=None)
    (both.root / "z.py").touch()
    await both.same(walks=None)
    await both.made()
    assert await both.same()


async def test_rules_from_above_the_root_are_looked_at_each_time(desk):
    (desk.base / ".git").mkdir()
    (desk.base / ".gitignore").write_text("*.log\n")
    for name in ("a.log", "a.py", "b.txt"):
        desk.put(name, "")
    async with both_on(desk) as both:
        await both.made()
        assert sorted((await both.same())["files"]) == ["./a.py", "./b.txt"]
        desk.put("c.log", "")
        desk.put("c.py", "")
        assert sorted((await both.same())["files"]) == ["./a.py", "./b.txt", "./c.py"]
        (desk.base / ".gitignore").write_text("*.txt\n")
        assert "./a.log" in (await both.same(walks=1))["files"]


async def test_rules_that_are_not_plain(desk):
    """A line that is not understood here is left to the walk; a file of rules that is a link is one
    whose changes nobody sees."""
    desk.put(".gitignore", "no\\ such\n?.py\n")
    desk.put("ab.py", "")
    async with both_on(desk) as both:
        await both.made()
        assert (await both.same("*.py"))["files"] == ["./ab.py"]
        desk.put("a.py", "")
        assert (await both.same("*.py", walks=1))["files"] == ["./ab.py"]
        await both.made()
        (desk.base / "rules").write_text("ab.py\n")
        (desk.root / ".gitignore").unlink()
        (desk.root / ".gitignore").symlink_to(desk.base / "rules")
        await both.same(walks=None)
        await until(lambda: both.watches.known(both.root) is not None)
        await both.same(walks=1)
        assert not await both.lists.made(both.root)
        (desk.base / "rules").write_text("")
        await both.same(walks=1)


async def test_two_names_of_one_file_have_one_time(both):
    os.link(both.root / "src/b.py", both.root / "linked.py")
    await both.same(walks=None)
    await both.made()
    os.utime(both.desk.put("a.py", "newer"), ns=(1, time.time_ns() - 10**9))
    (both.root / "linked.py").write_text("newest")
    assert (await both.same())["files"][0] in {"./linked.py", "./src/b.py"}


async def test_what_is_written_without_an_event_is_not_shown_stale(both):
    file = both.desk.put("mapped.py", "x" * 100)
    descriptor = os.open(file, os.O_RDWR)
    with mmap.mmap(descriptor, 100) as memory:
        os.close(descriptor)
        os.utime(file, ns=(1, 1))
        await both.same()
        memory[0] = 65
        memory.flush()
        assert (await both.same())["files"][0] == "./mapped.py"


async def test_a_cage_holds_for_a_kept_list_too(both):
    both.desk.put("src/secret/x.py", "")
    for caged in (
        both.desk.caged(("ro", "src"), ("none", "src/secret")),
        both.desk.caged(("ro", "src/deep"), outside="mark"),
    ):
        inside = replace(both, desk=caged, walking=replace(caged, service=both.walking.service))
        await inside.same("**", ".")
        await inside.same("*.py", "src", walks=None)


async def test_too_many_files_are_walked_for(both, monkeypatch):
    monkeypatch.setattr(kept_list, "MAX_KEPT", 20)
    for number in range(20):
        both.desk.put(f"many/{number}", "")
    assert (await both.same(walks=1))["count"] == 26
    assert not await both.lists.made(both.root)
    await both.same(walks=1)


async def test_files_that_come_and_go_while_the_list_is_made(desk):
    for number in range(200):
        desk.put(f"d{number % 20}/f{number}.py", "")
    stop = threading.Event()

    def disturb() -> None:
        chance = random.Random(7)
        while not stop.is_set():
            _change_something(chance, desk.root, desk.base / "data")

    async with both_on(desk) as both:
        disturbing = threading.Thread(target=disturb)
        disturbing.start()
        try:
            for _ in range(30):
                await both.desk.ok("search.glob", pattern="**")
                await both.lists.made(both.root)
        finally:
            stop.set()
            await asyncio.to_thread(disturbing.join)
        await both.same(walks=None)
        await both.made()
        await both.same()


RULES = (
    "build/\n",
    "*.log\n!keep.log\n",
    "/a\nb/c\n",
    "**/d\n",
    "a/**\n",
    "*\n!*/\n!*.py\n",
    "",
    "?\n",
    "[ab].py\n",
)
NAMES = ("a", "b", "c", "d", "build", "x.py", "y.log", "keep.log", "a.py", "ä.py")
PATTERNS = ("**", "*.py", "a/**", "**/b/*", "./*", "{a,b}/**/*.py", "?", "[!a]*", "build/**", "*.{py,log}")


def _change_something(chance: random.Random, root: Path, outside: Path) -> None:
    folders = [root, *(Path(parent, one) for parent, names, _ in os.walk(root) for one in names)]
    folders = [one for one in folders if not one.is_symlink()]
    files = [Path(parent, one) for parent, _, names in os.walk(root) for one in names]
    place = chance.choice(folders) / chance.choice(NAMES)
    some = chance.choice(folders[1:] + files) if folders[1:] or files else root / "a"
    try:
        match chance.randrange(11):
            case 0 | 1:
                place.write_text("x")
            case 2 | 3:
                place.mkdir()
            case 4 | 5:
                some.rename(place)
            case 6:
                shutil.rmtree(some) if some.is_dir() else some.unlink()
            case 7:
                some.rename(outside / str(chance.random()))
            case 8:
                chance.choice(list(outside.iterdir())).rename(place)
            case 9:
                os.utime(some, ns=(0, chance.randrange(10**18)))
            case _:
                place.symlink_to(chance.choice(folders + files))
    except (OSError, IndexError, shutil.Error):
        pass  # what this is to be done with is not there, or is in itself


@pytest.mark.parametrize("seed", range(20))
async def test_any_changes_and_any_patterns(desk, seed):
    chance = random.Random(seed)
    outside = desk.base / "outside"
    outside.mkdir()
    if chance.random() < 0.5:
        (desk.root / ".git").mkdir()
    desk.put(".gitignore", chance.choice(RULES))
    for _ in range(60):
        _change_something(chance, desk.root, outside)
    async with both_on(desk, shown=1) as both:  # only what is shown is looked at once more
        await both.same(walks=None)
        for step in range(25):
            for _ in range(chance.randrange(6)):
                _change_something(chance, desk.root, outside)
            if step % 9 == 8:
                folder = chance.choice([one for one in ("", "a", "b") if not (desk.root / one).is_file()])
                desk.put(f"{folder}/.gitignore".lstrip("/"), chance.choice(RULES))
            if step % 5 == 0:
                await both.lists.made(both.root)
            await both.same(chance.choice(PATTERNS), chance.choice((".", ".", "a", "b")), walks=None)
        assert both.answered > 0


@pytest.mark.parametrize("seed", range(150))
def test_plain_rules_are_judged_as_ripgrep_judges_them(tmp_path, seed):
    chance = random.Random(seed)
    outer = tmp_path / "outer"
    root = outer / "p" if chance.random() < 0.4 else outer
    root.mkdir(parents=True)
    if chance.random() < 0.6:
        (outer / ".git").mkdir()
    folders = [root]
    for _ in range(chance.randrange(20)):
        place = chance.choice(folders) / chance.choice((*NAMES, "a b", ".h", "a.b", "A"))
        if chance.random() < 0.4 and not place.exists():
            place.mkdir()
            folders.append(place)
        elif not place.exists():
            place.touch()
    for place in {root, chance.choice(folders), chance.choice(folders), outer}:
        lines = [_rule(chance) for _ in range(chance.randrange(1, 5))]
        (place / ".gitignore").write_text("\n".join(lines) + "\n", newline="")
    rules = ProjectRules(root)
    walk = Walk(levels=rules.above.levels, repositories=rules.above.repositories)
    command = engine_called("packaged", tmp_path).files(walk)
    printed = subprocess.run(command, cwd=root, env=ENVIRONMENT, capture_output=True).stdout
    listed = {os.fsdecode(path.removeprefix(b".//")) for path in printed.split(b"\0") if path}
    judged = dict(_judged(root, rules, ""))
    assert {path for path in listed if judged.get(path, True) is True} == set()
    if None not in judged.values():
        assert {path for path, ignored in judged.items() if not ignored} == listed


SEGMENTS = (
    *("a", "b", "build", "*.py", "*.log", "a b", ".*", "*", "**", "a*", "[ab]", "[a-z]", "*b", "x*y", "A"),
    *("?", "{a,b}", "a**", "ä.py", "[!a]"),
)


def _rule(chance: random.Random) -> str:
    plain = chance.random() < 0.95
    segments = SEGMENTS[:15] if plain else SEGMENTS
    text = "/".join(chance.choice(segments) for _ in range(chance.choice((1, 1, 1, 2, 3))))
    start = chance.choice(("", "", "", "/", "!", "!/", "# "))
    return start + text + chance.choice(("", "", "", "/", "\r"))


def _judged(root: Path, rules: ProjectRules, prefix: str) -> list[tuple[str, bool | None]]:
    """Judge all files that lie in no folder that is ignored; True is ignored, None not known."""
    found: list[tuple[str, bool | None]] = []
    for entry in os.scandir(root / prefix):
        path = prefix + entry.name
        if entry.is_dir():
            found += [] if rules.ignored(path) else _judged(root, rules, f"{path}/")
        else:
            found.append((path, rules.ignored_file(path)))
    return found
