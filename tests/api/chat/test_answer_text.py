"""The text of an answer only grows, whatever a model's attempts say."""

from __future__ import annotations

import random

import pytest

from app.api.chat.answer_text import BETWEEN, AnswerText


@pytest.mark.requirement("chat.stream")
def test_an_attempt_that_begins_alike_goes_on_where_the_first_one_broke_off() -> None:
    text = AnswerText()
    text.begin("m")
    assert [text.add(1, "Hel"), text.add(2, "H"), text.add(2, "ell"), text.add(2, "o")] == [
        "Hel",
        "",
        "l",
        "o",
    ]


@pytest.mark.requirement("chat.stream")
def test_an_attempt_that_says_something_else_follows_the_first_one() -> None:
    text = AnswerText()
    text.begin("m")
    assert [text.add(1, "Hel"), text.add(2, "H"), text.add(2, "i")] == ["Hel", "", f"{BETWEEN}Hi"]


@pytest.mark.requirement("chat.stream")
def test_what_a_lagging_client_has_missed_comes_once() -> None:
    text = AnswerText()
    text.begin("m")
    assert [
        text.add(1, "One "),
        text.whole(1, "One two "),
        text.add(1, "three"),
        text.rest("One two three."),
    ] == [
        "One ",
        "two ",
        "three",
        ".",
    ]
    text.end()
    text.begin("n")
    assert text.rest("All of it.") == f"{BETWEEN}All of it."


@pytest.mark.requirement("chat.stream")
def test_the_pieces_of_any_messages_without_retries_are_their_texts() -> None:
    chance = random.Random(7)
    for _ in range(200):
        wanted = [
            "".join(chance.choices("ab \n", k=chance.randrange(12))) for _ in range(chance.randrange(4))
        ]
        text, got = AnswerText(), ""
        for number, one in enumerate(wanted):
            text.begin(str(number))
            at = 0
            while at < len(one):
                step = chance.randrange(1, 4)
                if chance.random() < 0.3:
                    got += text.whole(1, one[: at + step])
                else:
                    got += text.add(1, one[at : at + step])
                at += step
            got += text.rest(one)
            text.end()
        assert got == BETWEEN.join(one for one in wanted if one)
