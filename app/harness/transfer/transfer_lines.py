"""The lines of an exported session, each kind a class: what it holds and what makes it wrong.

Owns: the format of the lines. Pure, and keeps no row. Never: storage, or the order of a file
(`export_reader`). What a run or call was doing cannot be carried over, so only finished ones are taken.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, PlainValidator, TypeAdapter, ValidationError
from sqlmodel import SQLModel

from app.errors import ValidationFailed
from app.harness.conversation.message_rows import assistant_blocks, tool_result, user_message
from app.harness.dsl.compiler import stored_digest
from app.harness.run.todo_lists import items_of
from app.harness.sessions.prompt_edits import check_content
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
from app.tools.contract.modes import MODE_NAMES

FORMAT = 2
"""Since 2 the last line is a seal (`transfer_seal`)."""
UNSEALED = 1

RowT = TypeVar("RowT", bound=SQLModel)

ROLES = frozenset({"operator", "primary", "tool", "system"})
AT_REST = frozenset({SessionState.IDLE.value, SessionState.PAUSED.value, SessionState.ARCHIVED.value})
ENDED_RUNS = frozenset(state.value for state, moves in RUN_MOVES.items() if not moves)
ENDED_CALLS = frozenset(state.value for state, moves in TOOL_CALL_MOVES.items() if not moves)

LARGEST_SEQ = 2**52
"""The session counts on from there, and clients count exactly up to 2**53."""

_LARGEST = 2**63
_NO_LINE = 'it is not a JSON object with "kind" and "data"'


class WrongLine(Exception):
    """Why a line cannot be taken."""


@dataclass(frozen=True, slots=True)
class ImportedSession:
    """What the first line of an export says. `project` is the slug of the project that the session
    belongs to; `compiled` the project as it was compiled for the session, as stored. `sealed` is false for
    a format without a last line that says whether the file is whole. The session's `project_id` is left
    empty: it is another one here."""

    session: SessionRow
    project: str
    compiled: bytes | None
    sealed: bool


@dataclass(slots=True)
class LinesBefore:
    """What the lines before one have named: a line refers to nothing else."""

    session: SessionRow
    ids: set[str] = field(default_factory=set)
    runs: set[str] = field(default_factory=set)
    steps: set[tuple[str, int]] = field(default_factory=set)
    has_todos: bool = False
    last_seq: int = 0

    def add(self, row: SQLModel, prefix: Prefix) -> None:
        """Take a row that has an id and names the session; both are checked."""
        identity = getattr(row, "id", "")
        if not is_id(identity, prefix):
            raise WrongLine(f"{identity!r} is not an id of its kind")
        if identity in self.ids:
            raise WrongLine(f"{identity} is there twice")
        self.check_session(row)
        self.ids.add(identity)

    def check_session(self, row: SQLModel) -> None:
        if getattr(row, "session_id", None) != self.session.id:
            raise WrongLine("it belongs to another session")

    def check_run(self, run_id: str) -> None:
        if run_id not in self.runs:
            raise WrongLine(f"its run {run_id!r} is not among the lines before it")


def line(kind: str, data: dict[str, Any]) -> bytes:
    """Return one line of an export."""
    return orjson.dumps({"kind": kind, "data": data}, option=orjson.OPT_SORT_KEYS) + b"\n"


def parsed_line(raw: bytes) -> Line:
    """Return a line whose own columns are right; `check` says whether it fits those before it."""
    try:
        return _LINE.validate_python(orjson.loads(raw))
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        if first["type"] == "union_tag_invalid":
            raise WrongLine(f"kind {first['ctx']['tag']!r} is not known") from None
        raise WrongLine(_NO_LINE) from None
    except ValueError:
        raise WrongLine(_NO_LINE) from None


def stored_values(raw: bytes, session_id: str) -> tuple[str, dict[str, Any]]:
    """Return the kind and the columns of a line that an `ExportReader` has taken."""
    value = orjson.loads(raw)
    kind, data = value["kind"], value["data"]
    if kind == "event":
        data |= {"session_id": session_id, "frame": data["frame"].encode()}
    return kind, data


def _header(data: object) -> ImportedSession:
    fields = _columns(data)
    if fields.get("format") not in (FORMAT, UNSEALED):
        raise WrongLine(f"its format is {fields.get('format')!r}; this daemon reads {UNSEALED} and {FORMAT}")
    columns, project, compiled = fields.get("session"), fields.get("project"), fields.get("compiled")
    if not isinstance(columns, dict) or not isinstance(project, str):
        raise WrongLine("the session or its project is missing")
    session = _row(SessionRow, {**columns, "project_id": "", "workspace_id": None, "seen_run_id": None})
    if not is_id(session.id, "ses"):
        raise WrongLine("the session's id is not a session id")
    if session.state not in AT_REST:
        raise WrongLine(f"a session in the state {session.state!r} cannot be imported")
    if session.mode not in MODE_NAMES:
        raise WrongLine(f"the mode {session.mode!r} is not known here")
    if not 0 <= session.trimmed_through_seq <= session.seq_reserved <= LARGEST_SEQ:
        raise WrongLine("seq_reserved or trimmed_through_seq is out of range")
    compiled_project = _compiled(compiled, session.compiled_digest)
    return ImportedSession(session, project, compiled_project, fields["format"] != UNSEALED)


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


def _event(data: object) -> Event:
    columns = _columns(data)
    text = columns.get("frame")
    if not isinstance(text, str):
        raise WrongLine("the frame is not a text")
    return _row(Event, {**columns, "session_id": "", "frame": text.encode()})


def _columns(data: object) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise WrongLine(_NO_LINE)
    return data


def _row(model: type[RowT], data: object) -> RowT:
    columns = _columns(data)
    unknown = sorted(columns.keys() - model.model_fields.keys())
    if unknown:
        raise WrongLine(f"{unknown[0]!r} is not known here")
    for name, value in columns.items():
        if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            raise WrongLine(f"{name} is out of range")
    try:
        return model.model_validate(columns, strict=True)
    except ValidationError as problem:
        raise WrongLine(f"its fields are wrong: {_first_line(problem)}") from None


def _stored(model: type[SQLModel]) -> PlainValidator:
    """A table's model checks nothing inside another model, so it is validated here."""
    return PlainValidator(lambda data: _row(model, data))


def _first_line(problem: Exception) -> str:
    if isinstance(problem, ValidationError):
        first = problem.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'value'}: {first['msg']}"
    return str(problem)


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SessionLine(_Line):
    """The first line of a file."""

    kind: Literal["session"]
    data: Annotated[ImportedSession, PlainValidator(_header)]


class SealLine(_Line):
    """The last line of a file (`transfer_seal`)."""

    kind: Literal["end"]
    data: Annotated[dict[str, Any], PlainValidator(_columns)]


class RunLine(_Line):
    kind: Literal["run"]
    data: Annotated[Run, _stored(Run)]

    def check(self, before: LinesBefore) -> None:
        before.add(self.data, "run")
        if self.data.state not in ENDED_RUNS:
            raise WrongLine(f"a run in the state {self.data.state!r} cannot be imported")
        before.runs.add(self.data.id)


class StepLine(_Line):
    kind: Literal["step"]
    data: Annotated[Step, _stored(Step)]

    def check(self, before: LinesBefore) -> None:
        step = self.data
        before.check_run(step.run_id)
        if (step.run_id, step.number) in before.steps:
            raise WrongLine(f"step {step.number} of {step.run_id} is there twice")
        before.steps.add((step.run_id, step.number))


class MessageLine(_Line):
    kind: Literal["message"]
    data: Annotated[Message, _stored(Message)]

    def check(self, before: LinesBefore) -> None:
        message = self.data
        before.add(message, "msg")
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


class ToolCallLine(_Line):
    kind: Literal["tool_call"]
    data: Annotated[ToolCall, _stored(ToolCall)]

    def check(self, before: LinesBefore) -> None:
        before.add(self.data, "tcl")
        if self.data.state not in ENDED_CALLS:
            raise WrongLine(f"a tool call in the state {self.data.state!r} cannot be imported")
        if self.data.run_id is not None:
            before.check_run(self.data.run_id)


class CheckpointLine(_Line):
    kind: Literal["checkpoint"]
    data: Annotated[Checkpoint, _stored(Checkpoint)]

    def check(self, before: LinesBefore) -> None:
        before.add(self.data, "ckp")


class CompactionLine(_Line):
    kind: Literal["compaction"]
    data: Annotated[Compaction, _stored(Compaction)]

    def check(self, before: LinesBefore) -> None:
        before.add(self.data, "cmp")
        if self.data.state not in set(CompactionState):
            raise WrongLine(f"a compaction in the state {self.data.state!r} is not known")
        if not all(isinstance(row_id, str) for row_id in self.data.superseded_message_ids):
            raise WrongLine("superseded_message_ids are not ids")


class RollbackLine(_Line):
    kind: Literal["rollback"]
    data: Annotated[Rollback, _stored(Rollback)]

    def check(self, before: LinesBefore) -> None:
        before.add(self.data, "rbk")
        kept = self.data.details
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


class PromptEditLine(_Line):
    kind: Literal["prompt_edit"]
    data: Annotated[PromptEdit, _stored(PromptEdit)]

    def check(self, before: LinesBefore) -> None:
        before.add(self.data, "ped")
        try:
            check_content(self.data.new_content)
        except ValidationFailed as problem:
            raise WrongLine(problem.message) from None


class TodoListLine(_Line):
    kind: Literal["todo_list"]
    data: Annotated[TodoList, _stored(TodoList)]

    def check(self, before: LinesBefore) -> None:
        before.check_session(self.data)
        if before.has_todos:
            raise WrongLine("there are two todo lists")
        before.has_todos = True
        try:
            items_of(self.data.items)
        except ValueError as problem:
            raise WrongLine(str(problem)) from None


class EventLine(_Line):
    kind: Literal["event"]
    data: Annotated[Event, PlainValidator(_event)]

    def check(self, before: LinesBefore) -> None:
        event = self.data
        try:
            frame = orjson.loads(event.frame)
            named = (frame["session_id"], frame["seq"], frame["type"])
        except (ValueError, KeyError, TypeError):
            raise WrongLine("the frame is not the JSON of an event") from None
        if named != (before.session.id, event.seq, event.type):
            raise WrongLine("the frame is not the one of this event")
        if not before.last_seq < event.seq <= before.session.seq_reserved:
            raise WrongLine(f"seq {event.seq} is out of order")
        before.last_seq = event.seq


Line = Annotated[
    SessionLine
    | RunLine
    | StepLine
    | MessageLine
    | ToolCallLine
    | CheckpointLine
    | CompactionLine
    | RollbackLine
    | PromptEditLine
    | TodoListLine
    | EventLine
    | SealLine,
    Field(discriminator="kind"),
]
_LINE: TypeAdapter[Line] = TypeAdapter(Line)
