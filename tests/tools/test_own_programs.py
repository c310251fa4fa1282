"""The daemon's own programs come from the system or its installation, never from a project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from app.bridges.installed.program_places import ProgramPlaces
from app.bridges.processes.child import SpawnFailed
from app.bridges.processes.process import ChildProcesses
from app.bridges.pty.manager import TerminalManager
from app.bridges.sandbox.tier import Tier
from app.cages.file_grants import FileGrants
from app.config import load_settings
from app.daemon.machine import Machine
from app.harness.checkpoints.git_objects import GitObjects
from app.harness.projects.run_cage import cage_of
from app.programs import find_program, on_path, search_path
from app.tools.processes.call_processes import CallProcesses
from tests.driver.project_files import compiled
from tests.tools.test_project_cage import repository

pytestmark = pytest.mark.requirement("security.own_programs")
NAMES = ("git", "sh", "rg", "node", "python3", "basedpyright-langserver", "clangd")
PROJECT = """
version: 1
project: notes
primary:
  model: smart
  system_prompt: prompts/primary.md
  cage: disabled
  subagents:
    coder:
      description: Writes code.
      model: smart
      system_prompt: prompts/primary.md
      cage:
        fs: [{mode: rw, path: .}]
"""


def planted(folder: Path, ran: Path) -> Path:
    """Put programs with the names of the daemon's own into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        (folder / name).write_text(f"#!/bin/sh\necho {name} >>{ran}\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    return tmp_path / "ran"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = repository(tmp_path / "project")
    assert compiled(folder, PROJECT).project is not None
    return folder


@pytest.fixture(params=["root", "below", "link", "relative", "empty", "other project", "way round"])
def hostile_path(
    request: pytest.FixtureRequest, root: Path, tmp_path: Path, ran: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """A PATH whose first entry leads to what lies in a project."""
    planted(root, ran), planted(root / "tools" / "bin", ran)
    other = tmp_path / "other"
    assert compiled(other, PROJECT).project is not None
    (tmp_path / "link").symlink_to(root / "tools")
    entries = {
        "root": str(root),
        "below": f"{root}/tools/bin",
        "link": f"{tmp_path}/link/bin",
        "relative": "tools/bin",
        "empty": "",
        "other project": str(planted(other / "bin", ran)),
        "way round": f"{root}/../project/tools/bin",
    }
    monkeypatch.chdir(root)  # where a relative entry would lead
    return f"{entries[request.param]}:{os.environ['PATH']}"


async def test_git_of_a_project_is_not_run_for_the_notes_of_its_files(
    hostile_path: str, root: Path, tmp_path: Path, children: ChildProcesses, ran: Path
) -> None:
    environment = {**os.environ, "PATH": hostile_path}
    objects = GitObjects(CallProcesses.uncaged(children), environment, root, tmp_path / "worktrees")
    await objects.open()
    assert b"tracked.txt" in await objects.names()
    assert not ran.exists()


async def test_no_program_of_a_project_is_found_by_its_name(
    hostile_path: str, root: Path, children: ChildProcesses, ran: Path
) -> None:
    environment = {**os.environ, "PATH": hostile_path}
    for name in NAMES:
        for found in (on_path(name, environment), find_program(name, environment)):
            assert found is None or found.read_bytes() != (root / name).read_bytes(), name
    places = ProgramPlaces(environment, root)
    assert hostile_path.split(":")[0] not in places.search_path.split(":")
    assert hostile_path.split(":")[0] not in search_path(environment).split(":")
    done = await children.run(
        ["git", "--version"], owner="test", cwd=root, env=environment, seconds=60, max_output=1_000
    )
    assert done.stdout.startswith(b"git version")
    assert not ran.exists()


async def test_a_program_that_only_a_project_has_is_not_there(
    root: Path, children: ChildProcesses, ran: Path
) -> None:
    environment = {"PATH": f"{planted(root / 'bin', ran)}:bin:"}
    with pytest.raises(SpawnFailed, match="outside of projects"):
        await children.start(["git"], owner="test", cwd=root, env=environment)
    assert not ran.exists()


async def test_the_machines_programs_are_reported_without_those_of_the_project(
    root: Path, ran: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = compiled(root, PROJECT).project
    assert project is not None
    monkeypatch.setenv("PATH", str(planted(root / "bin", ran)))
    settings = load_settings(config_file=None)
    terminals = TerminalManager(ChildProcesses(), per_session=0)
    machine = Machine(settings, Tier("off", "off"), terminals)
    found = {one.name: one for one in await machine.capabilities(project)}
    assert not found["git"].available
    assert "outside of projects" in (found["git"].reason or "")
    assert not ran.exists()


def test_what_the_daemon_runs_from_is_read_only_in_a_cage_of_the_project_around_it(tmp_path: Path) -> None:
    project = compiled(tmp_path / "project", PROJECT).project
    assert project is not None
    agent = project.agent("primary.subagents.coder")
    assert agent is not None
    around = Path(sys.prefix).resolve().parent
    cage = cage_of(project, agent, around)
    assert cage is not None
    granted = FileGrants.of(cage["fs"], around)
    assert granted.mode(("src", "main.py")) == "rw"
    assert granted.mode((Path(sys.prefix).name, "bin", "rg")) == "ro"


def test_check_warns_of_a_kaged_that_is_installed_in_the_project(root: Path) -> None:
    venv.create(root / ".venv", with_pip=False, symlinks=True)
    (packages,) = (root / ".venv" / "lib").glob("python*/site-packages")
    repository_folder = Path(__file__).parents[2]
    paths = [str(repository_folder), *(path for path in sys.path if path.endswith("site-packages"))]
    (packages / "kaged.pth").write_text("\n".join(paths) + "\n")
    done = subprocess.run(
        [root / ".venv" / "bin" / "python", "-m", "app", "check", "--no-models", "--json", str(root)],
        capture_output=True,
        cwd=root,
        check=True,
        timeout=100,
    )
    (found,) = [
        one for one in json.loads(done.stdout)["diagnostics"] if one["code"] == "installation_in_project"
    ]
    assert found["severity"] == "warning"
    assert ".venv" in found["message"]
