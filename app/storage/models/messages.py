"""Rows of messages: append-only, ordered by `position` within a session."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, with_config
from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field, SQLModel
from typing_extensions import TypedDict

from app.storage.typed_json import Json

_Sender = TypedDict("_Sender", {"from": str}, total=False)
"""The path of the agent that a subagent's message comes from; the name is a keyword of Python."""


@with_config(ConfigDict(extra="allow"))
class MessageDetails(_Sender, total=False):
    """What is stored beside a message's text, under the names of the published contract; which of them there
    are follows from the message's role. Names that are not here are kept as they are."""

    # The author: `kind` says what a message of the daemon is.
    createdBy: str
    kind: str
    # An operator's message; `requestId` is of the request that posted it.
    requestId: str
    attachments: list[dict[str, Any]]
    model: str
    issue_number: int
    # What of a message its model is not sent: a list of cuts for each examination by content gates.
    withheld: list[list[list[Any]]]
    # A model's answer; `model` is the one that gave it, `step` stands in an answer that is not complete;
    # `gateDigest` names the content gates that its request has passed.
    step: int
    provider: str
    stopReason: str
    usage: dict[str, Any]
    stats: dict[str, Any]
    errorMessage: str
    errorKind: str
    errorStatus: int
    requestDigest: str
    systemDigest: str
    gateDigest: str
    responseId: str
    contentBlocks: list[dict[str, Any]]
    # The result of a tool call.
    toolCallId: str
    toolName: str
    isError: bool
    code: str | None
    images: list[dict[str, Any]]
    metadata: dict[str, Any]
    wrote: list[dict[str, Any]]
    # The same of a subagent in a workspace of its own: no file of the session's folder.
    wroteApart: list[dict[str, Any]]
    # A summary in the place of older messages.
    compaction_id: str
    facts: dict[str, Any]
    compactor_cost: Any
    always_keep: bool
    # News of instruction files: the digest of each that the message is about, by its origin.
    told: dict[str, str]
    # What a subagent is given, and what became of its task.
    parentRunId: str
    parentToolCallId: str
    linesLeftOut: int
    agentPath: str
    runId: str
    state: str


class Message(SQLModel, table=True):
    """One message. `position` is null while an operator's message waits in the queue;
    `complete` is false for the one row that holds the partial text of a message in flight.
    `details` holds what the harness source calls metadata;
    `superseded_by` is the compaction or rollback that took it out of what the model is sent."""

    __tablename__ = "messages"
    __table_args__ = (
        Index("ix_messages_history", "session_id", "position"),
        Index(
            "ix_messages_incomplete",
            "session_id",
            sqlite_where=text("complete IS 0"),
            postgresql_where=text("complete IS false"),
        ),
    )

    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key="sessions.id")
    run_id: str | None = None
    agent_path: str = "primary"
    position: int | None = Field(default=None, sa_type=BigInteger)
    role: str
    content: str
    details: MessageDetails = Field(default_factory=MessageDetails, sa_type=Json)
    complete: bool = True
    superseded: bool = False
    delivery: str = "direct"
    created_at: int = Field(sa_type=BigInteger)
    superseded_by: str | None = None
