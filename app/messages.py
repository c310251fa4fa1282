"""The conversation's words: content blocks, usage, and the messages a model is sent.

Owns: the closed unions that every floor shares; frozen, and old rows keep loading: new fields have defaults,
unknown ones are ignored. Never: a provider's wire format, or columns.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

StopReason = Literal["stop", "length", "toolUse", "error", "aborted"]


TOOL_SEARCH = "tool_search"
CALL_TOOL = "call_tool"
"""The tools by which a model finds and calls those that a request does not have in full."""

NUDGE = "Continue where you stopped."
"""What a model is sent when a run goes on without a new message."""


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class TextBlock(Frozen):
    """Text. `phase` is OpenAI's word for what an answer's text is (`commentary`, `final_answer`): its newer
    models want it back."""

    type: Literal["text"] = "text"
    text: str
    phase: str | None = None


class ThinkingBlock(Frozen):
    """Reasoning that the model showed. `signature` and `data` are opaque provider values that
    must go back unchanged (Anthropic signatures and redacted data, OpenAI encrypted items,
    Google thought signatures); `provider` names the driver that understands them."""

    type: Literal["thinking"] = "thinking"
    text: str = ""
    signature: str | None = None
    data: str | None = None
    item_id: str | None = None
    provider: str | None = None


class ImageBlock(Frozen):
    """An image, base64 encoded."""

    type: Literal["image"] = "image"
    media_type: str
    data: str


class ToolCallBlock(Frozen):
    """A call that the model asked for. `name` is kaged's name of the tool (`file.read`).

    When the arguments were not a JSON object, `arguments` is empty, `raw_arguments` keeps the
    text and `argument_error` says what is wrong and where; the tool is then never run."""

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    raw_arguments: str | None = None
    argument_error: str | None = None
    signature: str | None = None


AssistantBlock = Annotated[TextBlock | ThinkingBlock | ToolCallBlock, Field(discriminator="type")]
UserBlock = Annotated[TextBlock | ImageBlock, Field(discriminator="type")]


class UserMessage(Frozen):
    role: Literal["user"] = "user"
    blocks: tuple[UserBlock, ...]


class AssistantMessage(Frozen):
    role: Literal["assistant"] = "assistant"
    blocks: tuple[AssistantBlock, ...]


class ToolResult(Frozen):
    """The one answer to one tool call; `content` is the text the model reads, `images` are what it
    sees beside it."""

    tool_call_id: str
    name: str
    content: str
    is_error: bool = False
    images: tuple[ImageBlock, ...] = ()


class ToolResultsMessage(Frozen):
    """The answers to all tool calls of one step, in the order asked."""

    role: Literal["tool"] = "tool"
    results: tuple[ToolResult, ...]


ModelMessage = Annotated[UserMessage | AssistantMessage | ToolResultsMessage, Field(discriminator="role")]


class Usage(Frozen):
    """Token counts of one model call. `input_tokens` never includes cache tokens;
    `output_tokens` includes `reasoning_tokens`."""

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})


class Cost(Frozen):
    """US dollars of one model call, as the harness source lists them."""

    input: float = 0.0
    output: float = 0.0
    reasoning: float = 0.0
    cache_read: float = Field(default=0.0, serialization_alias="cacheRead")
    cache_write: float = Field(default=0.0, serialization_alias="cacheWrite")
    total: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(**{name: getattr(self, name) + getattr(other, name) for name in Cost.model_fields})


class ToolSpec(Frozen):
    """A tool as a model is shown it. `name` is kaged's; adapters send `wire_name`. Requests have tools that
    are `full`. `tool_search` finds those that are `deferred`, which the session had from its start, and those
    that are `late`, which came while it lasted."""

    name: str
    wire_name: str
    description: str
    parameters: dict[str, Any]
    loading: Literal["full", "deferred", "late"] = "full"


class SystemBlock(Frozen):
    """One part of the system prompt; `name` says where it came from (`agent`, `instructions`)."""

    name: str
    text: str
