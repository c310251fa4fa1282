"""The locked set: portable names and shapes over the same implementations, with the contract's caps."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from app.tools.catalog import GROUPS
from app.tools.contract.naming import LOCKED_TWINS
from app.tools.contract.ports import TodoItem
from app.tools.contract.rules import PermissionRule

LOCKED = (
    *("read", "write", "edit", "glob", "grep", "bash", "todo", "task", "question", "skill"),
    *("web_search", "web_fetch", "tool_search"),
)


@pytest.mark.requirement("locked.shapes")
@pytest.mark.parametrize(
    ("name", "required", "optional"),
    [
        ("read", {"path"}, {"offset", "limit"}),
        ("write", {"path", "content"}, set()),
        ("edit", {"path", "old_string", "new_string"}, {"replace_all"}),
        ("glob", {"pattern"}, {"path"}),
        ("grep", {"pattern"}, {"path", "include"}),
        ("bash", {"command"}, {"timeout"}),
        ("todo", set(), {"todos"}),
        ("skill", {"name"}, set()),
        ("web_search", {"query"}, {"max_results"}),
        ("web_fetch", {"url"}, set()),
    ],
)
async def test_a_locked_tool_takes_its_few_parameters_and_no_others(desk, name, required, optional):
    schema = desk.service.registry.spec(name).parameters
    assert set(schema["properties"]) == required | optional
    assert set(schema.get("required", ())) == required
    envelope = await desk.call(name, {**dict.fromkeys(required, "https://x.test"), "unknown": 1})
    assert (envelope.code, set(envelope.detail["fields"])) == ("invalid_params", {"unknown"})


@pytest.mark.requirement("locked.shapes")
def test_a_todo_is_a_content_and_one_of_three_states(desk):
    todos = desk.service.registry.spec("todo").parameters["properties"]["todos"]
    assert todos["type"] == "array"
    assert set(todos["items"]["required"]) == {"content", "status"}
    assert todos["items"]["properties"]["status"]["enum"] == ["pending", "in_progress", "completed"]


@pytest.mark.requirement("locked.shapes", "locked.question")
async def test_questions_have_options_that_may_be_left_out_and_nothing_else(desk):
    schema = desk.service.registry.spec("question").parameters
    asked = schema["properties"]["questions"]["items"]
    assert (set(schema["properties"]), schema["required"]) == ({"questions"}, ["questions"])
    assert set(asked["properties"]) == {"question", "header", "options", "multi_select"}
    assert asked["required"] == ["question"]
    envelope = await desk.call("question", {"questions": [{"question": "Why?"}], "unknown": 1})
    assert (envelope.code, set(envelope.detail["fields"])) == ("invalid_params", {"unknown"})


@pytest.mark.requirement("locked.shapes")
def test_the_group_has_all_of_them_and_wire_names_stay_distinct(desk):
    registry = desk.service.registry
    assert tuple(GROUPS["@locked"]) == LOCKED
    assert tuple(registry.match("@locked")) == LOCKED
    for name, twin in LOCKED_TWINS.items():
        assert registry.by_wire_name(name).name == name
        assert registry.by_wire_name(twin.replace(".", "_")).name == twin
    assert "edit" not in registry.match("edit.*")
    assert not set(LOCKED) & set(registry.match("@files"))


@pytest.mark.requirement("locked.same")
def test_a_locked_tool_declares_what_its_dotted_one_does(desk):
    get = desk.service.registry.get
    for name, twin in LOCKED_TWINS.items():
        locked, dotted = get(name), get(twin)
        for field in ("acp_kind", "requires", "read_only", "destructive", "body_field", "result", "title"):
            assert getattr(locked, field) == getattr(dotted, field), (name, field)
    given = {"path": "a", "content": "c", "old_string": "o", "new_string": "n", "pattern": "p"}
    for name in ("read", "write", "edit", "glob", "grep"):
        locked, dotted = get(name), get(LOCKED_TWINS[name])
        values = {key: value for key, value in given.items() if key in locked.parameters.model_fields}
        assert locked.effects(locked.parameters(**values)) == dotted.effects(dotted.parameters(**values))
    command = get("bash").parameters(command="git push")
    assert get("bash").effects(command).commands == ("git push",)


@pytest.mark.requirement("locked.same")
async def test_what_one_name_has_read_the_other_may_write(desk):
    file = desk.put("a.txt", "one\n")
    assert await desk.code("write", path="a.txt", content="x") == "file_not_read"
    await desk.ok("read", path="a.txt")
    await desk.ok("edit.text", path="a.txt", old_string="one", new_string="two")
    await desk.ok("edit", path="a.txt", old_string="two", new_string="three", replace_all=True)
    await desk.ok("file.write", path="a.txt", content="four\n")
    file.write_text("by somebody else\n")
    assert (
        await desk.code("edit", path="a.txt", old_string="four", new_string="5") == "file_changed_since_read"
    )
    await desk.ok("file.read", path="a.txt")
    await desk.ok("write", path="a.txt", content="five\n")
    assert file.read_text() == "five\n"
    assert desk.ports.names().count("file.edited") == 2


@pytest.mark.requirement("locked.same")
async def test_each_name_gives_the_same_answer(desk):
    desk.put("src/a.py", "import os\n\nprint(os)\n")
    desk.put("src/b.js", "import os\n")
    for name, params in (
        ("read", {"path": "src/a.py", "offset": 2, "limit": 1}),
        ("read", {"path": "src"}),
        ("glob", {"pattern": "*.py"}),
        ("bash", {"command": "printf hello; exit 3"}),
    ):
        assert await desk.ok(name, **params) == await desk.ok(LOCKED_TWINS[name], **params)
    found = await desk.ok("grep", pattern="import", include="*.py")
    assert [(row["line"], row["content"]) for row in found["matches"]] == [(1, "import os")]
    dotted = await desk.ok("search.grep", pattern="import", include="*.py", output_mode="content")
    assert found == dotted


@pytest.mark.requirement("locked.same")
@pytest.mark.parametrize("rule", ["bash", "shell.bash", "shell.*", "bas*", "*"])
@pytest.mark.parametrize("tool", ["bash", "shell.bash"])
async def test_a_rule_on_either_name_holds_for_both(desk, rule, tool):
    ruled = desk.ruled(PermissionRule(rule, "touch *", "deny", "project"))
    assert await ruled.code(tool, command="touch pwned") == "permission_denied"
    assert not (desk.root / "pwned").exists()
    assert (await ruled.ok(tool, command="true"))["exit_code"] == 0


@pytest.mark.requirement("locked.same")
async def test_the_more_specific_rule_wins_whichever_name_it_uses(desk):
    desk.put("a.txt", "x")
    ruled = desk.ruled(
        PermissionRule("file.read", "*", "deny", "project"),
        PermissionRule("read", "a.txt", "allow", "project"),
    )
    await ruled.ok("read", path="a.txt")
    await ruled.ok("file.read", path="a.txt")
    assert await ruled.code("read", path="b.txt") == "permission_denied"


@pytest.mark.requirement("locked.same")
async def test_a_cage_holds_for_locked_tools(desk):
    desk.put("src/a.txt", "x")
    desk.put("data/a.txt", "secret")
    caged = desk.caged(("ro", "src"))
    assert (await caged.ok("read", path="src/a.txt"))["content"] == "1: x"
    assert await caged.code("read", path="data/a.txt") == "capability_denied"
    assert await caged.code("write", path="src/b.txt", content="x") == "capability_denied"
    assert await caged.code("bash", command="true") == "capability_denied"


@pytest.mark.requirement("locked.same")
@pytest.mark.parametrize("command", ["", "  ", "a\0b", "x" * 70_000, "\ud800"])
async def test_a_command_that_the_shell_refuses_is_invalid_here_too(desk, command):
    envelope = await desk.call("bash", command=command)
    assert (envelope.code, list(envelope.detail["fields"])) == ("invalid_params", ["command"])


@pytest.mark.requirement("locked.caps")
async def test_read_shows_200_kb_of_whole_lines_and_says_where_to_go_on(desk):
    lines = [f"{number:06} {'ü' * 200}" for number in range(1, 1_001)]
    desk.put("large.txt", "\n".join(lines) + "\n")
    envelope = await desk.call("read", path="large.txt", offset=11)
    shown = envelope.data["content"]
    assert 199_000 < len(shown.encode()) <= 200_000
    last = int(shown.rsplit("\n", 1)[-1].split(":")[0])
    assert envelope.data["next_offset"] == last + 1
    assert envelope.data["truncated"] is True
    assert envelope.metadata.truncated is True
    whole = Path(envelope.metadata.output_path).read_text()
    assert whole.startswith(shown + "\n")
    rest = await desk.ok("read", path="large.txt", offset=last + 1)
    assert rest["content"].startswith(f"{last + 1}: {last + 1:06} ")
    assert (await desk.call("read", path="large.txt", limit=5)).metadata.output_path is None


@pytest.mark.requirement("locked.caps")
async def test_bash_shows_200_kb_and_keeps_the_whole(desk):
    for count in (40_000, 400_000):  # below and above what the shell tool itself keeps
        envelope = await desk.call("bash", command=f"seq {count}")
        assert len(envelope.data["stdout"].encode()) <= 200_000
        assert envelope.data["stdout"].startswith("1\n2\n3\n")
        assert envelope.metadata.truncated is True
        kept = Path(envelope.metadata.output_path).read_text().split()
        assert kept == [str(number) for number in range(1, count + 1)]
    tail = await desk.ok("read", path=envelope.metadata.output_path, offset=400_000)
    assert tail["content"] == "400000: 400000"
    small = await desk.call("bash", command="seq 1000")
    assert small.metadata.output_path is None


@pytest.mark.requirement("locked.caps")
async def test_glob_lists_a_thousand_files_and_keeps_the_list_of_all(desk):
    for number in range(1_003):
        os.close(os.open(desk.root / f"{number:04}.txt", os.O_CREAT | os.O_WRONLY))
    envelope = await desk.call("glob", pattern="*.txt")
    assert (len(envelope.data["files"]), envelope.data["count"]) == (1_000, 1_003)
    assert envelope.data["truncated"] is True
    assert len(Path(envelope.metadata.output_path).read_text().splitlines()) == 1_003
    (desk.root / "0000.txt").unlink()
    (desk.root / "0001.txt").unlink()
    (desk.root / "0002.txt").unlink()
    assert (await desk.ok("glob", pattern="*.txt"))["truncated"] is False


@pytest.mark.requirement("locked.caps")
async def test_grep_shows_200_matches_and_keeps_them_all(desk):
    desk.put("a.txt", "match\n" * 201)
    envelope = await desk.call("grep", pattern="match")
    assert len(envelope.data["matches"]) == 200
    assert envelope.data["truncated"] is True
    assert len(Path(envelope.metadata.output_path).read_text().splitlines()) == 201
    desk.put("a.txt", "match\n" * 200)
    exact = await desk.call("grep", pattern="match")
    assert (len(exact.data["matches"]), exact.data["truncated"]) == (200, False)
    assert exact.metadata.output_path is None


@pytest.mark.requirement("locked.todo")
async def test_a_todo_list_is_replaced_as_a_whole_and_shown_when_nothing_is_given(desk):
    assert await desk.ok("todo") == {"todos": []}
    first = [{"content": "Look", "status": "completed"}, {"content": "Fix", "status": "in_progress"}]
    assert await desk.ok("todo", todos=first) == {"todos": first}
    assert desk.ports.todo_list == (TodoItem("Look", "completed"), TodoItem("Fix", "in_progress"))
    assert await desk.ok("todo") == {"todos": first}
    second = [{"content": "Test", "status": "in_progress"}, {"content": "Ship", "status": "in_progress"}]
    assert await desk.ok("todo", todos=second) == {"todos": second}
    assert await desk.ok("todo", todos=[]) == {"todos": []}
    tool = desk.service.registry.get("todo")
    assert tool.effects(tool.parameters(todos=[])).exclusive  # the last of several in one step stays
    assert not tool.effects(tool.parameters()).exclusive


@pytest.mark.requirement("locked.todo")
@pytest.mark.parametrize(
    "todos",
    [
        [{"content": "x"}],
        [{"status": "pending"}],
        [{"content": "", "status": "pending"}],
        [{"content": "x", "status": "done"}],
        [{"content": "x", "status": "pending", "priority": 1}],
        [{"content": "x" * 2_001, "status": "pending"}],
        [{"content": "x", "status": "pending"}] * 201,
        "x",
    ],
)
async def test_a_list_of_another_shape_is_refused_and_changes_nothing(desk, todos):
    kept = [{"content": "Look", "status": "pending"}]
    await desk.ok("todo", todos=kept)
    assert await desk.code("todo", todos=todos) == "invalid_params"
    assert await desk.ok("todo") == {"todos": kept}


@pytest.mark.requirement("locked.todo")
async def test_a_todo_list_needs_no_rights_and_every_agent_of_the_session_sees_it(desk):
    kept = [{"content": "Look", "status": "pending"}]
    await desk.ok("todo", todos=kept)
    caged = replace(desk.caged(), ports=desk.ports)
    assert await caged.ok("todo") == {"todos": kept}
