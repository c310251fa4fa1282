"""Which folders are shown for a program, and which are too wide for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.bridges.installed.installation_places import Surroundings, needed_places

pytestmark = pytest.mark.requirement("cages.where.debug", "cages.where.lsp", "cages.where.plugins")


def program(path: Path, text: str = "\x7fELF") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def around(base: Path, *apart: Path, path: str = "/usr/bin") -> Surroundings:
    (base / "home").mkdir(exist_ok=True)
    return Surroundings(base / "home", apart, {"PATH": path})


def places(
    base: Path, *command: str | Path, apart: tuple[Path, ...] = (), path: str = "/usr/bin"
) -> set[str]:
    found = needed_places([str(word) for word in command], around(base, *apart, path=path))
    return {str(one.relative_to(base)) if one.is_relative_to(base) else str(one) for one in found}


def test_programs_of_the_system_and_of_the_daemon_need_nothing(tmp_path: Path) -> None:
    assert places(tmp_path, "/usr/bin/env") == set()
    assert places(tmp_path, "/bin/sh") == set()
    assert places(tmp_path, sys.executable) == set()


def test_an_installation_is_shown_whole_and_a_folder_of_programs_alone(tmp_path: Path) -> None:
    whole = program(tmp_path / "tool" / "bin" / "serve")
    assert places(tmp_path, whole) == {"tool/bin"}
    (tmp_path / "tool" / "lib").mkdir()
    assert places(tmp_path, whole) == {"tool"}
    assert places(tmp_path, program(tmp_path / "apart" / "serve")) == {"apart"}


def test_packages_of_the_system_in_another_place_are_shown_together(tmp_path: Path) -> None:
    go = program(tmp_path / "aside" / "usr" / "lib" / "go" / "bin" / "go")
    (tmp_path / "aside" / "usr" / "share").mkdir()
    assert places(tmp_path, go) == {"aside/usr"}
    assert places(tmp_path, go, apart=(tmp_path / "aside" / "usr" / "share",)) == {"aside/usr/lib/go/bin"}


def test_what_lies_in_the_home_is_shown_without_the_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".local" / "lib").mkdir(parents=True)
    (home / "lib").mkdir()
    assert places(tmp_path, program(home / ".local" / "bin" / "serve")) == {"home/.local/bin"}
    assert places(tmp_path, program(home / "bin" / "serve")) == {"home/bin"}
    assert places(tmp_path, program(home / "serve")) == {"home/serve"}
    toolchain = program(home / ".rustup" / "toolchains" / "stable" / "bin" / "serve")
    (toolchain.parents[1] / "lib").mkdir()
    assert places(tmp_path, toolchain) == {"home/.rustup/toolchains/stable"}


def test_what_is_kept_apart_is_never_shown_with_a_program(tmp_path: Path) -> None:
    data = tmp_path / "tool" / "data"
    data.mkdir(parents=True)
    (tmp_path / "tool" / "lib").mkdir()
    serve = program(tmp_path / "tool" / "bin" / "serve")
    assert places(tmp_path, serve, apart=(data,)) == {"tool/bin"}
    assert places(tmp_path, program(data / "serve"), apart=(data,)) == set()
    assert places(tmp_path, program(tmp_path / "tool" / "serve"), apart=(data,)) == {"tool/serve"}


def test_every_link_to_a_program_is_followed(tmp_path: Path) -> None:
    real = program(tmp_path / "store" / "serve-1" / "bin" / "serve")
    (real.parents[1] / "share").mkdir()
    for place in ("first", "second"):
        (tmp_path / place / "bin").mkdir(parents=True)
    (tmp_path / "second" / "bin" / "serve").symlink_to("../../store/serve-1/bin/serve")
    (tmp_path / "first" / "bin" / "serve").symlink_to(tmp_path / "second" / "bin" / "serve")
    (tmp_path / "current").symlink_to("first")
    wanted = {"first/bin", "second/bin", "store/serve-1"}
    assert places(tmp_path, tmp_path / "current" / "bin" / "serve") == wanted
    (tmp_path / "endless").symlink_to("endless")
    assert places(tmp_path, tmp_path / "endless") <= {"endless"}


def test_packages_of_node_come_with_all_that_they_may_import(tmp_path: Path) -> None:
    modules = tmp_path / "npm" / "node_modules"
    script = program(modules / "serve" / "cli.js", "#!/usr/bin/env node\n")
    (modules / ".bin").mkdir()
    (modules / ".bin" / "serve").symlink_to("../serve/cli.js")
    node = program(tmp_path / "node" / "bin" / "node")
    (node.parents[1] / "lib").mkdir()
    search = f"{node.parent}:/usr/bin"
    assert places(tmp_path, modules / ".bin" / "serve", path=search) == {"npm/node_modules", "node"}
    assert places(tmp_path, node, script, path=search) == {"npm/node_modules", "node"}


def test_an_environment_of_python_comes_with_the_python_below_it(tmp_path: Path) -> None:
    base = program(tmp_path / "python3" / "bin" / "python3")
    (base.parents[1] / "lib").mkdir()
    own = tmp_path / "venv"
    (own / "bin").mkdir(parents=True)
    (own / "pyvenv.cfg").write_text(f"home = {base.parent}\nversion = 3.12\n")
    (own / "bin" / "python").symlink_to(base)
    serve = program(own / "bin" / "serve", f"#!{own}/bin/python\nimport serve\n")
    assert places(tmp_path, serve) == {"venv", "python3"}


def test_a_shell_script_shows_what_it_names(tmp_path: Path) -> None:
    inner = program(tmp_path / "inner" / "libexec" / "serve.bin")
    (inner.parents[1] / "lib").mkdir()
    (tmp_path / "home").mkdir()
    secret = tmp_path / "home" / "secret"
    script = program(
        tmp_path / "scripts" / "serve", f'#!/bin/sh\nexec "{inner}" --folder {tmp_path}/home "$@"\n'
    )
    assert places(tmp_path, script) == {"scripts", "inner"}
    assert not secret.exists()


def test_only_what_runs_scripts_shows_one(tmp_path: Path) -> None:
    note = tmp_path / "notes" / "private.txt"
    program(note, "nothing to run")
    serve = program(tmp_path / "tool" / "serve")
    assert places(tmp_path, serve, note) == {"tool"}


def test_what_lies_in_a_project_leads_to_nothing_but_an_installed_python(tmp_path: Path) -> None:
    project, secret = tmp_path / "project", program(tmp_path / "secrets" / "key")
    link, folder = project / "link", project / "folder"
    script = program(project / "run.sh", f"#!/bin/sh\ncat {secret}\n")
    link.symlink_to(secret)
    folder.symlink_to(secret.parent)
    own = program(project / "venv" / "bin" / "serve", f"#!{secret}\n")
    (project / "venv" / "pyvenv.cfg").write_text(f"home = {secret.parent}\n")
    for command in (link, folder / "key", script, own):
        assert places(tmp_path, command, apart=(project,)) == set()
    base = program(tmp_path / "python" / "bin" / "python3")
    program(base.parents[1] / "lib" / "python3.12" / "os.py")
    (project / "venv" / "bin" / "python").symlink_to(base)
    assert places(tmp_path, project / "venv" / "bin" / "python", apart=(project,)) == {"python"}


def test_a_command_that_is_not_trusted_names_no_place_to_be_shown(tmp_path: Path) -> None:
    secret = program(tmp_path / "secrets" / "key")
    tool = program(tmp_path / "tools" / "serve")
    doubtful = Surroundings(tmp_path / "home", (), {"PATH": f"{tool.parent}:/usr/bin"}, trusted=False)
    assert needed_places((str(secret),), doubtful) == ()
    assert needed_places(("/usr/bin/python3", "plugin.py", str(secret)), doubtful) == ()
    assert needed_places((str(tool),), doubtful) == (tool.parent,)
