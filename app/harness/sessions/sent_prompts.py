"""The system prompts that the agents of a session were really sent.

Owns: finding them by the digests on stored answers. Never: the prompts of the next call (`prompts`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import orjson

from app.messages import SystemBlock
from app.storage.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """The system prompt of an agent's last answer. `blocks` are its parts in order; none when they are not
    kept any more."""

    agent_path: str
    digest: str
    message_id: str
    run_id: str | None
    created_at: int
    blocks: tuple[SystemBlock, ...]


def sent_prompts(
    uow: UnitOfWork, session_id: str, agent_paths: Iterable[str], position: int | None = None
) -> dict[str, SentPrompt]:
    """Return, by agent, what it was last sent (up to a position when given)."""
    found = {}
    for agent_path in agent_paths:
        row = uow.messages.last_answer(session_id, agent_path, position)
        digest = row.details.get("systemDigest") if row is not None else None
        if row is None or digest is None:
            continue
        blob = uow.blobs.get(digest)
        content = [] if blob is None else orjson.loads(blob.content)
        found[agent_path] = SentPrompt(
            agent_path,
            digest,
            row.id,
            row.run_id,
            row.created_at,
            tuple(SystemBlock.model_validate(block) for block in content),
        )
    return found
