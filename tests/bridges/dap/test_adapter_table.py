"""What the table says of runtimes and adapters, and what is asked at the start of a program: nothing is
started."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.bridges.dap.adapter_behaviour import UNKNOWN_ADAPTER, AdapterBehaviour
from app.bridges.dap.adapter_entry import AdapterCandidate, ResolvedAdapter, RuntimeEntry
from app.bridges.dap.adapters import BEHAVIOURS, RUNTIMES, behaviour_of_type, behaviour_of_words
from app.bridges.dap.start_arguments import (
    attach_arguments,
    check_script,
    command_line,
    entry_functions,
    launch_arguments,
    launch_request,
    launch_values,
)
from app.bridges.installed.installation_hints import PACKAGE_MANAGERS
from app.errors import ToolError

WANTED = {"python", "node", "bun", "bash", "perl", "ruby", "java", "c", "cpp", "rust", "zig", "go"}
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
OF_LAUNCH = {
    *(
        "script",
        "args",
        "cwd",
        "env",
        "env_list",
        "program",
        "stdio",
        "gdb_options",
        "lldb_commands",
        "quiet_commands",
        "module",
        "code",
        "skipped",
        "stop_on_entry",
        "root",
        "interpreter",
        "runtime",
    ),
    *(
        "runtime_args",
        "main_class",
        "class_path",
        "mode",
        "environment",
        "output",
        "folder",
        "compiled_paths",
    ),
}
OF_ATTACH = {"host", "port", "pid", "cwd", "root"}
CANDIDATES = [(entry, one) for entry in RUNTIMES.values() for one in entry.candidates]


def _id(entry: RuntimeEntry, one: AdapterCandidate) -> str:
    return f"{entry.runtime}-{one.command[0]}"


def placeholders(template: Any) -> set[str]:
    if isinstance(template, str):
        return set(PLACEHOLDER.findall(template))
    parts = template.values() if hasattr(template, "values") else template
    if isinstance(parts, int | float | bool | None):
        return set()
    return {name for part in parts for name in placeholders(part)}


def resolved(
    runtime: str, behaviour: AdapterBehaviour | None = None, *, interpreter: tuple[str, ...] = (), **more: Any
) -> ResolvedAdapter:
    """Return the preferred adapter of a runtime as if it were installed."""
    entry = RUNTIMES[runtime]
    candidate = entry.candidates[0]
    behaviour = behaviour or BEHAVIOURS[candidate.behaviour]
    return ResolvedAdapter(
        runtime=runtime,
        program=Path("/bin/adapter"),
        command=("/bin/adapter", *candidate.command[1:]),
        behaviour=behaviour,
        env={},
        source="built-in",
        entry=entry,
        type=behaviour.adapter_id,
        interpreter=interpreter,
        launch={**candidate.launch, **more},
        attach=candidate.attach,
    )


def values(adapter: ResolvedAdapter, script: Path, *args: str, **more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"env": {"A": "b"}, "cwd": script.parent, "root": script.parent, **more}
    return launch_values(adapter, script=script, args=args, stop_on_entry=True, **given)


@pytest.mark.requirement("debugger.adapters.table")
def test_there_are_twelve_runtimes() -> None:
    assert set(RUNTIMES) == WANTED
    assert all(RUNTIMES[name].runtime == name for name in WANTED)


@pytest.mark.requirement("debugger.adapters.table")
@pytest.mark.parametrize(("entry", "one"), CANDIDATES, ids=[_id(*pair) for pair in CANDIDATES])
def test_each_candidate_has_a_behaviour_and_a_way_to_install_it(
    entry: RuntimeEntry, one: AdapterCandidate
) -> None:
    behaviour = BEHAVIOURS[one.behaviour]
    assert entry.candidates[0].install and one.install.keys() <= {*PACKAGE_MANAGERS, "other"}
    assert placeholders(one.command) <= {"port", *OF_LAUNCH}
    assert placeholders(one.launch) <= OF_LAUNCH
    assert ("{port}" in " ".join(one.command)) == (behaviour.reach.transport == "chosen")
    if entry.interpreter and entry.interpreter != "python3":
        assert entry.install


@pytest.mark.requirement("debugger.adapters.table")
@pytest.mark.parametrize("behaviour", BEHAVIOURS.values(), ids=lambda one: one.name)
def test_what_is_said_of_an_adapter_agrees_with_itself(behaviour: AdapterBehaviour) -> None:
    assert behaviour.adapter_id and behaviour.requests.launch
    assert placeholders(behaviour.requests.launch) <= OF_LAUNCH
    assert (
        placeholders(behaviour.requests.attach or {})
        | placeholders(behaviour.requests.attach_to_process or {})
        <= OF_ATTACH
    )
    assert (behaviour.reach.transport == "announced") == bool(behaviour.reach.port_pattern)
    assert not behaviour.capabilities.has & behaviour.capabilities.lacks
    assert not behaviour.children.are_program or behaviour.children.address != "none"
    if behaviour.reach.port_pattern:
        assert "port" in re.compile(behaviour.reach.port_pattern).groupindex
    if behaviour.breakpoints.hit_count is not None:
        assert "4" in behaviour.breakpoints.hit_count.format(count=4, before=4)
    if behaviour.stopping.entry == "flag":
        assert "stop_on_entry" in placeholders(behaviour.requests.launch)
    assert re.compile(behaviour.output.chatter) and re.compile(behaviour.process.dropped_arguments)


@pytest.mark.requirement("debugger.adapters.table", "debugger.cage.inspector")
def test_which_adapters_need_ptrace_is_known() -> None:
    without = {name for name, entry in RUNTIMES.items() if not _needs_ptrace(entry)}
    assert without == {"python", "node", "bun", "ruby", "bash", "perl", "java"}


def _needs_ptrace(entry: RuntimeEntry) -> bool:
    return any(BEHAVIOURS[one.behaviour].process.launches_by_ptrace for one in entry.candidates)


@pytest.mark.requirement("debugger.adapters.table")
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("debugpy", "--listen", "0"), "debugpy"),
        (("python3", "-m", "debugpy.adapter"), "debugpy"),
        (("/opt/bin/js-debug-adapter",), "js-debug"),
        (("node", "/opt/js-debug/src/dapDebugServer.js", "0"), "js-debug"),
        (("lldb-dap-22",), "lldb-dap"),
        (("rdbg3.1", "--open"), "rdbg"),
        (("perl", "-MPerl::LanguageServer", "-e", "run"), "Perl::LanguageServer"),
        (("python3", "-m", "bash_dap"), "bash-dap"),
        (("docker", "run", "thing"), None),
    ],
)
def test_an_adapter_is_known_by_the_words_of_its_command(words: tuple[str, ...], name: str | None) -> None:
    found = behaviour_of_words(words)
    assert (found.name if found is not None else None) == name


@pytest.mark.requirement("debugger.adapters.table")
@pytest.mark.parametrize(
    ("name", "adapter"),
    [
        ("pwa-node", "js-debug"),
        ("bun", "js-debug"),
        ("debugpy", "debugpy"),
        ("lldb-dap", "lldb-dap"),
        ("", None),
    ],
)
def test_an_adapter_is_known_by_the_type_of_the_launch_request(name: str, adapter: str | None) -> None:
    found = behaviour_of_type(name)
    assert (found.name if found is not None else None) == adapter


@pytest.mark.requirement("debugger.adapters.table")
def test_a_template_keeps_types_and_leaves_out_what_is_not_known(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    adapter = resolved("python", interpreter=("/venv/bin/python", "-X", "dev"))
    asked = launch_arguments(adapter, values(adapter, script, "1", "x y"))
    assert asked["program"] == str(script) and asked["args"] == ["1", "x y"]
    assert asked["env"] == {"A": "b"} and asked["stopOnEntry"] is True
    assert asked["python"] == ["/venv/bin/python", "-X", "dev"]
    assert (asked["type"], asked["request"]) == ("debugpy", "launch")
    bare = resolved("python")
    assert "python" not in launch_arguments(bare, values(bare, script))


@pytest.mark.requirement("debugger.adapters.declared")
def test_what_is_declared_wins_over_the_template_and_may_have_placeholders(tmp_path: Path) -> None:
    more = {"justMyCode": True, "pathMappings": [{"localRoot": "{root}/src", "remoteRoot": "{unknown}"}]}
    adapter = resolved("python", **more)
    asked = launch_arguments(adapter, values(adapter, tmp_path / "a.py"))
    assert asked["justMyCode"] is True
    assert asked["pathMappings"] == [{"localRoot": f"{tmp_path}/src"}]


@pytest.mark.requirement("debugger.adapters.declared")
def test_arguments_that_an_adapter_gives_itself_are_dropped(tmp_path: Path) -> None:
    script = tmp_path / "a.ts"
    adapter = resolved("bun", interpreter=("/bin/bun", "--inspect-brk=0", "--smol", "--inspect-wait"))
    asked = launch_arguments(adapter, values(adapter, script))
    option, preload, *others = asked["runtimeArgs"]
    assert (option, others, asked["runtimeExecutable"]) == ("--preload", ["--smol"], "/bin/bun")
    assert "NODE_OPTIONS" in Path(preload).read_text()
    assert asked["sourceMapPathOverrides"] == {"/*": f"{tmp_path}/*"}
    plain = launch_arguments(adapter, values(adapter, tmp_path / "a.js"))
    assert "sourceMapPathOverrides" not in plain


@pytest.mark.requirement("debugger.adapters.transports")
def test_a_program_may_be_a_part_of_the_adapters_command(tmp_path: Path) -> None:
    script = tmp_path / "a.rb"
    adapter = resolved("ruby", interpreter=("/bin/ruby", "-W0"))
    command = command_line(adapter, values(adapter, script, "1", "x y"))
    assert command[-5:] == ("/bin/ruby", "-W0", str(script), "1", "x y")
    perl = resolved("perl")
    assert command_line(perl, values(perl, tmp_path / "a.pl")).count("{port}") == 1
    assert [launch_request(adapter, stop_on_entry=stop) for stop in (True, False)] == ["attach", "launch"]
    assert launch_request(perl, stop_on_entry=True) == "launch"


@pytest.mark.requirement("debugger.adapters.compiled")
@pytest.mark.parametrize(
    ("runtime", "name", "words"),
    [("c", "main.c", ("-g", "main.c")), ("cpp", "a.cc", ("-g", "a.cc")), ("rust", "a.rs", ("-g", "a.rs"))],
)
def test_a_source_file_of_a_compiled_language_is_no_program(
    tmp_path: Path, runtime: str, name: str, words: tuple[str, ...]
) -> None:
    script = tmp_path / name
    script.write_text("")
    refused = _refused(runtime, script)
    assert refused.code == "debug_launch_failed"
    assert "Build it with debug information" in refused.message
    assert set(words) <= set(refused.detail["build"].split())
    assert refused.message.endswith(script.stem)


@pytest.mark.requirement("debugger.adapters.compiled")
def test_neither_a_folder_nor_a_text_is_a_built_program(tmp_path: Path) -> None:
    text = tmp_path / "run"
    text.write_text("#!/bin/sh\n")
    assert "is not a built program" in _refused("c", text).message
    assert "is a folder" in _refused("c", tmp_path).message
    with pytest.raises(ToolError, match="is a folder"):
        check_script(resolved("python"), tmp_path)
    text.write_bytes(b"\x7fELF...")
    adapter = resolved("c")
    assert launch_arguments(adapter, values(adapter, text))["program"] == str(text)


@pytest.mark.requirement("debugger.adapters.compiled")
def test_go_is_built_by_its_debugger(tmp_path: Path) -> None:
    adapter = resolved("go")
    for name, mode in (("main.go", "debug"), ("a_test.go", "test"), ("program", "exec")):
        (tmp_path / name).write_text("")
        assert launch_arguments(adapter, values(adapter, tmp_path / name))["mode"] == mode
    assert launch_arguments(adapter, values(adapter, tmp_path))["mode"] == "debug"


@pytest.mark.requirement("debugger.adapters.compiled")
def test_java_is_found_where_it_was_compiled_to(tmp_path: Path) -> None:
    source = tmp_path / "src" / "org" / "demo" / "Main.java"
    source.parent.mkdir(parents=True)
    source.write_text("// a comment\npackage org.demo;\n\npublic class Main {}\n")
    refused = _refused("java", source, root=tmp_path)
    assert refused.detail["build"] == "javac -g -d src src/org/demo/Main.java"
    compiled = tmp_path / "target" / "classes" / "org" / "demo" / "Main.class"
    compiled.parent.mkdir(parents=True)
    compiled.write_bytes(b"")
    adapter = resolved("java")
    asked = launch_arguments(adapter, values(adapter, source, root=tmp_path))
    assert asked["mainClass"] == "org.demo.Main"
    assert asked["classpath"] == f"{tmp_path}/src:{tmp_path}/target/classes"
    assert entry_functions(RUNTIMES["java"], source) == ("org.demo.Main.main",)


@pytest.mark.requirement("debugger.tool.attach")
def test_attach_is_by_port_or_by_process_id_as_the_adapter_can(tmp_path: Path) -> None:
    def asked(runtime: str, *, port: int | None = None, pid: int | None = None) -> dict[str, Any]:
        adapter = resolved(runtime)
        return attach_arguments(adapter, host="localhost", port=port, pid=pid, cwd=tmp_path, root=tmp_path)

    assert asked("python", port=5678)["connect"] == {"host": "localhost", "port": 5678}
    assert asked("python", pid=12)["processId"] == 12
    assert asked("node", port=9229)["request"] == "attach"
    with pytest.raises(ToolError) as refused:
        asked("node", pid=12)
    assert refused.value.code == "action_not_supported"
    assert "attach by port" in refused.value.message
    with pytest.raises(ToolError) as refused:
        asked("perl", port=12)
    assert "launch the program instead" in refused.value.message


@pytest.mark.requirement("debugger.adapters.declared")
def test_an_adapter_that_nobody_knows_is_asked_in_the_usual_words(tmp_path: Path) -> None:
    adapter = resolved("python", replace(UNKNOWN_ADAPTER, name="other"))
    asked = launch_arguments(adapter, values(adapter, tmp_path / "a.py", "1"))
    assert asked["program"] == str(tmp_path / "a.py")
    assert asked["args"] == ["1"] and asked["stopOnEntry"] is True
    assert UNKNOWN_ADAPTER.breakpoints.hit_count is None


def _refused(runtime: str, script: Path, **more: Any) -> ToolError:
    with pytest.raises(ToolError) as refused:
        values(resolved(runtime), script, **more)
    return refused.value
