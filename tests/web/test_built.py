"""What is committed of the built page is what its sources give."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.web.conftest import ROOT, SOURCE

pytestmark = pytest.mark.requirement("usability.page")
BUILT = ROOT / "app" / "api" / "web" / "built"
PLAIN = """
const { brotliDecompressSync } = require("node:zlib");
const { readFileSync } = require("node:fs");
for (const file of process.argv.slice(1)) {
  if (!brotliDecompressSync(readFileSync(`${file}.br`)).equals(readFileSync(file))) console.log(file);
}
"""


def run(folder: Path, program: str, *arguments: str) -> str:
    """Run a program of the installed packages, or node itself, and return what it says."""
    done = subprocess.run(
        ["node", *([] if program == "node" else [f"node_modules/{program}"]), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files(folder: Path) -> dict[str, bytes]:
    """Return the files of a build. How small Brotli makes one depends on the release of node."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".br")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_building_again_gives_exactly_what_is_committed(installed: Path, tmp_path: Path) -> None:
    run(installed, "vite/bin/vite.js", "build", "--outDir", str(tmp_path / "built"))
    made, committed = files(tmp_path / "built"), files(BUILT)
    assert sorted(made) == sorted(committed), "run `make web`"
    assert [name for name, content in made.items() if content != committed[name]] == [], "run `make web`"


def test_each_compressed_file_is_the_file_beside_it() -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed: apt-get install nodejs")
    small = [str(path.with_suffix("")) for path in BUILT.rglob("*.br")]
    assert small
    assert run(BUILT, "node", "-e", PLAIN, *small) == ""


def test_the_types_are_right(installed: Path) -> None:
    run(installed, "svelte-check/bin/svelte-check", "--tsconfig", "./tsconfig.json", "--fail-on-warnings")


def test_the_lock_pins_everything_and_names_no_host() -> None:
    manifest = json.loads((SOURCE / "package.json").read_text())
    text = (SOURCE / "package-lock.json").read_text()
    packages = json.loads(text)["packages"]
    wanted = {**manifest.get("dependencies", {}), **manifest["devDependencies"]}
    assert all(packages[f"node_modules/{name}"]["version"] == pin for name, pin in wanted.items())
    assert all(entry.get("integrity") for name, entry in packages.items() if name)
    assert '"resolved"' not in text
