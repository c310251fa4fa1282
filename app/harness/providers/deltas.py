"""What a model stream is made of: a closed union, and the assembler that folds it into blocks.

Every adapter turns its provider's wire events into these; nothing above this folder knows a
provider's wire format. A stream is a success only when it ends with `Finished`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from app.messages import AssistantBlock, StopReason, TextBlock, ThinkingBlock, ToolCallBlock, Usage


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text (never empty). Pieces of another `phase` are another block."""

    text: str
    phase: str | None = None


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of the reasoning that the model shows (never empty)."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingClosed:
    """The current reasoning block is complete; its opaque values are now known."""

    signature: str | None = None
    data: str | None = None
    item_id: str | None = None
    provider: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCallReady:
    """A tool call whose arguments have arrived in full."""

    call: ToolCallBlock


@dataclass(frozen=True, slots=True)
class UsageSoFar:
    """What the provider has counted already: all there is when the answer is stopped. It is no part
    of the answer; the counts of `Finished` replace it."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Finished:
    """The provider said that the answer is complete. `stop_reason` is `stop`, `length`,
    `toolUse`; a refusal is a `ProviderError` of kind `content_refused`."""

    stop_reason: StopReason
    usage: Usage
    model: str | None = None
    response_id: str | None = None


CUT_OFF = (
    "the answer reached its limit of output tokens before they were complete; "
    "write less in one call, or the same in several"
)
"""What is wrong with the arguments of a call that the limit cut off."""

Delta = TextDelta | ThinkingDelta | ThinkingClosed | ToolCallReady | UsageSoFar | Finished


@dataclass(slots=True)
class BlockAssembler:
    """Folds deltas into content blocks; what it holds after any delta is the partial answer."""

    _blocks: list[AssistantBlock] = field(default_factory=list)
    _text: list[str] = field(default_factory=list)
    _phase: str | None = None
    _thinking: list[str] = field(default_factory=list)

    def add(self, delta: Delta) -> None:
        match delta:
            case TextDelta(text, phase):
                self._flush_thinking()
                if phase != self._phase:
                    self._flush_text()
                self._phase = phase
                self._text.append(text)
            case ThinkingDelta(text):
                self._flush_text()
                self._thinking.append(text)
            case ThinkingClosed():
                self._flush_text()
                self._blocks.append(
                    ThinkingBlock(
                        text="".join(self._thinking),
                        signature=delta.signature,
                        data=delta.data,
                        item_id=delta.item_id,
                        provider=delta.provider,
                    )
                )
                self._thinking.clear()
            case ToolCallReady(call):
                self._flush_thinking()
                self._flush_text()
                self._blocks.append(call)
            case Finished(stop_reason):
                self._flush_thinking()
                self._flush_text()
                if stop_reason == "length":
                    self._mark_cut_off()
            case UsageSoFar():
                pass

    def blocks(self) -> tuple[AssistantBlock, ...]:
        """Return what has arrived so far, in order; safe to call at any moment."""
        tail: list[AssistantBlock] = []
        if self._thinking:
            tail.append(ThinkingBlock(text="".join(self._thinking)))
        if self._text:
            tail.append(TextBlock(text="".join(self._text), phase=self._phase))
        return (*self._blocks, *tail)

    def _mark_cut_off(self) -> None:
        """Say of the last call why its arguments are none, or are missing: it must not be run without."""
        last = self._blocks[-1] if self._blocks else None
        if not isinstance(last, ToolCallBlock) or last.arguments:
            return
        where = f" ({last.argument_error})" if last.argument_error else ""
        self._blocks[-1] = last.model_copy(update={"argument_error": CUT_OFF + where})

    def _flush_text(self) -> None:
        if self._text:
            self._blocks.append(TextBlock(text="".join(self._text), phase=self._phase))
            self._text.clear()

    def _flush_thinking(self) -> None:
        if self._thinking:
            self._blocks.append(ThinkingBlock(text="".join(self._thinking)))
            self._thinking.clear()
