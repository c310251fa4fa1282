"""What the cage of a plugin holds, by what its manifest says."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.bridges.installed.installation_places import own_code
from app.bridges.plugins.connection import Setting
from app.bridges.plugins.manifest import parse_manifest
from app.bridges.plugins.plugin_cage import plugin_cage
from app.bridges.processes.supervised_child import Refused
from app.cages.cage import Cage, Mount

pytestmark = pytest.mark.requirement("cages.where.plugins")
PATH = f"{Path(sys.executable).parent}:/usr/bin"


def cage_of(
    base: Path,
    *capabilities: str,
    installed: bool = True,
    command: tuple[str, ...] = ("python", "plugin.py"),
    closed: tuple[Path, ...] = (),
    path: str = PATH,
) -> Cage:
    root = base / "project"
    folder = base / "installed" / "notes" if installed else root / "plugins" / "notes"
    folder.mkdir(parents=True, exist_ok=True)
    root.mkdir(exist_ok=True)
    said: dict[str, Any] = {
        "name": "notes",
        "version": "1.0.0",
        "kaged_api": 1,
        "description": "Notes",
        "command": list(command),
        "capabilities": list(capabilities),
    }
    manifest = parse_manifest(json.dumps(said).encode())
    return plugin_cage(manifest, folder, root, {"PATH": path, "HOME": str(base / "home")}, closed=closed)


@pytest.mark.requirement("security.own_programs")
def test_a_program_in_a_project_is_not_what_a_plugin_runs_on(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere" / "bin"
    (folder.parent / ".kaged").mkdir(parents=True)
    (folder.parent / ".kaged" / "project.yaml").write_text("version: 1\n")
    folder.mkdir()
    planted = folder / "ruby"
    planted.write_text(f"#!{tmp_path}/steered/bin/run\n")
    planted.chmod(0o755)
    (tmp_path / "steered" / "bin").mkdir(parents=True)
    (tmp_path / "steered" / "bin" / "run").symlink_to("/bin/sh")
    cage = cage_of(tmp_path, command=("ruby", "plugin.rb"), path=f"{folder}:{PATH}")
    assert not [place for place in modes(cage) if place.is_relative_to(folder.parent)]
    assert not [place for place in modes(cage) if place.is_relative_to(tmp_path / "steered")]


@pytest.mark.requirement("security.own_programs")
def test_the_path_of_a_plugin_has_no_folder_of_a_project(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".kaged").mkdir(parents=True)
    (tmp_path / "shop" / ".kaged" / "project.yaml").write_text("version: 1\n")
    (tmp_path / "shop" / "bin").mkdir()
    given = {"PATH": f"{tmp_path}/shop/bin:relative::/usr/bin", "HOME": str(tmp_path)}
    setting = Setting(
        SimpleNamespace(manifest=SimpleNamespace(env={})),  # type: ignore[arg-type]
        project_id="prj_1",
        project_root=tmp_path / "shop",
        config={},
        system_config={},
        environment=given,
        daemon_version="1",
    )
    assert setting.variables()["PATH"] == f"{Path(sys.executable).parent}:/usr/bin"


def modes(cage: Cage) -> dict[Path, str]:
    return {mount.path: mount.mode for mount in cage.mounts if mount.path != own_code()}


def refusal(base: Path, *capabilities: str, installed: bool = True) -> str:
    with pytest.raises(Refused) as refused:
        cage_of(base, *capabilities, installed=installed)
    return refused.value.reason


@pytest.mark.parametrize("installed", [True, False])
def test_without_capabilities_it_has_its_own_folder_and_nothing_else(tmp_path: Path, installed: bool) -> None:
    cage = cage_of(tmp_path, "kaged:storage:read", "net:[]", installed=installed)
    own = tmp_path / ("installed" if installed else "project/plugins") / "notes"
    assert modes(cage) == {own: "ro"}
    assert (cage.net, cage.seccomp, cage.unix_sockets, cage.state_folder) == ((), "default", False, None)


def test_files_are_granted_as_the_manifest_says(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "shared").mkdir()
    (tmp_path / "link").symlink_to("shared")
    data = tmp_path / "notes" / "data"
    cage = cage_of(
        tmp_path,
        f"write:fs:{tmp_path}/notes",
        f"read:fs:{tmp_path}/notes",
        f"read:fs:{tmp_path}/link",
        f"read:fs:{tmp_path}/absent",
        closed=(data,),
    )
    assert modes(cage) == {
        tmp_path / "installed" / "notes": "ro",
        tmp_path / "notes": "rw",
        tmp_path / "shared": "ro",
        data: "deny",
    }
    assert Mount(tmp_path / "installed" / "notes", "ro") in cage_of(tmp_path, f"write:fs:{tmp_path}").mounts


def test_programs_are_shown_with_their_installation(tmp_path: Path) -> None:
    tool = tmp_path / "tool" / "bin" / "count"
    (tmp_path / "tool" / "lib").mkdir(parents=True)
    tool.parent.mkdir()
    tool.write_text("\x7fELF")
    tool.chmod(0o755)
    granted = modes(cage_of(tmp_path, f"exec:{tool}", "exec:/usr/bin/git"))
    assert granted == {tmp_path / "installed" / "notes": "ro", tmp_path / "tool": "ro"}
    assert tmp_path / "tool" in modes(cage_of(tmp_path, command=(str(tool), "--serve")))


def test_hosts_are_passed_on(tmp_path: Path) -> None:
    assert cage_of(tmp_path, "net:Example.org:443", "net:example.com:*").net == (
        "example.org:443",
        "example.com:*",
    )
    assert cage_of(tmp_path, "net:*").net == ("*",)
    for address in ("net:127.0.0.1:80", "net:[::1]:80", "net:2130706433:80"):
        assert "address" in refusal(tmp_path, address)


@pytest.mark.parametrize(
    "capability",
    [
        "write:fs:/",
        "read:fs:/",
        "read:fs:/proc",
        "read:fs:/run/docker.sock",
        "write:fs:/usr/lib",
        "write:fs:/etc",
    ],
)
def test_the_system_is_nobodys_to_grant(tmp_path: Path, capability: str) -> None:
    assert capability in refusal(tmp_path, capability)
    (tmp_path / "way").symlink_to(capability.partition(":fs:")[2])
    around = capability.partition(":fs:")[0] + f":fs:{tmp_path}/way"
    assert around in refusal(tmp_path, around)


def test_a_plugin_of_the_project_is_given_files_of_the_project_only(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "notes").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (root / "way").symlink_to(tmp_path / "outside")
    granted = modes(cage_of(tmp_path, f"write:fs:{root}/notes", "exec:/usr/bin/git", installed=False))
    assert granted == {root / "plugins" / "notes": "ro", root / "notes": "rw"}
    for capability in (
        f"write:fs:{tmp_path}/outside",
        f"read:fs:{tmp_path}/outside",
        f"read:fs:{root}/way",
        f"read:fs:{os.path.expanduser('~')}",
        f"exec:{tmp_path}/outside/tool",
    ):
        assert "installed outside of the project" in refusal(tmp_path, capability, installed=False)


def test_it_never_writes_its_own_folder_by_being_given_the_project(tmp_path: Path) -> None:
    root = tmp_path / "project"
    granted = modes(cage_of(tmp_path, f"write:fs:{root}", installed=False))
    assert granted == {root: "rw", root / "plugins" / "notes": "ro"}


def test_the_command_of_a_plugin_of_the_project_shows_no_files_outside(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    key = tmp_path / "secrets" / "key"
    key.write_text("k")
    key.chmod(0o755)
    for command in ((str(key),), ("python", "plugin.py", str(key))):
        granted = modes(cage_of(tmp_path, command=command, installed=False))
        assert granted == {tmp_path / "project" / "plugins" / "notes": "ro"}, command
