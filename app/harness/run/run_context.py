"""One run of one agent, in five parts: `scope`, `plan`, `journal`, `meter` and `controls`.

Owns: how the run is stopped, and what it waits for. Never: decisions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from app.errors import ToolError
from app.harness.conversation.estimate import ConversationEstimate
from app.harness.conversation.history import History
from app.harness.guidance.agent_guidance import AgentGuidance
from app.harness.run.answers import GivenConsent
from app.harness.run.compaction_requests import CompactionRequests
from app.harness.run.journal import Journal
from app.harness.run.meter import Meter
from app.harness.run.plan import Plan
from app.harness.run.scope import Scope
from app.harness.run.todo_lists import SessionTodos
from app.messages import ToolResult
from app.storage.models import Message
from app.tools.contract.ports import CallWaits
from app.tools.contract.rules import PermissionRule


@dataclass(frozen=True, slots=True)
class CheckpointRequest:
    """A request for a checkpoint: its agent, and the reason in the words of the model."""

    agent_path: str
    reason: str | None


class CheckpointRequests:
    """Shared by the run of the root agent and those of all agents below it. The last request counts."""

    def __init__(self) -> None:
        self.made: CheckpointRequest | None = None

    def ask(self, agent_path: str, reason: str | None) -> None:
        self.made = CheckpointRequest(agent_path, reason)

    def stops_before_step(self, agent_path: str) -> bool:
        """Tell whether an agent must not go on because one below it has asked for a checkpoint.

        The agent that asked goes on until it has finished its answer."""
        return self.made is not None and self.made.agent_path.startswith(f"{agent_path}.")


Stop = Literal["pause", "cancel"]


class RunningChild(Protocol):
    """The run of a child that its parent's run waits for."""

    @property
    def context(self) -> RunContext: ...

    def stop(
        self,
        how: Stop,
        *,
        detail: str | None = None,
        by: str = "operator",
        grace: float = 0.0,
        reason: str = "operator",
    ) -> None: ...


class OpenStep(Protocol):
    """The tool calls of one model answer while they are under way."""

    def only_wait(self) -> bool: ...

    def waiting_call(self, call_id: str) -> int | None: ...

    def take_result(self, message_id: str, result: ToolResult) -> None: ...


@dataclass(slots=True)
class Controls:
    """How a run goes on or ends.

    `ending` is the reason for which it ends before its next step. `reminder` is that of the present step.
    With `calls_stay` it is paused: calls that wait for a person are left to the next run.
    `consents_given` are answers of people for calls that wait, by call id. `children` are the runs that it
    waits for, by id. `checkpoints` is shared by the run of the root agent and all runs below it. `prompts`
    are the messages of people that began it, until hooks have been shown them."""

    phase: Literal["model", "tools"] = "model"
    stopping: Stop | Literal[""] = ""
    calls_stay: bool = False
    ending: str | None = None
    reminder: str | None = None
    request_digest: str | None = None
    checkpoints: CheckpointRequests = field(default_factory=CheckpointRequests)
    compactions: CompactionRequests = field(default_factory=CompactionRequests)
    consents_given: dict[str, tuple[GivenConsent, ...]] = field(default_factory=dict)
    children: dict[str, RunningChild] = field(default_factory=dict)
    step_calls: OpenStep | None = None
    prompts: list[Message] = field(default_factory=list)

    @property
    def only_waits(self) -> bool:
        """True while nothing of the run goes on before a person answers, or a subagent's run ends."""
        return self.step_calls is not None and not self.stopping and self.step_calls.only_wait()

    def stopped_call(self) -> Exception:
        """Return what ends a call that has its answer when the run is stopped before it goes on."""
        if self.calls_stay:
            return CallWaits()
        return ToolError("cancelled", "The run was stopped before this call could go on; it was not run.")


@dataclass(slots=True)
class RunContext:
    """One run, with its conversation. A child's run has a `parent`. `guidance` is what its agent is told of
    instruction files and skills."""

    scope: Scope
    plan: Plan
    journal: Journal
    meter: Meter
    history: History
    estimate: ConversationEstimate
    todos: SessionTodos
    guidance: AgentGuidance
    controls: Controls = field(default_factory=Controls)
    parent: RunContext | None = None

    @property
    def provider_name(self) -> str:
        return self.plan.route.candidates[0].provider

    def below(self) -> Iterator[RunContext]:
        """Yield the runs that this one waits for, and those that they wait for."""
        for child in list(self.controls.children.values()):
            yield child.context
            yield from child.context.below()

    def lineage(self) -> Iterator[RunContext]:
        """Yield this run and those above it, the root's last."""
        run: RunContext | None = self
        while run is not None:
            yield run
            run = run.parent

    async def rules(self) -> tuple[PermissionRule, ...]:
        """Return the permission rules that hold for the run's next call."""
        scope, plan = self.scope, self.plan
        return plan.manifest_rules + await plan.permissions.applying_to(scope.project_id, scope.session_id)
