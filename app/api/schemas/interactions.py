"""Interactions on the wire: questions and permission requests to people, and their answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter

from app.api.schemas.model import AnswerModel, RequestModel, Time
from app.api.schemas.permissions import Pattern
from app.errors import ValidationFailed
from app.harness.questions.consent_rows import GivenAnswer
from app.harness.run.answers import Answers, FormValues, PlanDecision
from app.tools.contract.modes import ModeName
from app.tools.dialogue.plan import MAX_PLAN

Name = Annotated[str, Field(max_length=100)]
Texts = Annotated[list[Annotated[str, Field(max_length=100_000)]], Field(max_length=100)]
_TEXTS_BY_ID: TypeAdapter[dict[str, list[str]]] = TypeAdapter(dict[Name, Texts])
_TEXTS_IN_ORDER: TypeAdapter[list[list[str]]] = TypeAdapter(Annotated[list[Texts], Field(max_length=100)])
_VALUES = (str, bool, int, float, type(None))


def _of_its_own_shape(answers: Any) -> Any:
    # Checked as one shape: a union reports the complaints of every member, under names of its own.
    shape = _TEXTS_IN_ORDER if isinstance(answers, list) else _TEXTS_BY_ID
    return None if answers is None else shape.validate_python(answers)


def _plain_value(value: Any) -> Any:
    if not isinstance(value, _VALUES):
        raise ValueError("must be a string, a number, true, false or null; for a file, the id of its upload")
    return value


GivenTexts = Annotated[
    dict[Name, Texts] | Annotated[list[Texts], Field(max_length=100)] | None,
    BeforeValidator(_of_its_own_shape),
]
FormValue = Annotated[str | bool | int | float | None, BeforeValidator(_plain_value)]
InteractionStateName = Literal["pending", "answered", "cancelled", "expired"]


class AskedCall(AnswerModel):
    """The call that waits for consent, with its arguments as the model wrote them. Secrets are masked. `cut`:
    the arguments are longer than 64,000 characters, and only their beginning is here."""

    name: str
    arguments: dict[str, Any]
    cut: bool


class InteractionAnswer(AnswerModel):
    """A question and its outcome. `kind` decides the shape of `request` and `answer`.

    `permission`: `request` has `tool`, `permission`, `subjects` (what needs consent, complete), `reason`,
    `source` (`rule` or `watchdog`) and `suggestions` (the rules that `always` stores); `answer` has
    `answer`, and `comment`, `rules`, `scope` or `covered_by` where they apply. `ask`: `summary` and
    `questions`, each with `id`, `title`, `description`, `options`, `multiple`, `allow_other`; `answers` by
    id. `question`: `questions`, each with `question`, `header`, `options`, `multi_select`; `answers` in
    their order. `form`: `summary` and `fields`, each with `name`, `label`, `type`, `required`,
    `description`; `values` by name, a file being `{upload_id, path, name, size}`. `plan`: `plan` (Markdown);
    `state` (`accepted`, `edited` or `rejected`), and `mode`, `plan` or `comment` where they apply."""

    id: str
    session_id: str
    run_id: str | None
    agent_path: str
    tool_call_id: str | None
    kind: str
    state: InteractionStateName
    request: dict[str, Any]
    call: AskedCall | None = Field(default=None, description="Of an open `permission`.")
    answer: dict[str, Any] | None
    answered_by: str | None
    created_at: Time
    closed_at: Time | None


class AnswerInteraction(RequestModel):
    """An answer: one of `answer` (to a `permission`), `answers` (to an `ask` or a `question`), `values` (to a
    `form`) and `decision` (to a `plan`). `rule` and `scope` belong to the answer `always`, `comment` to
    `reject` and to a `decision`, `mode` and `plan` to a `decision`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"answer": "reject", "comment": "Run the tests first."},
                {"answers": {"database": ["PostgreSQL"]}},
                {"values": {"title": "Spring sale", "rows": 12, "data": "upl_01JZ0000000000000000000000"}},
                {"decision": "accept", "mode": "edits"},
            ]
        }
    )

    answer: Literal["once", "always", "reject"] | None = None
    rule: Annotated[int, Field(strict=True)] | Pattern | None = Field(
        default=None,
        description="The rule that `always` stores: the index of a suggestion, or a pattern of your own for "
        "the same permission. By default every suggestion is stored.",
    )
    scope: Literal["session", "project"] | None = Field(
        default=None, description="Where `always` stores the rule; by default in the session."
    )
    comment: str | None = Field(default=None, max_length=2000, description="A comment for the model.")
    answers: GivenTexts = Field(
        default=None,
        description="By question id (`ask`), or in the order of the questions (`question`): the labels of "
        "the chosen options, or free text where that is allowed.",
    )
    values: dict[Name, FormValue] | None = Field(
        default=None, description="By field name; for a file, the id of its upload."
    )
    decision: Literal["accept", "edit", "reject"] | None = Field(
        default=None, description="`edit` accepts the plan with your changes."
    )
    mode: ModeName | None = Field(
        default=None, description="The mode that the accepted plan is carried out in; not `plan`."
    )
    plan: str | None = Field(
        default=None, max_length=MAX_PLAN, description="The plan with your changes, for `edit`."
    )


_BELONGS_TO = {"rule": "always", "scope": "always", "comment": "reject"}
_OF_DECISIONS = ("mode", "plan")
_ANSWERS = ("answer", "answers", "values", "decision")


def answer_in(body: AnswerInteraction) -> GivenAnswer | Answers | FormValues | PlanDecision:
    """Return the answer of a body; raises `ValidationFailed` when its fields contradict each other."""
    wrong = {
        name: f"belongs to the answer `{answer}`"
        for name, answer in _BELONGS_TO.items()
        if getattr(body, name) is not None
        and body.answer != answer
        and not (name == "comment" and body.decision is not None)
    }
    if body.decision is None:
        wrong |= {
            name: "belongs to a `decision`" for name in _OF_DECISIONS if getattr(body, name) is not None
        }
    said = [name for name in _ANSWERS if getattr(body, name) is not None]
    if not said:
        wrong["answer"] = (
            "is required, or `answers`, `values` or `decision`, as the kind of the question says"
        )
    for name in said[1:]:
        wrong[name] = f"cannot be combined with `{said[0]}`"
    if wrong:
        raise ValidationFailed("The fields of the answer contradict each other.", fields=wrong)
    if body.answers is not None:
        return Answers(body.answers)
    if body.values is not None:
        return FormValues(dict(body.values))
    if body.decision is not None:
        return PlanDecision(body.decision, body.mode, body.plan, body.comment)
    assert body.answer is not None
    return GivenAnswer(body.answer, body.rule, body.scope or "session", body.comment)
