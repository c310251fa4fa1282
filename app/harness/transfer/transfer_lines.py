"""The lines of an exported session, read back: every line is checked before anything is stored.

Owns: the format of the lines and what makes one wrong. Pure, and keeps no row. Never: storage.
What a run or call was doing cannot be carried over, so only finished ones are taken.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson
from pydantic import ValidationError

from app.errors import PayloadTooLarge, ValidationFailed
from app.harness.conversation.message_rows import assistant_blocks, tool_result, user_message
from app.harness.dsl.compiler import stored_digest
from app.harness.run.todo_lists import items_of
from app.harness.sessions.prompt_edits import check_content
from app.harness.transfer.transfer_seal import SEAL, Seal
from app.ids import Prefix, is_id
from app.states import RUN_MOVES, TOOL_CALL_MOVES, CompactionState, SessionState
from app.storage.models import (
    Checkpoint,
    Compaction,
    Event,
    Message,
    PromptEdit,
    Rollback,
    Run,
    Step,
    TodoList,
    ToolCall,
)
from app.storage.models import Session as SessionRow

FORMAT = 2
"""Since 2 the last line is a seal (`transfer_seal`)."""
UNSEALED = 1

RowT = TypeVar(
    "RowT",
    SessionRow,
    Run,
    Step,
    Message,
    ToolCall,
    Checkpoint,
    Compaction,
    Rollback,
    PromptEdit,
    TodoList,
    Event,
)

ROLES = frozenset({"operator", "primary", "tool", "system"})
AT_REST = frozenset({SessionState.IDLE.value, SessionState.PAUSED.value, SessionState.ARCHIVED.value})
ENDED_RUNS = frozenset(state.value for state, moves in RUN_MOVES.items() if not moves)
ENDED_CALLS = frozenset(state.value for state, moves in TOOL_CALL_MOVES.items() if not moves)

MAX_LINES = 500_000
LARGEST_SEQ = 2**52
"""The session counts on from there, and clients count exactly up to 2**53."""

_LARGEST = 2**63


class WrongLine(Exception):
    """Why a line cannot be taken."""


@dataclass(frozen=True, slots=True)
class ImportedSession:
    """What the first line of an export says. `project` is the slug of the project that the session
    belongs to; `compiled` the project as it was compiled for the session, as stored. `sealed` is false for
    a format without a last line that says whether the file is whole."""

    session: SessionRow
    project: str
    compiled: bytes | None
    sealed: bool


def line(kind: str, data: dict[str, Any]) -> bytes:
    """Return one line of an export."""
    return orjson.dumps({"kind": kind, "data": data}, option=orjson.OPT_SORT_KEYS) + b"\n"


def checked_values(raw: bytes, session_id: str) -> tuple[str, dict[str, Any]]:
    """Return the kind and the columns of a line that an `ExportReader` has taken."""
    kind, data = _parse(raw)
    if kind == "event":
        data |= {"session_id": session_id, "frame": data["frame"].encode()}
    return kind, data


class ExportReader:
    """Checks the lines one after the other; each may refer to those before it.

    The session's `project_id` is left empty: it is another one here."""

    def __init__(self) -> None:
        self.number = 0
        self.rows = 0
        self._found: ImportedSession | None = None
        self._ids: set[str] = set()
        self._runs: set[str] = set()
        self._steps: set[tuple[str, int]] = set()
        self._has_todos = False
        self._last_seq = 0
        self._seal = Seal()
        self._whole = False

    @property
    def header(self) -> ImportedSession | None:
        """What the first line said; None before it was taken."""
        return self._found

    @property
    def found(self) -> ImportedSession:
        if self._found is None:
            raise wrong(1, "there is no line at all")
        return self._found

    def take(self, raw: bytes) -> bool:
        """Check the next line; return whether it is a row (and neither the first line nor empty).

        Raises `ValidationFailed` that names the line, `PayloadTooLarge` when there are too many."""
        self.number += 1
        if self.number > MAX_LINES:
            raise PayloadTooLarge(
                f"The export has more than {MAX_LINES} lines.",
                reason="too_many_lines",
                details={"max_lines": MAX_LINES},
            )
        if self._whole and raw.strip():
            raise wrong(self.number, "it comes after the last line of the export")
        try:
            taken = bool(raw.strip()) and self._take(*_parse(raw))
        except WrongLine as problem:
            raise wrong(self.number, str(problem)) from None
        self._seal.add(raw)
        self.rows += taken
        return taken

    def _take(self, kind: str, data: dict[str, Any]) -> bool:
        if self._found is None:
            if kind != "session":
                raise WrongLine("the first line must be the session itself")
            self._found = _header(data)
            return False
        if kind == SEAL and self._found.sealed:
            self._end(data)
            return False
        self._check(kind, data)
        return True

    def finish(self) -> None:
        """Raise `ValidationFailed` when the last line of the export has not come."""
        if self.found.sealed and not self._whole:
            raise wrong(self.number + 1, "the export ends before its last line: the file is cut off")

    def _end(self, data: dict[str, Any]) -> None:
        problem = self._seal.problem_with(data)
        if problem is not None:
            raise WrongLine(problem)
        self._whole = True

    def _check(self, kind: str, data: dict[str, Any]) -> None:
        match kind:
            case "run":
                self._run(data)
            case "step":
                self._step(data)
            case "message":
                self._message(data)
            case "tool_call":
                self._tool_call(data)
            case "checkpoint":
                self._of_session(_row(Checkpoint, data), "ckp")
            case "compaction":
                self._compaction(data)
            case "rollback":
                self._rollback(data)
            case "prompt_edit":
                self._prompt_edit(data)
            case "todo_list":
                self._todo_list(data)
            case "event":
                self._event(data)
            case _:
                raise WrongLine(f"kind {kind!r} is not known")

    def _run(self, data: dict[str, Any]) -> None:
        run = self._of_session(_row(Run, data), "run")
        if run.state not in ENDED_RUNS:
            raise WrongLine(f"a run in the state {run.state!r} cannot be imported")
        self._runs.add(run.id)

    def _step(self, data: dict[str, Any]) -> None:
        step = _row(Step, data)
        if step.run_id not in self._runs:
            raise WrongLine(f"its run {step.run_id!r} is not among the lines before it")
        if (step.run_id, step.number) in self._steps:
            raise WrongLine(f"step {step.number} of {step.run_id} is there twice")
        self._steps.add((step.run_id, step.number))

    def _message(self, data: dict[str, Any]) -> None:
        message = self._of_session(_row(Message, data), "msg")
        if message.role not in ROLES:
            raise WrongLine(f"role {message.role!r} is not known")
        if not message.complete:
            raise WrongLine("a message in flight cannot be imported")
        try:
            if message.role == "primary":
                assistant_blocks(message)
            elif message.role == "tool":
                tool_result(message)
            else:
                user_message(message)
        except (ValidationError, KeyError, TypeError, AttributeError) as problem:
            raise WrongLine(f"its details cannot be used: {_first_line(problem)}") from None

    def _tool_call(self, data: dict[str, Any]) -> None:
        call = self._of_session(_row(ToolCall, data), "tcl")
        if call.state not in ENDED_CALLS:
            raise WrongLine(f"a tool call in the state {call.state!r} cannot be imported")
        if call.run_id is not None and call.run_id not in self._runs:
            raise WrongLine(f"its run {call.run_id!r} is not among the lines before it")

    def _compaction(self, data: dict[str, Any]) -> None:
        compaction = self._of_session(_row(Compaction, data), "cmp")
        if compaction.state not in set(CompactionState):
            raise WrongLine(f"a compaction in the state {compaction.state!r} is not known")
        if not all(isinstance(row_id, str) for row_id in compaction.superseded_message_ids):
            raise WrongLine("superseded_message_ids are not ids")

    def _rollback(self, data: dict[str, Any]) -> None:
        kept = self._of_session(_row(Rollback, data), "rbk").details
        numbers = [kept.get(name) for name in ("position", "last_position", "messages")]
        flags = [kept.get(name) for name in ("was_rolled_back", "context_overflow")]
        lists = [kept.get(name) for name in ("compactions", "proposals", "checkpoints")]
        fits = (
            all(isinstance(one, int) for one in numbers)
            and all(isinstance(one, bool) for one in flags)
            and all(isinstance(ids, list) and all(isinstance(one, str) for one in ids) for ids in lists)
        )
        if not fits or "files" in kept:
            raise WrongLine("its details are not those of a rollback")

    def _prompt_edit(self, data: dict[str, Any]) -> None:
        edit = self._of_session(_row(PromptEdit, data), "ped")
        try:
            check_content(edit.new_content)
        except ValidationFailed as problem:
            raise WrongLine(problem.message) from None

    def _todo_list(self, data: dict[str, Any]) -> None:
        todos = _row(TodoList, data)
        if todos.session_id != self.found.session.id:
            raise WrongLine("it belongs to another session")
        if self._has_todos:
            raise WrongLine("there are two todo lists")
        self._has_todos = True
        try:
            items_of(todos.items)
        except ValueError as problem:
            raise WrongLine(str(problem)) from None

    def _event(self, data: dict[str, Any]) -> None:
        text = data.get("frame")
        if not isinstance(text, str):
            raise WrongLine("the frame is not a text")
        try:
            frame = orjson.loads(text)
            fits = (frame["session_id"], frame["seq"], frame["type"]) == (
                self.found.session.id,
                data.get("seq"),
                data.get("type"),
            )
        except (ValueError, KeyError, TypeError):
            raise WrongLine("the frame is not the JSON of an event") from None
        if not fits:
            raise WrongLine("the frame is not the one of this event")
        event = _row(Event, {**data, "session_id": self.found.session.id, "frame": text.encode()})
        if not self._last_seq < event.seq <= self.found.session.seq_reserved:
            raise WrongLine(f"seq {event.seq} is out of order")
        self._last_seq = event.seq

    def _of_session(self, row: RowT, prefix: Prefix) -> RowT:
        """Return a row that has an id and names the session; both are checked."""
        identity = getattr(row, "id", "")
        if not is_id(identity, prefix):
            raise WrongLine(f"{identity!r} is not an id of its kind")
        if identity in self._ids:
            raise WrongLine(f"{identity} is there twice")
        if getattr(row, "session_id", None) != self.found.session.id:
            raise WrongLine("it belongs to another session")
        self._ids.add(identity)
        return row


def wrong(number: int, problem: str) -> ValidationFailed:
    return ValidationFailed(
        f"Line {number} of the export cannot be read: {problem}.", fields={f"lines.{number}": problem}
    )


def _parse(raw: bytes) -> tuple[str, dict[str, Any]]:
    try:
        value = orjson.loads(raw)
        kind, data = value["kind"], value["data"]
    except (ValueError, KeyError, TypeError):
        raise WrongLine('it is not a JSON object with "kind" and "data"') from None
    if not isinstance(kind, str) or not isinstance(data, dict) or len(value) != 2:
        raise WrongLine('it is not a JSON object with "kind" and "data"')
    return kind, data


def _header(data: dict[str, Any]) -> ImportedSession:
    if data.get("format") not in (FORMAT, UNSEALED):
        raise WrongLine(f"its format is {data.get('format')!r}; this daemon reads {UNSEALED} and {FORMAT}")
    fields, project, compiled = data.get("session"), data.get("project"), data.get("compiled")
    if not isinstance(fields, dict) or not isinstance(project, str):
        raise WrongLine("the session or its project is missing")
    session = _row(SessionRow, {**fields, "project_id": ""})
    if not is_id(session.id, "ses"):
        raise WrongLine("the session's id is not a session id")
    if session.state not in AT_REST:
        raise WrongLine(f"a session in the state {session.state!r} cannot be imported")
    if not 0 <= session.trimmed_through_seq <= session.seq_reserved <= LARGEST_SEQ:
        raise WrongLine("seq_reserved or trimmed_through_seq is out of range")
    compiled_project = _compiled(compiled, session.compiled_digest)
    return ImportedSession(session, project, compiled_project, data["format"] != UNSEALED)


def _compiled(encoded: object, digest: str | None) -> bytes | None:
    if encoded is None:
        return None
    try:
        content = base64.b64decode(encoded, validate=True)  # type: ignore[arg-type]
    except (binascii.Error, TypeError, ValueError):
        raise WrongLine("the compiled project is not base64") from None
    if digest is None or stored_digest(content) != digest:
        # It is kept under this name, for every session that has it.
        raise WrongLine("the compiled project is not the one that compiled_digest names")
    return content


def _row(model: type[RowT], data: dict[str, Any]) -> RowT:
    unknown = sorted(data.keys() - model.model_fields.keys())
    if unknown:
        raise WrongLine(f"{unknown[0]!r} is not known here")
    for name, value in data.items():
        if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            raise WrongLine(f"{name} is out of range")
    try:
        return model.model_validate(data, strict=True)
    except ValidationError as problem:
        raise WrongLine(f"its fields are wrong: {_first_line(problem)}") from None


def _first_line(problem: Exception) -> str:
    if isinstance(problem, ValidationError):
        first = problem.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'value'}: {first['msg']}"
    return str(problem)
