"""Compactions that an operator is asked about: whether one waits, and when to ask again.

Owns: what is known of an agent's proposals, read once for a run. Never: pausing the session (the loop's
outcome says that it must), or what the operator answers (`decisions`).
"""

from __future__ import annotations

from app.harness.run_context import RunContext
from app.ids import now_ms
from app.storage.models import Compaction
from app.storage.storage import Storage

ASK_AGAIN_AT = 1.10
"""After a rejection an operator is asked again once the context has grown by a tenth."""


class Proposals:
    """The proposals of one run's agent."""

    def __init__(self, run: RunContext, storage: Storage) -> None:
        self._run = run
        self._storage = storage
        self._read = False
        self._rejected_at = 0

    @property
    def can_ask(self) -> bool:
        """False for a subagent, which cannot wait alone, and where nobody is there to answer."""
        return self._run.parent is None and not self._run.headless

    async def waiting(self) -> bool:
        """Tell, at the first boundary of a run, whether an earlier proposal still waits.

        One whose messages are not all visible any more is out of date and rejected."""
        if self._read:
            return False
        self._read = True
        run = self._run
        newest = await self._storage.read(lambda uow: uow.compactions.newest(run.session_id, run.agent_path))
        if newest is None:
            return False
        if newest.state == "rejected":
            self._rejected_at = newest.threshold_estimate
        if newest.state != "proposed":
            return False
        visible = {row_id for entry in run.history.entries for row_id in entry.row_ids}
        if visible.issuperset(newest.superseded_message_ids):
            return True
        await self._outdated(newest)
        return False

    def may_ask(self, total: int) -> bool:
        """Tell whether a context of `total` tokens is worth asking, after a rejection."""
        return total >= self._rejected_at * ASK_AGAIN_AT

    async def _outdated(self, proposal: Compaction) -> None:
        details = {**proposal.details, "decided_by": "daemon", "decided_at": now_ms(), "decision": "outdated"}
        await self._storage.write(
            lambda uow: uow.compactions.update(proposal.id, state="rejected", details=details)
        )
