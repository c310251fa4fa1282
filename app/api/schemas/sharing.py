"""The preview of a shared session on the wire."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from app.api.schemas.model import AnswerModel
from app.harness.sharing.tally import MOST_LISTED, Tally


class SharedParts(AnswerModel):
    """How many of each leave."""

    messages: int
    answers: int
    tool_calls: int
    results: int
    thinking: int
    subagents: int
    images: int
    attached_files: int = Field(description="Attached files whose contents leave; their names always do.")
    notes: int = Field(description="Notes of the daemon to its model.")
    redactions: int = Field(description="Secrets that were replaced by `[redacted]`.")


class KeptParts(AnswerModel):
    """How many of each stay here, because `include` does not name them."""

    results: int
    thinking: int
    subagents: int
    images: int
    attached_files: int
    notes: int


class SharedName(AnswerModel):
    """A tool or an agent, and how often it appears."""

    name: str
    count: int


class SharedImage(AnswerModel):
    media_type: str
    bytes: int


class RedactedPlace(AnswerModel):
    """A message in which something was redacted; `number` is that of the answer or message in the file."""

    number: int
    message_id: str
    count: int


class SharePreview(AnswerModel):
    """What leaves. The lists have at most 1,000 entries each; the counts are complete."""

    title: str
    bytes: int = Field(description="The size of the file.")
    shared: SharedParts
    kept: KeptParts
    tools: list[SharedName]
    agents: list[SharedName]
    files: list[str] = Field(description="Names of files that tool calls and attachments mention.")
    file_count: int
    images: list[SharedImage]
    redacted: list[RedactedPlace]

    @classmethod
    def of(cls, title: str, tally: Tally) -> Self:
        return cls(
            title=title,
            bytes=tally.size,
            shared=SharedParts(**{name: tally.counts[name] for name in SharedParts.model_fields}),
            kept=KeptParts(**{name: tally.left_out[name] for name in KeptParts.model_fields}),
            tools=[
                SharedName(name=name, count=count) for name, count in tally.tools.most_common(MOST_LISTED)
            ],
            agents=[
                SharedName(name=name, count=count) for name, count in tally.agents.most_common(MOST_LISTED)
            ],
            files=tally.listed_files(),
            file_count=len(tally.files),
            images=[
                SharedImage(media_type=kind, bytes=size) for kind, size in tally.image_sizes[:MOST_LISTED]
            ],
            redacted=[
                RedactedPlace(number=place.number, message_id=place.message_id, count=place.count)
                for place in tally.places()
            ],
        )
