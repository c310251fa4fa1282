"""The system prompt of one agent, in its fixed order.

Owns: which parts there are and their order: the agent's prompt, then the environment. The order
and the texts stay the same from turn to turn, so that provider caches hit. Never: reading files.
"""

from __future__ import annotations

from app.harness.dsl.compiled import CompiledAgent
from app.harness.prompts.store import PromptStore
from app.messages import SystemBlock


class SystemPrompt:
    """Gives the same tuple object until a prompt file changes."""

    def __init__(self, store: PromptStore, agent: CompiledAgent) -> None:
        self._store = store
        self._agent = agent
        self._blocks: tuple[SystemBlock, ...] = ()
        self._digest = ""

    def blocks(self) -> tuple[SystemBlock, ...]:
        """Return the blocks with the prompt's present text; called at a message boundary."""
        prompt = self._store.get(self._agent.path)
        if prompt.digest != self._digest:
            self._digest = prompt.digest
            self._blocks = (SystemBlock(name="agent", text=prompt.text),)
        return self._blocks
