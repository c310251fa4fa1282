"""What the project file and the local configuration say of language servers reaches the bridge."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.config import LspSettings, load_settings
from app.daemon.language_servers import declarations, diagnostics_after_edit
from app.harness.dsl.spec_sections import LspSection

CONFIG = """
[lsp]
diagnostics_after_edit = false
[lsp.servers.go]
command = ["gopls", "-v"]
max_memory_mb = 512
extensions = [".go"]
[lsp.servers.go.settings.gopls]
staticcheck = true
[lsp.servers.go.env]
GOFLAGS = "-mod=mod"
"""


def local(tmp_path: Path, text: str) -> LspSettings:
    file = tmp_path / "config.toml"
    file.write_text(text)
    return load_settings(config_file=file, environ={}).lsp


@pytest.mark.requirement("language_servers.servers.declared")
def test_every_key_is_taken_over(tmp_path: Path) -> None:
    project = LspSection.model_validate(
        {
            "servers": [
                {
                    "lang": "python",
                    "command": ["tools/pylsp"],
                    "extensions": [".py"],
                    "settings": {"pylsp": {"a": 1}},
                    "env": {"A": "b"},
                    "max_memory_mb": 256,
                }
            ]
        }
    )
    found = declarations(project, local(tmp_path, CONFIG))
    (mine,), (theirs,) = found.project, found.local
    assert (mine.language, mine.command, mine.extensions) == ("python", ("tools/pylsp",), (".py",))
    assert (mine.settings, mine.env, mine.max_memory_mb) == ({"pylsp": {"a": 1}}, {"A": "b"}, 256)
    assert (theirs.language, theirs.command, theirs.extensions) == ("go", ("gopls", "-v"), (".go",))
    assert theirs.settings == {"gopls": {"staticcheck": True}}
    assert (theirs.env, theirs.max_memory_mb) == ({"GOFLAGS": "-mod=mod"}, 512)
    assert declarations(None, LspSettings()).project == ()


@pytest.mark.requirement("language_servers.servers.declared")
def test_the_project_decides_on_diagnostics_after_an_edit_when_it_says_so(tmp_path: Path) -> None:
    off, on = local(tmp_path, CONFIG), LspSettings()
    assert diagnostics_after_edit(None, on) and not diagnostics_after_edit(None, off)
    assert diagnostics_after_edit(LspSection(diagnostics_after_edit=True), off)
    assert not diagnostics_after_edit(LspSection(diagnostics_after_edit=False), on)
    assert diagnostics_after_edit(LspSection(), on)
