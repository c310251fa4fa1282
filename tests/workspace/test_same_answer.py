"""Outside its mounts a caged caller cannot tell what is not there from what is not granted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.errors import ToolError
from app.tools.authorisation.cage_policy import CagePolicy
from app.workspace import Workspace, descriptors

CAGE = {"fs": [{"mode": "rw", "path": "src"}, {"mode": "ro", "path": "docs/open"}]}

World = Callable[[Path], object]
WORLDS: dict[str, World] = {
    "absent": lambda place: None,
    "file": lambda place: place.write_text("canary"),
    "folder": lambda place: (place / "below").mkdir(parents=True),
    "file in folder": lambda place: (place.mkdir(), (place / "below").write_text("canary")),
    "link out": lambda place: place.symlink_to("/etc"),
    "link to a granted folder": lambda place: place.symlink_to("../src"),
    "loop": lambda place: place.symlink_to(place.name),
    "dangling": lambda place: place.symlink_to("nowhere"),
    "pipe": lambda place: os.mkfifo(place),
    "no rights": lambda place: place.mkdir(0),
}
ASKED = [
    "hidden/thing",
    "hidden/thing/below",
    "hidden/thing/below/..",
    "hidden/thing/",
    "docs/thing",
    "docs/thing/below",
    "src/door",
    "src/door/below",
    "src/far",
    "docs/open/door",
    "thing",
]


@pytest.fixture(params=["openat2", "walk"], autouse=True)
def opener(request, monkeypatch):
    if request.param == "walk":
        monkeypatch.setattr(descriptors, "_syscall", lambda: None)
    elif descriptors._syscall() is None:
        pytest.skip("this kernel has no openat2")


def _answers(base: Path, make: World) -> list[str]:
    root = base / "project"
    for folder in ("src", "docs/open", "hidden"):
        (root / folder).mkdir(parents=True)
    for place in ("hidden/thing", "docs/thing", "thing"):
        make(root / place)
    (root / "src/door").symlink_to("../hidden/thing")
    (root / "src/far").symlink_to("../docs/thing/below")
    (root / "docs/open/door").symlink_to("../../thing")
    workspace = Workspace(root, policy=CagePolicy(CAGE, root))
    uses = {
        "open": workspace.open,
        "target": workspace.target,
        "entry": workspace.entry,
        "status": workspace.status,
    }
    answers = []
    for path in ASKED:
        for name, use in uses.items():
            if name == "entry" and path in {"src/door", "src/far"}:
                continue  # the link itself, which lies in what is granted
            try:
                used = use(path)
                if name != "status":
                    with used:
                        pass
            except ToolError as refused:
                answers.append(f"{name} {path}: {refused.code} {refused.message} {refused.detail}")
            else:
                answers.append(f"{name} {path}: allowed")
    return answers


@pytest.mark.requirement("cages.paths.same_answer")
@pytest.mark.parametrize("world", [name for name in WORLDS if name != "absent"])
def test_what_is_outside_the_mounts_answers_as_if_it_were_absent(tmp_path, world):
    there = _answers(tmp_path / "there", WORLDS[world])
    absent = _answers(tmp_path / "absent", WORLDS["absent"])
    assert there == absent
    assert all("capability_denied" in answer for answer in absent)


@pytest.mark.requirement("cages.paths.same_answer")
def test_inside_the_mounts_the_caller_learns_what_is_wrong(tmp_path):
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/loop").symlink_to("loop")
    (root / "src/out").symlink_to("/etc")
    (root / "src/a").write_text("fine")
    workspace = Workspace(root, policy=CagePolicy(CAGE, root))
    with workspace.open("src/a") as opened:
        assert os.read(opened.descriptor, 9) == b"fine"
    for path, code in {
        "src/b": "file_not_found",
        "src/loop": "invalid_path",
        "src/out": "invalid_path",
    }.items():
        with pytest.raises(ToolError) as refused, workspace.open(path):
            pass
        assert refused.value.code == code
