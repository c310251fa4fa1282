"""`question`: questions to the human, in the portable shape.

Owns: the tool's parameters, and its result made of an answer. Never: checking the answer.
"""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import Boolean, ToolDefinition, ToolParams, ToolResult, load_description
from app.tools.dialogue.ask import ask_human

MAX_QUESTIONS = 20
MAX_OPTIONS = 50


class Choice(ToolParams):
    label: str = Field(min_length=1, max_length=200, description="What is chosen, in a few words.")
    description: str | None = Field(default=None, max_length=1_000, description="What choosing it means.")


class Question(ToolParams):
    question: str = Field(min_length=1, max_length=4_000, description="The question itself.")
    header: str | None = Field(default=None, max_length=100, description="A few words to show above it.")
    options: list[Choice] | None = Field(
        default=None,
        max_length=MAX_OPTIONS,
        description="What there is to choose from. Left out, the human writes an answer.",
    )
    multi_select: Boolean = Field(default=False, description="Whether several options may be chosen.")

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        labels = [option.label for option in self.options or ()]
        if len(set(labels)) < len(labels):
            raise ValueError("two options have the same label; give each its own")
        return self


class QuestionParams(ToolParams):
    questions: list[Question] = Field(
        min_length=1, max_length=MAX_QUESTIONS, description="What is asked, all at once."
    )


class QuestionResult(ToolResult):
    answers: list[list[str]] = Field(description="One list for each question, in their order.")


def result_of(answer: dict[str, Any]) -> QuestionResult:
    """Return the result for a checked answer."""
    return QuestionResult(answers=answer["answers"])


def question() -> ToolDefinition:
    async def run(params: QuestionParams, context: ToolCallContext) -> QuestionResult:
        return result_of(await ask_human(context, "question", params.model_dump(exclude_none=True)))

    return ToolDefinition(
        name="question",
        title="Ask the human",
        description=load_description("app.tools.locked", "question.md"),
        parameters=QuestionParams,
        result=QuestionResult,
        run=run,
        acp_kind="other",
    )
