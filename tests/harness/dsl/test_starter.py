"""The starter project, and the JSON Schema that editors check it with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson
import pytest
from ruamel.yaml import YAML

from app.harness.dsl.compiler import compile_project
from app.harness.dsl.json_schema import project_json_schema
from app.harness.dsl.starter import slug_for, write_starter
from app.tools.authorisation.decision import decide
from app.tools.contract.rules import PermissionRule, Subject
from app.tools.contract.rules import plain as plain_subject
from tests.driver.project_files import MINIMAL, TODAY
from tests.driver.tool_registry import tool_registry
from tests.harness.dsl.test_diagnostics import TEN_MISTAKES
from tests.harness.dsl.test_sections import FULL

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*/.kaged/project.yaml"))


def plain(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


@pytest.mark.requirement("project_file.commands")
def test_the_starter_compiles_without_diagnostics(tmp_path: Path) -> None:
    root = tmp_path / "My Shop"
    root.mkdir()
    write_starter(root)
    result = compile_project(root, catalog=tool_registry(), known_models=())
    assert result.diagnostics == ()
    assert result.require().slug == "my-shop"
    enabled = result.require().root.enabled_tools()
    expected = {"file.read", "edit.text", "edit.ast", "search.grep", "code.lsp", "debug", "shell.bash"}
    assert expected | {"project.recipe"} <= set(enabled)


def test_the_starters_agent_asks_before_it_runs_a_command_that_may_change_something(tmp_path: Path) -> None:
    write_starter(tmp_path)
    root = compile_project(tmp_path, catalog=tool_registry(), known_models=()).require().root
    rules = tuple(PermissionRule(r.permission, r.pattern, r.action, "manifest") for r in root.permissions)
    answers = {}
    for command in ("git status", "git diff HEAD", "npm install", "git push"):
        subject = Subject("command", ("shell.bash",), "shell", plain_subject(command))
        answers[command] = decide(rules, subject).action
    assert answers == {
        "git status": "allow",
        "git diff HEAD": "allow",
        "npm install": "ask",
        "git push": "ask",
    }


def test_the_starter_names_the_model_that_it_was_given(tmp_path: Path) -> None:
    write_starter(tmp_path, model="smart")
    assert compile_project(tmp_path, catalog=TODAY, known_models={"smart"}).require().root.model == "smart"


def test_the_starter_points_editors_at_a_schema_that_it_writes(tmp_path: Path) -> None:
    write_starter(tmp_path)
    first = (tmp_path / ".kaged/project.yaml").read_text().splitlines()[0]
    marker, _, schema = first.partition("$schema=")
    assert marker == "# yaml-language-server: "
    assert orjson.loads((tmp_path / ".kaged" / schema).read_bytes()) == project_json_schema()


def test_the_starter_ignores_local_files(tmp_path: Path) -> None:
    write_starter(tmp_path)
    assert "project.local.yaml" in (tmp_path / ".kaged/.gitignore").read_text().splitlines()


def test_the_starter_never_overwrites(tmp_path: Path) -> None:
    mine = tmp_path / ".kaged/project.yaml"
    mine.parent.mkdir()
    mine.write_text(MINIMAL)
    result = write_starter(tmp_path)
    assert result.kept == (mine,)
    assert mine.read_text() == MINIMAL
    assert write_starter(tmp_path).written == ()


def test_what_the_starter_has_in_comments_is_valid_too(tmp_path: Path) -> None:
    write_starter(tmp_path)
    file = tmp_path / ".kaged/project.yaml"
    lines = file.read_text().splitlines()
    start = lines.index("  # subagents:")
    opened = [*lines[:start], *(line.replace("# ", "", 1) for line in lines[start:] if "Shell" not in line)]
    file.write_text("\n".join(opened) + "\n")
    (tmp_path / ".kaged/prompts/reviewer.md").write_text("Review.\n")
    project = compile_project(tmp_path, catalog=TODAY).require()
    assert project.root.children["reviewer"].enabled_tools() == ("file.read",)
    assert project.limits.max_steps == 50
    assert project.tasks["test"].command == "make test"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("My Shop", "my-shop"),
        ("a", "project-a"),
        ("2024", "2024"),
        ("--", "my-project"),
        ("x" * 90, "x" * 64),
    ],
)
def test_the_slug_comes_from_the_folder(tmp_path: Path, name: str, slug: str) -> None:
    root = tmp_path / name
    root.mkdir()
    assert slug_for(root) == slug
    write_starter(root)
    assert compile_project(root, catalog=TODAY).require().slug == slug


@pytest.mark.requirement("project_file.json_schema")
def test_the_schema_is_valid_and_accepts_what_compiles(tmp_path: Path) -> None:
    schema = project_json_schema()
    jsonschema_rs.meta.validate(schema)
    validator = jsonschema_rs.validator_for(schema)
    write_starter(tmp_path)
    starter = (tmp_path / ".kaged/project.yaml").read_text()
    for text in (starter, MINIMAL, FULL, *(path.read_text() for path in EXAMPLES)):
        validator.validate(plain(text))


@pytest.mark.parametrize(
    "change",
    [
        ("version: 1", "version: 2"),
        ("model: smart", "modell: smart"),
        ("cage: disabled", "cage: off"),
        ("cage: disabled", "cage: disabled\n  subagents: {x: {model: m}}"),
        ("cage: disabled", "cage: disabled\n  subagents: {'a b': {path: x}}"),
        ("cage: disabled", "cage: disabled\n  tools: {x: true}"),
        ("project: my-app", "project: My App"),
    ],
)
def test_the_schema_refuses_what_does_not_compile(change: tuple[str, str]) -> None:
    validator = jsonschema_rs.validator_for(project_json_schema())
    assert validator.is_valid(plain(MINIMAL))
    assert not validator.is_valid(plain(MINIMAL.replace(*change)))


def test_the_schema_refuses_a_file_with_many_mistakes() -> None:
    validator = jsonschema_rs.validator_for(project_json_schema())
    text = TEN_MISTAKES.replace("  model: other\n", "")
    assert len(list(validator.iter_errors(plain(text)))) >= 5


def test_every_key_of_the_schema_is_described() -> None:
    schema = project_json_schema()
    for name, definition in {"project": schema, **schema["$defs"]}.items():
        assert definition.get("description"), name
        for key, entry in definition.get("properties", {}).items():
            assert entry.get("description") or "$ref" in entry, f"{name}.{key}"


def test_a_folder_that_cannot_be_made_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / ".kaged").write_text("in the way")
    with pytest.raises(FileExistsError):
        write_starter(tmp_path)


@pytest.mark.requirement("security.root_cage")
@pytest.mark.parametrize(
    ("manifest", "hosts"),
    [
        ("package.json", ["registry.npmjs.org:443"]),
        ("pyproject.toml", ["pypi.org:443", "files.pythonhosted.org:443"]),
        ("requirements-dev.txt", ["pypi.org:443", "files.pythonhosted.org:443"]),
        ("Cargo.toml", ["index.crates.io:443", "static.crates.io:443"]),
        ("backend/go.mod", ["proxy.golang.org:443", "sum.golang.org:443"]),
        ("node_modules/package.json", []),
        ("README.md", []),
    ],
)
def test_the_starters_root_agent_is_caged_and_reaches_the_registries_of_the_manifests(
    tmp_path: Path, manifest: str, hosts: list[str]
) -> None:
    (tmp_path / manifest).parent.mkdir(exist_ok=True)
    (tmp_path / manifest).write_text("")
    write_starter(tmp_path)
    cage = compile_project(tmp_path, catalog=tool_registry(), cautious=True).require().root.cage
    assert cage != "disabled"
    assert [one.model_dump() for one in cage.fs] == [{"mode": "rw", "path": "."}]
    assert cage.net.allow == hosts
    assert (cage.state, cage.capabilities) == ("persistent", ["shell", "exec"])
    assert not (tmp_path / ".kaged/project.local.yaml").exists()


@pytest.mark.requirement("security.root_cage")
def test_without_cages_the_starter_disables_the_cage_for_this_machine_and_says_why(tmp_path: Path) -> None:
    write_starter(tmp_path, without_cage="none: bubblewrap is not\n installed")
    local = tmp_path / ".kaged/project.local.yaml"
    assert "(none: bubblewrap is not installed)" in local.read_text()
    result = compile_project(tmp_path, catalog=tool_registry(), cautious=True)
    assert result.require().root.cage == "disabled"
    assert [(one.code, one.file) for one in result.diagnostics] == [
        ("root_uncaged", ".kaged/project.local.yaml")
    ]
