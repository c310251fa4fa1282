"""`kaged.ask`: questions to the operator with options to choose from.

Owns: the tool's parameters, and its result from an answer. Never: checking the answer.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, Field, model_validator

from app.errors import ToolError
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import Boolean, ToolDefinition, ToolParams, ToolResult, load_description
from app.tools.contract.ports import HumanQuestion, QuestionKind

HEADLESS = (
    "Nobody can be asked in this session. Go on with your best guess, and say in your answer what you "
    "have assumed."
)


async def ask_human(context: ToolCallContext, kind: QuestionKind, request: dict[str, Any]) -> dict[str, Any]:
    """Return a person's answer, in the shape of the kind. Raises ToolError `nobody_to_ask` in a headless
    session, and `CallWaits` where the run does not wait."""
    if context.headless:
        raise ToolError("nobody_to_ask", HEADLESS)
    return await context.ports.ask(HumanQuestion(kind, request))


MAX_QUESTIONS = 20
MAX_OPTIONS = 50
_NAME = re.compile(r"[A-Za-z0-9_-]+")


def _plain(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise ValueError("has only letters, digits, `_` and `-`")
    return name


Name = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_plain)]
"""What answers name a question or field by."""


class Option(ToolParams):
    label: str = Field(min_length=1, max_length=200, description="What is chosen, in a few words.")
    description: str = Field(default="", max_length=1_000, description="What choosing it means.")


class Question(ToolParams):
    id: Name = Field(description="The answer has this id: letters, digits, `_` and `-`.")
    title: str = Field(min_length=1, max_length=300, description="The question itself, in one sentence.")
    description: str = Field(
        default="", max_length=4_000, description="What the operator needs to know for it."
    )
    options: list[Option] = Field(
        min_length=1, max_length=MAX_OPTIONS, description="What there is to choose from; each label once."
    )
    multiple: Boolean = Field(default=False, description="Whether several options may be chosen.")
    allow_other: Boolean = Field(
        default=False, description="Whether the operator may write an answer of their own instead."
    )

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        labels = [option.label for option in self.options]
        if len(set(labels)) < len(labels):
            raise ValueError("two options have the same label; give each its own")
        return self


class AskParams(ToolParams):
    summary: str = Field(
        min_length=1,
        max_length=4_000,
        description="Brief context explaining why you are asking. Shown above the questions.",
    )
    questions: list[Question] = Field(
        min_length=1,
        max_length=MAX_QUESTIONS,
        description="One or more questions to present to the operator.",
    )

    @model_validator(mode="after")
    def _ids_differ(self) -> Self:
        ids = [question.id for question in self.questions]
        if len(set(ids)) < len(ids):
            raise ValueError("two questions have the same id; give each its own")
        return self


class Answered(BaseModel):
    """One question's answer: the labels that were chosen, or in `other` what the operator wrote."""

    title: str
    chosen: list[str]
    other: str | None = None


class AskResult(ToolResult):
    answers: dict[str, Answered]


def result_of(request: dict[str, Any], answer: dict[str, Any]) -> AskResult:
    """Return the result for a checked answer: `answers` is a list of texts by question id."""
    answers: dict[str, Answered] = {}
    for question in request["questions"]:
        labels = {option["label"] for option in question["options"]}
        given = answer["answers"][question["id"]]
        other = next((text for text in given if text not in labels), None)
        answers[question["id"]] = Answered(
            title=question["title"], chosen=[text for text in given if text in labels], other=other
        )
    return AskResult(answers=answers)


def build() -> ToolDefinition:
    async def run(params: AskParams, context: ToolCallContext) -> AskResult:
        request = params.model_dump()
        return result_of(request, await ask_human(context, "ask", request))

    return ToolDefinition(
        name="kaged.ask",
        title="Ask the operator",
        description=load_description("app.tools.dialogue", "ask.md"),
        parameters=AskParams,
        result=AskResult,
        run=run,
        acp_kind="other",
        principal_scope="root-only",
        root_default=True,
    )
