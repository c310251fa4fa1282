"""What a model has asked for: that the run pauses when it has said what it has to say.

Owns: the one place of a tree of agents where that is noted. Never: ending a run (`loop`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckpointRequest:
    """Who asked for the checkpoint, and why, as the model puts it."""

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
