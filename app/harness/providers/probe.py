"""One small real call that shows whether a provider works.

Owns: the question asked and the shape of the result. Never: retries; the first failure is the news.
"""

from __future__ import annotations

import re
import time
from contextlib import aclosing
from dataclasses import dataclass

from app.config import ProviderSettings
from app.errors import ValidationFailed
from app.harness.providers.deltas import BlockAssembler, Finished, UsageSoFar
from app.harness.providers.errors import ProviderError
from app.harness.providers.examination import examined
from app.harness.providers.explanation import Cause, Explanation
from app.harness.providers.factory import BuiltProvider, ListsModels
from app.harness.providers.provider import ModelRequest, Provider
from app.messages import SystemBlock, TextBlock, Usage, UserMessage

_OUTPUT_TOKENS = 256
_NOT_FOR_TALK = re.compile(
    r"embed|rerank|moderation|whisper|transcribe|tts|audio|realtime|voice|speech|dall-e|image|imagen|sora|veo|ocr"
    r"|babbage|davinci|turbo-instruct|codex|computer-use|deep-research|search|guard|\baqa\b"
)
"""Names of models that a server lists and that answer no question over a chat protocol."""
_QUESTION = "This is a connection test. Reply with the single word: ok"


@dataclass(frozen=True, slots=True)
class ProviderTestResult:
    """The outcome of one real call. Times are milliseconds; `error` is a `ProviderErrorKind`; `cause`,
    `explanation` and `advice` say in plain words why the call failed, and what to do."""

    provider: str
    model: str
    ok: bool
    duration_ms: int = 0
    ttft_ms: int | None = None
    text: str = ""
    usage: Usage | None = None
    error: str | None = None
    message: str | None = None
    cause: Cause | None = None
    explanation: str | None = None
    advice: str | None = None


async def probe(provider: Provider, model: str) -> ProviderTestResult:
    """Ask the model for one word. Raises `ProviderError`."""
    started = time.monotonic()
    request = ModelRequest(
        model=model,
        system=(SystemBlock(name="test", text="You answer as briefly as possible."),),
        messages=(UserMessage(blocks=(TextBlock(text=_QUESTION),)),),
        max_output_tokens=_OUTPUT_TOKENS,
    )
    assembler = BlockAssembler()
    first: int | None = None
    usage: Usage | None = None
    async with aclosing(provider.stream(provider.encode(request), request)) as stream:
        async for delta in stream:
            if first is None and not isinstance(delta, UsageSoFar):
                first = _since(started)
            assembler.add(delta)
            usage = delta.usage if isinstance(delta, Finished) else usage
    text = "".join(block.text for block in assembler.blocks() if isinstance(block, TextBlock))
    return ProviderTestResult(provider.name, model, True, _since(started), first, text, usage)


async def tested(
    name: str, model: str | None, settings: ProviderSettings, built: BuiltProvider
) -> ProviderTestResult:
    """Make one real, small call and explain how it fails, if it does. Without `model` the server is asked for
    one. Raises `ValidationFailed` when it names none."""
    started = time.monotonic()
    chosen = model or ""
    try:
        chosen = chosen or await some_model(built.provider)
        return await probe(built.provider, chosen)
    except ProviderError as error:
        took = _since(started)
        return failed_test(name, chosen, error, await examined(error, chosen, name, settings, built), took)


def failed_test(
    name: str, model: str, error: ProviderError, why: Explanation, duration_ms: int = 0
) -> ProviderTestResult:
    """Return the result of a call that failed."""
    return ProviderTestResult(
        name,
        model,
        False,
        duration_ms,
        error=error.kind,
        message=error.message,
        cause=why.cause,
        explanation=why.words,
        advice=why.advice,
    )


async def some_model(provider: Provider) -> str:
    """Return a model that the server offers, preferably a chat model by its name. Raises `ValidationFailed`
    when none is to be found."""
    offered = await provider.models() if isinstance(provider, ListsModels) else []
    if not offered:
        message = f"Name a model of {provider.name!r}: no alias uses it and it lists none."
        raise ValidationFailed(message, fields={"model": "required for this provider"})
    return next((name for name in offered if not _NOT_FOR_TALK.search(name.casefold())), offered[0])


def _since(started: float) -> int:
    return int((time.monotonic() - started) * 1000)
