"""What a running tool may ask of the harness.

Owns: the protocols that the harness fills for each call. Never: an implementation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

from app.tools.contract.child_answer import ChildAnswer
from app.tools.contract.rules import ConsentAnswer, ConsentRequest

TodoState = Literal["pending", "in_progress", "completed"]
TODO_STATES: tuple[str, ...] = get_args(TodoState)
MAX_TODOS = 200
MAX_TODO_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One entry of a session's todo list."""

    content: str
    status: TodoState


QuestionKind = Literal["ask", "form", "question"]


@dataclass(frozen=True, slots=True)
class HumanQuestion:
    """What a tool asks a person. `request` is JSON-ready and has the shape of the kind."""

    kind: QuestionKind
    request: dict[str, Any]


class CallWaits(Exception):
    """The call has no result before a person has answered, and its run does not wait for that.

    `question` is None when it is stored already. Whoever raises it has done nothing of the call yet."""

    def __init__(self, question: HumanQuestion | None = None) -> None:
        super().__init__("the call waits for a person")
        self.question = question


@dataclass(frozen=True, slots=True)
class ChildTask:
    """What an agent gives one of its subagents to do. `background`: it does not wait for the answer."""

    child: str
    input: dict[str, Any]
    background: bool = False


@dataclass(frozen=True, slots=True)
class FileWrite:
    """What a call has made of one file, or of a folder with all in it.

    `path` is the real one below the project's root. `digest` is that of the content (XXH3 with 128
    bits, in hexadecimal); None when the file is gone, or when it was called `was` before and its
    content is what it was."""

    path: str
    digest: str | None = None
    was: str | None = None
    folder: bool = False


class ToolPorts(Protocol):
    """The harness' side of one tool call."""

    async def progress(self, text: str) -> None:
        """Show `text` to whoever watches the call while it is still running."""

    def audit(self, event: str, data: dict[str, Any]) -> None:
        """Record an audit event; `data` is JSON-ready and already redacted. Must not raise."""

    async def consent(self, request: ConsentRequest) -> ConsentAnswer:
        """Ask the human whether the call may go on, and wait for the answer.

        Never called for a headless call. `always` has stored the request's suggestions already.
        """

    async def ask(self, question: HumanQuestion) -> dict[str, Any]:
        """Put a question to a person and return the answer, which fits the question.

        Never called for a headless call. Raises `CallWaits` where the run ends until then; the tool
        must have done nothing before, and let it through."""

    def children(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the caller's subagents by key, each with the JSON Schema of its input."""

    async def delegate(self, task: ChildTask) -> ChildAnswer:
        """Let a subagent of the caller do `task`, and return what it answers.

        Raises ToolError when it is refused, fails, or is stopped before it is done."""

    async def todos(self) -> tuple[TodoItem, ...]:
        """Return the session's todo list, which all its agents share; empty when there is none."""

    async def replace_todos(self, todos: Sequence[TodoItem]) -> None:
        """Keep the list in place of the one before, also over a restart of the daemon."""

    def wrote(self, write: FileWrite) -> None:
        """Note what the call has made of a file. Must not raise."""

    def request_checkpoint(self, reason: str | None) -> None:
        """Pause the run for the operator once the model has finished its answer.

        Raises `ToolError` when there is no run that could pause."""


class WriteObserver(Protocol):
    """Hears of the files that one call writes. Paths are real ones, relative to the project's root."""

    async def before(self, paths: Sequence[str]) -> None:
        """These existing files may be written when this returns, which is soon. Must not raise."""

    def written(self, path: str, *, created: bool, was: str | None = None) -> None:
        """The file has its new content; `was` is its path before, when it was moved."""
