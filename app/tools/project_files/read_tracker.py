"""Which agent has read which file, and what it read.

Owns: the digest at each agent's last read or write of a file, per session. Never: the files.
"""

from __future__ import annotations

import xxhash

from app.tools.contract.call import ToolCallContext

Digest = bytes


def digest_of(content: bytes) -> Digest:
    """Return the 16 bytes of XXH3-128 over `content`."""
    return xxhash.xxh3_128_digest(content)


class ReadTracker:
    """Kept for as long as a session lives; `forget` it when the session closes."""

    def __init__(self) -> None:
        self._sessions: dict[str, dict[tuple[str, str], Digest]] = {}

    def record(self, context: ToolCallContext, key: str, digest: Digest) -> None:
        """Remember that the caller knows the content `digest` of the file `key`."""
        self._sessions.setdefault(context.session_id, {})[(context.agent_path, key)] = digest

    def known(self, context: ToolCallContext, key: str) -> Digest | None:
        """Return the digest of what the caller last read or wrote there, or None."""
        return self._sessions.get(context.session_id, {}).get((context.agent_path, key))

    def follow(self, session_id: str, old: str, new: str | None, *, is_folder: bool) -> None:
        """A file, or a folder with all in it, is now called `new`, or is gone: what the session's
        agents know of it goes with it."""
        known = self._sessions.get(session_id, {})
        agents = {agent for agent, _ in known}
        moved = [(agent, old) for agent in agents if (agent, old) in known]
        if is_folder:
            moved = [one for one in known if one[1].startswith(f"{old}/")]
        digests = {one: known.pop(one) for one in moved}
        if new is not None:
            known |= {(agent, new + key[len(old) :]): digest for (agent, key), digest in digests.items()}

    def forget(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)
