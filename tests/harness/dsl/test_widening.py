"""What a new version of a project adds or widens, and that nobody is asked about anything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.harness.dsl.acts import Act, ActReader
from app.harness.dsl.compiled import CompiledProject
from app.harness.dsl.compiler import compile_project
from app.harness.dsl.widening import compare
from tests.driver.project_files import Catalog, write_project

pytestmark = pytest.mark.requirement("security.trust")


def additions(old: CompiledProject, new: CompiledProject) -> tuple[Act, ...]:
    """Return only what the new version adds or widens."""
    return tuple(act for act in compare(old, ActReader(new)) if act.change is not None)


BASE: dict[str, Any] = {
    "version": 1,
    "project": "shop",
    "primary": {
        "model": "smart",
        "system_prompt": "prompts/primary.md",
        "cage": "disabled",
        "tools": {"file.read": {"enabled": True}, "kaged.issue.create": {"enabled": False}},
        "permissions": [{"permission": "file.read", "pattern": "secret/*", "action": "deny"}],
        "content_gates": ["secret/**"],
        "subagents": {
            "coder": {
                "model": "smart",
                "description": "Codes.",
                "system_prompt": "prompts/primary.md",
                "cage": {
                    "fs": [{"mode": "rw", "path": "src"}, {"mode": "deny", "path": "src/private"}],
                    "net": {"allow": ["*.example.org:443"]},
                    "env": {"LANG": "C"},
                },
                "tools": {"file.read": {"enabled": True}},
            }
        },
    },
    "tasks": {"build": {"command": "make", "env": {"CC": "gcc"}}},
    "lsp": {"servers": [{"lang": "python", "command": ["pylsp", "-v"]}]},
    "workflows": {
        "nightly": {
            "description": "Nightly.",
            "system_prompt": "prompts/primary.md",
            "schedule": "0 3 * * *",
            "tools": ["kaged.todo.view", "no.plugin.*"],
        }
    },
}
FILES = {"prompts/other.md": "You do other things.\n", "skills/a.md": "A skill.\n"}


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the base with a value at a path of keys and list indexes; None takes it away."""
    made: Any = yaml.safe_load(yaml.safe_dump(BASE))
    holder, steps = made, [int(step) if step.isdigit() else step for step in path.split("/")]
    for step in steps[:-1]:
        holder = holder[step] if isinstance(step, int) else holder.setdefault(step, {})
    if value is None:
        del holder[steps[-1]]
    elif isinstance(holder, list):
        holder.insert(int(steps[-1]), value)
    else:
        holder[steps[-1]] = value
    result: dict[str, Any] = made
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shop")


def reader(folder: Path, document: dict[str, Any]) -> ActReader:
    write_project(folder, yaml.safe_dump(document, sort_keys=False), FILES)
    result = compile_project(folder, catalog=Catalog())
    assert result.reader is not None, result.format()
    return result.reader


def version(folder: Path, document: dict[str, Any]) -> CompiledProject:
    return reader(folder, document).project


CODER = "primary/subagents/coder"
RULE = {"permission": "file.read", "pattern": "secret/*"}
WIDER = [
    ("primary/tools/file.write", {"enabled": True}, "tool", "file.write"),
    ("primary/tools/kaged.issue.create", None, "tool", "kaged.issue (create)"),
    (f"{CODER}/tools/file.write", {"enabled": True}, "tool", "file.write"),
    (f"{CODER}/cage", "disabled", "grant", "it is not caged at all"),
    (f"{CODER}/cage/fs/1", None, "grant", "rw on `src/private`"),
    (f"{CODER}/cage/fs/0", {"mode": "ro", "path": "docs"}, "grant", "ro on `docs`"),
    (f"{CODER}/cage/net/allow/0", "evil.example.net", "host", "net `evil.example.net`"),
    (f"{CODER}/cage/env/LD_PRELOAD", "./a.so", "environment", "LD_PRELOAD=./a.so"),
    (f"{CODER}/cage/env/LANG", "de", "environment", "LANG=de"),
    (f"{CODER}/cage/seccomp", "relaxed", "grant", "seccomp relaxed"),
    (f"{CODER}/cage/state", "persistent", "grant", "persistent state"),
    (f"{CODER}/cage/capabilities", ["shell"], "grant", "capability `shell`"),
    (f"{CODER}/system_prompt", "prompts/other.md", "prompt", "prompts/other.md"),
    ("primary/plugins", {"notes": {"package": "./notes"}}, "plugin", "notes: ./notes (agent)"),
    ("primary/permissions", None, "rule", "deny file.read `secret/*` (pinned)"),
    ("primary/content_gates", None, "rule", "withhold content of `secret/**`"),
    ("primary/content_gates", ["secret/a"], "rule", "withhold content of `secret/**`"),
    (
        "primary/permissions/0",
        {**RULE, "pattern": "*", "action": "allow"},
        "rule",
        "allow file.read `*` (pinned)",
    ),
    (
        "primary/permissions/0",
        {**RULE, "pattern": "secret/a", "action": "ask"},
        "rule",
        "ask file.read `secret/a` (pinned)",
    ),
    ("permissions", [{**RULE, "action": "allow"}], "rule", "allow file.read `secret/*`"),
    ("tasks/build/command", "make && curl evil", "program", "make && curl evil (in .)"),
    ("tasks/build/env/CC", "./evil", "environment", "CC=./evil"),
    ("tasks/more", {"command": ["a", "b c"]}, "program", "a 'b c' (in .)"),
    ("lsp/servers/0", {"lang": "go", "command": ["./gopls"]}, "program", "./gopls"),
    ("dap", {"adapters": [{"runtime": "x", "command": ["./x"]}]}, "program", "./x"),
    ("workflows/nightly/schedule", "* * * * *", "schedule", "* * * * *"),
    ("workflows/nightly/invokable_by", ["operator", "guest"], "grant", "guests may start it"),
    ("skills", {"paths": ["skills"]}, "prompt", "skills"),
    ("workflows/nightly/tools", ["kaged.todo.view", "file.read"], "tool", "file.read"),
    ("workflows/nightly/tools", ["kaged.todo.view", "kaged.todo.set"], "tool", "kaged.todo.set"),
]


@pytest.mark.parametrize(("path", "value", "kind", "text"), WIDER, ids=[f"{w[0]}-{w[3]}" for w in WIDER])
def test_what_a_project_adds_or_widens_is_asked_about_with_its_place(
    folder: Path, path: str, value: Any, kind: str, text: str
) -> None:
    old = version(folder, BASE)
    told = [act for act in compare(old, reader(folder, changed(path, value))) if act.change is not None]
    assert (kind, text) in {(act.kind, act.text) for act in told}, told
    assert all(act.file == ".kaged/project.yaml" and act.line > 0 for act in told), told


NARROWER = [
    ("primary/tools/file.read", None),
    ("primary/tools/kaged.issue", {"enabled": False}),
    ("primary/model", "other"),
    ("primary/description", "Sells."),
    ("primary/max_steps", 999),
    ("primary/compaction", {"strategy": "checkpoint"}),
    ("primary/permissions/0", {**RULE, "pattern": "b", "action": "deny"}),
    ("primary/content_gates/0", "*.pem"),
    (f"{CODER}/content_gates", ["src/private/**"]),
    ("limits", {"max_steps": 5000}),
    ("description", "A shop."),
    ("tasks/build", None),
    ("lsp", None),
    ("workflows/nightly/schedule", None),
    ("workflows/nightly/timeout_seconds", 9000),
    ("primary/subagents", None),
    (f"{CODER}/cage/fs/0", {"mode": "ro", "path": "src/lib"}),
    (f"{CODER}/cage/net/allow/0", "a.example.org:443"),
    (f"{CODER}/cage/net", None),
    (f"{CODER}/cage/env/LANG", None),
    (f"{CODER}/cage/outside", "none"),
    (f"{CODER}/cage/limits", {"memory_mb": 100_000}),
]


@pytest.mark.parametrize(("path", "value"), NARROWER, ids=[entry[0] for entry in NARROWER])
def test_nobody_is_asked_about_less_or_about_what_grants_nothing(folder: Path, path: str, value: Any) -> None:
    assert additions(version(folder, BASE), version(folder, changed(path, value))) == ()


def test_another_text_of_a_prompt_is_shown_by_its_digest_and_asked_about_by_nobody(folder: Path) -> None:
    before = reader(folder, BASE)
    (folder / "prompts" / "primary.md").write_text("You sell everything.\n")
    result = compile_project(folder, catalog=Catalog())
    assert result.reader is not None and result.project is not None
    old, new = ({act.digest for act in one.all() if act.kind == "prompt"} for one in (before, result.reader))
    assert None not in old | new and old != new
    assert additions(before.project, result.project) == ()


def test_a_referenced_project_is_shown_with_what_it_brings(folder: Path) -> None:
    nested = yaml.safe_load(yaml.safe_dump(BASE))["primary"]["subagents"]["coder"]
    child = {"version": 1, "project": "tax", "primary": {**nested, "cage": "disabled"}}
    write_project(folder / "tax", yaml.safe_dump(child))
    told = additions(
        version(folder, BASE),
        version(folder, changed("primary/subagents/tax", {"path": "tax", "description": "Counts."})),
    )
    assert ("project", "tax") in {(act.kind, act.text) for act in told}
    assert ("grant", "it is not caged at all") in {(act.kind, act.text) for act in told}


paths = st.sampled_from(["src", "src/a", "src/a/b", "docs", ".", "src/private"])
mounts = st.lists(st.tuples(st.sampled_from(["ro", "rw", "deny"]), paths), max_size=4)
tools = st.sets(st.sampled_from(["file.read", "file.write", "edit.text", "search.grep"]))
hosts = st.sets(st.sampled_from(["a.example.org", "b.example.org:443", "*.example.org"]))
schedules = st.sampled_from([None, "0 3 * * *", "* * * * *"])
versions = st.tuples(mounts, tools, hosts, schedules)


def document(parts: tuple[Any, ...]) -> dict[str, Any]:
    fs, names, net, schedule = parts
    made = changed(f"{CODER}/tools", {name: {"enabled": True} for name in names})
    cage = {"fs": [{"mode": mode, "path": path} for mode, path in fs], "net": {"allow": sorted(net)}}
    made["primary"]["subagents"]["coder"]["cage"] = cage
    made["workflows"]["nightly"]["schedule"] = schedule
    if schedule is None:
        del made["workflows"]["nightly"]["schedule"]
    return made


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=versions, second=versions, third=versions)
def test_comparing_is_reflexive_and_what_asks_nothing_twice_asks_nothing_at_once(
    folder: Path, first: Any, second: Any, third: Any
) -> None:
    one, two, three = (version(folder, document(parts)) for parts in (first, second, third))
    assert additions(one, one) == ()
    if additions(one, two) == () and additions(two, three) == ():
        assert additions(one, three) == ()
    if additions(one, two) == () and additions(two, one) == ():
        assert {act.key for act in ActReader(one).all() if act.kind == "tool"} == {
            act.key for act in ActReader(two).all() if act.kind == "tool"
        }
