"""Which of a subagent's changes the paths of a call mean, and that many of both take no long time."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from app.errors import ToolError
from app.tools.agents.changes import ChangedFile, ChildWork, _named

pytestmark = pytest.mark.requirement("workspaces.subagents")


def work(*paths: str) -> ChildWork:
    files = [ChangedFile(path=one, status="added") for one in paths]
    return ChildWork(run_id="run_1", agent="a", workspace="wks_1", state="ended", files=files)


def meant(of: ChildWork, *paths: str) -> list[str]:
    return [one.path for one in _named(of, paths)]


def test_a_path_means_a_file_or_what_lies_below_a_folder() -> None:
    of = work("a", "a-b/one", "a.txt", "a/b/c", "a/b/d", "a/e", "a0", "z")
    assert meant(of, "a") == ["a", "a/b/c", "a/b/d", "a/e"]  # a file that became a folder
    assert meant(of, "z", "a/b/", "./a/b/c", "a/b") == ["a/b/c", "a/b/d", "z"]
    assert meant(of, "a/b", "a") == ["a", "a/b/c", "a/b/d", "a/e"]
    assert meant(of, ".") == sorted(one.path for one in of.files)
    for unknown in ("b", "a/b/c/d", "..", "/"):
        with pytest.raises(ToolError) as refused:
            meant(of, "a", unknown)
        assert refused.value.detail == {"path": unknown}


def test_no_file_is_compared_with_each_path() -> None:
    names = [f"folder{number // 10:03}/file{number:04}" for number in range(3_000)]
    of, calls = work(*names), 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        found = _named(of, names[::10])
    finally:
        sys.setprofile(None)
    assert [one.path for one in found] == names[::10]
    assert calls < 10 * len(names)
