"""Random trees, cages and paths: the workspace answers as a model that was written on its own."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.errors import ToolError
from app.tools.authorisation.cage_policy import CagePolicy
from app.workspace import Workspace, descriptors
from tests.driver.rounds import rounds
from tests.workspace.path_model import PROTECTED, File, Folder, Link, Model, Node, Parts, Pipe, Refused

CANARY = b"canary of the outside"
BASE = Path(tempfile.gettempdir()).resolve()

PLAIN = ["a", "b", "c"]
ODD = [
    "A",
    "ü",
    "u\u0308",
    "-rf",
    "...",
    "a b",
    "x\ny",
    "b\\..\\c",
    "%2e%2e",
    "~",
    "$HOME",
    *sorted(PROTECTED),
]
name = st.integers(0, 9).flatmap(lambda chance: st.sampled_from(PLAIN if chance < 8 else ODD))
step = st.integers(0, 9).flatmap(lambda chance: name if chance < 7 else st.sampled_from(["..", ".", ""]))
relative = st.lists(step, min_size=1, max_size=5).map("/".join)
rooted = st.builds(lambda way: f"{{root}}/{way}", relative)
outside = st.sampled_from(
    ["/etc/passwd", "{root}x/secret", "{root}/../outside/secret", "/", "/proc/self/environ", "//etc/passwd"]
)
odd = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["", "~", "~/a", "~root", "a\0b", "\ud800", "a/" * 2100, "é" * 128, "a" * 256, "a/."]),
)
modes = st.sampled_from(["ro", "rw", "rw", "rw", "deny"])
KINDS = ["open", "status", "target", "entry", "write", "write", "remove", "move"]
Tree = list[tuple[Parts, Node]]
Grants = list[tuple[Parts, str]] | None
World = tuple[Tree, Grants, list[tuple[str, str, str]]]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A tree, a cage or none, and what is done: mostly to what is there, or near it."""
    places = draw(st.lists(st.lists(name, min_size=1, max_size=3).map(tuple), min_size=1, max_size=10))
    near = st.sampled_from(places).map("/".join)
    beyond = st.builds(lambda place, more: f"{place}/{more}", near, relative)
    beside = st.builds(lambda at, new: "/".join((*at[:-1], new)), st.sampled_from(places), name)
    upwards = st.builds(lambda turns, place: "../" * turns + place, st.integers(0, 3), near)
    link = st.builds(Link, st.one_of(near, upwards, upwards, beyond, rooted, outside, st.just("../outside")))
    kinds = (st.builds(File, st.sampled_from([b"", b"one", b"two"])), link, link, st.just(Folder()))
    node = st.integers(0, 19).flatmap(lambda chance: kinds[chance % 4] if chance else st.just(Pipe()))
    tree = [(place, draw(node)) for place in places]
    grant = st.tuples(st.one_of(st.just(()), st.sampled_from(places).map(lambda at: at[:2])), modes)
    grants = draw(st.one_of(st.none(), st.lists(grant, min_size=1, max_size=5)))
    some = (near, near, near, beside, beside, beyond, relative, upwards, rooted, st.one_of(outside, odd))
    path = st.integers(0, 9).flatmap(lambda chance: some[chance])
    steps = st.tuples(st.sampled_from(KINDS), path, path)
    return tree, grants, draw(st.lists(steps, min_size=1, max_size=8))


def _plant(tree: Tree, root: str) -> Folder:
    """Make a tree of the list; what does not fit is left out."""
    top = Folder()
    for parts, one in tree:
        at: Node = top
        for part in parts[:-1]:
            at = at.entries.setdefault(part, Folder()) if isinstance(at, Folder) else at
        if isinstance(at, Folder) and parts[-1] not in at.entries:
            fresh: Node = Folder() if isinstance(one, Folder) else one
            at.entries[parts[-1]] = Link(one.text.replace("{root}", root)) if isinstance(one, Link) else fresh
    return top


def _make(folder: Folder, place: Path) -> None:
    place.mkdir()
    for part, one in folder.entries.items():
        if isinstance(one, File):
            (place / part).write_bytes(one.content)
        elif isinstance(one, Link):
            (place / part).symlink_to(one.text)
        elif isinstance(one, Pipe):
            os.mkfifo(place / part)
        else:
            _make(one, place / part)


def _seen(place: Path) -> Node:
    if place.is_symlink():
        return Link(os.readlink(place))
    if place.is_dir():
        return Folder({one.name: _seen(one) for one in place.iterdir()})
    return File(place.read_bytes()) if place.is_file() else Pipe()


def _shown(node: Node | None) -> object:
    return ("folder", sorted(node.entries)) if isinstance(node, Folder) else node


def _expected(model: Model, operation: tuple[str, str, str]) -> object:
    kind, path, other = operation
    try:
        if kind in {"open", "status"}:
            parts, found = model.open(path)
            return (parts, _shown(found)) if kind == "open" else type(found).__name__
        if kind in {"target", "entry"}:
            where = model.target(path) if kind == "target" else model.entry(path)
            return (where.parts, where.node is not None, max(0, where.missing - 1))
        if kind == "write":
            model.write(path, b"written")
        elif kind == "remove":
            model.remove(path)
        else:
            model.move(path, other)
    except Refused as refused:
        return refused.code
    return "done"


def _answered(workspace: Workspace, operation: tuple[str, str, str]) -> object:
    kind, path, other = operation
    try:
        if kind == "open":
            with workspace.open(path) as opened:
                return (opened.parts, _shown(_through(opened.descriptor, opened.is_directory)))
        if kind == "status":
            found = workspace.status(path)
            return "Folder" if stat.S_ISDIR(found.st_mode) else "File"
        return _CHANGES[kind](workspace, path, other)
    except ToolError as refused:
        return refused.code


def _through(descriptor: int, is_folder: bool) -> Node:
    if is_folder:
        return Folder(dict.fromkeys(os.listdir(descriptor), Pipe()))
    return File(os.pread(descriptor, 100, 0))


def _target(workspace: Workspace, path: str, _other: str) -> object:
    with workspace.target(path) as target:
        return (target.parts, target.exists, target.missing_parents)


def _entry(workspace: Workspace, path: str, _other: str) -> object:
    with workspace.entry(path) as entry:
        return (entry.parts, entry.status is not None, entry.missing_parents)


def _write(workspace: Workspace, path: str, _other: str) -> object:
    with workspace.target(path) as target:
        if target.exists:
            target.read()
            target.replace(b"written")
        else:
            target.create(b"written")
    return "done"


def _remove(workspace: Workspace, path: str, _other: str) -> object:
    with workspace.entry(path) as entry:
        entry.remove()
    return "done"


def _move(workspace: Workspace, path: str, other: str) -> object:
    with workspace.entry(path) as old, workspace.entry(other) as new:
        old.move_to(new)
    return "done"


_CHANGES: dict[str, Callable[[Workspace, str, str], object]] = {
    "target": _target,
    "entry": _entry,
    "write": _write,
    "remove": _remove,
    "move": _move,
}


BY_WAY_OF_A_LINK: Tree = [
    (("a", "b"), Link("../c/d")),
    (("c", "d"), Link("../a/c")),
    (("a", "c"), File(b"one")),
]
"""Granted at both ends; the link in between is not."""


@pytest.fixture(params=["openat2", "walk"])
def opener(request, monkeypatch):
    if request.param == "walk":
        monkeypatch.setattr(descriptors, "_syscall", lambda: None)
    elif descriptors._syscall() is None:
        pytest.skip("this kernel has no openat2")


@pytest.mark.requirement("cages.paths.fuzz", "cages.paths.one")
@settings(
    max_examples=rounds(150, 400),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@example(([(("a",), Link("../outside"))], None, [("open", "a/secret", ""), ("write", "a/new", "")]))
@example(([(("a",), Link("b/c"))], [(("a",), "rw")], [("write", "a", ""), ("open", "a", "")]))
@example(
    (
        BY_WAY_OF_A_LINK,
        [(("a",), "rw")],
        [("open", "a/b", ""), ("write", "a/b", ""), ("move", "a/b/c", "a/d")],
    )
)
@given(worlds())
def test_every_path_means_what_the_model_says(opener, world):
    tree, grants, operations = world
    base = Path(tempfile.mkdtemp(dir=BASE))
    try:
        root = base / "project"
        (base / "outside").mkdir()
        (base / "outside/secret").write_bytes(CANARY)
        (base / "projectx").mkdir()
        (base / "projectx/secret").write_bytes(CANARY)
        model = Model(str(root), _plant(tree, str(root)), grants)
        _make(model.tree, root)
        before = {one: _seen(base / one) for one in ("outside", "projectx")}
        cage = {"fs": [{"mode": mode, "path": "./" + "/".join(at)} for at, mode in grants or ()]}
        workspace = Workspace(root, policy=None if grants is None else CagePolicy(cage, root))
        for kind, *paths in operations:
            path, other = (one.replace("{root}", str(root)) for one in paths)
            answer = _answered(workspace, (kind, path, other))
            assert answer == _expected(model, (kind, path, other)), (kind, path, other)
            assert CANARY.decode() not in repr(answer)
        assert _seen(root) == model.tree
        assert {one: _seen(base / one) for one in before} == before
        assert sorted(one.name for one in base.iterdir()) == ["outside", "project", "projectx"]
    finally:
        shutil.rmtree(base)
