"""Chat completions on the wire.

Owns: the fields that are read and written. Never: what they mean (`conversation`, `answers`).

The protocol is not ours: a request may have fields that are not here, and they have no effect.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from app.api.schemas.model import AnswerModel

MAX_MESSAGES = 20_000
MAX_PARTS = 1_000


class WireModel(BaseModel):
    """A part of a request: unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ImageUrl(WireModel):
    url: str


class ContentPart(WireModel):
    """A part of a message: `text`, or in a user's message `image_url` with a data URL."""

    type: str = Field(max_length=100)
    text: str | None = None
    image_url: ImageUrl | None = None


class ChatMessage(WireModel):
    """One message. `developer` is another name of `system`."""

    role: str = Field(max_length=100, description="`system`, `developer`, `user` or `assistant`.")
    content: str | Annotated[list[ContentPart], Field(max_length=MAX_PARTS)] | None = None
    tool_calls: list[Any] | None = Field(default=None, description="Refused: only the agent calls tools.")
    function_call: Any = Field(default=None, description="Refused, as `tool_calls`.")


class StreamOptions(WireModel):
    include_usage: bool | None = Field(
        default=None, description="True: the last chunk before `[DONE]` has the token counts."
    )


class ResponseFormat(WireModel):
    type: str = Field(max_length=100)


class ChatCompletionRequest(WireModel):
    """The fields that have an effect, or are refused. All others are ignored: the project file sets the
    agent's model and its parameters."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "model": "shop/primary",
                "messages": [{"role": "user", "content": "Why does test_total fail?"}],
                "stream": True,
            }
        }
    )

    model: str = Field(min_length=1, max_length=1_000, description="An agent, as `project/agent`.")
    messages: list[ChatMessage] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = Field(default=None, description="Only 1.")
    tools: list[Any] | None = Field(default=None, description="Refused: an agent has its own tools.")
    functions: list[Any] | None = Field(default=None, description="Refused, as `tools`.")
    response_format: ResponseFormat | None = Field(default=None, description="Only `text`.")
    stop: str | list[str] | None = Field(default=None, description="Refused.")
    logprobs: bool | None = Field(default=None, description="Refused when true.")
    top_logprobs: int | None = Field(default=None, description="Refused when above 0.")
    modalities: list[str] | None = Field(default=None, description="Only `text`.")
    audio: Any = Field(default=None, description="Refused.")
    web_search_options: Any = Field(default=None, description="Refused: the agent's tools decide.")


class PromptDetails(AnswerModel):
    cached_tokens: int


class CompletionDetails(AnswerModel):
    reasoning_tokens: int


class CompletionUsage(AnswerModel):
    """The tokens of the run and of its subagents. `prompt_tokens` includes cached ones, `completion_tokens`
    includes reasoning."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails


FinishReason = Literal["stop", "length", "content_filter"]


class AnswerMessage(AnswerModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class Choice(AnswerModel):
    index: Literal[0] = 0
    message: AnswerMessage
    logprobs: None = None
    finish_reason: FinishReason


class ChatCompletion(AnswerModel):
    """The answer of an agent. Its tool calls are not in it: the session has them."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int = Field(description="Seconds since the epoch.")
    model: str
    choices: list[Choice]
    usage: CompletionUsage


class Delta(AnswerModel):
    """What a chunk adds; fields that it does not add are left out."""

    role: Literal["assistant"] | None = None
    content: str | None = None

    @model_serializer(mode="wrap")
    def _added(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialize(self).items() if value is not None}


class ChunkChoice(AnswerModel):
    index: Literal[0] = 0
    delta: Delta
    finish_reason: FinishReason | None = None


class ChatCompletionChunk(AnswerModel):
    """One event of a stream. With `stream_options.include_usage` all chunks have `usage`, the last one with a
    value and without choices."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: CompletionUsage | None = None


class Model(AnswerModel):
    """An agent. Its id is `project/agent`."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["kaged"] = "kaged"


class ModelList(AnswerModel):
    object: Literal["list"] = "list"
    data: list[Model]


class ProtocolError(AnswerModel):
    """`code` is `details.reason` of the daemon's errors, or their `code`."""

    message: str
    type: str
    param: str | None = Field(description="The field that is wrong, such as `messages.0.content`.")
    code: str


class ProtocolErrorAnswer(AnswerModel):
    error: ProtocolError


class StartedRun(AnswerModel):
    """What an idempotency key stands for: the run that its first request started."""

    session_id: str
    run_id: str
    created: int
