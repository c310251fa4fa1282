"""What runs need from the daemon, and what their tool calls ask of the session.

Owns: these bundles. Never: how a run is put together (`run_factory`), or session state.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from app.harness.compaction.ports import CompactionServices
from app.harness.dsl.compiled import CompiledAgent
from app.harness.guidance.session_guidance import GuidanceSources
from app.harness.hooks.plugin_hooks import PluginHooks
from app.harness.projects.projects import ProjectRegistry
from app.harness.providers.router import ProviderRouter
from app.harness.questions.queue import Questions
from app.harness.run.limits import Limits
from app.harness.run.processor import ProcessorPipeline
from app.harness.run.run_context import RunContext
from app.harness.run.task_ends import Spawn
from app.observability import Redactor, Span, Telemetry
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage
from app.tools.contract.ports import ChildAnswer, ChildTask
from app.tools.dispatch.service import ToolService

T = TypeVar("T")


class OnRunEnd(Protocol):
    """Ends what tools keep only for a run."""

    async def __call__(self, session_id: str, agent_path: str, run_id: str, *, last: bool = True) -> None:
        """`last`: the agent has no other run at this moment."""


class Asking(Protocol):
    """One tool call; `asks` is true while it waits for a person."""

    asks: bool


class Waits(Protocol):
    """The place of a session while its calls wait for people."""

    async def answer(
        self, run: RunContext, call: Asking, asking: Awaitable[T], goes_on: Callable[[T], bool]
    ) -> T: ...

    async def place(self, run: RunContext) -> bool: ...

    def look(self) -> None: ...

    def stopped(self) -> None: ...


class Delegates(Protocol):
    """Runs the children of agents."""

    async def delegate(
        self, parent: RunContext, calls: CallServices, call_id: str, task: ChildTask, span: Span
    ) -> ChildAnswer: ...


@dataclass(frozen=True, slots=True)
class CallServices:
    """The targets of the requests of tool calls; the same for all runs of one session."""

    questions: Questions
    waits: Waits
    delegations: Delegates
    storage: Storage


@dataclass(frozen=True, slots=True)
class RunServices:
    """What every run is given; one instance for all sessions."""

    storage: Storage
    projects: ProjectRegistry
    router: ProviderRouter
    pipeline: ProcessorPipeline
    tools: ToolService
    limits: Limits
    scratch_root: Path
    redactor: Redactor
    questions: Questions
    spawn: Spawn
    on_run_end: OnRunEnd
    compaction: CompactionServices
    hooks: PluginHooks
    telemetry: Telemetry
    sources: GuidanceSources


def model_of(row: SessionRow, agent: CompiledAgent) -> str:
    """Return the session's own model, else the agent's."""
    return str(row.overrides.get("model") or agent.model)
