"""What compaction asks of plugins.

Owns: the shapes of the questions and answers. Never: a plugin's process, deadlines or audit rows: those
belong to the implementation of the port; nor trusting an answer: `strategies.delegate` checks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

from app.errors import Failure
from app.harness.compaction.plan import Window
from app.harness.conversation.entry import Entry
from app.harness.providers.catalog import Catalog
from app.harness.providers.router import ProviderRouter
from app.harness.run.compaction_requests import StrategyName, Trigger
from app.harness.run.run_context import RunContext
from app.messages import AssistantMessage, TextBlock, ToolCallBlock, ToolResultsMessage, UserMessage
from app.storage.storage import Storage

ResultKind = Literal["inject", "retain", "compactor_result", "null", "error"]


class CompactorFailed(Failure):
    """A compactor plugin could not be asked, did not answer in time, or answered with an error."""

    def __init__(self, reason: str, duration_ms: float = 0.0) -> None:
        super().__init__(reason)
        self.duration_ms = duration_ms


@dataclass(frozen=True, slots=True)
class ObserverAnswer:
    """What an observer said. `retain` are ids of messages that stay, `inject` is a text for the model."""

    name: str
    duration_ms: float
    result_kind: ResultKind
    retain: tuple[str, ...] = ()
    inject: str | None = None


@dataclass(frozen=True, slots=True)
class CompactorAnswer:
    """What a compactor answered, unchecked: `result` has `messages`, `superseded` and `summary`."""

    duration_ms: float
    result: Mapping[str, Any]


@dataclass(frozen=True)
class PreCompact:
    """What is about to happen. Estimates are tokens; `messages` is the whole conversation as JSON."""

    compaction_id: str
    trigger: Trigger
    strategy: StrategyName
    threshold_estimate: int
    target_estimate: int
    window: Window
    dry_run: bool

    @cached_property
    def messages(self) -> list[dict[str, Any]]:
        """Return every message in order: `id`, `role`, `content`, `tokens`, `always_keep`, and what a
        call or its result has beside. Ids are those of stored messages."""
        return [
            message
            for index, unit in enumerate(self.window.units)
            for entry in unit.entries
            for message in described(entry, always_keep=index in self.window.kept)
        ]

    @property
    def messages_being_compacted(self) -> list[dict[str, Any]]:
        """Return those of the messages that may go; calls stand with their results."""
        return [message for message in self.messages if not message["always_keep"]]


@dataclass(frozen=True, slots=True)
class PostCompact:
    """What has happened. `strategy` is the configured one, `method` what was really done."""

    compaction_id: str
    trigger: Trigger
    strategy: StrategyName
    method: StrategyName
    after_estimate: int
    superseded_message_ids: Sequence[str]
    summary_message_id: str | None
    summary: str | None


class CompactorPlugins(Protocol):
    """The plugins of a run's agent. No method raises but as it says."""

    async def pre_compact(self, run: RunContext, notice: PreCompact) -> Sequence[ObserverAnswer]:
        """Ask every observer, in the order declared; one that fails answers `error`."""

    async def compact(self, run: RunContext, plugin: str, notice: PreCompact) -> CompactorAnswer:
        """Ask the compactor. Raises `CompactorFailed`."""

    async def post_compact(self, run: RunContext, notice: PostCompact) -> Sequence[ObserverAnswer]:
        """Tell every observer."""


def described(entry: Entry, *, always_keep: bool) -> list[dict[str, Any]]:
    """Return an entry's messages as plugins and dry runs see them: one for each row."""
    message = entry.shown
    if isinstance(message, ToolResultsMessage):
        return [
            {
                "id": row_id,
                "role": "tool",
                "content": result.content,
                "tool_call_id": result.tool_call_id,
                "tool": result.name,
                "is_error": result.is_error,
                "tokens": entry.tokens // len(message.results),
                "always_keep": always_keep,
            }
            for row_id, result in zip(entry.row_ids, message.results, strict=False)
        ]
    data: dict[str, Any] = {
        "id": entry.row_ids[0],
        "role": entry.role,
        "content": "".join(block.text for block in message.blocks if isinstance(block, TextBlock)),
        "tokens": entry.tokens,
        "always_keep": always_keep,
    }
    if isinstance(message, AssistantMessage):
        calls = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
        if calls:
            data["tool_calls"] = [
                {"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls
            ]
    else:
        assert isinstance(message, UserMessage)
    return [data]


@dataclass(frozen=True, slots=True)
class CompactionServices:
    """What compactions need from the daemon."""

    storage: Storage
    router: ProviderRouter
    catalog: Catalog
    plugins: CompactorPlugins
