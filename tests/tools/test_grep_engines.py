"""Which ripgrep is behind the searches."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from app.programs import on_path, packaged
from app.tools.search.engine import Ripgrep


@pytest.mark.requirement("grep.engines")
def test_the_packaged_ripgrep_comes_first_then_the_systems(tmp_path, monkeypatch):
    (tmp_path / "rg").write_text("#!/bin/sh\n")
    (tmp_path / "rg").chmod(0o755)
    environment = {"PATH": str(tmp_path)}
    assert packaged("rg") == Path(sys.executable).parent / "rg"
    assert Ripgrep.installed(environment).program == os.path.realpath(str(packaged("rg")))
    monkeypatch.setattr("app.programs.packaged", lambda name: None)
    assert Ripgrep.installed(environment).program == str(tmp_path / "rg")


@pytest.mark.requirement("grep.engines")
def test_an_rg_in_a_relative_folder_of_path_is_never_run(tmp_path, monkeypatch):
    (tmp_path / "rg").write_text("#!/bin/sh\n")
    (tmp_path / "rg").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert on_path("rg", {"PATH": ".:"}) is None
