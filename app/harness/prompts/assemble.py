"""The system prompt of one agent, in its fixed order.

Owns: which parts there are and their order: the agent's prompt, then what plugins said at the session's
start. The order and the texts stay the same from turn to turn, so that provider caches hit. Never: reading
files, or asking plugins.
"""

from __future__ import annotations

from collections.abc import Callable

from app.harness.dsl.compiled import CompiledAgent
from app.harness.prompts.store import PromptStore
from app.messages import SystemBlock


class SystemPrompt:
    """Gives the same tuple object until a prompt file changes. `injected` gives what plugins said."""

    def __init__(
        self,
        store: PromptStore,
        agent: CompiledAgent,
        injected: Callable[[], tuple[SystemBlock, ...]] = tuple,
    ) -> None:
        self._store = store
        self._agent = agent
        self._injected = injected
        self._injected_now: tuple[SystemBlock, ...] = ()
        self._blocks: tuple[SystemBlock, ...] = ()
        self._digest = ""

    def blocks(self) -> tuple[SystemBlock, ...]:
        """Return the blocks with the prompt's present text; called at a message boundary."""
        prompt, injected = self._store.get(self._agent.path), self._injected()
        if prompt.digest != self._digest or injected is not self._injected_now:
            self._digest, self._injected_now = prompt.digest, injected
            self._blocks = (SystemBlock(name="agent", text=prompt.text), *injected)
        return self._blocks
