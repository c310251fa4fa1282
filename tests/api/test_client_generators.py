"""Generators of clients take every route of the OpenAPI document, as they are and without a warning."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.driver.machine import Lack

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / ".client-generators"
PYTHON = INSTALLED / "python" / "bin"
NODE = INSTALLED / "node" / "node_modules" / ".bin"
DOCUMENT = ROOT / "openapi" / "openapi.json"
LIMIT_SECONDS = 110

IMPORT_ALL = """
import importlib, pkgutil, kaged_api
names = [found.name for found in pkgutil.walk_packages(kaged_api.__path__, "kaged_api.")]
for name in names:
    importlib.import_module(name)
print(len([name for name in names if name.startswith("kaged_api.api.") and name.count(".") == 3]))
"""

pytestmark = pytest.mark.requirement("http.document")


def run(folder: Path, *command: str | Path) -> str:
    """Return everything that a generator printed."""
    path = os.pathsep.join((str(PYTHON), str(INSTALLED / "bin"), os.environ["PATH"]))
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(folder), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def need(program: Path) -> None:
    if not program.exists():
        pytest.skip(str(Lack("a generator of clients", "not installed", ".ci/client-generators")))


def test_a_python_client_has_every_operation_and_can_be_imported(tmp_path: Path) -> None:
    generator = PYTHON / "openapi-python-client"
    need(generator)
    options = ("--path", DOCUMENT, "--output-path", tmp_path / "kaged_api", "--meta", "none")
    said = run(tmp_path, generator, "generate", *options)
    assert "warning" not in said.lower(), said
    assert "unable" not in said.lower(), said
    count = DOCUMENT.read_text(encoding="utf-8").count('"operationId"')
    assert int(run(tmp_path, PYTHON / "python", "-c", IMPORT_ALL)) == count


def test_types_for_typescript_are_valid_under_strict_rules(tmp_path: Path) -> None:
    generator = NODE / "openapi-typescript"
    need(generator)
    said = run(tmp_path, generator, DOCUMENT, "-o", tmp_path / "kaged.d.ts")
    assert "warn" not in said.lower(), said
    assert run(tmp_path, NODE / "tsc", "--noEmit", "--strict", "kaged.d.ts") == ""
