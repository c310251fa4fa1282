"""Hooks around tool calls: they deny, ask, add to results, and never allow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import driven
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.asking import answer, until_asked
from tests.harness.hooks.hooked import (
    PRIMARY,
    WRITES,
    audited,
    ended,
    for_,
    hook,
    result_of,
    uncaged,
    write_hooked,
)

pytestmark = pytest.mark.requirement("hooks.tools")


def writes(path: str = "a.txt", content: str = "x\n", tool: str = "file_write") -> ToolCall:
    return ToolCall(tool, {"path": path, "content": content}, id="c1")


@pytest.mark.needs("cages")
async def test_a_hook_that_exits_with_2_denies_the_call_and_the_model_reads_why(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_hooked(
        tmp_path / "shop",
        before_tool=[hook("frozen", "echo 'a.txt is frozen' >&2; exit 2", match=for_("fs.write", "a.txt"))],
    )
    fake.script(Reply((writes(), ToolCall("file_read", {"path": "README.md"}, id="c2"))), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Write it")
        rows, denied = await audited(driver), await audited(driver, "tool.denied")

    result = result_of(watch)
    assert result["isError"]
    assert result["content"] == "Error hook_denied: The hook frozen denies this call: a.txt is frozen"
    assert not (root / "a.txt").exists()
    assert not result_of(watch, "c2")["isError"]  # the other call is none of its business
    (event,) = ended(watch)
    told = {key: event[key] for key in ("hook", "event", "source", "decision", "exit_code", "tool")}
    assert told == {
        "hook": "frozen",
        "event": "before_tool",
        "source": "project",
        "decision": "deny",
        "exit_code": 2,
        "tool": "file.write",
    }
    assert (event["reason"], event["tool_call_id"]) == ("a.txt is frozen", "c1")
    assert [row["decision"] for row in rows] == ["deny"]
    assert denied[0]["denied_capability"] == "a call that the hook lets pass"


@pytest.mark.needs("cages")
@pytest.mark.parametrize("tool", ["write", "file_write"])
async def test_a_hook_is_given_the_call_as_json_without_secrets(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], tool: str
) -> None:
    keep = 'cat > seen.json; echo "$KAGED_HOOK $KAGED_PROJECT_DIR" > env.txt'
    root = write_hooked(
        tmp_path / "shop",
        before_tool=[hook("keep", keep, match=for_("write"), cage=WRITES)],
        after_tool=[hook("after", "cat > after.json", cage=WRITES)],
    )
    secret = "ghp_" + "abcdEFGH0123" * 3
    fake.script(Reply((writes(content=f"key: {secret} sk-test-secret\n", tool=tool),)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Write it")
        session, project = driver.session_id, driver.project_id

    assert not result_of(watch)["isError"], result_of(watch)
    seen = json.loads((root / "seen.json").read_text())
    run_id = watch.of("run.started")[0]["payload"]["run_id"]
    assert seen == {
        "hook": "keep",
        "event": "before_tool",
        "session_id": session,
        "run_id": run_id,
        "project_id": project,
        "project": "shop",
        "project_dir": str(root),
        "workspace_dir": str(root),
        "agent": "primary",
        "mode": "ask",
        "tool": tool.replace("_", "."),
        "call_id": "c1",
        "arguments": {"path": "a.txt", "content": "key: ******** ********\n"},
    }
    after = json.loads((root / "after.json").read_text())
    assert (after["event"], after["is_error"]) == ("after_tool", False)
    assert after["result"]["bytes_written"] > 0
    assert (root / "env.txt").read_text() == f"keep {root}\n"
    assert secret in (root / "a.txt").read_text()


@pytest.mark.needs("cages")
async def test_what_a_hook_says_is_added_to_the_result_and_marked_as_its_words(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_hooked(
        tmp_path / "shop",
        before_tool=[hook("first", "echo 'be careful'")],
        after_tool=[
            hook("format", "echo formatted >> a.txt; echo 'a.txt was </hook> reformatted'", cage=WRITES),
            hook("lint", "echo 'line 1 is too long' >&2; exit 2"),
            hook("json", """echo '{"context": "from json", "decision": "allow"}'"""),
        ],
    )
    fake.script(Reply((writes(),)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Write it")

    content = result_of(watch)["content"]
    assert not result_of(watch)["isError"]
    _, _, notes = content.partition("\n")
    assert notes == (
        '<hook name="first" event="before_tool">\nbe careful\n</hook>\n'
        '<hook name="format" event="after_tool">\na.txt was &lt;/hook> reformatted\n</hook>\n'
        '<hook name="lint" event="after_tool">\nline 1 is too long\n</hook>\n'
        '<hook name="json" event="after_tool">\nfrom json\n</hook>'
    )
    assert (root / "a.txt").read_text() == "x\nformatted\n"
    assert [one["decision"] for one in ended(watch)] == ["continue", "continue", "deny", "continue"]
    assert notes in json.dumps(fake.requests[1].json).encode().decode("unicode_escape")


@pytest.mark.needs("cages")
@pytest.mark.parametrize("said", ["once", "reject"])
async def test_a_hook_that_asks_puts_the_call_to_the_operator(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], said: str
) -> None:
    asks = """echo '{"decision": "ask", "reason": "this file is precious"}'"""
    root = write_hooked(tmp_path / "shop", before_tool=[hook("careful", asks, match=for_("fs.write"))])
    fake.script(Reply((writes(),)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver, driver.watching() as watch:
        await driver.post("Write it")
        (question,) = await until_asked(watch)
        assert not (root / "a.txt").exists()
        await answer(driver, question, answer=said)
        await watch.until_state("idle")

    assert (question["source"], question["permission"], question["subjects"]) == ("hook", "hook", ["a.txt"])
    assert question["reason"] == "Hook `careful` asks for approval: this file is precious"
    assert (root / "a.txt").exists() is (said == "once")
    if said == "reject":
        assert "hook_denied: The hook careful asked for approval" in result_of(watch)["content"]


@pytest.mark.needs("cages")
async def test_where_nobody_can_be_asked_a_question_is_a_denial(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_hooked(tmp_path / "shop", before_tool=[hook("careful", """echo '{"decision":"ask"}'""")])
    fake.script(Reply((writes(),)), text_reply("Done."))
    async with driven(tmp_path / "data", root, session={"headless": True}, **settings_overrides) as driver:
        watch = await driver.run("Write it")

    assert "this run cannot ask: it gives no reason" in result_of(watch)["content"]
    assert not (root / "a.txt").exists()


@pytest.mark.parametrize("decision", ["allow", "approve"])
async def test_a_hook_cannot_allow_what_a_rule_denies(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], decision: str
) -> None:
    rule = {"permission": "fs.write", "pattern": "a.txt", "action": "deny"}
    root = write_hooked(
        tmp_path / "shop",
        {**PRIMARY, "permissions": [rule]},
        before_tool=[hook("generous", f"""echo '{{"decision": "{decision}"}}'""")],
    )
    fake.script(Reply((writes(),)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Write it")

    assert "permission_denied" in result_of(watch)["content"]
    assert ended(watch) == []  # it was not even run


@pytest.mark.needs("cages")
async def test_the_operators_hooks_run_first_and_in_every_agent(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_hooked(tmp_path / "shop", before_tool=[hook("second", "true")])
    settings_overrides["hooks"] = {
        "before_tool": [{"name": "first", "command": ["/bin/sh", "-c", "true"]}],
        "after_tool": [{"name": "no", "command": "true", "agents": ["primary.subagents.*"]}],
    }
    fake.script(Reply((writes(),)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Write it")

    assert [(one["hook"], one["source"]) for one in ended(watch)] == [
        ("first", "config"),
        ("second", "project"),
    ]


async def test_a_hook_of_claude_code_reads_and_answers_in_its_own_format(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    specific = {"permissionDecision": "deny", "permissionDecisionReason": "not here"}
    denies = f"cat > before.json; echo '{json.dumps({'hookSpecificOutput': specific})}'"
    root = write_hooked(
        tmp_path / "shop",
        before_tool=[uncaged("theirs", denies, match=for_("file.write", "b.txt"), input="claude")],
        after_tool=[uncaged("after", "cat > after.json", input="claude")],
        on_prompt=[uncaged("prompt", "cat > prompt.json", input="claude")],
    )
    denied = ToolCall("write", {"path": "b.txt", "content": "y"}, id="c2")
    fake.script(Reply((writes(),)), Reply((denied,)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Write it")
        session = driver.session_id

    def read(name: str) -> dict[str, Any]:
        return dict(json.loads((root / name).read_text()))

    common = {"session_id": session, "cwd": str(root), "permission_mode": "default"}
    assert read("prompt.json") == {
        **common,
        "hook_event_name": "UserPromptSubmit",
        "prompt": "Write it",
    }
    assert read("before.json") == {
        **common,
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": f"{root}/b.txt", "content": "y"},
    }
    after = read("after.json")
    assert (after["hook_event_name"], after["tool_name"]) == ("PostToolUse", "Write")
    assert after["tool_response"]["path"] == "a.txt"
    assert "The hook theirs denies this call: not here" in result_of(watch, "c2")["content"]
