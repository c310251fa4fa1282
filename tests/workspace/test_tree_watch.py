"""Watching real folders: what the kernel has queued is delivered by the next `drain`."""

from __future__ import annotations

import asyncio
import ctypes
import os
import random
import resource
import shutil
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from app.workspace.folder_rules import ProjectRules
from app.workspace.tree_watch import FileChange, TreeWatch, TreeWatches
from tests.bridges.conftest import descriptors, until
from tests.driver.loop_watch import watched_loop

pytestmark = pytest.mark.requirement("language_servers.watch.exact")

EXCHANGE = 2
HERE = -100


def exchange(one: Path, other: Path) -> None:
    """Let two names change places at once."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.renameat2(HERE, bytes(one), HERE, bytes(other), EXCHANGE) == 0


@pytest.fixture
async def watches() -> AsyncIterator[TreeWatches]:
    opened = TreeWatches(ProjectRules)
    yield opened
    await opened.aclose()


class Listener:
    """Keeps what a watch tells."""

    def __init__(self, watch: TreeWatch) -> None:
        self.watch = watch
        self.lost = 0
        self.changes: list[FileChange] = []
        self.unsubscribe = watch.subscribe(self._told)

    def _told(self, changes: Sequence[FileChange] | None) -> None:
        if changes is None:
            self.lost += 1
        else:
            self.changes += changes

    def now(self) -> list[tuple[str, str]]:
        """Return what has changed since the last time."""
        self.watch.drain()
        found = [(one.kind, one.path + "/" * one.is_folder) for one in self.changes]
        self.changes.clear()
        return found


async def listen(watches: TreeWatches, root: Path) -> Listener:
    watch = await watches.open(root)
    assert watch.exact
    return Listener(watch)


async def test_a_write_is_known_right_after_it(watches, tmp_path):
    (tmp_path / "a").mkdir()
    heard = await listen(watches, tmp_path)
    with (tmp_path / "a/x").open("w") as file:
        assert heard.now() == [("created", "a/x")]
        file.write("1")
        file.flush()
        assert heard.now() == [("changed", "a/x")]
    os.utime(tmp_path / "a/x", (1, 1))
    assert heard.now() == [("changed", "a/x")]
    (tmp_path / "a/x").rename(tmp_path / "y")
    assert heard.now() == [("deleted", "a/x"), ("created", "y")]
    (tmp_path / "y").unlink()
    assert heard.now() == [("deleted", "y")]
    assert heard.now() == []
    heard.unsubscribe()
    (tmp_path / "z").touch()
    assert heard.now() == []


async def test_it_is_reported_without_being_asked_too(watches, tmp_path):
    heard = await listen(watches, tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).touch()
        await until(lambda name=name: ("created", name) in [(one.kind, one.path) for one in heard.changes])


async def test_what_is_in_a_folder_before_it_is_watched_is_reported(watches, tmp_path):
    heard = await listen(watches, tmp_path)
    (tmp_path / "n/m").mkdir(parents=True)
    (tmp_path / "n/m/f").touch()
    assert heard.now() == [("created", "n/"), ("created", "n/m/"), ("created", "n/m/f")]
    (tmp_path / "n/m/g").touch()
    assert heard.now() == [("created", "n/m/g")]


async def test_folders_that_move(watches, tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a/deep").mkdir(parents=True)
    (root / "a/deep/f").touch()
    outside.mkdir()
    heard = await listen(watches, root)
    (root / "a").rename(root / "b")
    assert heard.now() == [
        ("deleted", "a/"),
        ("created", "b/"),
        ("created", "b/deep/"),
        ("created", "b/deep/f"),
    ]
    (root / "b/deep/g").touch()
    assert heard.now() == [("created", "b/deep/g")]
    (root / "b").rename(outside / "b")
    assert heard.now() == [("deleted", "b/")]
    (outside / "b/deep/h").touch()
    assert heard.now() == []
    (outside / "b/deep").rename(root / "back")
    assert sorted(heard.now()) == [("created", "back/"), *(("created", f"back/{name}") for name in "fgh")]
    (root / "back/i").touch()
    assert heard.now() == [("created", "back/i")]


async def test_names_that_change_places(watches, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).touch()
        (tmp_path / f"{name}_folder").mkdir()
        (tmp_path / f"{name}_folder/{name}").touch()
    heard = await listen(watches, tmp_path)
    exchange(tmp_path / "a", tmp_path / "b")
    assert {path: kind for kind, path in heard.now()} == {"a": "created", "b": "created"}
    exchange(tmp_path / "a_folder", tmp_path / "b_folder")
    assert {("created", "a_folder/b"), ("created", "b_folder/a")} <= set(heard.now())
    (tmp_path / "a_folder/c").touch()
    (tmp_path / "b_folder/d").touch()
    assert heard.now() == [("created", "a_folder/c"), ("created", "b_folder/d")]


async def test_links_are_not_followed(watches, tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    root.mkdir()
    (root / "old").symlink_to(outside)
    heard = await listen(watches, root)
    (root / "new").symlink_to(outside)
    assert heard.now() == [("created", "new")]
    (outside / "f").touch()
    assert heard.now() == []


@pytest.mark.parametrize("how", ["deleted", "moved", "parent moved", "replaced"])
async def test_a_root_that_is_not_there_any_more(watches, tmp_path, how):
    parent = tmp_path / "parent"
    root = parent / "root"
    root.mkdir(parents=True)
    heard = await listen(watches, root)
    if how == "deleted":
        root.rmdir()
    elif how == "parent moved":
        parent.rename(tmp_path / "elsewhere")
    else:
        root.rename(parent / "elsewhere")
    if how == "replaced":
        root.mkdir()
    heard.watch.drain()
    assert not heard.watch.exact
    assert heard.lost == 1
    if how == "replaced":
        await until(lambda: heard.watch.exact)
        (root / "f").touch()
        assert heard.now() == [("created", "f")]


async def test_more_than_the_kernel_keeps_is_reported_as_such_and_repaired(watches, tmp_path):
    heard = await listen(watches, tmp_path)
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for number in range(min(limit, 100_000) // 2 + 100):
        (tmp_path / f"{number}").touch()
        (tmp_path / f"{number}").unlink()
    with watched_loop():
        await asyncio.sleep(0)
        heard.watch.drain()
        assert not heard.watch.exact
        assert heard.lost == 1
        assert heard.changes == []
        await until(lambda: heard.watch.exact)
    assert heard.lost == 2
    (tmp_path / "f").touch()
    assert heard.now() == [("created", "f")]


async def test_many_changes_at_once_are_one_answer(watches, tmp_path):
    heard = await listen(watches, tmp_path)
    for number in range(6_000):
        (tmp_path / f"{number}").touch()
    assert heard.now() == []
    assert heard.lost >= 1
    await until(lambda: heard.watch.exact)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/f").touch()
    assert heard.now()[-1] == ("created", "sub/f")


async def test_where_watching_is_not_possible_that_is_said(tmp_path):
    (tmp_path / "a/b/c").mkdir(parents=True)
    few = TreeWatches(max_folders=3)
    assert not (await few.open(tmp_path)).exact
    assert (await few.open(tmp_path / "a")).exact
    assert not (await few.open(Path("/proc/self"))).exact  # a file system that tells nothing
    assert not (await few.open(tmp_path / "missing")).exact
    (tmp_path / "a/d").mkdir()
    watch = await few.open(tmp_path / "a")
    watch.drain()
    assert not watch.exact
    await few.aclose()
    assert not (await few.open(tmp_path / "a")).exact


async def test_with_all_folders_or_else_without_those_that_are_ignored(watches, tmp_path):
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "build/a/b").mkdir(parents=True)
    all_folders, few = TreeWatches(instead=watches), TreeWatches(max_folders=2, instead=watches)
    assert (await all_folders.open(tmp_path)).watches("build/a/b")
    watch = await few.open(tmp_path)
    assert watch.exact
    assert not watch.watches("build")
    assert watch is await watches.open(tmp_path)
    await all_folders.aclose()
    await few.aclose()
    assert watch.exact


async def test_without_descriptors_it_is_not_exact(watches, tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    await asyncio.to_thread(os.path.realpath, tmp_path)
    used = descriptors()
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(set(range(soft)) - used.keys()), hard))
    try:
        watch = await watches.open(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert not watch.exact


async def test_ignored_folders_are_not_watched_until_their_rules_change(watches, tmp_path):
    (tmp_path / ".gitignore").write_text("build/\n")
    for name in ("build/x", ".git/objects", "src"):
        (tmp_path / name).mkdir(parents=True)
    heard = await listen(watches, tmp_path)
    for name in ("build/x/f", ".git/objects/f", ".git/index"):
        (tmp_path / name).touch()
    assert heard.now() == []
    (tmp_path / "src/build").mkdir()
    (tmp_path / "src/build/f").touch()
    assert heard.now() == [("created", "src/build/")]
    (tmp_path / ".gitignore").write_text("src/\n")
    heard.watch.drain()
    assert not heard.watch.exact
    await until(lambda: heard.watch.exact)
    (tmp_path / "build/x/g").touch()
    (tmp_path / "src/g").touch()
    assert heard.now() == [("created", "build/x/g")]


async def test_callers_share_a_watch_and_nothing_is_left_of_a_thousand(tmp_path):
    (tmp_path / "a").mkdir()
    watches = TreeWatches()
    first, second = await asyncio.gather(watches.open(tmp_path), watches.open(tmp_path / "a/.."))
    assert first is second
    inotify = [number for number, kind in descriptors().items() if "inotify" in kind]
    assert inotify
    assert not any(os.get_inheritable(number) for number in inotify)
    await watches.aclose()
    before = descriptors()
    for _ in range(1_000):
        watches = TreeWatches()
        assert (await watches.open(tmp_path)).exact
        await watches.aclose()
    assert len(descriptors()) <= len(before)


async def test_a_watch_that_is_closed_while_it_begins_leaves_nothing(tmp_path):
    for number in range(300):
        (tmp_path / f"{number}").mkdir()
    before = descriptors()
    watches = TreeWatches()
    opening = asyncio.create_task(watches.open(tmp_path))
    await until(lambda: bool(watches._open))
    await watches.aclose()
    assert not (await opening).exact
    assert len(descriptors()) <= len(before)


async def test_a_root_that_nobody_uses_is_let_go(tmp_path):
    watches = TreeWatches(idle_seconds=1.0)  # a first scan on a busy machine is shorter
    used, unused = tmp_path / "used", tmp_path / "unused"
    for root in (used, unused):
        root.mkdir()
    watch = await watches.open(used)
    watch.subscribe(lambda changes: None)
    gone = await watches.open(unused)
    await until(lambda: not gone.exact)
    assert watch.exact
    assert (await watches.open(unused)).exact
    await watches.aclose()


class Model:
    """What a listener knows of a tree that it was told of change by change."""

    def __init__(self, root: Path, watch: TreeWatch) -> None:
        self.root = root
        self.known = self.there()
        watch.subscribe(self._told)

    def there(self) -> dict[str, bool]:
        """Return every path below the root, and whether it is a folder."""
        found: dict[str, bool] = {}
        for parent, folders, files in os.walk(self.root):
            place = os.path.relpath(parent, self.root)
            for name in (*folders, *files):
                path = os.path.normpath(os.path.join(place, name))
                found[path] = name in folders and not os.path.islink(os.path.join(parent, name))
        return found

    def _told(self, changes: Sequence[FileChange] | None) -> None:
        if changes is None:
            self.known = self.there()
            return
        for change in changes:
            if change.kind == "created":
                self._gone(change.path)
                self.known[change.path] = change.is_folder
            elif change.kind == "deleted":
                self._gone(change.path)

    def _gone(self, path: str) -> None:
        for known in [one for one in self.known if one == path or one.startswith(f"{path}/")]:
            del self.known[known]


def _change_something(chance: random.Random, root: Path, outside: Path) -> None:
    folders = [root, *(Path(parent, one) for parent, names, _ in os.walk(root) for one in names)]
    folders = [one for one in folders if not one.is_symlink()]
    files = [Path(parent, one) for parent, _, names in os.walk(root) for one in names]
    place = chance.choice(folders) / chance.choice("abcd")
    some = chance.choice(folders[1:] + files) if folders[1:] or files else root / "a"
    try:
        match chance.randrange(9):
            case 0 | 1:
                place.write_text("x")
            case 2 | 3:
                place.mkdir()
            case 4:
                some.rename(place)
            case 5:
                exchange(some, chance.choice(folders[1:] + files))
            case 6:
                shutil.rmtree(some) if some.is_dir() else some.unlink()
            case 7:
                some.rename(outside / str(chance.random()))
            case _:
                chance.choice(list(outside.iterdir())).rename(place)
    except (OSError, IndexError, AssertionError, shutil.Error):
        pass  # what this is to be done with is not there, or is in itself


@pytest.mark.parametrize("seed", range(20))
async def test_notified_change_by_change_one_always_knows_the_tree(watches, tmp_path, seed):
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    chance = random.Random(seed)
    watch = await watches.open(root)
    model = Model(root, watch)
    for _ in range(40):
        for _ in range(chance.randrange(1, 12)):
            _change_something(chance, root, outside)
        watch.drain()
        assert watch.exact
        assert model.known == model.there()


@pytest.mark.parametrize("seed", range(4))
async def test_also_while_somebody_else_changes_it(watches, tmp_path, seed):
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    stop = threading.Event()

    def disturb() -> None:
        chance = random.Random(seed)
        while not stop.is_set():
            _change_something(chance, root, outside)

    disturbing = threading.Thread(target=disturb)
    disturbing.start()
    try:
        watch = await watches.open(root)
        model = Model(root, watch)
        for _ in range(200):
            watch.drain()
            await asyncio.sleep(0.001)
    finally:
        stop.set()
        await asyncio.to_thread(disturbing.join)
    await watches.open(root)
    await until(lambda: watch.exact)
    watch.drain()
    assert model.known == model.there()
