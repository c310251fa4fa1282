"""Everything one run of one agent needs, and what it has used so far.

Owns: the run's counters, its audit buffer (rows that ride along with the run's next write), and
the futures of writes that have not been awaited yet. Never: decisions.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import orjson
import xxhash

from app.events import EventPayload
from app.harness.checkpoints.request import CheckpointRequests
from app.harness.dsl.compiled import CompiledAgent, CompiledProject
from app.harness.estimate import ConversationEstimate
from app.harness.history import History
from app.harness.limits import Limits, Spent
from app.harness.prompts.store import Prompt
from app.harness.providers.route import Route
from app.harness.session_stream import SessionStream
from app.ids import now_ms
from app.messages import Cost, SystemBlock, ToolSpec, Usage
from app.observability import NO_SPAN, Metrics, Redactor, Span
from app.storage.unit_of_work import UnitOfWork
from app.tools.authorisation.rules import PermissionRule
from app.tools.definition import OwnTools

if TYPE_CHECKING:
    from app.harness.active_run import ActiveRun
    from app.harness.compaction.compactor import CompactionServices
    from app.harness.compaction.requests import CompactionRequests
    from app.harness.consent import Consents
    from app.harness.delegation.delegations import Delegations
    from app.harness.interactions.given import GivenConsent, WaitingCall
    from app.harness.interactions.live import LiveQuestions
    from app.harness.permissions import PermissionRules
    from app.harness.todo_lists import SessionTodos
    from app.harness.tool_calls import StepCalls


class Remind(Protocol):
    """Gives the reminder of open tasks, None when there are none; `has_tool`: the agent can change them."""

    async def __call__(self, *, has_tool: bool) -> str | None: ...


async def at_once() -> None:
    """Wait for nothing."""


@dataclass(slots=True)
class RunContext:
    """One run. Times are milliseconds unless `time.monotonic` seconds are named.

    `span` is the agent's while it runs, and before that the one that the run is started under. A
    child's run has a `parent`, and the id of its parent's tool call; `children` are the runs that it
    waits for, by id, and `used_below` what all below it have used. `ending` is the reason for which
    it ends before its next step. `prepare` makes `system` ready, once, before the first step. `remind`
    gives the reminder of open tasks, and `reminder` is that of the present step.
    `waiting_calls` are those of an earlier run that it goes on with, `consents_given` what a person has
    answered for them, by call id, and `step_calls` the calls that are under way."""

    session_id: str
    project_id: str
    project_root: Path
    run_id: str
    agent_path: str
    actor: str
    project: CompiledProject
    agent: CompiledAgent
    stream: SessionStream
    history: History
    estimate: ConversationEstimate
    route: Route
    limits: Limits
    system: Callable[[], tuple[SystemBlock, ...]]
    tools: tuple[ToolSpec, ...]
    allowed_tools: frozenset[str]
    scratch_dir: Path
    redactor: Redactor
    permissions: PermissionRules
    consents: Consents
    questions: LiveQuestions
    todos: SessionTodos
    own_tools: OwnTools = field(default_factory=dict)
    prepare: Callable[[RunContext], Awaitable[None]] | None = None
    remind: Remind | None = None
    reminder: str | None = None
    manifest_rules: tuple[PermissionRule, ...] = ()
    cage: Mapping[str, Any] | None = None
    headless: bool = False
    on_overflow: Literal["abort", "truncate"] = "abort"
    step: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    request_digest: str | None = None
    context_tokens: int = 0
    context_window: int | None = None
    phase: Literal["model", "tools"] = "model"
    stopping: Literal["", "pause", "cancel"] = ""
    started: float = field(default_factory=time.monotonic)
    prompt_edits: Mapping[str, Prompt] = field(default_factory=dict)
    surroundings: tuple[SystemBlock, ...] = ()
    files_noted: Callable[[], Awaitable[None]] = at_once
    checkpoints: CheckpointRequests = field(default_factory=CheckpointRequests)
    warned: set[str] = field(default_factory=set)
    span: Span = NO_SPAN
    metrics: Metrics = field(default_factory=Metrics)
    parent: RunContext | None = None
    parent_call_id: str | None = None
    delegations: Delegations | None = None
    compaction: CompactionServices | None = None
    compaction_requests: CompactionRequests | None = None
    children: dict[str, ActiveRun] = field(default_factory=dict)
    used_below: Usage = field(default_factory=Usage)
    cost_below_usd: float | None = None
    compactor_cost: Cost | None = None
    ending: str | None = None
    waiting_calls: tuple[WaitingCall, ...] = ()
    consents_given: dict[str, tuple[GivenConsent, ...]] = field(default_factory=dict)
    step_calls: StepCalls | None = None
    _audit: list[dict[str, Any]] = field(default_factory=list)
    _blobs: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    _kept: set[str] = field(default_factory=set)
    _writes: list[asyncio.Future[Any]] = field(default_factory=list)
    _system_seen: tuple[tuple[SystemBlock, ...], str] | None = None

    @property
    def provider_name(self) -> str:
        return self.route.candidates[0].provider

    def emit(self, event: EventPayload) -> None:
        """Publish a transient event of the run."""
        self.stream.emit(
            event,
            run_id=self.run_id,
            agent_path=self.agent_path,
            parent_tool_call_id=self.parent_call_id,
        )

    async def rules(self) -> tuple[PermissionRule, ...]:
        """Return the permission rules that hold for the run's next call."""
        return self.manifest_rules + await self.permissions.applying_to(self.project_id, self.session_id)

    def audit(self, event: str, data: dict[str, Any]) -> None:
        """Note an audit event; it is stored with the run's next write.

        What the row's own columns say is not said again in its data."""
        own = {"session_id": self.session_id, "run_id": self.run_id, "caller": self.agent_path}
        told = {k: v for k, v in data.items() if k not in own or own[k] != v}
        request_id = told.pop("request_id", None)
        self._audit.append(
            {
                "created_at": now_ms(),
                "event": event,
                "actor": self.actor,
                "project_id": self.project_id,
                "session_id": self.session_id,
                "run_id": self.run_id or None,
                "agent_path": self.agent_path,
                "request_id": None if request_id == self.run_id else request_id,
                "data": self.redactor.data(told),
            }
        )

    @property
    def sent_system(self) -> str | None:
        """The digest of the system prompt that was sent last; None before anything was."""
        return None if self._system_seen is None else self._system_seen[1]

    def keep_blob(self, digest: str, media_type: str, content: bytes) -> None:
        """Store `content` once, with the run's next write."""
        if digest not in self._kept:
            self._kept.add(digest)
            self._blobs[digest] = (media_type, content)

    def system_digest(self, system: tuple[SystemBlock, ...]) -> str:
        """Return the digest of the system blocks, computed once for each distinct tuple."""
        if self._system_seen is None or self._system_seen[0] is not system:
            content = orjson.dumps([block.model_dump() for block in system])
            digest = xxhash.xxh3_128_hexdigest(content)
            self.keep_blob(digest, "application/json", content)
            self._system_seen = (system, digest)
        return self._system_seen[1]

    def record(
        self,
        *events: EventPayload,
        work: Callable[[UnitOfWork], object] | None = None,
        durable: bool = False,
    ) -> asyncio.Future[None]:
        """Store events, the buffered audit rows and what `work` stores in one unit."""
        drained = self.drain()

        def unit(uow: UnitOfWork) -> None:
            if work is not None:
                work(uow)
            drained(uow)

        future = self.stream.record(
            events,
            unit,
            run_id=self.run_id or None,
            agent_path=self.agent_path,
            parent_tool_call_id=self.parent_call_id,
            durable=durable,
        )
        self._writes.append(future)
        return future

    def drain(self) -> Callable[[UnitOfWork], None]:
        """Empty the buffers into a piece of work that stores what was in them."""
        audit, self._audit = self._audit, []
        blobs, self._blobs = self._blobs, {}

        def store(uow: UnitOfWork) -> None:
            for digest, (media_type, content) in blobs.items():
                uow.blobs.put(digest, media_type, content)
            uow.audit.append(audit)

        return store

    async def settle(self) -> None:
        """Wait until all that was recorded so far is committed; raise what failed."""
        writes, self._writes = self._writes, []
        for write in writes:
            await asyncio.shield(write)

    def spend(self, usage: Usage, cost: Cost | None) -> None:
        """Add one model call to the run's totals, and to what those above have used below them."""
        self.usage = self.usage + usage
        if cost is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost.total
        above = self.parent
        while above is not None:
            above.used_below = above.used_below + usage
            if cost is not None:
                above.cost_below_usd = (above.cost_below_usd or 0.0) + cost.total
            above = above.parent

    def spend_on_compaction(self, usage: Usage, cost: Cost | None) -> None:
        """Count a compactor's model call against the limits; it is not the run's own use.

        `compactor_cost` is what the next step's stats tell."""
        if cost is not None:
            self.compactor_cost = cost if self.compactor_cost is None else self.compactor_cost + cost
        for run in self.lineage():
            run.used_below = run.used_below + usage
            if cost is not None:
                run.cost_below_usd = (run.cost_below_usd or 0.0) + cost.total

    def lineage(self) -> Iterator[RunContext]:
        """Yield this run and those above it, the root's last."""
        run: RunContext | None = self
        while run is not None:
            yield run
            run = run.parent

    def spent(self) -> Spent:
        """Return what counts against the run's limits: its own use and that of all below it."""
        costs = [cost for cost in (self.cost_usd, self.cost_below_usd) if cost is not None]
        return Spent(
            steps=self.step,
            usage=self.usage + self.used_below,
            cost_usd=sum(costs) if costs else None,
            seconds=time.monotonic() - self.started,
        )
