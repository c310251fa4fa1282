"""What may have a say in a delegation: before it starts, in what the child is shown, and when it ends.

Owns: the three protocols, their order, the built-in refusals. Never: running a child. A hook that breaks or
is too slow fails closed: it refuses the delegation, or lets no answer through.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from app.errors import ToolError
from app.harness.dsl.cage_scope import broader
from app.harness.dsl.compiled import CompiledAgent
from app.harness.dsl.spec import MAX_AGENT_DEPTH
from app.harness.loop.loop import LoopOutcome
from app.harness.run.limits import judge
from app.harness.run.run_context import RunContext
from app.ids import SUBAGENTS
from app.messages import ModelMessage
from app.tools.authorisation.cage_policy import CagePolicy
from app.tools.contract.ports import ChildPlace

log = logging.getLogger("kaged.delegation")

HOOK_SECONDS = 30.0
"""How long one hook may take; then it counts as broken."""
BROKEN_HOOK = "a check before it failed; the daemon's log says how"


@dataclass(frozen=True, slots=True)
class Delegation:
    """One call of a subagent. `prompt` is what the child is asked, made of `input`.

    `call_id` is the id of the parent's tool call."""

    parent: RunContext
    child: CompiledAgent
    call_id: str
    input: Mapping[str, Any]
    prompt: str
    background: bool = False
    workspace: ChildPlace = "shared"

    @property
    def path(self) -> str:
        """The child's place in the tree of agents."""
        return self.child.path

    @property
    def depth(self) -> int:
        """1 for the root agent, 2 for its children."""
        return self.child.path.count(SUBAGENTS) + 1


@dataclass(frozen=True, slots=True)
class StartVerdict:
    """What a hook says before a delegation: another prompt, or a refusal with its reason."""

    prompt: str | None = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class CompleteVerdict:
    """What a hook says after a delegation. `feedback` is read by the parent's model beside the answer;
    `stop_chain` ends the parent's run after this step."""

    feedback: str | None = None
    stop_chain: bool = False


class StartHook(Protocol):
    async def on_start(self, delegation: Delegation) -> StartVerdict | None:
        """Called before anything of the child exists. None means: go on."""


class CompleteHook(Protocol):
    async def on_complete(self, delegation: Delegation, outcome: LoopOutcome) -> CompleteVerdict | None:
        """Called once after the child's run has ended, however it ended by itself."""


class MessageFilter(Protocol):
    def keep(self, delegation: Delegation, messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
        """Return those of the parent's messages that the child may be shown, or parts of them."""


@dataclass(frozen=True, slots=True)
class DelegationHooks:
    """The hooks of a daemon, in the order in which they are asked; the built-in ones are first."""

    start: tuple[StartHook, ...] = ()
    complete: tuple[CompleteHook, ...] = ()
    filters: tuple[MessageFilter, ...] = ()

    async def on_start(self, delegation: Delegation) -> tuple[Delegation, str | None]:
        """Return the delegation as it is to start, and the reason of a refusal if there is one."""
        for hook in (*BUILT_IN, *self.start):
            try:
                async with asyncio.timeout(HOOK_SECONDS):
                    verdict = await hook.on_start(delegation)
            except Exception:  # a hook is somebody else's code
                log.exception("a hook before the delegation to %s failed", delegation.path)
                return delegation, BROKEN_HOOK
            if verdict is None:
                continue
            if verdict.refusal is not None:
                return delegation, verdict.refusal
            if verdict.prompt is not None:
                delegation = replace(delegation, prompt=verdict.prompt)
        return delegation, None

    async def on_complete(self, delegation: Delegation, outcome: LoopOutcome) -> tuple[list[str], bool]:
        """Return the feedback of all hooks, and whether one of them stops the chain."""
        feedback, stop = [], False
        for hook in self.complete:
            try:
                async with asyncio.timeout(HOOK_SECONDS):
                    verdict = await hook.on_complete(delegation, outcome)
            except Exception:  # a hook is somebody else's code
                log.exception("a hook after the delegation to %s failed", delegation.path)
                continue
            if verdict is not None:
                feedback += [verdict.feedback] if verdict.feedback else []
                stop = stop or verdict.stop_chain
        return feedback, stop

    def filtered(self, delegation: Delegation, messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
        """Return what all filters leave of the parent's messages; one that breaks leaves nothing."""
        for one in self.filters:
            try:
                messages = one.keep(delegation, messages)
            except Exception:  # what a broken filter would have kept back is not shown
                log.exception("a message filter of the delegation to %s failed", delegation.path)
                return ()
        return messages


class DepthLimit:
    """Refuses what the compiler refuses already; this holds also when it should not."""

    async def on_start(self, delegation: Delegation) -> StartVerdict | None:
        if delegation.depth > MAX_AGENT_DEPTH:
            return StartVerdict(refusal=f"agents are nested at most {MAX_AGENT_DEPTH} deep")
        return None


class CageReady:
    """Refuses a child whose cage cannot be had, or grants more than that of the run that calls it. The
    compiler narrows cages already; this holds also when it should not."""

    async def on_start(self, delegation: Delegation) -> StartVerdict | None:
        cage = delegation.child.cage
        wider = broader(cage, delegation.parent.scope.agent.cage)
        if wider:
            return StartVerdict(refusal=f"its cage grants more than its parent's: {'; '.join(wider)}")
        if cage == "disabled":
            return None
        try:
            CagePolicy(cage.model_dump(), delegation.parent.scope.project_root)
        except (ToolError, OSError, ValueError) as problem:
            return StartVerdict(refusal=f"its cage cannot be had: {problem}")
        return None


class BudgetLeft:
    """Refuses a child when there is nothing left of what its parent may use."""

    async def on_start(self, delegation: Delegation) -> StartVerdict | None:
        for run in delegation.parent.lineage():
            for verdict in judge(run.meter.limits, run.meter.spent()):
                if verdict.reached:
                    used = f"{verdict.used:g} of {verdict.limit:g} {verdict.unit}"
                    return StartVerdict(refusal=f"the budget of {run.scope.agent_path} is used up ({used})")
        return None


BUILT_IN: tuple[StartHook, ...] = (DepthLimit(), CageReady(), BudgetLeft())
