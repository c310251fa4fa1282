"""What people have answered, as the harness hands it on.

Owns: these shapes, and whether a consent that was given is about a question. Never: checking answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.storage.models import Interaction, ToolCall
from app.tools.contract.modes import ModeName
from app.tools.contract.rules import ConsentAnswer, ConsentRequest

SAME = ("tool", "permission", "subjects", "source")
"""What of a question must be the same, so that the consent to it holds."""


@dataclass(frozen=True, slots=True)
class GivenConsent:
    """An answer that lets a call go on. It holds once, for the very question that it was given to."""

    request: dict[str, Any]
    answer: ConsentAnswer

    def is_about(self, request: ConsentRequest) -> bool:
        asked = {"tool": request.tool, "permission": request.permission, "source": request.source}
        return {**asked, "subjects": list(request.subjects)} == {
            name: self.request.get(name) for name in SAME
        }


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call of an earlier run that the next run resumes."""

    call: ToolCall
    given: tuple[GivenConsent, ...] = ()


@dataclass(frozen=True, slots=True)
class Answers:
    """A person's answers to questions: texts by question id, or in the order of the questions."""

    answers: dict[str, list[str]] | list[list[str]]


@dataclass(frozen=True, slots=True)
class FormValues:
    """What a person has put into a form, by the names of its fields; a file by its upload's id."""

    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PlanDecision:
    """What a person decides about a proposed plan. `mode` is that of the session from then on, `plan` the
    text with the person's changes, `comment` is for the model."""

    decision: Literal["accept", "edit", "reject"]
    mode: ModeName | None = None
    plan: str | None = None
    comment: str | None = None


def consents_of(questions: Sequence[Interaction]) -> tuple[GivenConsent, ...]:
    """Return the consents among the answers to a call's questions."""
    found = [(one.request, (one.answer or {}).get("answer")) for one in questions if one.kind == "permission"]
    return tuple(GivenConsent(request, answer) for request, answer in found if answer in ("once", "always"))
