"""The repository's own files: metadata, lock, set-up and documents."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from app.storage.lock import DataFolderLock
from tests.architecture.source_tree import ROOT


@pytest.mark.requirement("repository.package")
def test_the_package_is_built_by_hatchling_and_installs_the_command() -> None:
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert metadata["build-system"]["build-backend"] == "hatchling.build"
    assert metadata["project"]["scripts"] == {"kaged": "app.cli:main"}
    assert metadata["project"]["requires-python"] == ">=3.11"


@pytest.mark.requirement("repository.lock")
def test_every_locked_package_has_hashes_and_the_lock_names_no_host() -> None:
    text = (ROOT / "requirements.lock").read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    assert len(entries) > 30
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert not re.search(r"://|--index|--find-links|\s@\s|file:", text)


@pytest.mark.requirement("repository.lock")
def test_every_declared_dependency_is_locked() -> None:
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [*metadata["dependencies"]]
    for extra in metadata["optional-dependencies"].values():
        declared.extend(extra)
    names = {re.split(r"[\[<>=~ ]", entry)[0].replace(".", "-").lower() for entry in declared}
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(), re.M))
    assert names <= locked


def test_the_demo_is_fresh_at_each_start_but_not_below_a_daemon_that_runs(tmp_path: Path) -> None:
    data = tmp_path / "my data"
    script = [ROOT / ".ci" / "fresh-demo", data]
    subprocess.run(script, check=True)
    work = data / "demo" / "work.txt"
    work.write_text("an agent's")
    with DataFolderLock(data / "daemon"):
        refused = subprocess.run(script, capture_output=True, text=True, check=False)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert f"the process {os.getpid()}" in refused.stderr
        assert work.exists()
    subprocess.run(script, check=True)
    assert not work.exists()
    assert (data / "demo" / ".kaged" / "project.yaml").is_file()


def test_a_setup_that_was_interrupted_is_taken_up(tmp_path: Path) -> None:
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".ci").mkdir()
    install = tmp_path / ".ci" / "install-packages"
    install.write_text("#!/bin/sh\nexec $1 -m pip --version\n")
    install.chmod(0o755)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    made = subprocess.run(
        ["make", "setup", f"PYTHON={sys.executable}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert (tmp_path / ".venv" / ".installed").exists()


@pytest.mark.requirement("language_servers.servers.order")
def test_what_tests_install_is_pinned_and_the_locks_name_no_host() -> None:
    servers, adapters = ROOT / "tests" / "language_server_packages", ROOT / "tests" / "debug_adapter_packages"
    page = ROOT / "tests" / "page_packages"
    for place in (servers, servers / "typescript7", servers / "vue3", adapters, adapters / "runners", page):
        wanted = json.loads((place / "package.json").read_text())["dependencies"]
        text = (place / "package-lock.json").read_text()
        packages = json.loads(text)["packages"]
        assert all(packages[f"node_modules/{name}"]["version"] == pin for name, pin in wanted.items())
        assert all(entry.get("integrity") for name, entry in packages.items() if name)
        assert '"resolved"' not in text


@pytest.mark.requirement("repository.documents")
def test_the_documents_are_there_and_the_readme_opens_with_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text()
    assert re.search(r"\A# kaged\n\n```(?:sh)?\nmake run\b.*\nmake test\b", readme)
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "docs/dependencies.md"):
        assert (ROOT / name).read_text().startswith("# ")
    assert "MIT License" in (ROOT / "LICENSE").read_text()


@pytest.mark.requirement("repository.documents")
def test_every_dependency_is_explained() -> None:
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [*metadata["dependencies"]]
    for extra in metadata["optional-dependencies"].values():
        declared.extend(extra)
    explained = (ROOT / "docs" / "dependencies.md").read_text()
    names = [re.split(r"[\[<>=~ ]", entry)[0] for entry in declared]
    assert [name for name in names if not re.search(rf"`{re.escape(name)}[`\[]", explained)] == []


@pytest.mark.requirement("repository.ci")
@pytest.mark.parametrize(("where", "exit_code"), [("true", 1), ("", 0)])
def test_a_skipped_test_fails_in_ci_and_only_there(tmp_path: Path, where: str, exit_code: int) -> None:
    (tmp_path / "test_skips.py").write_text(
        "import pytest\n\n\ndef test_it():\n    pytest.skip('no server')\n"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "tests.conftest",
            "-c",
            ROOT / "pyproject.toml",
            tmp_path,
        ],
        cwd=ROOT,
        env={**os.environ, "CI": where},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == exit_code, done.stdout
    assert "no server" in done.stdout or exit_code == 0
