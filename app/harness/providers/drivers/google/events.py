"""The events of a Gemini stream, folded into deltas.

Owns: the meaning of parts, finish reasons, blocked prompts and usage counts. Never: I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import xxhash

from app.harness.providers.connection import Connection
from app.harness.providers.deltas import (
    Delta,
    TextDelta,
    ThinkingClosed,
    ThinkingDelta,
    ToolCallReady,
    UsageSoFar,
)
from app.harness.providers.errors import ProviderErrorKind
from app.harness.providers.folding import Fold
from app.harness.providers.provider import ModelRequest
from app.harness.providers.wire_json import (
    as_count,
    as_object,
    as_objects,
    as_text,
    dump,
    read_call,
)
from app.messages import StopReason, ToolCallBlock, Usage

DRIVER = "google"

MADE_UP_ID = "gcall_"
"""How an id begins that the provider did not give. The rest follows from the request's bytes and
the call's place in the answer, so that it is the same when the same request is repeated."""

_STOP_REASONS: dict[str, StopReason] = {"STOP": "stop", "MAX_TOKENS": "length", "CONTINUATION": "length"}
_REFUSALS = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "MODEL_ARMOR",
        "ESCALATION",
    }
)
_ERRORS: dict[str, ProviderErrorKind] = {
    "MISSING_THOUGHT_SIGNATURE": "bad_request",
    "PUP_LIMITED_DISABLED": "auth",
}
"""The account may not, or the request was wrong: to ask again would not help."""
_MALFORMED = "MALFORMED_FUNCTION_CALL"
_BROKEN_OFF = frozenset({_MALFORMED, "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"})
"""The model's own slip, and the provider gave the answer up: the same request often succeeds."""
_PARTS = frozenset({"text", "thought", "thoughtSignature", "functionCall"})
_CALLED = re.compile(r"(?<![\w-])[\d-]*+([A-Za-z_][\w-]*+)\s*+[({]")


class GoogleFold(Fold):
    """One answer of the Gemini API being read. There is no closing event: the stream just ends,
    and it is complete when a finish reason came before."""

    def __init__(self, connection: Connection, request: ModelRequest, body: bytes) -> None:
        super().__init__(connection, request)
        self._body = body
        self._calls = 0
        self._counts: Mapping[str, Any] = {}

    def take(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        if event.get("error"):
            raise self._connection.stream_error(event, self._model)
        if counts := as_object(event.get("usageMetadata")):
            self._counts = counts
            yield UsageSoFar(self.usage())
        self._answering_model = as_text(event.get("modelVersion")) or self._answering_model
        self._response_id = as_text(event.get("responseId")) or self._response_id
        feedback = as_object(event.get("promptFeedback"))
        if blocked := as_text(feedback.get("blockReason")):
            words = as_text(feedback.get("blockReasonMessage"))
            message = f"the prompt was blocked: {blocked}{f': {words}' if words else ''}"
            raise self._connection.error("content_refused", message, self._model)
        for candidate in as_objects(event.get("candidates"))[:1]:
            for part in as_objects(as_object(candidate.get("content")).get("parts")):
                yield from self._part(part)
            yield from self._stopped(candidate)

    def _part(self, part: Mapping[str, Any]) -> Iterator[Delta]:
        if not _PARTS.issuperset(part):
            for name in (key for key, value in part.items() if key not in _PARTS and value is not None):
                self._connection.pass_over("the part", name)
        text, signature = as_text(part.get("text")), as_text(part.get("thoughtSignature")) or None
        if call := as_object(part.get("functionCall")):
            yield ToolCallReady(self._call(call, signature))
            return
        if text:
            yield ThinkingDelta(text) if part.get("thought") else TextDelta(text)
        if signature:
            yield ThinkingClosed(signature=signature, provider=DRIVER)

    def _call(self, call: Mapping[str, Any], signature: str | None) -> ToolCallBlock:
        arguments = call.get("args")
        raw = dump(arguments).decode() if arguments is not None else ""
        identifier = as_text(call.get("id")) or self._made_up_id()
        self._count_call()
        return read_call(identifier, str(call.get("name", "")), raw, self._names, signature=signature)

    def _made_up_id(self) -> str:
        return f"{MADE_UP_ID}{xxhash.xxh3_64_hexdigest(self._body)}_{self._calls}"

    def _stopped(self, candidate: Mapping[str, Any]) -> Iterator[Delta]:
        reason = as_text(candidate.get("finishReason"))
        if not reason or reason == "FINISH_REASON_UNSPECIFIED":
            return
        words = as_text(candidate.get("finishMessage"))
        message = f"{reason}: {words}" if words else reason
        if reason in _REFUSALS:
            raise self._connection.error("content_refused", f"the answer was stopped: {message}", self._model)
        if reason == _MALFORMED and (call := self._malformed(words)) is not None:
            yield ToolCallReady(call)
            reason = "STOP"
        if reason in _BROKEN_OFF:
            raise self._connection.error(
                "truncated_stream", f"the answer was given up: {message}", self._model
            )
        if reason not in _STOP_REASONS:
            kind = _ERRORS.get(reason, "unknown")
            raise self._connection.error(kind, f"the answer was stopped: {message}", self._model)
        self.stop_reason = _STOP_REASONS[reason]

    def _malformed(self, words: str) -> ToolCallBlock | None:
        """Return the call that the provider could not read, when its report names an offered tool:
        the model then gets an error, as for arguments that are not JSON."""
        name = next((name for name in _CALLED.findall(words) if self._names.offers(name)), None)
        if name is None:
            return None
        identifier = self._made_up_id()
        self._count_call()
        return ToolCallBlock(
            id=identifier,
            name=self._names.to_kaged(name),
            raw_arguments=words,
            argument_error="the provider could not read the call's arguments",
        )

    def _count_call(self) -> None:
        self._calls += 1
        self.called = True

    def usage(self) -> Usage:
        """Return the counts: the prompt is reported with its cached part, the answer without thoughts."""
        count = {name: as_count(value) for name, value in self._counts.items()}
        cached, thoughts = count.get("cachedContentTokenCount", 0), count.get("thoughtsTokenCount", 0)
        prompt = count.get("promptTokenCount", 0) + count.get("toolUsePromptTokenCount", 0)
        return Usage(
            input_tokens=max(0, prompt - cached),
            output_tokens=count.get("candidatesTokenCount", 0) + thoughts,
            reasoning_tokens=thoughts,
            cache_read_tokens=cached,
        )
