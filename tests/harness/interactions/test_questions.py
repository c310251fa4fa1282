"""`kaged.ask` and `question`: the session pauses, the answer is checked and becomes the call's result."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from tests.driver.sessions import Driver, check_stream
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.interactions.asking import (
    DATABASE,
    NAME,
    TESTS,
    answer,
    ask,
    question,
    read_by_model,
    until_asked,
)


@pytest.mark.requirement("interactions.ask", "interactions.pause")
async def test_a_question_pauses_the_session_and_its_answer_is_the_result_of_the_call(
    asked: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((ask(DATABASE, TESTS, NAME),)), text_reply("PostgreSQL, then."))
    async with asked.watching() as watch:
        await asked.post("Write the migration")
        (asked_for,) = await until_asked(watch)
        await watch.until_state("paused")
        waiting = await asked.session_call("GET")
        (checkpoint,) = (await asked.session_call("GET", "/checkpoints"))["items"]
        (run,) = (await asked.session_call("GET", "/runs"))["items"]
        (call,) = (await asked.call("GET", f"/runs/{run['id']}"))["tool_calls"]
        given = {"database": ["PostgreSQL"], "tests": ["load", "unit"], "name": ["store"]}
        closed = await answer(asked, asked_for, answers=given)
        await watch.until_state("idle")

    check_stream(watch.frames)
    assert (waiting["state"], waiting["state_reason"], waiting["pending_interactions"]) == (
        "paused",
        "interaction",
        1,
    )
    assert (checkpoint["reason"], checkpoint["created_by"]) == ("interaction", "model")
    assert (run["state"], run["reason"], call["state"]) == ("interrupted", "interaction", "waiting")
    assert (asked_for["kind"], asked_for["tool_call_id"]) == ("ask", "call_1")
    assert asked_for["request"]["summary"] == "Before I write."
    assert [one["allow_other"] for one in asked_for["request"]["questions"]] == [False, False, True]
    (told,) = watch.of("interaction.answered")
    assert told["payload"] == {
        "interaction_id": asked_for["interaction_id"],
        "tool_call_id": "call_1",
        "kind": "ask",
        "state": "answered",
        "answer": {"answers": given},
        "answered_by": "operator",
    }
    assert (closed["state"], closed["answer"], closed["answered_by"]) == (
        "answered",
        {"answers": given},
        "operator",
    )
    (result,) = read_by_model(fake)
    assert orjson.loads(result)["answers"] == {
        "database": {"title": "Which database?", "chosen": ["PostgreSQL"]},
        "tests": {"title": "Which tests?", "chosen": ["load", "unit"]},
        "name": {"title": "What name?", "chosen": [], "other": "store"},
    }
    resumed, first = (await asked.session_call("GET", "/runs"))["items"]
    assert (resumed["checkpoint_id"], resumed["state"]) == (checkpoint["id"], "succeeded")
    (ended,) = (await asked.call("GET", f"/runs/{first['id']}"))["tool_calls"]
    assert ended["state"] == "succeeded"
    assert [message["role"] for message in await asked.messages()] == [
        "operator",
        "primary",
        "tool",
        "primary",
    ]


@pytest.mark.requirement("interactions.question", "locked.question")
async def test_the_portable_question_takes_options_and_texts(asked: Driver, fake: FakeProvider) -> None:
    asks = question(
        {"question": "Which?", "header": "Database", "options": [{"label": "a"}, {"label": "b"}]},
        {"question": "And?", "options": [{"label": "x"}, {"label": "y"}], "multi_select": True},
        {"question": "Why?"},
    )
    fake.script(Reply((asks,)), text_reply("I see."))
    async with asked.watching() as watch:
        await asked.post("Choose")
        (asked_for,) = await until_asked(watch)
        await watch.until_state("paused")
        await answer(asked, asked_for, answers=[["b"], ["x", "y"], ["Because."]])
        await watch.until_state("idle")
    assert asked_for["kind"] == "question"
    assert read_by_model(fake) == ['{"answers":[["b"],["x","y"],["Because."]]}']


WRONG: list[tuple[Any, dict[str, str]]] = [
    ({}, {"answers.database": "is not answered", "answers.tests": "", "answers.name": ""}),
    ([["SQLite"]], {"answers": "an object"}),
    ({"database": "SQLite"}, {"answers.database": "list"}),
    ({"database": ["SQLite"], "tests": [7]}, {"answers.tests.0": "string"}),
    (["SQLite"], {"answers.0": "list"}),
    ({"database": ["Oracle"], "tests": [], "name": ["shop"]}, {"answers.database": "not one of the options"}),
    ({"database": [], "tests": [], "name": ["shop"]}, {"answers.database": "choose one"}),
    (
        {"database": ["SQLite", "PostgreSQL"], "tests": [], "name": ["shop"]},
        {"answers.database": "only one"},
    ),
    ({"database": ["SQLite"], "tests": ["unit", "unit"], "name": ["shop"]}, {"answers.tests": "twice"}),
    ({"database": ["SQLite"], "tests": ["smoke"], "name": ["shop"]}, {"answers.tests": "not one of"}),
    ({"database": ["SQLite"], "tests": [], "name": ["  "]}, {"answers.name": "1 to"}),
    ({"database": ["SQLite"], "tests": [], "name": ["a", "b"]}, {"answers.name": "only one"}),
    ({"database": ["SQLite"], "tests": [], "name": ["a"], "age": ["9"]}, {"answers.age": "no such question"}),
]


@pytest.mark.requirement("interactions.checked")
async def test_an_answer_is_checked_question_by_question_and_the_question_stays_open(
    asked: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((ask(DATABASE, TESTS, NAME),)), text_reply("Good."))
    async with asked.watching() as watch:
        await asked.post("Write")
        (asked_for,) = await until_asked(watch)
        await watch.until_state("paused")
        for given, fields in WRONG:
            refused = await answer(asked, asked_for, status=400, answers=given)
            assert refused["error"]["code"] == "validation_failed"
            found = refused["error"]["details"]["fields"]
            assert set(found) == set(fields), given
            assert all(text in found[name] for name, text in fields.items()), found
        for body in ({"answer": "once"}, {"values": {"database": "SQLite"}}):
            refused = await answer(asked, asked_for, status=400, **body)
            assert set(refused["error"]["details"]["fields"]) == {"answers"}
        both = await answer(asked, asked_for, status=400, answers={}, values={})
        assert set(both["error"]["details"]["fields"]) == {"values"}
        assert (await asked.session_call("GET"))["pending_interactions"] == 1
        right = {"database": ["SQLite"], "tests": [], "name": ["shop"]}
        await answer(asked, asked_for, answers=right)
        await watch.until_state("idle")


@pytest.mark.requirement("interactions.checked")
@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"summary": "x", "questions": []}, "questions"),
        ({"summary": "x", "questions": [DATABASE, DATABASE]}, "arguments"),
        ({"summary": "x", "questions": [{**DATABASE, "id": "a b"}]}, "questions.0.id"),
        (
            {"summary": "x", "questions": [{**DATABASE, "options": [{"label": "a"}, {"label": "a"}]}]},
            "questions.0",
        ),
        ({"questions": [DATABASE]}, "summary"),
    ],
)
async def test_a_question_that_cannot_be_answered_is_given_back_to_the_model(
    asked: Driver, fake: FakeProvider, arguments: dict[str, Any], field: str
) -> None:
    fake.script(Reply((ToolCall("kaged_ask", arguments),)), text_reply("Well."))
    await asked.run("Ask")
    (result,) = read_by_model(fake)
    assert result.startswith("Error invalid_params")
    assert field.rpartition(".")[2] in result


@pytest.mark.requirement("interactions.once")
async def test_of_two_answers_at_once_one_counts(asked: Driver, fake: FakeProvider) -> None:
    fake.script(Reply((ask(),)), text_reply("So be it."))
    async with asked.watching() as watch:
        await asked.post("Write")
        (asked_for,) = await until_asked(watch)
        await watch.until_state("paused")
        path = f"/api/v1/sessions/{asked.session_id}/interactions/{asked_for['interaction_id']}/answer"
        both = await asyncio.gather(
            *(
                asked.client.post(path, json={"answers": {"database": [label]}})
                for label in ("SQLite", "PostgreSQL", "SQLite", "PostgreSQL")
            )
        )
        await watch.until_state("idle")
        late = await asked.client.post(path, json={"answers": {"database": ["SQLite"]}})

    assert sorted(one.status_code for one in both) == [200, 409, 409, 409]
    (won,) = [one.json() for one in both if one.status_code == 200]
    for lost in (*(one for one in both if one.status_code == 409), late):
        details = lost.json()["error"]["details"]
        assert (details["reason"], details["answer"]) == ("already_answered", won["answer"])
    assert won["answer"]["answers"]["database"][0] in read_by_model(fake)[0]
    assert len(watch.of("interaction.answered")) == 1
    assert len(fake.requests) == 2


@pytest.mark.requirement("interactions.once")
async def test_a_question_of_another_session_is_not_there(asked: Driver, fake: FakeProvider) -> None:
    fake.script(Reply((ask(),)))
    async with asked.watching() as watch:
        await asked.post("Write")
        (asked_for,) = await until_asked(watch)
        await watch.until_state("paused")
    await asked.new_session()
    await answer(asked, asked_for, status=404, answers={"database": ["SQLite"]})
    missing = {"interaction_id": "itx_01JZ0000000000000000000000"}
    await answer(asked, missing, status=404, answers={"database": ["SQLite"]})


@pytest.mark.requirement("interactions.headless", "locked.question")
async def test_in_a_headless_session_each_is_refused_with_the_same_words(
    asked: Driver, fake: FakeProvider
) -> None:
    await asked.new_session(headless=True)
    form = ToolCall(
        "kaged_form",
        {"summary": "x", "fields": [{"name": "a", "label": "A", "type": "text"}]},
        id="call_3",
    )
    fake.script(
        Reply((ask(), question({"question": "Why?"}, call_id="call_2"), form)), text_reply("I guess.")
    )
    await asked.run("Write")
    results = read_by_model(fake)
    assert len(set(results)) == 1
    assert results[0].startswith("Error nobody_to_ask: Nobody can be asked in this session.")
    assert (await asked.session_call("GET", "/interactions"))["items"] == []


@pytest.mark.requirement("interactions.ask", "scope")
async def test_an_operators_own_call_asks_nobody(asked: Driver) -> None:
    body = {"params": {"summary": "x", "questions": [DATABASE]}}
    envelope = await asked.session_call("POST", "/tools/kaged.ask", body)
    assert envelope["code"] == "no_run"


@pytest.mark.requirement("interactions.ask")
async def test_the_audit_shows_who_was_asked_what_and_who_answered(asked: Driver, fake: FakeProvider) -> None:
    fake.script(Reply((ask(),)), text_reply("Good."))
    async with asked.watching() as watch:
        await asked.post("Write")
        (asked_for,) = await until_asked(watch)
        await watch.until_state("paused")
        await answer(asked, asked_for, answers={"database": ["SQLite"]})
        await watch.until_state("idle")
    page = await asked.call("GET", f"/audit?session_id={asked.session_id}&limit=100")
    rows = {row["event"]: row for row in page["items"]}
    assert rows["interaction.requested"]["data"]["kind"] == "ask"
    assert rows["interaction.requested"]["data"]["interaction_id"] == asked_for["interaction_id"]
    assert rows["tool.waiting"]["data"]["call_id"] == "call_1"
    answered = rows["interaction.answered"]
    assert (answered["actor"], answered["data"]["answer"]) == (
        "operator",
        {"answers": {"database": ["SQLite"]}},
    )
    completed = rows["tool.completed"]
    assert (completed["data"]["tool_name"], completed["data"]["success"]) == ("kaged.ask", True)
