"""How the hooks have ended since the daemon started: how often, and why the last one failed.

Owns: these counts, in memory. Never: deciding what a run means; events and audit rows are the full record.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace

from app.harness.dsl.spec_hooks import HookSpec
from app.harness.hooks.commands.answer import HookAnswer
from app.harness.hooks.commands.hook import CommandHook

MAX_KEPT = 4_096
"""Hooks whose outcomes are known; of more, those that ran last."""
_Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class HookFailure:
    """Why a hook failed, and when, in milliseconds."""

    at: int
    reason: str


@dataclass(frozen=True, slots=True)
class HookOutcomes:
    """The runs of one hook in sessions. `failed` tells how the newest one ended."""

    runs: int = 0
    failures: int = 0
    failed: bool = False
    last_run_at: int | None = None
    last_failure: HookFailure | None = None


NONE = HookOutcomes()


class OutcomeBook:
    """The newest outcome of each hook of the daemon. A changed hook has none until it runs."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, tuple[HookSpec, HookOutcomes]] = OrderedDict()

    def of(self, project_id: str, hook: CommandHook) -> HookOutcomes:
        """Return the outcomes of a hook in a project."""
        spec, outcomes = self._known.get(_key(project_id, hook), (None, NONE))
        return outcomes if spec == hook.spec else NONE

    def note(self, project_id: str, hook: CommandHook, answer: HookAnswer, at: int) -> None:
        """Count a run that has ended."""
        before = self.of(project_id, hook)
        failed = answer.decision == "failed"
        after = replace(before, runs=before.runs + 1, failed=failed, last_run_at=at)
        if failed:
            failure = HookFailure(at, answer.reason)
            after = replace(after, failures=before.failures + 1, last_failure=failure)
        key = _key(project_id, hook)
        self._known[key] = hook.spec, after
        self._known.move_to_end(key)
        while len(self._known) > MAX_KEPT:
            self._known.popitem(last=False)


def _key(project_id: str, hook: CommandHook) -> _Key:
    return project_id, hook.event, hook.source, hook.name
