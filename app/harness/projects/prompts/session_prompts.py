"""The prompts that an operator has edited for one session.

Owns: which of them hold now, in memory as they are stored. An edit holds for its session only, from the
end of the pause in which it was made, and wins over its file until it is removed. Never: the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from app.harness.dsl.prompt_files import prompt_digest
from app.harness.projects.prompts.store import Prompt
from app.storage.models import PromptEdit
from app.storage.storage import Storage


class SessionPrompts:
    """`edited` is the same mapping for as long as the session is in memory, and always up to date."""

    def __init__(self, storage: Storage, session_id: str) -> None:
        self._storage = storage
        self._session_id = session_id
        self._edited: dict[str, Prompt] = {}
        self._loaded = False

    @property
    def edited(self) -> Mapping[str, Prompt]:
        """The edited prompts that hold, by agent path."""
        return MappingProxyType(self._edited)

    async def load(self) -> None:
        """Read what is stored, once."""
        if not self._loaded:
            await self.reload()

    async def reload(self) -> None:
        """Read again what is stored, after it has changed."""
        rows = await self._storage.read(lambda uow: uow.prompt_edits.of_session(self._session_id))
        self._edited.clear()
        self._edited.update(holding(rows))
        self._loaded = True


def holding(edits: list[PromptEdit]) -> dict[str, Prompt]:
    """Return the edits that hold, by agent path; of several the last one. They come in order of time."""
    return {edit.target: as_prompt(edit) for edit in edits if edit.applied_at is not None}


def as_prompt(edit: PromptEdit) -> Prompt:
    return Prompt(edit.target, "", edit.new_content, prompt_digest(edit.new_content))
