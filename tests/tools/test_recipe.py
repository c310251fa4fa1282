"""`project.recipe`: runners found by their files, tasks by text alone, runs by the shell tool."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from app.bridges.pty.manager import TerminalManager
from app.tools.catalog import build_registry
from app.tools.contract.rules import PermissionRule
from app.tools.dispatch.service import ToolService
from app.tools.processes.call_processes import CallProcesses
from app.tools.project import justfile, makefile, taskfile
from tests.tools.conftest import Desk

RUNNERS = ("npm", "pnpm", "yarn", "bun", "cargo", "poetry", "pdm", "uv", "make", "just", "task")


@pytest.fixture
def bench(desk, children, tmp_path) -> Desk:
    """The desk, with a program for each runner that prints its name and arguments."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for runner in RUNNERS:
        _install(folder / runner)
    return _on_path(desk, children, folder)


def _install(program: Path) -> None:
    program.write_text('#!/bin/sh\nprintf "<%s>" "${0##*/}" "$@"\nexit "${EXIT_CODE:-0}"\n')
    program.chmod(0o755)


def _on_path(desk: Desk, children, folder: Path) -> Desk:
    registry = build_registry(
        reads=desk.reads,
        processes=CallProcesses.uncaged(children),
        terminals=TerminalManager(children, per_session=4),
        environment={"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(desk.base)},
        data_dir=desk.base / "data",
    )
    return replace(desk, service=ToolService(registry))


def _node(bench: Desk, *scripts: str, **more) -> None:
    bench.put("package.json", json.dumps({"scripts": dict.fromkeys(scripts, "true"), **more}))


PYPROJECT = '[project]\nname = "a"\n[project.scripts]\nserve = "a:main"\n[tool.pytest.ini_options]\n'
POETRY = '[tool.poetry.scripts]\nserve = "a:main"\n[tool.poetry.group.dev.dependencies]\npytest = "*"\n'
PDM = '[tool.pdm.scripts]\nserve = "x"\ntest = "y"\n'
POE = '[tool.poe.tasks]\ntest = "pytest"\nserve.cmd = "x"\n[tool.uv]\n'
PACKAGE = '{"scripts": {"test": "x", "serve": "y"}}'


MAKEFILE = """\
X := $(shell touch RAN)
$(shell touch RAN):
!= touch RAN
include other.mk
.PHONY: all clean \\
  docs/html
all: main.o ## everything
\tgcc: x
main.o: main.c
%.o: %.c
clean::
\trm

lint test: all
ifdef X
release: A = 1
release:
endif
define RECIPE
not-a-target:
endef
export Y = a:b
VAR = a:b
B ::= c
# comment: x
-include z:
"""
JUSTFILE = """\
set shell := ['bash', '-c']
export A := 'x:y'
version := `git describe`
mod sub
import 'x.just'
alias b := build
# a comment
[private]
hidden:
    x
_helper:
[group('ci')]
@build target='a:b' *FLAGS: hidden
    echo {{target}}: done
help := '''
fake:
'''
set-version v:
    y
"""


@pytest.mark.requirement("recipe.detect", "recipe.run")
@pytest.mark.parametrize(
    ("files", "runner", "command"),
    [
        ({"package.json": PACKAGE}, "npm", "npm run test -- -v"),
        ({"package.json": PACKAGE, "package-lock.json": ""}, "npm", "npm run test -- -v"),
        ({"package.json": PACKAGE, "pnpm-lock.yaml": ""}, "pnpm", "pnpm run test -v"),
        ({"package.json": PACKAGE, "yarn.lock": ""}, "yarn", "yarn run test -v"),
        ({"package.json": PACKAGE, "bun.lock": ""}, "bun", "bun run test -v"),
        ({"package.json": PACKAGE, "bun.lockb": ""}, "bun", "bun run test -v"),
        ({"package.json": "{}", "bun.lock": ""}, "bun", "bun test -v"),
        ({"package.json": PACKAGE[:-1] + ', "packageManager": "pnpm@9.1.0"}', "yarn.lock": ""}, "pnpm", None),
        ({"Cargo.toml": "[package]"}, "cargo", "cargo test -v"),
        ({"Cargo.toml": "", ".cargo/config.toml": '[alias]\ntest = "t"'}, "cargo", "cargo test -v"),
        ({"pyproject.toml": PYPROJECT, "poetry.lock": ""}, "poetry", "poetry run pytest -v"),
        ({"pyproject.toml": POETRY}, "poetry", "poetry run pytest -v"),
        ({"pyproject.toml": PDM}, "pdm", "pdm run test -v"),
        ({"pyproject.toml": PYPROJECT, "pdm.lock": ""}, "pdm", "pdm run pytest -v"),
        ({"pyproject.toml": PYPROJECT, "uv.lock": ""}, "uv", "uv run pytest -v"),
        ({"pyproject.toml": POE}, "uv", "uv run poe test -v"),
        ({"Makefile": "test: deps\n\tx\n"}, "make", "make test -v"),
        ({"makefile": "test:\n", "Makefile": "other:\n"}, "make", "make test -v"),
        ({"justfile": "test *ARGS:\n    x\n"}, "just", "just test -v"),
        ({".justfile": "alias test := t\n"}, "just", "just test -v"),
        ({"Taskfile.yml": "version: '3'\ntasks:\n  test:\n    cmds: [x]\n"}, "task", "task test -- -v"),
    ],
)
async def test_each_runner_is_known_by_its_files_and_runs_the_task(bench, files, runner, command):
    for name, content in files.items():
        bench.put(name, content)
    answer = await bench.ok("project.recipe", op="test -v")
    command = command or f"{runner} run test -v"
    assert (answer["runner"], answer["command"]) == (runner, command)
    assert answer["stdout"].strip() == "".join(f"<{word}>" for word in command.split())
    assert (answer["exit_code"], answer["timed_out"], answer["op"]) == (0, False, "test -v")
    assert "test" in answer["available_tasks"]


@pytest.mark.requirement("recipe.detect")
async def test_a_lock_file_of_the_workspace_counts_for_its_members(bench):
    bench.put("pnpm-lock.yaml", "")
    bench.put("packages/app/package.json", PACKAGE)
    bench.put("services/api/pyproject.toml", POETRY)
    bench.put("uv.lock", "")
    answer = await bench.ok("project.recipe", op="serve", cwd="packages/app")
    assert answer["runner"] == "pnpm"
    assert (await bench.ok("project.recipe", op="serve", cwd="./services/api/"))["runner"] == "poetry"


@pytest.mark.requirement("recipe.detect")
async def test_of_several_runners_a_declared_task_wins_and_a_name_can_pick_one(bench):
    bench.put("Cargo.toml", "[package]")
    bench.put("Makefile", "test:\n\techo\nmake-only:\n")
    bench.put("justfile", "test:\n    echo\n")
    answer = await bench.ok("project.recipe", op="test")
    assert answer["runner"] == "make"  # declared, where cargo's is only built in
    assert {"test", "just:test", "cargo:test", "build", "make-only"} <= set(answer["available_tasks"])
    for name in answer["available_tasks"]:
        assert (await bench.call("project.recipe", op=name)).type == "output"
    assert (await bench.ok("project.recipe", op="cargo:test"))["command"] == "cargo test"
    assert (await bench.ok("project.recipe", op="make:test"))["command"] == "make test"


@pytest.mark.requirement("recipe.detect")
async def test_a_script_with_a_colon_in_its_name_is_that_script(bench):
    _node(bench, "test:unit", "make:test", "pretest:unit")
    bench.put("Makefile", "test:\n")
    assert (await bench.ok("project.recipe", op="test:unit"))["command"] == "npm run test:unit"
    answer = await bench.ok("project.recipe", op="make:test")
    assert answer["command"] == "npm run make:test"
    assert "pretest:unit" not in answer["available_tasks"]


@pytest.mark.requirement("recipe.tasks")
async def test_a_makefile_is_listed_without_being_run(bench):
    marker = bench.root / "ran"
    bench.put("Makefile", MAKEFILE.replace("RAN", str(marker)))
    answer = await bench.ok("project.recipe", op="all")
    assert answer["available_tasks"] == ["all", "clean", "docs/html", "lint", "test", "release"]
    assert not marker.exists()


@pytest.mark.requirement("recipe.tasks")
def test_a_justfile_is_read_as_text():
    assert justfile.recipes(JUSTFILE) == ["b", "build", "set-version"]


@pytest.mark.requirement("recipe.tasks")
@pytest.mark.timeout(20)
def test_a_taskfile_is_read_as_events_that_cannot_explode():
    text = "tasks: &t\n  build: {}\n  own: {internal: true}\n  'docs:*': {}\n  'a:b': echo\n? [odd]\n: 5\n"
    assert taskfile.tasks(text) == ["build", "a:b"]
    laughs = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20)
    )
    assert taskfile.tasks(laughs + "tasks: {a: *a, b: *b}") == ["a", "b"]
    for broken in ("[" * 60_000, "{a: " * 15_000, "tasks: {", "\x00", "tasks: 5", "- a"):
        assert taskfile.tasks(broken) == []


@pytest.mark.requirement("recipe.tasks")
@pytest.mark.timeout(20)
def test_hostile_makefiles_and_justfiles_are_read_in_bounded_time():
    for text in ("\\\n" * 250_000, "a " * 250_000, ":" * 500_000, "a" + " " * 500_000, "override " * 50_000):
        makefile.targets(text)
        justfile.recipes(text)
    assert justfile.recipes("a '" + "\\" * 400_000) == []


@pytest.mark.requirement("recipe.tasks", "recipe.unknown")
async def test_an_unknown_task_is_answered_with_the_closest_and_all_others(bench):
    _node(bench, "test", "build", "lint")
    envelope = await bench.call("project.recipe", op="tset --all")
    assert envelope.code == "unknown_task"
    assert envelope.detail["available_tasks"] == ["test", "build", "lint", "install"]
    assert "the closest is 'test'" in envelope.error_text
    assert "Available tasks: test, build, lint, install" in envelope.model_text()
    hint = await bench.call("project.recipe", op="npm run test")
    assert "write npm:test" in hint.error_text


@pytest.mark.requirement("recipe.tasks", "recipe.unknown")
async def test_a_directory_without_a_runner_says_what_was_looked_for(bench):
    bench.put("sub/README.md", "x")
    envelope = await bench.call("project.recipe", op="test", cwd="sub")
    assert (envelope.code, envelope.detail["available_tasks"]) == ("no_runner", [])
    assert "package.json" in envelope.error_text


@pytest.mark.requirement("recipe.tasks")
async def test_a_missing_runner_is_named_with_how_to_install_it(desk, children, tmp_path):
    (tmp_path / "bin").mkdir()
    bare = _on_path(desk, children, tmp_path / "bin")
    _node(bare, "test", packageManager="pnpm@9.0.0")
    envelope = await bare.call("project.recipe", op="test")
    assert envelope.code == "runner_not_installed"
    assert "npm install --global pnpm" in envelope.error_text
    assert envelope.detail["available_tasks"] == ["test", "install"]


@pytest.mark.requirement("recipe.run")
@pytest.mark.parametrize(
    ("op", "code"),
    [
        ("test; touch pwned", "unknown_task"),
        ("test;touch pwned", "unknown_task"),
        ("$(touch pwned)", "unknown_task"),
        ("test && touch pwned", None),
        ("test | touch pwned", None),
        ("test $(touch pwned) `touch pwned`", None),
        ("test '; touch pwned; '", None),
        ("test \\; touch pwned", None),
        ("test\ntouch pwned", None),
        ("test X='$(shell touch pwned)'", None),
        ("test > pwned", None),
        ("test 'open", "invalid_params"),
        ("test a\0b", "invalid_params"),
        ("", "invalid_params"),
        ("   ", "invalid_params"),
        ("''", "invalid_params"),
        ("test \ud800", "invalid_params"),
        ("-f /etc/passwd", "unknown_task"),
    ],
)
async def test_nothing_in_op_is_read_by_a_shell(bench, op, code):
    bench.put("Makefile", "test:\n\techo\n")
    envelope = await bench.call("project.recipe", op=op)
    assert envelope.code == code
    assert not (bench.root / "pwned").exists()
    if code is None:
        words = shlex.split(op)
        words = [word.replace("$", "$$") if word.startswith("X=") else word for word in words]
        printed = envelope.data["stdout"].replace("\r\n", "\n")
        assert printed == "<make>" + "".join(f"<{word}>" for word in words)


@pytest.mark.requirement("recipe.run")
async def test_variables_for_task_come_before_its_arguments(bench):
    bench.put("Taskfile.yml", "tasks:\n  build: x\n")
    answer = await bench.ok("project.recipe", op="build --fast MODE=release -v")
    assert answer["command"] == "task build MODE=release -- --fast -v"


@pytest.mark.requirement("recipe.run")
async def test_a_task_that_fails_is_an_answer_with_its_exit_code(bench):
    bench.put("Makefile", "test:\n")
    (bench.base / "bin/make").write_text("#!/bin/sh\necho broken\nexit 3\n")
    answer = await bench.ok("project.recipe", op="test")
    assert (answer["exit_code"], answer["stdout"].strip()) == (3, "broken")


@pytest.mark.requirement("recipe.run")
async def test_a_recipe_is_audited_shown_and_run_as_the_shell_command_that_it_is(bench):
    bench.put("app/Makefile", "test:\n")
    await bench.ok("project.recipe", op="test", cwd="app")
    executed = bench.ports.of("shell.executed")
    assert (executed["command"], executed["cwd"], executed["exit_code"]) == ("make test", "app", 0)
    assert bench.ports.of("tool.called")["tool_name"] == "project.recipe"
    assert "<make>" in "".join(bench.ports.shown)


@pytest.mark.requirement("recipe.run")
async def test_the_rules_of_the_shell_hold_for_the_command_that_a_recipe_runs(bench):
    _node(bench, "test", "deploy")
    ruled = bench.ruled(
        PermissionRule("shell.bash", "npm run deploy*", "deny", "project"),
        PermissionRule("project.recipe", "*", "allow", "session"),
    )
    assert (await ruled.ok("project.recipe", op="test"))["exit_code"] == 0
    envelope = await ruled.call("project.recipe", op="deploy --now")
    assert envelope.code == "permission_denied"
    assert "deploy" in envelope.detail["available_tasks"]
    assert bench.ports.names().count("shell.executed") == 1


@pytest.mark.requirement("recipe.run")
async def test_a_cage_without_the_shell_or_without_writing_refuses_recipes(bench):
    _node(bench, "test")
    assert await bench.caged(("rw", ".")).code("project.recipe", op="test") == "capability_denied"
    reading = bench.caged(("ro", "."), capabilities=["shell"])
    assert await reading.code("project.recipe", op="test") == "capability_denied"
    full = bench.caged(("rw", "."), capabilities=["shell"])
    assert (await full.ok("project.recipe", op="test"))["runner"] == "npm"
    blind = bench.caged(("rw", "."), ("deny", "package.json"), capabilities=["shell"])
    assert await blind.code("project.recipe", op="test") == "no_runner"


@pytest.mark.requirement("recipe.run")
async def test_recipes_run_though_the_shell_tool_itself_is_not_enabled(bench):
    _node(bench, "test")
    envelope = await bench.call("project.recipe", op="test", allowed={"project.recipe"})
    assert envelope.type == "output"


@pytest.mark.parametrize("cwd", ["..", "../../", "/etc", "missing", "package.json", "~"])
@pytest.mark.requirement("recipe.run")
async def test_a_working_directory_outside_or_missing_is_invalid(bench, cwd):
    _node(bench, "test")
    envelope = await bench.call("project.recipe", op="test", cwd=cwd)
    assert envelope.code == "invalid_params"
    assert not bench.ports.names().count("shell.executed")


@pytest.mark.requirement("recipe.tasks")
async def test_broken_and_oversized_files_are_noted_and_hide_nothing_else(bench):
    bench.put("package.json", "{ not json")
    bench.put("pyproject.toml", "[[[")
    bench.put("Taskfile.yml", "#" * 70_000)
    bench.put("Makefile", "test:\n")
    answer = await bench.ok("project.recipe", op="test")
    assert answer["available_tasks"] == ["test"]
    assert len(answer["notes"]) == 3
    odd = {"a\nb": "x", "-rf": "x", "": "x", "x" * 200: "x", "two words": "x", "number": 5}
    bench.put("package.json", json.dumps({"scripts": odd}))
    answer = await bench.ok("project.recipe", op="'two words' a")
    assert answer["command"] == "npm run 'two words' -- a"
    assert answer["available_tasks"] == ["two words", "test", "install"]
