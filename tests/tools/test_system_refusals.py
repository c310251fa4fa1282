"""What the operating system refuses has a code of its own, not that of the operator's rules."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tools.code.conftest import code_desk

pytestmark = pytest.mark.requirement("security.refused_rename")
ORDINARY_USER = 65534


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Act as a user to whom modes apply."""
    if os.geteuid():
        yield
        return
    os.seteuid(ORDINARY_USER)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def root() -> Iterator[Path]:
    """A project with a folder that can be read and not be written."""
    base = Path(tempfile.mkdtemp(prefix="kaged-refused-", dir="/var/tmp"))
    base.chmod(0o777)
    root = base / "project"
    for folder in (root, root / "closed", root / "open"):
        folder.mkdir()
        (folder / "note.txt").write_text("text\n")
        (folder / "note.txt").chmod(0o666)
        folder.chmod(0o777)
    (root / "closed").chmod(0o555)
    yield root
    (root / "closed").chmod(0o777)
    shutil.rmtree(base)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("code.lsp", {"action": "rename_file", "path": "closed/note.txt", "new_name": "open/other.txt"}),
        ("code.lsp", {"action": "rename_file", "path": "open/note.txt", "new_name": "closed/other.txt"}),
        ("file.create", {"path": "closed/new.txt", "content": "x"}),
    ],
    ids=["moved-away", "moved-there", "created"],
)
async def test_a_change_that_the_system_refuses_says_so_by_its_own_code(tmp_path, root, name, params):
    async with code_desk(tmp_path) as desk:
        there = replace(desk, context=replace(desk.context, project_root=root))
        with ordinary_user():
            envelope = await there.call(name, params)
        assert envelope.code == "access_denied", envelope.model_text()
        assert "tool.denied" not in desk.ports.names()
    assert sorted(path.name for path in root.rglob("*.txt")) == ["note.txt"] * 3
