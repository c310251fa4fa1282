"""The files that a server can know of: what became of them, also when nobody watched."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from app.bridges.lsp import known_files
from app.bridges.lsp.known_files import KnownFiles
from app.workspace.tree_watch import FileChange

pytestmark = pytest.mark.requirement("language_servers.freshness.ignored")


def package(root: Path, name: str) -> str:
    folder = root / "node_modules" / name / "lib"
    folder.mkdir(parents=True)
    (folder / "index.js").touch()
    (folder.parent / "package.json").touch()
    return f"node_modules/{name}/package.json"


def missed(files: KnownFiles) -> set[tuple[str, str]]:
    """Return what has come and gone."""
    return {(one.kind, one.path) for one in files.missed(time.time_ns()) if one.kind != "changed"}


def test_installed_packages_come_and_go_with_their_descriptions(tmp_path):
    stays = package(tmp_path, "stays")
    files = KnownFiles(tmp_path)
    files.scan()
    new = {package(tmp_path, "new"), package(tmp_path, "@scope/new")}
    below = "part/" + package(tmp_path / "part", "new")
    assert missed(files) == {("created", path) for path in (*new, below)}
    shutil.rmtree(tmp_path / "node_modules")
    assert missed(files) == {("deleted", path) for path in (*new, stays)}


def test_a_reported_file_of_a_package_is_not_taken_for_gone_later(tmp_path):
    files = KnownFiles(tmp_path)
    files.scan()
    described = package(tmp_path, "@scope/new")
    inner = described.replace("package.json", "lib/index.js")
    news = [FileChange("created", path, False) for path in (described, inner)]
    assert files.taken(news) == news
    assert missed(files) == set()
    shutil.rmtree(tmp_path / "node_modules")
    assert missed(files) == {("deleted", described)}


def test_of_more_files_than_are_kept_in_mind_none_is_called_gone_that_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(known_files, "MAX_FILES", 10)
    for number in range(10):
        (tmp_path / f"f{number}").touch()
    files = KnownFiles(tmp_path)
    files.scan()
    for number in range(10, 40):
        (tmp_path / f"f{number}").touch()
    assert not {path for kind, path in missed(files) if kind == "deleted"}
