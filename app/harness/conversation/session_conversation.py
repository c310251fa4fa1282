"""The conversation of a session's root agent, read from the storage when it is needed.

Owns: when it is read, and that a position is given out once. Never: what it holds (`history`).
"""

from __future__ import annotations

from app.harness.conversation.estimate import ConversationEstimate
from app.harness.conversation.history import History
from app.harness.conversation.message_rows import Positions
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork


class SessionConversation:
    """`estimate` belongs to the history that was loaded last."""

    def __init__(self, storage: Storage, session_id: str) -> None:
        self.estimate = ConversationEstimate()
        self._storage = storage
        self._session_id = session_id
        self._history: History | None = None
        self._positions: Positions | None = None

    async def load(self) -> History:
        """Return the conversation; only the first call reads it. It is read and counted off the loop."""
        if self._history is None:
            history = await self._storage.read(self._read)
            self._history, self.estimate = history, ConversationEstimate()
            self._positions = self._positions or history.positions
            history.positions = self._positions
        return self._history

    def forget(self) -> None:
        """Read the conversation again when it is next needed; positions are never given out twice."""
        self._history, self.estimate = None, ConversationEstimate()

    def _read(self, uow: UnitOfWork) -> History:
        last = uow.messages.last_position(self._session_id)
        history = History(
            uow.messages.history(self._session_id, "primary"),
            positions=Positions(last + 1),
            whole=not uow.messages.has_superseded(self._session_id),
            waiting=[call.call_id for call in uow.tool_calls.waiting(self._session_id)],
        )
        history.tokens()
        return history
