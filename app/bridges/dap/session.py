"""One debug session: a program, its adapter, and what is asked of them.

Owns: the state, what is legal in it, the end. Never: the wire, or what answers mean to a model.
"""

from __future__ import annotations

from typing import Any, Literal

from app.bridges.dap.adapter_entry import AdapterBehaviour
from app.bridges.dap.requests import Progress
from app.bridges.dap.stops import Stop
from app.states import DebugState

StepKind = Literal["in", "over", "out"]


class DebugSession:
    """Made by the manager. Ids of threads, frames and variables are those that the adapter uses, but for
    child sessions, where they are told apart by large offsets; give them back as they came."""

    id: str
    runtime: str
    script: str
    """The real path of the program; what was attached to, in words, when it was not launched."""
    adapter: str
    behaviour: AdapterBehaviour
    launched: bool
    capabilities: frozenset[str]
    """What can be asked for, by the names of the protocol (`supportsReadMemoryRequest`)."""
    stop: Stop
    """The last answer that told how the program stands."""
    current_thread: int | None
    ended_reason: str | None

    @property
    def state(self) -> DebugState:
        raise NotImplementedError

    def supports(self, action: str) -> bool:
        """Tell whether the adapter can do what an action of the tool needs."""
        raise NotImplementedError

    async def resume(
        self, thread_id: int | None = None, *, seconds: float, progress: Progress | None = None
    ) -> Stop:
        """Let the program go on and wait for its next stop or end, for `seconds` at most: then it runs on,
        and the status is `running`. A stop that nobody has been told of yet is returned at once. When the
        program has exited its exit is returned again. Raises ToolError `not_stopped` while it runs,
        `dap_session_ended`, `debug_request_failed`, `debug_timeout`."""
        raise NotImplementedError

    async def step(
        self,
        kind: StepKind,
        thread_id: int | None = None,
        *,
        seconds: float,
        progress: Progress | None = None,
    ) -> Stop:
        """As `resume`, for one step."""
        raise NotImplementedError

    async def pause(self, thread_id: int | None = None, *, seconds: float) -> Stop:
        """Stop the program. Raises as `resume` does, and `not_running` when it is stopped already."""
        raise NotImplementedError

    async def request(self, action: str, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Ask the adapter and return the body of its answer.

        `action` is that of the tool, which decides in which states this is legal. A request that the
        adapter does not offer is not sent: ToolError `action_not_supported`. Raises also `not_stopped`,
        `dap_session_ended`, `debug_request_failed` (with the adapter's words), `debug_timeout`.
        """
        raise NotImplementedError

    async def disconnect(self, *, terminate: bool | None = None) -> bool:
        """End the session and return whether the program is gone too. None: a program that was launched
        is, one that was attached to is not. Raises `action_not_supported` when an attached program shall
        be ended and the adapter cannot; never anything else."""
        raise NotImplementedError
