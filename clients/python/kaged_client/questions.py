"""Questions of agents to people, and their answers.

Owns: the shapes of answers (`docs/interactions.md`). Never: sending them (`Session.answer`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from kaged_client._generated.models import InteractionAnswer

Mode: TypeAlias = Literal["ask", "edits", "full"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The body of an answer. Make it with a method of `Question`."""

    body: dict[str, Any]


class Question(InteractionAnswer):
    """An open question: a permission request (`kind == "permission"`), a question with options (`ask`,
    `question`), a form (`form`) or a plan (`plan`). Its methods make answers and send nothing."""

    @property
    def tool(self) -> str | None:
        """The tool that a permission request is about."""
        tool = self.request.get("tool")
        return tool if isinstance(tool, str) else None

    @property
    def subjects(self) -> list[str]:
        """What needs consent: the commands, paths or addresses of a permission request."""
        return list(self.request.get("subjects", ()))

    def approve(
        self,
        *,
        always: bool = False,
        rule: int | str | None = None,
        scope: Literal["session", "project"] | None = None,
    ) -> Answer:
        """Allow the call (a permission request) or accept the plan. `always` also stores the suggested rules,
        or the one that `rule` names; `scope` says where."""
        if self.kind == "plan":
            return Answer({"decision": "accept"})
        self._require("permission")
        chosen = {"rule": rule, "scope": scope}
        if not always:
            if rule is not None or scope is not None:
                raise ValueError("`rule` and `scope` belong to `always=True`.")
            return Answer({"answer": "once"})
        return Answer(
            {"answer": "always", **{name: value for name, value in chosen.items() if value is not None}}
        )

    def deny(self, comment: str | None = None) -> Answer:
        """Deny the call or reject the plan. The model reads the comment."""
        more = {} if comment is None else {"comment": comment}
        if self.kind == "plan":
            return Answer({"decision": "reject", **more})
        self._require("permission")
        return Answer({"answer": "reject", **more})

    def choose(
        self, answers: Mapping[str, str | Sequence[str]] | Sequence[str | Sequence[str]] | str
    ) -> Answer:
        """Choose options: labels by the id of the question (`ask`), or in the order of the
        questions. One text answers the only question."""
        self._require("ask", "question")
        if isinstance(answers, str):
            answers = [answers]
        if isinstance(answers, Mapping):
            self._require("ask")
            return Answer({"answers": {name: _labels(value) for name, value in answers.items()}})
        chosen = [_labels(value) for value in answers]
        asked = self.request.get("questions", ())
        if len(chosen) != len(asked):
            raise ValueError(f"There are {len(asked)} questions and {len(chosen)} answers.")
        if self.kind == "question":
            return Answer({"answers": chosen})
        return Answer({"answers": {one["id"]: labels for one, labels in zip(asked, chosen, strict=True)}})

    def fill(self, values: Mapping[str, Any]) -> Answer:
        """Fill in a form: values by the name of the field; a file is the id of an upload."""
        self._require("form")
        return Answer({"values": dict(values)})

    def decide(
        self,
        decision: Literal["accept", "edit", "reject"],
        *,
        plan: str | None = None,
        mode: Mode | None = None,
        comment: str | None = None,
    ) -> Answer:
        """Decide on a plan; `plan` is its text with your changes, `mode` is the one of its execution."""
        self._require("plan")
        given = {"plan": plan, "mode": mode, "comment": comment}
        return Answer(
            {"decision": decision, **{name: value for name, value in given.items() if value is not None}}
        )

    def _require(self, *kinds: str) -> None:
        if self.kind not in kinds:
            raise ValueError(
                f"This question is of the kind {self.kind!r}; that answer is for {' and '.join(kinds)}."
            )


def _labels(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


OnQuestion: TypeAlias = Callable[[Question], Answer | None]
"""Called with each question; returns its answer, or None to leave it open."""
AsyncOnQuestion: TypeAlias = Callable[[Question], Answer | Awaitable[Answer | None] | None]
"""The same; it may be a coroutine function."""
