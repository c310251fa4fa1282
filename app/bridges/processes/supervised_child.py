"""A child that is started at its first use and again after failures, until it is stopped or disabled.

Owns: the state, the reasons, the waits between starts, the task that supervises, its audit. Never: how a
child is started, watched and asked.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from app.bridges.processes import proc
from app.bridges.processes.audit import Record
from app.bridges.processes.child import ChildEnded
from app.bridges.processes.supervisor import Clock, FailureLimits, FailureWindow
from app.errors import Failure, ToolError
from app.states import PluginState, move

log = logging.getLogger("kaged.children")

MEGABYTE = 1024 * 1024


class Unavailable(Failure):
    """A child that cannot be used now; `reason` says why. `error` is the answer to its callers, when it is
    another one."""

    def __init__(self, reason: str, error: ToolError | None = None) -> None:
        super().__init__(reason)
        self.error = error


class Refused(Unavailable):
    """A child that gets no place to run, or is not what it is declared to be. A retry does not help."""


class NeedsOperator(Unavailable):
    """A child that an operator has to do something for. It has not failed, and is started again at its next
    use. `event` names this in the audit."""

    event: ClassVar[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLimits:
    """Times in seconds, sizes in bytes. `memory_bytes` is for the child and all that it started."""

    start_seconds: float = 30.0
    memory_bytes: int = 2048 * MEGABYTE
    restarts: FailureLimits = field(default_factory=FailureLimits)
    clock: Clock = field(default_factory=Clock)


class Ending(Protocol):
    """A connection to a child. `ended` tells whether nothing more can be asked over it."""

    @property
    def ended(self) -> bool: ...


ConnectionT = TypeVar("ConnectionT", bound=Ending)


class SupervisedChild(ABC, Generic[ConnectionT]):
    """One child of one project. A subclass says how it runs once (`_run`). Each audit event has `about`. Its
    name begins with `audited_as`."""

    noun: ClassVar[str]
    audited_as: ClassVar[str]

    def __init__(
        self, name: str, project_id: str, about: Mapping[str, Any], record: Record, limits: ChildLimits
    ) -> None:
        self.name = name
        self.project_id = project_id
        self.reason: str | None = None
        """Why it does not run, or has last failed."""
        self._about = about
        self._recorder = record
        self._bounds = limits
        self._over: Refused | NeedsOperator | None = None
        self._failures = FailureWindow(limits.restarts, now=limits.clock.now)
        self._state = PluginState.STOPPED
        self._changed = asyncio.Event()
        self._connection: ConnectionT | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopped_for: str | None = None

    @property
    def state(self) -> PluginState:
        return self._state

    @property
    def failures(self) -> int:
        """How often it has failed since it is known."""
        return self._failures.total

    @property
    def is_over(self) -> bool:
        """Whether it was stopped and nothing is left of it."""
        return self._stopped_for is not None and (self._task is None or self._task.done())

    async def connected(self) -> ConnectionT:
        """Return the present connection, begun if there is none. Waits for a start under way, with no
        deadline of its own. Raises Unavailable."""
        waited = False
        while True:
            if self._stopped_for is not None:
                raise Unavailable(f"it was stopped ({self._stopped_for})")
            match self._state:
                case PluginState.READY if self._connection is not None and not self._connection.ended:
                    return self._connection
                case PluginState.DISABLED:
                    reason = f"it is disabled: {self.reason}; enable it to try again"
                    raise Unavailable(reason, self._over.error if self._over is not None else None)
                case PluginState.RESTARTING:
                    raise Unavailable(self._while_restarting(waited))
                case PluginState.STOPPED if waited and isinstance(self._over, NeedsOperator):
                    raise Unavailable(str(self.reason))
                case PluginState.STOPPED:
                    self._begin()
            waited = True
            await self._changed.wait()

    async def failure(self) -> str:
        """Return why the connection that has just broken did so; waits until that is known."""
        while self._state is PluginState.READY and self._stopped_for is None:
            await self._changed.wait()
        return self.reason or "the connection was closed"

    def enable(self) -> bool:
        """Have a disabled child started again at its next use, its failures forgiven. Tell whether it was
        disabled."""
        if self._state is not PluginState.DISABLED or self._stopped_for is not None:
            return False
        self._failures.forgive()
        self.reason = self._over = None
        self._become(PluginState.STOPPED)
        self._record("enabled", {})
        return True

    def begin_stop(self, reason: str) -> None:
        """Begin to stop it for good; `stopped` waits for the end."""
        if self._stopped_for is not None:
            return
        self._stopped_for = reason
        self._ring()
        if self._task is not None:
            self._task.cancel()

    async def stopped(self) -> None:
        if self._task is not None:
            await asyncio.wait({self._task})

    # -- for subclasses ---------------------------------------------------------------------

    @abstractmethod
    async def _run(self) -> ChildEnded | Refused | NeedsOperator:
        """Start the child, lend its connection (`_lending`), and return why it is over. Nothing is left of it
        then, also when this is cancelled."""

    def _while_restarting(self, waited: bool) -> str:
        """Return the error text between a failure and the next start. `waited`: the caller has waited since
        before the failure."""
        return f"it has failed and is started again soon: {self.reason}"

    @contextmanager
    def _lending(self, connection: ConnectionT, **about: Any) -> Iterator[None]:
        """Lend an open connection to callers. `about` is for the audit."""
        self._connection = connection
        try:
            self._failures.started()
            self._become(PluginState.READY)
            self._record("started", about)
            yield
        finally:
            self._connection = None
            self._ring()

    async def _outgrown(self, pid: int) -> str | None:
        """Return why a process, with all that it started, uses too much memory; None if it does not."""
        memory, allowed = await asyncio.to_thread(proc.memory_of_tree, pid), self._bounds.memory_bytes
        if memory <= allowed:
            return None
        return f"it used {memory // MEGABYTE} MB of memory, {allowed // MEGABYTE} MB are allowed"

    # -- inside -----------------------------------------------------------------------------

    def _begin(self) -> None:
        self._over = None
        self._become(PluginState.STARTING)
        self._task = asyncio.create_task(self._supervise(), name=f"supervise {self.noun} {self.name}")

    async def _supervise(self) -> None:
        """Run the child over and over, until it is stopped or disabled."""
        try:
            while True:
                failure = await self._run()
                if self._stopped_for is not None:  # what broke at the stop stands for the cancellation
                    return
                if not self._may_restart(failure):
                    return
                self._become(PluginState.RESTARTING)
                await self._bounds.clock.sleep(self._failures.wait_seconds)
                self._become(PluginState.STARTING)
        except asyncio.CancelledError:
            if self._stopped_for is None:
                raise
        except Exception:
            # Without this the next call would begin it again, and again.
            log.exception("the %s %s could not be supervised", self.noun, self.name)
            self._disable("an error of the daemon, which its log has")
        finally:
            if self._stopped_for is not None and self._state is PluginState.READY:
                self._record("stopped", {"reason": self._stopped_for})
            if self._state not in (PluginState.DISABLED, PluginState.STOPPED):
                self._become(PluginState.STOPPED)

    def _may_restart(self, failure: ChildEnded | Refused | NeedsOperator) -> bool:
        """Account for a failure, and disable the child when it was the last that is allowed."""
        if isinstance(failure, Refused):
            self._over = failure
            self._disable(f"it was refused: {failure.reason}")
            return False
        if isinstance(failure, NeedsOperator):
            self._over, self.reason = failure, failure.reason
            self._record(failure.event, {})
            return False
        self._failures.failed()
        self.reason = failure.reason
        data = {"reason": failure.reason, "exit_code": failure.exit_code, "failures": self.failures}
        self._record("failed", data)
        if self._failures.exhausted:
            limits = self._bounds.restarts
            often = f"{limits.failures} failures in {limits.window_seconds / 60:g} minutes"
            self._disable(f"{often}, the last: {failure.reason}")
            return False
        return True

    def _disable(self, reason: str) -> None:
        self.reason = reason
        self._become(PluginState.DISABLED)
        self._record("disabled", {"reason": reason})

    def _record(self, event: str, data: dict[str, Any]) -> None:
        self._recorder(f"{self.audited_as}.{event}", self.project_id, {**self._about, **data})

    def _become(self, state: PluginState) -> None:
        self._state = move(self._state, state)
        self._ring()

    def _ring(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
