"""The `replay` driver: answers from a transcript file, deterministically and without a network.

Owns: the position in the transcript, derived from the conversation alone: a restart changes nothing. Never:
the file's format (`transcript`).
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pydantic import Field

from app.config import ProviderSettings
from app.errors import ConfigError
from app.harness.providers.connection import Connection
from app.harness.providers.deltas import (
    Delta,
    Finished,
    TextDelta,
    ThinkingClosed,
    ThinkingDelta,
    ToolCallReady,
)
from app.harness.providers.driver import Driver, DriverOptions, read_options
from app.harness.providers.drivers.replay.captures import captured, filled
from app.harness.providers.drivers.replay.transcript import (
    ENDINGS,
    CallPart,
    ErrorPart,
    Part,
    Step,
    Transcript,
    load_transcript,
)
from app.harness.providers.errors import ProviderError
from app.harness.providers.provider import ModelRequest, WireRequest, in_full
from app.harness.providers.wire_json import dump, join_request, read_arguments
from app.messages import (
    NUDGE,
    AssistantMessage,
    ModelMessage,
    TextBlock,
    ToolCallBlock,
    ToolResultsMessage,
    Usage,
    UserMessage,
)

_MODEL_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
_CHUNKS = re.compile(r"\s*\S+\s*|\s+")
_CHARACTERS_PER_TOKEN = 4


class ReplayOptions(DriverOptions):
    """`speed` 2 plays twice as fast, 0 without any delay."""

    speed: float = Field(default=1.0, ge=0)


@dataclass(frozen=True, slots=True)
class ScriptPosition:
    """Where a conversation stands: its steps and the number of the one to play."""

    steps: tuple[Step, ...]
    index: int
    title: str


class ReplayProvider:
    """Plays `<transcript folder>/<model>.yaml`, or the one file that the settings name."""

    driver = "replay"

    def __init__(self, name: str, settings: ProviderSettings, _: Connection | None = None) -> None:
        self.name = name
        self._where = settings.transcript
        self._timeout = settings.timeout_seconds
        self._speed = read_options(ReplayOptions, name, settings).speed
        self._loaded: dict[Path, tuple[tuple[int, int], Transcript]] = {}
        self._failed: Counter[tuple[str, str, int, int]] = Counter()

    def encode(self, request: ModelRequest) -> WireRequest:
        """Return the request in kaged's own words, so that an audit shows what a model would see."""
        encoded = request.cache.encode(
            self.driver, request.messages, lambda message: dump(message.model_dump(exclude_defaults=False))
        )
        head = {"model": request.model, "system": [block.model_dump() for block in request.system]}
        tools = dump([tool.model_dump(exclude={"loading"}) for tool in in_full(request.tools)])
        last = b"" if request.reminder is None else dump({"role": "system", "text": request.reminder})
        body = join_request(head, (("tools", tools),), "messages", (*encoded, last))
        return WireRequest(f"/{request.model}", body)

    async def stream(self, wire: WireRequest, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Play the step that the conversation has come to. Raises `ProviderError`, also for a
        transcript that cannot be read and for an expectation that is not met."""
        transcript = await self._transcript(request.model)
        position = self._position(transcript, request)
        step = position.steps[position.index]
        answer = self._answer(step, position, request)
        delay = transcript.chunk_delay if step.chunk_delay is None else step.chunk_delay
        calls = 0
        written = 0
        for number, part in enumerate(answer):
            if part.text is not None or part.thinking is not None:
                thinking = part.text is None
                for chunk in _CHUNKS.findall(part.text or part.thinking or ""):
                    await self._wait(delay)
                    written += len(chunk)
                    yield ThinkingDelta(chunk) if thinking else TextDelta(chunk)
                if thinking:
                    yield ThinkingClosed(provider=self.driver)
            elif part.tool_call is not None:
                await self._wait(delay)
                call = _call(part.tool_call, wire.call_id(calls))
                calls += 1
                written += len(call.name) + len(str(call.arguments))
                yield ToolCallReady(call)
            elif part.error is not None:
                self._fail(part.error, request, position.index, number)
            else:
                await self._wait(part.pause or 0.0, stall=bool(part.stall))
        usage = _estimated(wire, written) if step.usage is None else step.usage.counted()
        stop = step.stop_reason or ("toolUse" if calls else "stop")
        yield Finished(stop, usage, model=request.model)

    async def models(self) -> list[str]:
        """Return the names of the transcripts that can be played."""
        return await asyncio.to_thread(self._names)

    async def _wait(self, seconds: float, *, stall: bool = False) -> None:
        if stall:
            await asyncio.sleep(self._timeout)
            raise ProviderError("network", f"{self.name}: nothing arrived for {self._timeout:g} s")
        await asyncio.sleep(seconds / self._speed if self._speed else 0)

    async def _transcript(self, model: str) -> Transcript:
        try:
            return await asyncio.to_thread(self._load, model)
        except ConfigError as error:
            raise self._error(error.message, model) from error

    def _load(self, model: str) -> Transcript:
        path = self._path(model)
        status = path.stat()
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._loaded.get(path)
        if known is None or known[0] != stamp:
            known = self._loaded[path] = (stamp, load_transcript(path))
        return known[1]

    def _path(self, model: str) -> Path:
        where = self._where
        if where is None:
            raise ConfigError(f"providers.{self.name}.transcript is not set: name a transcript or a folder")
        if not _MODEL_NAME.match(model):
            raise ConfigError(f"{model!r} is not the name of a transcript")
        if where.is_file() and where.stem == model:
            return where
        folder = where.parent if where.is_file() else where
        for ending in ENDINGS:
            if (path := folder / (model + ending)).is_file():
                return path
        known = ", ".join(self._names()) or "none"
        raise ConfigError(f"no transcript {model!r} in {folder} (there: {known})")

    def _names(self) -> list[str]:
        if self._where is None:
            return []
        if self._where.is_file():
            return [self._where.stem]
        return sorted({path.stem for path in self._where.glob("*") if path.suffix in ENDINGS})

    def _position(self, transcript: Transcript, request: ModelRequest) -> ScriptPosition:
        position = find_position(transcript, request.messages)
        if position.index >= len(position.steps):
            message = f"the transcript has no step {position.index + 1} for {position.title}"
            raise self._error(message, request.model)
        return position

    def _answer(self, step: Step, position: ScriptPosition, request: ModelRequest) -> tuple[Part, ...]:
        """Return what to play: the answer, or the step's other one when it expects something else."""
        if step.expect is None:
            return step.answer
        found = {"user": _last_user(request.messages), "tool_result": _last_results(request.messages)}
        groups: dict[str, str] = {}
        for what, text in found.items():
            pattern = getattr(step.expect, what)
            taken = {} if pattern is None else captured(pattern, text)
            if taken is None:
                if step.otherwise is not None:
                    return step.otherwise
                message = (
                    f"{position.title}, step {position.index + 1} expects {what} to match {pattern!r}, got: "
                )
                raise self._error(message + text[:500], request.model)
            groups |= taken
        return filled(step.answer, groups)

    def _fail(self, error: ErrorPart, request: ModelRequest, step: int, part: int) -> None:
        if error.times is not None:
            key = (request.session_id, request.model, len(request.messages), step * 1_000 + part)
            self._failed[key] += 1
            if self._failed[key] > error.times:
                return
        raise ProviderError(
            error.kind,
            f"{self.name}: {error.message}",
            provider=self.name,
            model=request.model,
            status=error.status,
            retry_after=error.retry_after,
        )

    def _error(self, message: str, model: str) -> ProviderError:
        return ProviderError("bad_request", f"{self.name}: {message}", provider=self.name, model=model)


def find_position(transcript: Transcript, messages: Sequence[ModelMessage]) -> ScriptPosition:
    """Return the position that a conversation has come to; the index may be past the last step.

    The conversation under way is the one that the latest message of the operator begins; a message
    that arrived between tool results and the next answer steers it and begins nothing."""
    for start in _beginnings(messages):
        text = _own_words(messages[start])
        matching = [one for one in transcript.conversations if one.matches(text)]
        if matching:
            first = matching[0]
            turn = sum(
                first.matches(_own_words(message))
                for message in messages[:start]
                if isinstance(message, UserMessage)
            )
            alike = [one for one in matching if (one.when, one.says) == (first.when, first.says)]
            chosen = alike[min(turn, len(alike) - 1)]
            return ScriptPosition(
                chosen.steps, _index(chosen.steps, messages[start:]), repr(first.when or first.says)
            )
        if text != NUDGE and not _steers(messages, start):
            fallback = _fallback(transcript)
            return ScriptPosition(fallback, _index(fallback, messages[start:]), "the fallback")
    return ScriptPosition(_fallback(transcript), 0, "the fallback")


def _index(steps: Sequence[Step], messages: Sequence[ModelMessage]) -> int:
    """Return how many of the steps have been played in `messages`.

    A step that was cut off is played again when the run goes on, unless the transcript itself
    ended it for its length."""
    index = 0
    for before, message in pairwise((None, *messages)):
        if isinstance(message, AssistantMessage):
            index += 1
        elif (
            isinstance(before, AssistantMessage)
            and isinstance(message, UserMessage)
            and _own_words(message) == NUDGE
            and index <= len(steps)
            and steps[index - 1].stop_reason != "length"
        ):
            index -= 1
    return index


def _beginnings(messages: Sequence[ModelMessage]) -> list[int]:
    """Return where the operator's messages stand, the latest first."""
    return [
        position
        for position in range(len(messages) - 1, -1, -1)
        if isinstance(messages[position], UserMessage)
    ]


def _steers(messages: Sequence[ModelMessage], position: int) -> bool:
    """Tell whether the message at `position` came while a conversation was under way."""
    before = messages[position - 1] if position else None
    return isinstance(before, UserMessage | ToolResultsMessage)


def _fallback(transcript: Transcript) -> tuple[Step, ...]:
    if transcript.fallback is not None:
        return transcript.fallback.steps
    known = "\n".join(f"- {one.when or one.says}" for one in transcript.conversations) or "- nothing"
    text = f"This is a replayed transcript; it has no answer to that. It knows messages like:\n\n{known}\n"
    return (Step.model_validate({"answer": [{"text": text}]}),)


def _call(part: CallPart, identifier: str) -> ToolCallBlock:
    if part.raw_arguments is None:
        return ToolCallBlock(id=part.id or identifier, name=part.name, arguments=part.arguments)
    arguments, error = read_arguments(part.raw_arguments)
    return ToolCallBlock(
        id=part.id or identifier,
        name=part.name,
        arguments=arguments,
        raw_arguments=part.raw_arguments if error else None,
        argument_error=error,
    )


def _estimated(wire: WireRequest, written: int) -> Usage:
    return Usage(
        input_tokens=len(wire.body) // _CHARACTERS_PER_TOKEN,
        output_tokens=max(1, written // _CHARACTERS_PER_TOKEN),
    )


def _text(message: ModelMessage) -> str:
    blocks = message.blocks if isinstance(message, UserMessage) else ()
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def _own_words(message: ModelMessage) -> str:
    """Return what the operator wrote: the last text, after any attachments."""
    blocks = message.blocks if isinstance(message, UserMessage) else ()
    return next((block.text for block in reversed(blocks) if isinstance(block, TextBlock)), "")


def _last_user(messages: Sequence[ModelMessage]) -> str:
    return next((_text(message) for message in reversed(messages) if isinstance(message, UserMessage)), "")


def _last_results(messages: Sequence[ModelMessage]) -> str:
    """Return the results that the next answer is about; a steer may stand behind them, and so may an
    answer that was cut off and is now given again."""
    again = False
    for message in reversed(messages):
        if isinstance(message, ToolResultsMessage):
            return "\n".join(result.content for result in message.results)
        if isinstance(message, AssistantMessage) and not again:
            break
        again = isinstance(message, UserMessage) and _own_words(message) == NUDGE
    return ""


RECORD = Driver(name="replay", adapter=ReplayProvider)
