"""Which files are built together: what packages, modules and crates are, and what joins them."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.bridges.lsp.resolution import ServerTable
from app.bridges.lsp.units import Unit, Units

pytestmark = pytest.mark.requirement("language_servers.monorepos.units")
PACKAGE = "[package]\nname = 'x'\n"
FILES = {
    "go.work": "go 1.22\n\nuse (\n\t./scale\n\t./truck\n)\n",
    **{f"{name}/go.mod": f"module example.org/{name}\n" for name in ("scale", "truck", "crane")},
    "rust/Cargo.toml": "[workspace]\nmembers = ['a', 'b']\nexclude = ['own']\n",
    **{f"rust/{name}/Cargo.toml": PACKAGE for name in ("a", "b", "own", "own/deep")},
    "apart/Cargo.toml": PACKAGE,
    "apart/nested/Cargo.toml": PACKAGE,
    "broken/Cargo.toml": "[workspace\n[package]",
    "web/package.json": "{}",
    "web/a/tsconfig.json": "{}",
    "pyproject.toml": "[project]\nname = 'depot'\n",
    "py/pyproject.toml": "[project]\nname = 'plain'\n",
    "py/typed/pyproject.toml": "[tool.pyright]\n",
}


@pytest.mark.parametrize(
    ("language", "path", "folder"),
    [
        ("go", "scale/scale.go", "."),
        ("go", "truck/deep/truck.go", "."),
        ("go", "crane/crane.go", "crane"),
        ("rust", "rust/a/src/lib.rs", "rust"),
        ("rust", "rust/own/src/lib.rs", "rust/own"),
        ("rust", "rust/own/deep/src/lib.rs", "rust/own/deep"),
        ("rust", "apart/nested/src/lib.rs", "apart/nested"),
        ("rust", "apart/src/lib.rs", "apart"),
        ("rust", "broken/src/lib.rs", "broken"),
        ("typescript", "web/a/src/x.ts", "web/a"),
        ("typescript", "web/b/src/x.ts", None),
        ("python", "py/plain.py", None),
        ("python", "py/typed/deep/x.py", "py/typed"),
        ("yaml", "web/x.yaml", None),
    ],
)
def test_the_unit_of_a_file(tmp_path: Path, language: str, path: str, folder: str | None) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    markers = ServerTable((), (), {}, root=tmp_path).unit_markers_of(language)
    found = Units(tmp_path, language, markers).of(path)
    assert found == (None if folder is None else Unit(folder, marked=True))
