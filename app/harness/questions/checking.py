"""Answers of people, checked against what was asked, field by field.

Owns: what fits a question, and what is stored of it. Pure. Never: taking files in, or storing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from app.errors import ValidationFailed
from app.harness.run.answers import Answers, FormValues
from app.ids import is_id

MAX_LINE = 2_000
MAX_TEXT = 50_000
MAX_CHARACTERS = 100_000
"""The limit for all texts of one answer together: the model reads them."""

MAX_UNKNOWN = 20
"""How many names that were not asked for are reported."""

_LARGEST = 1e15


def checked_ask(request: dict[str, Any], given: Answers) -> dict[str, Any]:
    """Return the answer to `kaged.ask` as it is stored; raises `ValidationFailed` by question."""
    if not isinstance(given.answers, dict):
        raise ValidationFailed(
            "The answers to this are by question.", fields={"answers": "an object: texts by question id"}
        )
    questions = {question["id"]: question for question in request["questions"]}
    wrong = _unknown("answers", "question", given.answers, questions)
    for name, question in questions.items():
        labels = [option["label"] for option in question["options"]]
        problem = _wrong_choice(
            given.answers.get(name),
            labels,
            several=question["multiple"],
            own_text=question["allow_other"],
        )
        if problem is not None:
            wrong[f"answers.{name}"] = problem
    _raise(wrong)
    answers = {name: given.answers[name] for name in questions}
    _within("answers", (text for texts in answers.values() for text in texts))
    return {"answers": answers}


def checked_question(request: dict[str, Any], given: Answers) -> dict[str, Any]:
    """Return the answer to `question` as it is stored; raises `ValidationFailed` by question."""
    questions = request["questions"]
    if not isinstance(given.answers, list) or len(given.answers) != len(questions):
        wanted = f"a list with one list of texts for each of the {len(questions)} questions, in their order"
        raise ValidationFailed("The answers do not fit the questions.", fields={"answers": wanted})
    wrong = {}
    for place, (question, texts) in enumerate(zip(questions, given.answers, strict=True)):
        labels = [option["label"] for option in question.get("options", ())]
        problem = _wrong_choice(
            texts, labels, several=bool(labels) and question["multi_select"], own_text=not labels
        )
        if problem is not None:
            wrong[f"answers.{place}"] = problem
    _raise(wrong)
    _within("answers", (text for texts in given.answers for text in texts))
    return {"answers": given.answers}


def checked_form(request: dict[str, Any], given: FormValues) -> dict[str, Any]:
    """Return the answer to `kaged.form` as it is stored, files still by the ids of their uploads; raises
    `ValidationFailed` by field."""
    fields = {field["name"]: field for field in request["fields"]}
    wrong = _unknown("values", "field", given.values, fields)
    values: dict[str, Any] = {}
    for name, field in fields.items():
        value = given.values.get(name)
        if field["required"] and isinstance(value, str) and not value.strip():
            value = None
        if value is None or value == "":
            values[name] = None
            if field["required"]:
                wrong[f"values.{name}"] = "is required"
            continue
        problem = _VALUES[field["type"]](value)
        if problem is not None:
            wrong[f"values.{name}"] = problem
        values[name] = value
    _raise(wrong)
    _within("values", (value for value in values.values() if isinstance(value, str)))
    return {"values": values}


def _unknown(part: str, noun: str, given: Collection[str], known: Collection[str]) -> dict[str, str]:
    """Return what is wrong with names that were not asked for: of the first ones, because anybody can send
    many, and each is answered with all that there are."""
    unknown = islice((name for name in given if name not in known), MAX_UNKNOWN)
    problem = f"there is no such {noun}; there are {', '.join(known)}"
    return {f"{part}.{name}": problem for name in unknown}


def _wrong_choice(
    texts: Sequence[str] | None, labels: Sequence[str], *, several: bool, own_text: bool
) -> str | None:
    """Return what is wrong with the answer to one question."""
    if texts is None:
        return "is not answered"
    own = [text for text in texts if text not in labels]
    if len(set(texts)) < len(texts):
        return "something is chosen twice"
    if own and not own_text:
        return f"{own[0][:80]!r} is not one of the options: {', '.join(labels)}"
    if len(own) > 1:
        return "only one text of your own is possible"
    if own and (not own[0].strip() or len(own[0]) > MAX_TEXT):
        return f"the text has 1 to {MAX_TEXT} characters"
    if not texts and not several:
        return "choose one option" if labels else "write an answer"
    if len(texts) > 1 and not several:
        return "only one answer is possible"
    return None


def _wrong_line(value: Any) -> str | None:
    if not isinstance(value, str):
        return "must be a string"
    if "\n" in value or "\r" in value:
        return "must be one line"
    return None if len(value) <= MAX_LINE else f"has more than {MAX_LINE} characters"


def _wrong_text(value: Any) -> str | None:
    if not isinstance(value, str):
        return "must be a string"
    return None if len(value) <= MAX_TEXT else f"has more than {MAX_TEXT} characters"


def _wrong_url(value: Any) -> str | None:
    problem = _wrong_line(value)
    if problem is not None:
        return problem
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    fits = usable and not any(character.isspace() for character in value)
    return None if fits else "must be an address that begins with http:// or https://"


def _wrong_number(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "must be a number"
    return None if math.isfinite(value) and abs(value) <= _LARGEST else "is too large for a number here"


def _wrong_boolean(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _wrong_file(value: Any) -> str | None:
    if isinstance(value, str) and is_id(value, "upl"):
        return None
    return "must be the id of an upload (upl_...): upload the file first"


_VALUES: dict[str, Callable[[Any], str | None]] = {
    "text": _wrong_line,
    "textarea": _wrong_text,
    "url": _wrong_url,
    "number": _wrong_number,
    "boolean": _wrong_boolean,
    "file": _wrong_file,
}


def _within(field: str, texts: Any) -> None:
    size = sum(map(len, texts))
    if size > MAX_CHARACTERS:
        raise ValidationFailed(
            "The answer is too long.", fields={field: f"has more than {MAX_CHARACTERS} characters in all"}
        )


def _raise(wrong: dict[str, str]) -> None:
    if wrong:
        raise ValidationFailed("The answer does not fit what was asked.", fields=wrong)
