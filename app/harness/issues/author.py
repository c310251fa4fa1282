"""The author of a change to an issue, checklist or workflow run, as histories and the audit trail name it.

Owns: the names. Never: what somebody may do (`api.access_rules`, `tools.dispatch.registry`).
"""

from __future__ import annotations

from dataclasses import dataclass

from app.tools.contract.call import ToolCallContext

_PREFIXES = ("operator:", "guest:", "agent:")
ROOT_AGENT_NAME = "agent:primary"


@dataclass(frozen=True, slots=True)
class Author:
    """`name` is `operator:<id>`, `guest:<id>`, `agent:primary` or `daemon`. The rest says where an
    agent's change comes from, for the audit trail."""

    name: str
    session_id: str | None = None
    run_id: str | None = None
    agent_path: str | None = None
    request_id: str | None = None

    @property
    def is_agent(self) -> bool:
        return self.name.startswith("agent:")

    @property
    def actor(self) -> str:
        """Return the name as sessions and runs have it: of an operator the id alone."""
        return self.name.removeprefix("operator:")

    @classmethod
    def of_operator(cls, actor: str, request_id: str | None = None) -> Author:
        """Return the author of what comes over REST; an actor that says what it is keeps its name."""
        name = actor if actor.startswith(_PREFIXES) else f"operator:{actor}"
        return cls(name, request_id=request_id)

    @classmethod
    def of_call(cls, context: ToolCallContext) -> Author:
        """Return the author of what a tool call of the root agent does."""
        return cls(
            ROOT_AGENT_NAME,
            session_id=context.session_id,
            run_id=context.run_id,
            agent_path=context.agent_path,
            request_id=context.request_id,
        )


DAEMON = Author("daemon")
"""Changes that follow from others, such as the start of a run for an issue."""
