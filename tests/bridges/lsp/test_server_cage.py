"""What the cage of a language server holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.bridges.lsp.resolution import ResolvedServer
from app.bridges.lsp.server_behaviours import behaviour_of
from app.bridges.lsp.server_places import server_cage
from app.cages.cage import Cage, Mount
from app.cages.inner_environment import allowed_environment, environment_inside

pytestmark = pytest.mark.requirement("cages.where.lsp")


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\x7fELF")
    path.chmod(0o755)
    return path


def cage_of(base: Path, server: Path, language: str = "go", *, closed: tuple[Path, ...] = ()) -> Cage:
    for name in ("home", "project"):
        (base / name).mkdir(exist_ok=True)
    resolved = ResolvedServer(
        language=language,
        program=server,
        command=(str(server),),
        behaviour=behaviour_of(server.name),
        settings={},
        env={},
        source="built-in",
    )
    environment = {"HOME": str(base / "home"), "PATH": f"{base}/tools:/usr/bin"}
    return server_cage(resolved, base / "project", environment, state=base / "state", closed=closed)


def test_it_has_the_project_its_installation_and_no_network(tmp_path: Path) -> None:
    data = tmp_path / "project" / "data"
    data.mkdir(parents=True)
    cage = cage_of(tmp_path, program(tmp_path / "gopls" / "gopls"), closed=(data,))
    assert cage.mounts == (
        Mount(tmp_path / "project", "ro"),
        Mount(tmp_path / "gopls", "ro"),
        Mount(data, "deny"),
    )
    assert (cage.net, cage.seccomp, cage.unix_sockets) == ((), "default", False)
    assert cage.state_folder == tmp_path / "state"
    of_project = cage_of(tmp_path, program(tmp_path / "project" / "bin" / "gopls"))
    assert of_project.mounts == (Mount(tmp_path / "project", "ro"),)


def test_programs_that_it_runs_come_with_it(tmp_path: Path) -> None:
    program(tmp_path / "tools" / "go")
    mounts = cage_of(tmp_path, program(tmp_path / "gopls" / "gopls")).mounts
    assert Mount(tmp_path / "tools", "ro") in mounts
    others = cage_of(tmp_path, program(tmp_path / "gopls" / "serve"), "css").mounts
    assert Mount(tmp_path / "tools", "ro") not in others


def test_fetched_packages_are_shown_and_credentials_beside_them_are_not(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".cargo" / "registry").mkdir(parents=True)
    (home / ".cargo" / "credentials.toml").write_text("token")
    cage = cage_of(tmp_path, program(tmp_path / "tool" / "rust-analyzer"), "rust")
    assert Mount(home / ".cargo" / "registry", "ro") in cage.mounts
    assert cage.env == {"CARGO_HOME": str(home / ".cargo")}
    assert not any((home / ".cargo" / "credentials.toml").is_relative_to(one.path) for one in cage.mounts)
    (home / "go" / "pkg" / "mod").mkdir(parents=True)
    assert cage_of(tmp_path, program(tmp_path / "gopls" / "gopls")).env == {
        "GOMODCACHE": str(home / "go" / "pkg" / "mod")
    }


def test_variables_of_places_that_are_not_there_are_left_out() -> None:
    environment = {
        "PATH": "/root/bin:/usr/bin",
        "LANG": "C.UTF-8",
        "HOME": "/root",
        "XDG_RUNTIME_DIR": "/run/user/0",
        "SSH_AUTH_SOCK": "/tmp/agent",
        "GOPATH": "/root/go",
        "JAVA_HOME": "/usr/lib/jvm/java",
        "TOOLS": "/opt/tools/share",
        "TOOLSHED": "/opt/toolshed",
        "GOFLAGS": "-mod=mod",
    }
    assert environment_inside(environment, [Path("/opt/tools")]) == {
        "PATH": "/root/bin:/usr/bin",
        "LANG": "C.UTF-8",
        "JAVA_HOME": "/usr/lib/jvm/java",
        "TOOLS": "/opt/tools/share",
        "GOFLAGS": "-mod=mod",
    }


def test_variables_with_a_password_in_an_address_are_left_out() -> None:
    """What builds a project runs in there, and what it prints is told to agents."""
    plain = {"INDEX": "https://pypi.org/simple", "PROXY_AT": "http://proxy:3128/a@b", "WHO": "git@host:path"}
    secret = {
        "DATABASE_URL": "postgres://me:canary@host/db",
        "REDIS": "redis://:canary@host",
        "OF": "a ftp://u:p@h",
    }
    assert environment_inside({**plain, **secret}, []) == plain


@pytest.mark.requirement("security.server_views")
def test_a_server_is_given_variables_of_a_list_only() -> None:
    kept = {
        "PATH": "/usr/bin",
        "LANG": "C.UTF-8",
        "LC_ALL": "C",
        "GOFLAGS": "-mod=mod",
        "JAVA_HOME": "/usr/lib/jvm",
    }
    secret = {
        "AWS_SECRET_ACCESS_KEY": "canary",
        "ANTHROPIC_API_KEY": "canary",
        "KAGED_TOKEN": "canary",
        "NODE_OPTIONS": "--require /tmp/x.js",
        "LD_PRELOAD": "/tmp/x.so",
        "SSH_AUTH_SOCK": "/tmp/agent",
        "GOPROXY": "https://canary@proxy",
        "ANYTHING": "canary",
    }
    assert allowed_environment({**kept, **secret}) == kept
