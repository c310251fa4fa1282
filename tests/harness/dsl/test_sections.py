"""Everything beside the tools and cages: workflows, tasks, servers, compaction, plugins, permissions."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.harness.dsl.compiled import CompiledProject
from app.harness.dsl.synthesized import synthesize
from tests.driver.project_files import MINIMAL, codes, compiled, found

FULL = (
    MINIMAL
    + """\
  parameters: {type: object, properties: {goal: {type: string}}, required: [goal]}
  permissions: [{permission: file.write, pattern: "docs/**", action: allow}]
  plugins: {memory: {package: ./plugins/memory, isolation: project, config: {size: 3}}}
  compaction:
    strategy: delegate
    upper: 0.9
    lower: 0.5
    always_keep: [{role: user, contains: IMPORTANT}]
    prune: {protect_tokens: 100}
    summarize: {model: fast, prompt: prompts/sum.md}
    delegate: {plugin: memory}
    checkpoint: {fallback: summarize}
  max_steps: 20
  max_output_tokens: 4096
  include_tool_results_in_context: false
  todo_review: auto
  tools: {file.read: {enabled: true}}
  subagents:
    plain: {model: fast, system_prompt: prompts/primary.md, description: d, cage: disabled,
            tools: {read: {enabled: true}}}
    own: {model: fast, system_prompt: prompts/primary.md, description: d, cage: disabled,
          tools: {read: {enabled: true}}, compaction: {strategy: summarize, upper: 0.7}}
description: Everything at once.
workflows:
  triage:
    description: Sort the new issues.
    system_prompt: prompts/triage.md
    inputs:
      area: {type: enum, default: ui, options: [ui, api]}
      note: {type: text, default: none, max_length: 200}
    tools: ["file.*", kaged.issue.list, search.grep]
    invokable_by: [operator, guest]
    timeout_seconds: 60
    concurrency: 2
    schedule: "*/15 8-18 * jan-jun mon,fri"
tasks:
  test: {command: make test, cwd: app, env: {CI: "1"}, timeout_seconds: 60, description: Runs tests.}
  list: {command: [ls, -l]}
lsp: {servers: [{lang: python, command: [pyright, --stdio], extensions: [.py], settings: {a: {b: 1}}}]}
dap: {adapters: [{runtime: python, adapter: [debugpy], type: debugpy, launch: {justMyCode: false}}]}
limits: {max_steps: 50, cost_usd: 1, walltime_seconds: 600, on_overflow: truncate}
permissions: [{permission: "*", pattern: "**", action: ask, pinned: true}]
skills: {paths: [skills]}
"""
)
FILES = {"prompts/sum.md": "Sum.\n", "prompts/triage.md": "Sort.\n"}


def full(root: Path) -> CompiledProject:
    return compiled(root, FULL, FILES).require()


@pytest.mark.requirement("project_file.schema", "project_file.sections")
def test_a_project_with_every_section_compiles(tmp_path: Path) -> None:
    result = compiled(tmp_path, FULL, FILES)
    assert codes(result) == ["workflow_tool"]  # search.grep, which the root agent does not have
    project = result.require()
    triage = project.workflows["triage"]
    assert triage.tools == ("file.read", "kaged.issue.list")
    assert triage.system_prompt_file == str(tmp_path / "prompts/triage.md")
    assert project.limits.cost_usd == 1
    assert project.root.compaction.delegate == "memory"
    assert project.root.permissions[0].pinned
    assert project.tasks["list"].command == ["ls", "-l"]


def test_a_compiled_project_survives_json(tmp_path: Path) -> None:
    project = full(tmp_path)
    assert CompiledProject.model_validate_json(project.model_dump_json()) == project
    assert CompiledProject.model_validate(project.model_dump()) == project


def test_the_digest_names_exactly_one_content_in_one_folder(tmp_path: Path) -> None:
    first = full(tmp_path / "a").digest
    assert full(tmp_path / "a").digest == first
    assert full(tmp_path / "b").digest != first  # its prompts are other files
    changed = compiled(tmp_path / "a", FULL.replace("max_steps: 20", "max_steps: 21"), FILES).require()
    assert changed.digest != first


def test_a_project_stored_by_another_release_still_loads(tmp_path: Path) -> None:
    project = full(tmp_path)
    stored = project.model_dump(mode="json")
    stored["from_another_release"] = stored["root"]["from_another_release"] = 1
    assert CompiledProject.model_validate(stored) == project


@pytest.mark.requirement("project_file.synthesized")
def test_the_synthesized_project_is_total_truth(tmp_path: Path) -> None:
    total = synthesize(full(tmp_path))
    agent = total["primary"]["subagents"]["plain"]
    assert (total["version"], total["project"]) == (1, "my-app")
    assert agent["system_prompt"] == "prompts/primary.md"
    assert agent["max_steps"] == 50  # the project's limit
    assert total["primary"]["max_steps"] == 20
    assert agent["parameters"]["required"] == ["task"]
    assert agent["tools"]["read"]["origin"] == "override:read"
    assert agent["tools"]["kaged.issue"]["enabled"] is False
    assert agent["compaction"]["prune"]["minimum_savings"] == 20_000
    assert total["lsp"]["servers"][0]["env"] == {}


@pytest.mark.requirement("operations.gates")
def test_a_subagent_has_the_content_gates_of_the_agents_above_it(tmp_path: Path) -> None:
    lines = (
        "  content_gates: [secrets/**]\n  subagents:\n    child: {model: m, description: d, cage: disabled,"
        " system_prompt: prompts/primary.md, content_gates: ['*.pem', secrets/**]}\n"
    )
    root = compiled(tmp_path, MINIMAL + lines).require().root
    assert root.content_gates == ("secrets/**",)
    assert root.children["child"].content_gates == ("secrets/**", "*.pem")


def test_a_subagent_inherits_what_its_compaction_does_not_say(tmp_path: Path) -> None:
    project = full(tmp_path)
    plain = project.root.children["plain"].compaction
    own = project.root.children["own"].compaction
    assert (plain.strategy, plain.upper) == (
        "drop",
        0.9,
    )  # it does not have the plugin that it would delegate to
    assert (own.strategy, own.upper, own.lower) == ("summarize", 0.7, 0.5)
    assert own.summarize is not None
    assert own.summarize.prompt_file == str(tmp_path / "prompts/sum.md")


@pytest.mark.requirement("project_file.sections")
@pytest.mark.parametrize(
    ("line", "code", "path"),
    [
        ("  compaction: {lower: 0.9}", "invalid_value", "primary.compaction.lower"),
        ("  compaction: {strategy: summarize}", "missing_key", "primary.compaction.summarize"),
        ("  compaction: {strategy: delegate}", "missing_key", "primary.compaction.delegate"),
        ("  compaction: {delegate: {plugin: x}}", "plugin_unknown", "primary.compaction.delegate.plugin"),
        ("  compaction: {stratgy: drop}", "unknown_key", "primary.compaction.stratgy"),
        ("  compaction: drop", "wrong_type", "primary.compaction"),
        ("  compaction: {always_keep: [{}]}", "missing_key", "primary.compaction.always_keep[0]"),
        (
            "  compaction: {summarize: {model: m, prompt: no.md}}",
            "prompt_missing",
            "primary.compaction.summarize.prompt",
        ),
        ("  parameters: {type: string}", "parameters_invalid", "primary.parameters.type"),
        ("  parameters: {type: object, required: [x]}", "parameters_invalid", "primary.parameters.required"),
        (
            "  parameters: {type: object, properties: 1}",
            "parameters_invalid",
            "primary.parameters.properties",
        ),
        ("  plugins: {kaged: {package: x}}", "plugin_reserved", "primary.plugins.kaged"),
        ("  plugins: {Memory: {package: x}}", "invalid_value", "primary.plugins.Memory"),
        ("  todo_review: never", "invalid_value", "primary.todo_review"),
        ("  content_gates: secrets/**", "wrong_type", "primary.content_gates"),
        ("  content_gates: ['a[b']", "invalid_value", "primary.content_gates[0]"),
        ("  content_gates: [a, /etc/x]", "invalid_value", "primary.content_gates[1]"),
        ("  content_gates: [../a]", "invalid_value", "primary.content_gates[0]"),
        ("  content_gates: [{paths: [a]}]", "wrong_type", "primary.content_gates[0]"),
        ("  content_gate: [a]", "unknown_key", "primary.content_gate"),
        ("  permissions: [{permission: x}]", "missing_key", "primary.permissions[0].pattern"),
        ("  subagents: []", "wrong_type", "primary.subagents"),
        ("  subagents: {a.b: {}}", "invalid_value", 'primary.subagents["a.b"]'),
        ("plugins: {web: {package: x}}", "plugin_reserved", "plugins.web"),
        ("tasks: {a: {command: []}}", "invalid_value", "tasks.a.command"),
        ("tasks: {a: {command: x, cwd: ../y}}", "path_outside_project", "tasks.a.cwd"),
        ("skills: {paths: [/etc]}", "path_outside_project", "skills.paths[0]"),
        ("lsp: {servers: [&a {lang: a, command: [x]}, *a]}", "duplicate_entry", "lsp.servers[0].lang"),
        ("lsp: {servers: [{lang: a, command: x}]}", "wrong_type", "lsp.servers[0].command"),
        ("dap: {adapters: [{runtime: a}]}", "missing_key", "dap.adapters[0].adapter"),
        ("limits: {on_overflow: panic}", "invalid_value", "limits.on_overflow"),
        ("limits: {cost_usd: -1}", "invalid_value", "limits.cost_usd"),
        ("limits: {max_steps: true}", "wrong_type", "limits.max_steps"),
        ("description: " + "x" * 281, "invalid_value", "description"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_reported_with_its_path(tmp_path: Path, line: str, code: str, path: str) -> None:
    result = compiled(tmp_path, MINIMAL + line + "\n")
    assert result.project is None
    assert (code, path) in [(entry[0], entry[3]) for entry in found(result)]


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("inputs: {a: {type: enum}}", "inputs.a.options"),
        ("inputs: {a: {type: text, options: [x]}}", "inputs.a.options"),
        ("inputs: {a: {type: integer, default: 1.5}}", "inputs.a.default"),
        ("inputs: {a: {type: integer, default: true}}", "inputs.a.default"),
        ("inputs: {a: {type: enum, options: [x], default: y}}", "inputs.a.default"),
        ("inputs: {a: {type: number, max_length: 3}}", "inputs.a.max_length"),
        ("inputs: {A: {type: text}}", "inputs.A"),
        ("schedule: every day", "schedule"),
        ("schedule: '61 * * * *'", "schedule"),
        ("schedule: '5-1 * * * *'", "schedule"),
        ("invokable_by: [everyone]", "invokable_by[0]"),
        ("concurrency: 0", "concurrency"),
        ("timeout_seconds: 3000000000", "timeout_seconds"),
        ("inputs: {a: {type: url, default: nope}}", "inputs.a.default"),
        ("inputs: {a: {type: string, required: true, default: ' '}}", "inputs.a.default"),
        ("inputs: {a: {type: integer, default: 9007199254740993}}", "inputs.a.default"),
        ("system_prompt: prompts/none.md", "system_prompt"),
    ],
)
def test_a_wrong_workflow_is_reported_with_its_path(tmp_path: Path, field: str, path: str) -> None:
    prompt = "" if field.startswith("system_prompt") else "system_prompt: prompts/primary.md, "
    result = compiled(tmp_path, MINIMAL + f"workflows: {{w: {{description: d, {prompt}{field}}}}}\n")
    assert [entry[3] for entry in found(result)] == [f"workflows.w.{path}"]


def test_a_default_is_any_value_that_a_run_could_be_given(tmp_path: Path) -> None:
    inputs = "{u: {type: url, default: 'https://example.org'}, t: {type: text, default: ''}, "
    inputs += "n: {type: number, default: 1.5}, b: {type: boolean, required: true, default: false}}"
    text = (
        MINIMAL
        + f"workflows: {{w: {{description: d, system_prompt: prompts/primary.md, inputs: {inputs}}}}}\n"
    )
    assert found(compiled(tmp_path, text)) == []


def test_root_plugins_are_shorthand_for_the_primarys(tmp_path: Path) -> None:
    text = MINIMAL + "  plugins: {one: {package: x}}\nplugins: {two: {package: y}}\n"
    assert sorted(compiled(tmp_path, text).require().root.plugins) == ["one", "two"]
    twice = MINIMAL + "  plugins: {one: {package: x}}\nplugins: {one: {package: y}}\n"
    assert found(compiled(tmp_path, twice)) == [("plugin_conflict", 8, 11, "plugins.one")]


def test_sixty_four_subagents_are_the_most(tmp_path: Path) -> None:
    agent = "{model: m, system_prompt: prompts/primary.md, description: d, cage: disabled}"
    rows = "".join(f"    a{i}: {agent}\n" for i in range(64))
    assert len(compiled(tmp_path, MINIMAL + "  subagents:\n" + rows).require().root.children) == 64
    more = compiled(tmp_path, MINIMAL + "  subagents:\n" + rows + f"    more: {agent}\n")
    assert found(more)[0] == ("too_many", 7, 3, "primary.subagents")


def test_an_empty_primary_reports_what_is_required(tmp_path: Path) -> None:
    assert found(compiled(tmp_path, "version: 1\nproject: app\nprimary: {}\n"))[:3] == [
        ("missing_key", 3, 1, "primary.cage"),
        ("missing_key", 3, 1, "primary.model"),
        ("missing_key", 3, 1, "primary.system_prompt"),
    ]
    assert [e[3] for e in found(compiled(tmp_path, "description: x\n"))] == ["primary", "project", "version"]


def test_what_an_author_relies_on_is_no_warning(tmp_path: Path) -> None:
    more = """\
  include_tool_results_in_context: true
  permissions: []
  tools:
    file.read: {enabled: true, limits: {max_calls: 3}}
    file.write: {enabled: true}
permissions: [{permission: file.write, pattern: "**", action: deny}]
"""
    result = compiled(tmp_path, MINIMAL + more)
    assert found(result) == []
    assert result.require().permissions[0].action == "deny"
