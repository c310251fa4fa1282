"""Instruction files and skills in runs: what the provider is sent, and when."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.driver.sessions import DRIVERS, Driver, driven, provider_settings, restarted
from tests.fakes.provider_script import Document, RecordedRequest, Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.guidance.conftest import GUIDED_YAML
from tests.harness.guidance.test_skill_folders import skill
from tests.harness.test_sent_request import body_in, every_request


def system_of(request: RecordedRequest) -> str:
    return str(request.json["messages"][0]["content"])


def contents(request: RecordedRequest) -> list[str]:
    return [str(message.get("content")) for message in request.json["messages"][1:]]


def is_prefix(before: RecordedRequest, after: RecordedRequest) -> bool:
    one, other = before.json["messages"], after.json["messages"]
    return bool(other[: len(one)] == one and before.json["tools"] == after.json["tools"])


def calls(tool: str, /, **arguments: Any) -> Reply:
    return Reply((ToolCall(tool, arguments),))


@pytest.mark.requirement("guidance.prompt")
async def test_the_parts_stand_in_their_order_and_stay_byte_identical(
    fake: FakeProvider, shop: Path, home: Path, tmp_path: Path, guided: dict[str, Any]
) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "CLAUDE.md").write_text("Be brief.")
    (shop.parent / "AGENTS.md").write_text("The house rules.")
    (shop / "AGENTS.md").write_text("Prices are in @docs/money.md.")
    (shop / "docs").mkdir()
    (shop / "docs" / "money.md").write_text("Cents, never floats.")
    skill(shop / ".claude" / "skills" / "pdf", "pdf", "Reads PDF files.")
    skill(home / ".agents" / "skills" / "letters", "letters", "Writes letters.")
    fake.respond = lambda _: text_reply("Yes.")
    async with driven(tmp_path / "data", shop, **guided) as driver:
        await driver.run("One")
        session = driver.session_id
        (shop / "AGENTS.md").write_text("Prices are in euros.")
        skill(shop / ".claude" / "skills" / "late", "late", "Too late for this session.")
        await driver.run("Two")
        prompts = (await driver.session_call("GET", "/prompts"))["items"]
    async with restarted(tmp_path / "data", **guided) as driver:
        driver.session_id = session
        await driver.run("Three")
        rows = await driver.messages()
    systems = {system_of(request) for request in fake.requests}
    assert len(fake.requests) == 3 and len(systems) == 1
    text = systems.pop()
    places = [
        text.index(part)
        for part in (
            "You keep the shop.",
            '<instructions file="~/.claude/CLAUDE.md">\nBe brief.\n</instructions>',
            '<instructions file="../AGENTS.md">\nThe house rules.',
            '<instructions file="AGENTS.md">\nPrices are in @docs/money.md.',
            '<instructions file="docs/money.md">\nCents, never floats.',
            "- pdf: Reads PDF files. (.claude/skills/pdf/SKILL.md)",
            "- letters: Writes letters. (~/.agents/skills/letters/SKILL.md)",
            "<environment>",
        )
    ]
    assert places == sorted(places)
    assert "- late" not in text
    assert is_prefix(fake.requests[0], fake.requests[1]) and is_prefix(fake.requests[1], fake.requests[2])
    news = [row for row in rows if row["details"].get("kind") == "instructions"]
    assert [row["content"] for row in news] == [
        (
            "AGENTS.md has changed. This replaces what you were given of it before:\n"
            '<instructions file="AGENTS.md">\nPrices are in euros.\n</instructions>'
        )
    ]
    names = [(part["name"], part["origin"]) for part in prompts[0]["parts"]]
    assert names == [
        ("agent", "prompts/primary.md"),
        ("instructions:~/.claude/CLAUDE.md", "~/.claude/CLAUDE.md"),
        ("instructions:../AGENTS.md", "../AGENTS.md"),
        ("instructions:AGENTS.md", "AGENTS.md"),
        ("instructions:docs/money.md", "docs/money.md"),
        ("skills", None),
        ("environment", None),
    ]
    sent = [(block["name"], block["text"]) for block in prompts[0]["sent"]["blocks"]]
    assert [(part["name"], part["text"]) for part in prompts[0]["parts"]] == sent


@pytest.mark.requirement("guidance.prompt")
@pytest.mark.parametrize("wire", DRIVERS)
async def test_what_is_audited_is_what_the_provider_got(
    fake: FakeProvider, shop: Path, tmp_path: Path, guided: dict[str, Any], wire: str
) -> None:
    (shop / "AGENTS.md").write_text('Say \u2028 "quoted" \\ and\ttabs.')
    (shop / "src").mkdir()
    (shop / "src" / "AGENTS.md").write_text("Below.")
    (shop / "src" / "a.py").write_text("a = 1\n")
    settings = {**guided, "providers": provider_settings(wire, fake.base_url)}
    fake.script(calls("file_read", path="src/a.py"), text_reply("Yes."), text_reply("Again."))
    async with driven(tmp_path / "data", shop, **settings) as driver:
        await driver.run("One")
        await driver.run("Two")
        answers = await every_request(driver.client, driver.session_id)
    assert [body_in(answer) for answer in answers] == [request.body for request in fake.requests]
    assert all(answer.json()["verified"] for answer in answers)
    assert [b"src/AGENTS.md" in request.body for request in fake.requests] == [False, True, True]


def obedient(request: RecordedRequest) -> Reply | Document:
    """Answer as instructions say: load the skill that the prompt lists, read what the user names, and say the
    word that the instructions for what was read want."""
    said = orjson.dumps(request.json["messages"]).decode()
    last = request.json["messages"][-1]
    if last["role"] == "user" and last["content"].startswith("Read "):
        return calls("file_read", path=last["content"].removeprefix("Read "))
    if last["role"] == "user" and "- greeting: How to greet." in said and "Load" in last["content"]:
        return calls("skill", name="greeting")
    words = [word for word in ("AHOY", "GOODBYE") if word in said]
    return text_reply(" ".join(words) or "Hello.")


@pytest.mark.requirement("guidance.nested", "guidance.skill_tool")
async def test_a_skill_and_a_nested_file_change_what_a_model_does_also_after_a_restart(
    fake: FakeProvider, shop: Path, tmp_path: Path, guided: dict[str, Any]
) -> None:
    skill(shop / ".agents" / "skills" / "greeting", "greeting", "How to greet.", "Say AHOY.")
    (shop / "src" / "deep").mkdir(parents=True)
    (shop / "src" / "AGENTS.md").write_text("End with GOODBYE.")
    (shop / "src" / "deep" / "a.py").write_text("a = 1\n")
    fake.respond = obedient
    async with driven(tmp_path / "data", shop, **guided) as driver:
        assert (await driver.run("Hi")).text() == "Hello."
        assert (await driver.run("Load what helps")).text() == "AHOY"
        assert (await driver.run("Read src/deep/a.py")).text() == "AHOY GOODBYE"
        assert (await driver.run("Read src/deep/a.py")).text() == "AHOY GOODBYE"
        session = driver.session_id
    async with restarted(tmp_path / "data", **guided) as driver:
        driver.session_id = session
        assert (await driver.run("Read src/deep/a.py")).text() == "AHOY GOODBYE"
        rows = await driver.messages()
        loaded = next(row for row in rows if row["details"].get("toolName") == "skill")
    assert loaded["content"].partition("\n")[2] == (
        '<skill_content name="greeting">\nSay AHOY.\n</skill_content>'
    )
    news = [row["content"] for row in rows if row["details"].get("kind") == "instructions"]
    assert news == [
        (
            "src/AGENTS.md has instructions for the files below src, which you have come to:\n"
            '<instructions file="src/AGENTS.md">\nEnd with GOODBYE.\n</instructions>'
        )
    ]
    assert "GOODBYE" not in system_of(fake.requests[-1])
    for before, after in zip(list(fake.requests), list(fake.requests)[1:], strict=False):
        assert is_prefix(before, after)


@pytest.mark.requirement("guidance.nested")
async def test_nested_files_come_with_the_first_use_of_a_folder_and_once(
    fake: FakeProvider, shop: Path, tmp_path: Path, guided: dict[str, Any]
) -> None:
    for folder in ("src/api", "web", "node_modules/pkg", "built", "plain"):
        (shop / folder).mkdir(parents=True)
        (shop / folder / "x.txt").write_text("x\n")
        (shop / folder / "AGENTS.md").write_text(f"For {folder}.")
    (shop / "src" / "CLAUDE.md").write_text("For src, see @api/more.md")
    (shop / "src" / "api" / "more.md").write_text("More.")
    (shop / "plain" / "AGENTS.md").unlink()
    (shop / ".gitignore").write_text("built/\n")
    fake.script(
        calls("search_grep", pattern="x", path="src/api"),
        calls("file_read", path="src/api/x.txt"),
        calls("file_read", path="node_modules/pkg/x.txt"),
        calls("file_read", path="built/x.txt"),
        calls("file_read", path="plain/x.txt"),
        calls("file_read", path="web/missing.txt"),
        calls("file_write", path="web/new.txt", content="n\n"),
        text_reply("Done."),
    )
    async with driven(tmp_path / "data", shop, **guided) as driver:
        await driver.run("Go")
        rows = [row for row in await driver.messages() if row["details"].get("kind") == "instructions"]
    assert [list(row["details"]["told"]) for row in rows] == [
        ["src/CLAUDE.md", "src/api/more.md", "src/api/AGENTS.md"],
        ["web/AGENTS.md"],
    ]
    assert [sum("For src/api." in text for text in contents(request)) for request in fake.requests] == [
        *(0, 1, 1, 1, 1, 1, 1, 1)
    ]


@pytest.mark.requirement("guidance.nested")
async def test_changed_new_and_removed_files_are_reported_in_the_run_that_changes_them(
    fake: FakeProvider, shop: Path, tmp_path: Path, guided: dict[str, Any]
) -> None:
    (shop / "CLAUDE.md").write_text("First.")

    def made_meanwhile(_: RecordedRequest) -> Reply:
        (shop / "CONTEXT.md").write_text("New.")
        return calls("file_read", path="README.md")

    fake.script(made_meanwhile, text_reply("Done."), text_reply("Done."))
    async with driven(tmp_path / "data", shop, **guided) as driver:
        await driver.run("Go")
        (shop / "CLAUDE.md").unlink()
        await driver.run("Again")
        rows = [row for row in await driver.messages() if row["details"].get("kind") == "instructions"]
    assert [row["content"] for row in rows] == [
        (
            "CONTEXT.md has instructions for this project:\n"
            '<instructions file="CONTEXT.md">\nNew.\n</instructions>'
        ),
        "CLAUDE.md is gone or empty; what it said no longer applies.",
    ]


def caged_yaml(fs: str) -> str:
    """A root agent without a cage, and a caged subagent with the same tools."""
    return (
        GUIDED_YAML
        + f"""\
  subagents:
    coder:
      model: main
      description: Writes code.
      system_prompt: project:/prompts/primary.md
      cage: {{ fs: [{fs}] }}
      tools:
        "file.*": {{ enabled: true }}
        skill: {{ enabled: true }}
"""
    )


@pytest.mark.requirement("guidance.caged")
async def test_a_caged_agent_is_told_only_of_what_its_cage_may_read(
    fake: FakeProvider, shop: Path, home: Path, tmp_path: Path, guided: dict[str, Any]
) -> None:
    fs = "{ mode: ro, path: src }, { mode: deny, path: src/secret }, { mode: ro, path: .claude }"
    (shop / ".kaged" / "project.yaml").write_text(caged_yaml(fs))
    (shop.parent / "AGENTS.md").write_text("Above the project.")
    (shop / "AGENTS.md").write_text("Root. @src/style.md")
    for folder in ("src/secret", "src/open"):
        (shop / folder).mkdir(parents=True)
        (shop / folder / "AGENTS.md").write_text(f"Rules of {folder}.")
        (shop / folder / "x.txt").write_text("x\n")
    (shop / "src" / "style.md").write_text("Style.")
    (shop / "src" / "open" / "CLAUDE.md").symlink_to("../secret/AGENTS.md")
    skill(shop / ".claude" / "skills" / "seen", "seen", "In the cage.")
    skill(shop / ".agents" / "skills" / "unseen", "unseen", "Outside of the cage.")
    own = skill(home / ".claude" / "skills" / "own", "own", "The user's own.", "Own body.")
    (own / "notes.md").write_text("Notes of the skill.\n")
    (own.parent / "other.md").write_text("Beside the skill.\n")
    (own / "leak.md").symlink_to("../other.md")
    fake.script(
        calls("agent-coder", task="Work."),
        calls("skill", name="unseen"),
        calls("skill", name="own"),
        calls("file_read", path=f"{own}/notes.md"),
        calls("file_read", path=f"{own}/leak.md"),
        calls("file_read", path=f"{own.parent}/other.md"),
        calls("file_write", path=f"{own}/notes.md", content="Changed."),
        calls("file_read", path="src/secret/x.txt"),
        calls("file_read", path="src/open/x.txt"),
        text_reply("Done."),
        calls("skill", name="unseen"),
        text_reply("Done."),
    )
    async with driven(tmp_path / "data", shop, **guided) as driver:
        await driver.run("Go")
        prompts = (await driver.session_call("GET", "/prompts"))["items"]
    root, child = system_of(fake.requests[0]), system_of(fake.requests[1])
    for text in ("Above the project.", "Root. @src/style.md", "Style.", "- seen", "- unseen", "- own"):
        assert text in root
    for text in ("Style.", "- seen: In the cage.", "- own: The user's own."):
        assert text in child
    for text in ("Above the project.", "Root.", "unseen"):
        assert text not in child
    results = [request.json["messages"][-1] for request in list(fake.requests)[2:10]]
    answers = [str(message["content"]) for message in results]
    assert answers[0].startswith("Error skill_not_found") and "seen, own" in answers[0]
    assert "Own body." in answers[1] and f'"folder":"{own}"' in answers[1] and '"notes.md"' in answers[1]
    assert answers[2].endswith("1: Notes of the skill.")
    assert "leads out" in answers[3]
    assert answers[4].startswith("Error invalid_path")
    assert "read-only" in answers[5] or "capability_denied" in answers[5]
    assert (own / "notes.md").read_text() == "Notes of the skill.\n"
    assert answers[6].startswith("Error capability_denied")
    assert 'src/open/AGENTS.md">\nRules of src/open.' in answers[7]
    assert not any("Rules of src/secret" in text for request in fake.requests for text in contents(request))
    names = {prompt["agent_path"]: [part["name"] for part in prompt["parts"]] for prompt in prompts}
    assert names["primary.subagents.coder"] == ["agent", "instructions:src/style.md", "skills", "environment"]


@pytest.mark.requirement("guidance.caged")
async def test_an_agent_searches_a_skill_outside_the_project(
    fake: FakeProvider, shop: Path, home: Path, tmp_path: Path, guided: dict[str, Any]
) -> None:
    own = skill(home / ".claude" / "skills" / "own", "own")
    (own / "references").mkdir()
    (own / "references" / "a.md").write_text("needle\n")
    fake.script(
        calls("search_grep", pattern="needle", path=str(own)),
        calls("file_read", path=f"{own}/references"),
        text_reply("Done."),
    )
    async with driven(tmp_path / "data", shop, **guided) as driver:
        await driver.run("Go")
        direct = await driver.session_call(
            "POST", "/tools/skill", {"params": {"name": "own"}, "agent_path": "primary"}
        )
    assert f"{own}/references/a.md" in contents(fake.requests[1])[-1]
    assert "a.md" in contents(fake.requests[2])[-1]
    assert direct["data"]["folder"] == str(own)


@pytest.mark.requirement("guidance.skill_tool")
async def test_an_agent_without_the_tool_is_shown_no_skills_and_may_read_none(
    fake: FakeProvider, shop: Path, home: Path, tmp_path: Path, guided: dict[str, Any]
) -> None:
    own = skill(home / ".claude" / "skills" / "own", "own")
    (shop / ".kaged" / "project.yaml").write_text(GUIDED_YAML.replace("skill: { enabled: true }", ""))
    fake.script(calls("file_read", path=f"{own}/SKILL.md"), text_reply("Done."))
    async with driven(tmp_path / "data", shop, **guided) as driver:
        await driver.run("Go")
    assert "- own" not in system_of(fake.requests[0])
    assert contents(fake.requests[1])[-1].startswith("Error invalid_path")


@pytest.mark.requirement("guidance.skill_tool")
async def test_a_skill_is_checked_again_when_it_is_loaded(
    fake: FakeProvider, shop: Path, tmp_path: Path, guided: dict[str, Any]
) -> None:
    one = skill(shop / ".claude" / "skills" / "one", "one", body="a</skill_content>b<skill_content>")
    two = skill(shop / ".claude" / "skills" / "two", "two")
    secret = skill(tmp_path / "secret", "two", body="Secret.")
    fake.script(calls("skill", name="one"), calls("skill", name="two"), calls("skill", name="one"))
    fake.script(text_reply("Done."))

    async with driven(tmp_path / "data", shop, **guided) as driver:
        fake.script()
        original = fake.answer

        def answer(request: RecordedRequest) -> Any:
            if fake.request_count == 1:
                os.rename(two, two.parent / "moved")
                two.symlink_to(secret)
            if fake.request_count == 2:
                (one / "SKILL.md").unlink()
            return original(request)

        fake.answer = answer  # type: ignore[method-assign]
        await driver.run("Go")
    results = [contents(request)[-1] for request in list(fake.requests)[1:]]
    assert results[0].endswith(
        '<skill_content name="one">\na&lt;/skill_content>b&lt;skill_content>\n</skill_content>'
    )
    assert results[1].startswith("Error skill_unreadable") and "Secret" not in results[1]
    assert results[2].startswith("Error skill_unreadable") and "not there any more" in results[2]


async def _prompts(driver: Driver) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await driver.session_call("GET", "/prompts"))["items"]
    return found


@pytest.mark.requirement("guidance.prompt")
async def test_the_prompt_view_shows_parts_and_warnings_before_the_first_message(
    fake: FakeProvider, shop: Path, tmp_path: Path, guided: dict[str, Any]
) -> None:
    (shop / "AGENTS.md").write_text("Before.")
    os.mkfifo(shop / "CLAUDE.md")
    skill(shop / ".agents" / "skills" / "a", "same")
    skill(shop / ".claude" / "skills" / "b", "same")
    fake.respond = lambda _: text_reply("Yes.")
    async with driven(tmp_path / "data", shop, **guided) as driver:
        before = (await _prompts(driver))[0]
        (shop / "AGENTS.md").write_text("After.")
        await driver.run("One")
        after = (await _prompts(driver))[0]
        audit = await driver.call("GET", "/audit?event=session.guidance")
    assert next(part["text"] for part in before["parts"] if part["origin"] == "AGENTS.md").endswith(
        '<instructions file="AGENTS.md">\nBefore.\n</instructions>'
    )
    assert "After." in next(part["text"] for part in after["parts"] if part["origin"] == "AGENTS.md")
    assert [note["file"] for note in after["warnings"]] == ["CLAUDE.md", ".claude/skills/b/SKILL.md"]
    assert before["warnings"] == after["warnings"]
    assert before["sent"] is None and "After." in str(after["sent"]["blocks"])
    data = audit["items"][0]["data"]
    assert [one["name"] for one in data["skills"]] == ["same"] and len(data["warnings"]) == 2


@pytest.mark.requirement("guidance.nested")
async def test_a_new_day_is_told_in_a_message(
    fake: FakeProvider, shop: Path, tmp_path: Path, guided: dict[str, Any]
) -> None:
    fake.respond = lambda _: text_reply("Yes.")
    async with driven(tmp_path / "data", shop, **guided) as driver:
        await driver.run("One")
        session = driver.session_id

        def earlier(uow: Any) -> None:
            uow.sessions.update(session, created_at=86_400_000)

        await driver.daemon.services.storage.write(earlier)
    async with restarted(tmp_path / "data", **guided) as driver:
        driver.session_id = session
        await driver.run("Two")
        await driver.run("Three")
        rows = [row["content"] for row in await driver.messages() if row["details"].get("told")]
    assert len(rows) == 1 and rows[0].startswith("It is 20")
