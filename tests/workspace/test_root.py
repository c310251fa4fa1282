"""The descriptor of a project's folder: one for all who use it, and closed when nobody does."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from app.errors import ToolError
from app.workspace import RootFolder, Workspace
from tests.bridges.conftest import descriptors

pytestmark = pytest.mark.requirement("cages.paths.one")


def _held(folder: Path) -> int:
    return sum(what == str(folder) for what in descriptors().values())


def _read(workspace: Workspace) -> bytes:
    with workspace.open("./a.txt") as opened:
        return os.pread(opened.descriptor, 100, 0)


def test_all_who_use_a_folder_share_one_descriptor_which_ends_with_the_last(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("text")
    many = [Workspace(folder) for _ in range(50)]
    many += [Workspace(RootFolder(folder, is_real=True)) for _ in range(50)]
    assert {_read(workspace) for workspace in many} == {b"text"}
    assert _held(folder) == 1
    del many[1:]
    assert _held(folder) == 1
    many.clear()
    assert _held(folder) == 0


def test_a_folder_that_another_one_has_replaced_is_opened_again_by_each(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    first, second = Workspace(folder), Workspace(folder)
    for text in ("one", "two"):
        folder.mkdir()
        (folder / "a.txt").write_text(text)
        assert _read(first) == text.encode()
        folder.rename(tmp_path / text)
    folder.mkdir()
    (folder / "a.txt").write_text("three")
    assert _read(second) == _read(first) == b"three"
    assert _held(folder) == 1


def test_a_descriptor_that_is_being_closed_is_given_to_nobody(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    read: list[bytes | OSError | ToolError] = []

    def work() -> None:
        for _ in range(2_000):
            try:
                read.append(_read(Workspace(tmp_path)))
            except (OSError, ToolError) as problem:
                read.append(problem)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == [b"text"] * 8_000
