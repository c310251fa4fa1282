"""The interface of a running tool to the harness.

Owns: the protocols that the harness implements for each call, and their shapes. Never: an implementation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from pydantic import Field

from app.messages import Frozen, ToolSpec
from app.tools.contract.hook_report import HookReport
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


ChildPlace = Literal["shared", "worktree"]
"""Where a subagent works: where its caller does, or in a workspace of its own."""

QuestionKind = Literal["ask", "form", "question", "plan"]


@dataclass(frozen=True, slots=True)
class HumanQuestion:
    """What a tool asks a person. `request` is JSON-ready and has the shape of the kind. `within_call`: the
    run waits for the answer, because its call cannot be repeated."""

    kind: QuestionKind
    request: dict[str, Any]
    within_call: bool = False


class CallWaits(Exception):
    """The call has no result until a person answers, and its run ends until then. `question` is None when it
    is already stored. A tool raises it before it has done any part of the call."""

    def __init__(self, question: HumanQuestion | None = None) -> None:
        super().__init__("the call waits for a person")
        self.question = question


class ProposedTodo(Frozen):
    """An entry of a list that a subagent proposes; nothing is kept of it unless its caller does so."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


CHANGES_TOOL = "kaged.changes"
"""The tool by which an agent takes what its subagents changed in workspaces of their own."""


class ChildFiles(Frozen):
    """What a subagent left in a workspace of its own."""

    workspace: str
    changed: int | None = Field(default=None, description="Files that it changed there.")
    take_with: str | None = Field(default=None, description="The call that brings them into your folder.")


class ChildAnswer(Frozen):
    """The end of one delegation. Fields that are None are left out.

    `message` is the subagent's last message; a background task has none yet."""

    agent_path: str
    run_id: str
    state: Literal["succeeded", "running"]
    reason: str | None = Field(default=None, description="Why it ended: `stop`, `length`, `max_steps`, ...")
    steps: int | None = Field(default=None, description="Model calls that it made.")
    todos: list[ProposedTodo] | None = Field(default=None, description="A checklist that it proposes.")
    output: dict[str, Any] | None = Field(default=None, description="Its answer by its declared schema.")
    output_problem: str | None = Field(default=None, description="Why there is no `output`.")
    feedback: list[str] | None = Field(default=None, description="What hooks say about the answer.")
    files: ChildFiles | None = Field(default=None, description="What it changed in its own workspace.")
    message: str = ""


@dataclass(frozen=True, slots=True)
class ChildTask:
    """What an agent gives one of its subagents to do. `background`: it does not wait for the answer.
    `workspace` is where the subagent works; None: as its definition says."""

    child: str
    input: dict[str, Any]
    background: bool = False
    workspace: ChildPlace | None = None


SKILL_TOOL = "skill"
"""The tool that loads a skill: the conversation keeps its results."""


@dataclass(frozen=True, slots=True)
class SkillContent:
    """A skill as it is now. `folder` is the path by which the caller reads its files; `files` are the first
    of them, relative to it, of `file_count`."""

    name: str
    body: str
    folder: str
    files: tuple[str, ...]
    file_count: int


@dataclass(frozen=True, slots=True)
class FileWrite:
    """A change of one file, or of a folder with everything in it. `path` is the real path below the project's
    root. `digest` is the content's (XXH3, 128 bits, hexadecimal); None when the file is gone, or moved from
    `was` unchanged."""

    path: str
    digest: str | None = None
    was: str | None = None
    folder: bool = False


class ToolPorts(Protocol):
    """The harness' side of one tool call."""

    async def progress(self, text: str) -> None:
        """Show `text` to those who watch the call while it runs."""

    def audit(self, event: str, data: dict[str, Any]) -> None:
        """Record an audit event; `data` is JSON-ready and already redacted. Must not raise."""

    async def consent(self, request: ConsentRequest) -> ConsentAnswer:
        """Ask a person whether the call may go on. Never called for a headless call. `always` has stored the
        request's suggestions already."""

    async def ask(self, question: HumanQuestion) -> dict[str, Any]:
        """Put a question to a person and return the answer, which fits it. Never called for a headless call.
        Raises `CallWaits` where the run ends until then: do nothing before this call, and let it through."""

    def skill_folders(self) -> tuple[Path, ...]:
        """Return the real folders of the caller's skills that lie outside the project: it may read what is
        in them."""

    async def skill(self, name: str) -> SkillContent:
        """Read one of the caller's skills. Raises ToolError `skill_not_found` or `skill_unreadable`."""

    def children(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the caller's subagents by key, each with the JSON Schema of its input."""

    def tools_to_find(self) -> Sequence[ToolSpec]:
        """Return the caller's tools that its requests do not have in full."""

    async def delegate(self, task: ChildTask) -> ChildAnswer:
        """Run `task` in a subagent of the caller, and return its answer. Raises ToolError when it is refused,
        fails or is stopped."""

    async def todos(self) -> tuple[TodoItem, ...]:
        """Return the session's todo list, which all its agents share; empty when there is none."""

    async def replace_todos(self, todos: Sequence[TodoItem]) -> None:
        """Keep the list in place of the one before, also over a restart of the daemon."""

    async def calls_made(self) -> int:
        """Return how many calls of this call's tool the session has made up to this one, itself included. It
        survives restarts of the daemon. Calls that were refused before they did anything do not count."""

    def wrote(self, write: FileWrite) -> None:
        """Note what the call has made of a file. Must not raise."""

    def request_checkpoint(self, reason: str | None) -> None:
        """Pause the run for the operator after the model's answer. Raises ToolError when no run can."""

    def hook_ended(self, report: HookReport) -> None:
        """Record and publish that a hook of the call has ended. Must not raise."""


class WriteObserver(Protocol):
    """Hears of the files that one call writes. Paths are real ones, relative to the project's root."""

    async def before(self, paths: Sequence[str]) -> None:
        """These existing files may be written when this returns, which is soon. Must not raise."""

    def written(self, path: str, *, created: bool, was: str | None = None) -> None:
        """The file has its new content; `was` is its path before, when it was moved."""
