"""What `debug` answers, for all its actions.

Owns: the shapes. Lines count from 1, columns from 0; frames count from 0, the top one. Never: making
them.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from app.tools.contract.definition import ToolResult


class Thread(ToolResult):
    id: int
    name: str
    function: str | None = Field(default=None, description="The first frame in the project.")
    path: str | None = None
    line: int | None = None


class ExceptionShown(ToolResult):
    type: str | None = None
    message: str | None = None


class Local(ToolResult):
    name: str
    value: str


class ProjectFrame(ToolResult):
    """A frame in the project's own code."""

    function: str | None = None
    path: str | None = None
    line: int | None = None
    source: str | None = Field(default=None, description="The line there.")
    locals: list[Local] | None = None


class Awaited(ToolResult):
    """What a thread waits for."""

    kind: str = Field(description="lock, thread, condition, channel, sleep, input, ...")
    name: str | None = Field(default=None, description="As the source names it.")
    thread: str | None = Field(default=None, description="The thread that has it, or is to end.")


class HungThread(ToolResult):
    id: int | None = None
    name: str
    moves: bool | None = Field(default=None, description="Whether it has got further meanwhile.")
    waits_for: Awaited | None = None
    frames: list[ProjectFrame] | None = Field(
        default=None, description="Of the project, the innermost first; else the top ones."
    )


class Watched(ToolResult):
    expression: str
    value: str | None = None
    error: str | None = None


class TraceRow(ToolResult):
    """What changed at a hit."""

    hit: int
    values: dict[str, str]


class TraceColumn(ToolResult):
    """An expression over all hits."""

    expression: str
    first: str
    last: str
    count: int
    distinct: int
    min: float | None = Field(default=None, description="Where all values are numbers.")
    max: float | None = None


class TracedLine(ToolResult):
    path: str
    line: int
    hits: int
    rows: list[TraceRow] | None = None
    rows_left_out: int | None = None
    columns: list[TraceColumn] | None = Field(default=None, description="Where there are many rows.")
    expressions_left_out: int | None = None


class Location(ToolResult):
    """Where the program stands. What the caller may not read has its path and line only."""

    frame_id: int | None = Field(default=None, description="Of an exception's first frame in the project.")

    path: str | None = None
    line: int | None = None
    column: int | None = None
    function: str | None = None
    source_preview: str | None = Field(default=None, description="The line there.")
    address: str | None = Field(default=None, description="Of the instruction, where no source is known.")
    outside_cage: bool | None = None
    outside_project: bool | None = None


class Frame(ToolResult):
    id: int = Field(description="For frame_id.")
    name: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    address: str | None = None
    label: bool | None = Field(default=None, description="True: no frame, but what separates frames.")
    outside_cage: bool | None = None
    outside_project: bool | None = None


class Change(ToolResult):
    name: str
    value: str
    was: str | None = Field(default=None, description="Its value at the last stop; none if it is new.")
    type: str | None = None


class Breakpoint(ToolResult):
    id: int
    path: str | None = None
    line: int | None = None
    actual_line: int | None = Field(default=None, description="Where it is in the program.")
    function: str | None = None
    instruction_reference: str | None = None
    data_id: str | None = None
    access_type: str | None = None
    offset: int | None = None
    condition: str | None = None
    hit_count: int | None = None
    log_message: str | None = None
    verified: bool
    message: str | None = Field(default=None, description="What the adapter says of it.")


class ScopeShown(ToolResult):
    name: str
    scope: str | None = Field(default=None, description="What variables calls it.")
    variables: int | None = None
    expensive: bool | None = None


class Variable(ToolResult):
    name: str
    value: str
    type: str | None = None
    expandable: bool | None = None
    children: list[dict[str, Any]] | None = Field(default=None, description="Of the same shape.")
    more: int | None = Field(default=None, description="How many further children there are.")
    memory_reference: str | None = None


class Instruction(ToolResult):
    address: str
    instruction: str
    symbol: str | None = None
    bytes: str | None = None
    path: str | None = None
    line: int | None = None
    current: bool | None = Field(default=None, description="True: the frame stands here.")
    valid: bool | None = Field(default=None, description="False: no instruction is known there.")


class Module(ToolResult):
    id: str
    name: str
    path: str | None = None
    version: str | None = None
    symbols: str | None = None
    address_range: str | None = None
    is_user_code: bool | None = None


class Source(ToolResult):
    path: str | None = None
    name: str | None = None
    outside_cage: bool | None = None
    outside_project: bool | None = None


class DebugResult(ToolResult):
    """The fields of one action are set, the others left out."""

    debug_session_id: str | None = None
    runtime: str | None = None
    adapter: str | None = None
    status: str | None = Field(default=None, description="stopped, running, exited or ended.")
    stopped_reason: str | None = None
    description: str | None = None
    text: str | None = Field(default=None, description="More of the reason, such as an exception's text.")
    thread_id: int | None = None
    threads: list[Thread] | None = None
    breakpoint_id: int | None = None
    breakpoint_ids: list[int] | None = Field(default=None, description="Where several were hit.")
    exit_code: int | None = None
    timed_out: bool | None = Field(default=None, description="True: it did not stop in time and still runs.")
    location: Location | None = None
    changed: list[Change] | None = Field(
        default=None, description="Local variables of the top frame that are new or changed."
    )
    exception: ExceptionShown | None = None
    raised_in: Frame | None = Field(
        default=None, description="Where the program stands, when that is not in the project."
    )
    locals: list[Local] | None = Field(
        default=None, description="Of an exception's first frame in the project."
    )
    shown: list[Watched] | None = Field(default=None, description="The watch list.")
    outcome: str | None = Field(
        default=None,
        description="why: failed, passed or timed_out; trace: exited, max_hits or timed_out; hang: deadlock, "
        "waiting or busy.",
    )
    hung: list[HungThread] | None = Field(default=None, description="All threads, deadlocked ones first.")
    deadlock: list[str] | None = Field(default=None, description="Threads that wait for each other.")
    project_frames: list[ProjectFrame] | None = None
    trace: list[TracedLine] | None = None
    hits: int | None = None
    exceptions: str | None = None
    exception_types: list[str] | None = None
    output: str | None = Field(default=None, description="What the program wrote since the last stop.")
    verified: bool | None = None
    actual_line: int | None = None
    path: str | None = None
    line: int | None = None
    function: str | None = None
    condition: str | None = None
    hit_count: int | None = None
    log_message: str | None = None
    instruction_reference: str | None = None
    offset: int | None = None
    message: str | None = None
    removed: bool | None = None
    breakpoints: list[Breakpoint] | None = None
    data_id: str | None = Field(default=None, description="Missing where no data breakpoint is possible.")
    access_type: str | None = None
    access_types: list[str] | None = None
    can_persist: bool | None = None
    frames: list[Frame] | None = None
    total_frames: int | None = None
    scopes: list[ScopeShown] | None = None
    variables: list[Variable] | None = None
    total: int | None = Field(default=None, description="How many there are, also where not all are shown.")
    result: str | None = None
    was: str | None = Field(default=None, description="The value before set_variable.")
    type: str | None = None
    expandable: bool | None = None
    children: list[Variable] | None = None
    memory_reference: str | None = None
    instructions: list[Instruction] | None = None
    address: str | None = None
    data: str | None = Field(default=None, description="Bytes, in base64.")
    hex_dump: str | None = None
    count: int | None = Field(default=None, description="Bytes that were read.")
    unreadable_bytes: int | None = None
    bytes_written: int | None = None
    modules: list[Module] | None = None
    sources: list[Source] | None = None
    response: dict[str, Any] | None = Field(default=None, description="The answer to a custom request.")
    disconnected: bool | None = None
    debuggee_terminated: bool | None = None
    truncated: bool | None = None
    warning: str | None = None
    note: str | None = None
