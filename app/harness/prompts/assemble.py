"""The system prompt of one agent, in its fixed order.

Owns: which parts there are and their order: the agent's own prompt, the project's instructions, what plugins
said at the session's start, the index of skills, the environment. The order and the texts stay the same
from turn to turn, so that provider caches hit. Never: reading files, or asking plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from app.harness.dsl.compiled import CompiledAgent
from app.harness.prompts.store import Prompt, PromptStore
from app.messages import SystemBlock

Part = Callable[[], tuple[SystemBlock, ...]]
"""Gives the blocks of one part: the same tuple until they have another text."""

NOTHING: tuple[SystemBlock, ...] = ()
NO_EDITS: Mapping[str, Prompt] = MappingProxyType({})


class SystemPrompt:
    """Gives the same tuple object until one of its parts changes.

    `edits` are the prompts, by agent path, that an operator has edited for the session: they win over
    the files. `injected` gives what plugins said, `instructions` and `skills` what the project adds."""

    def __init__(
        self,
        store: PromptStore,
        agent: CompiledAgent,
        injected: Part = tuple,
        *,
        edits: Mapping[str, Prompt] = NO_EDITS,
        instructions: Part = tuple,
        skills: Part = tuple,
        environment: tuple[SystemBlock, ...] = NOTHING,
    ) -> None:
        self._store = store
        self._agent_path = agent.path
        self._edits = edits
        self._parts: tuple[Part, ...] = (instructions, injected, skills, lambda: environment)
        self._made_of: tuple[object, ...] = ()
        self._blocks: tuple[SystemBlock, ...] = ()

    def blocks(self) -> tuple[SystemBlock, ...]:
        """Return the blocks with the present texts; called at a message boundary."""
        prompt = self._edits.get(self._agent_path) or self._store.get(self._agent_path)
        parts = tuple(part() for part in self._parts)
        made_of = (prompt.digest, *parts)
        if made_of != self._made_of:
            self._made_of = made_of
            own = SystemBlock(name="agent", text=prompt.text)
            self._blocks = (own, *(block for part in parts for block in part))
        return self._blocks
