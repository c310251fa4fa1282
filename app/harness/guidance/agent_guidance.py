"""The guidance of one agent in one run: parts of its system prompt, its skills, changed instruction files.

Owns: putting these together for an agent and its cage. Never: how they are found, or where they are placed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from app.errors import ToolError
from app.harness.conversation.history import History
from app.harness.dsl.compiled import CompiledAgent
from app.harness.guidance.guidance import NOTHING, Guidance, Skill
from app.harness.guidance.news import InstructionWatch, News, Parts
from app.harness.guidance.session_guidance import SessionGuidance
from app.harness.guidance.skill_body import skill_content
from app.harness.guidance.system_parts import Reach, Shown, shown_to, skills_of
from app.messages import SystemBlock
from app.tools.contract.ports import SkillContent

MAX_NEWS_TOKENS = 16_000
"""Tokens of all messages about instruction files in one conversation; further files are only named."""
LOOK_SECONDS = 1.0
DATE = "(date)"
"""The key of the date among the origins of files."""


class AgentGuidance:
    """One agent's in one run. Parts of the system prompt are empty before the session's start is ready, and
    the same objects from then on."""

    def __init__(
        self, session: SessionGuidance, agent: CompiledAgent, cage: Mapping[str, Any] | None, root: Path
    ) -> None:
        self.session = session
        self._agent = agent
        self._root = root
        self._reach = Reach(agent, cage, root)
        self._shown: Shown | None = None
        self._watch: InstructionWatch | None = None
        self._come_to: list[Parts] = []
        self._look_at = 0.0
        self._known: tuple[Guidance, list[Skill]] | None = None

    @property
    def shown(self) -> Shown:
        """What the agent is sent of what was found at the session's start."""
        if self._shown is not None:
            return self._shown
        if self.session.found is NOTHING:
            return _NONE
        self._shown = shown_to(self.session.found, self._agent, self._reach)
        return self._shown

    def instructions(self) -> tuple[SystemBlock, ...]:
        return self.shown.instructions

    def skill_list(self) -> tuple[SystemBlock, ...]:
        return self.shown.skills

    # -- skills -----------------------------------------------------------------------------

    def skill_folders(self) -> tuple[Path, ...]:
        """Return the folders of the agent's skills that lie outside the project."""
        folders = (Path(skill.folder) for skill in self._skills() if skill.parts is None)
        return tuple(one for one in folders if not self._root.is_relative_to(one))

    async def skill(self, name: str) -> SkillContent:
        """Read one of the agent's skills. Raises ToolError `skill_not_found` or `skill_unreadable`."""
        skills = {skill.name: skill for skill in self._skills()}
        skill = skills.get(name)
        if skill is None:
            known = ", ".join(list(skills)[:50]) or "none"
            raise ToolError("skill_not_found", f"There is no skill {name!r}. Skills: {known}.")
        around = self.session.around
        closed = () if around is None else around.closed

        def allows(below: Parts) -> bool:
            return skill.parts is None or self._reach.allows((*skill.parts, *below))

        return await asyncio.to_thread(skill_content, skill, closed, allows)

    def _skills(self) -> list[Skill]:
        found = self.session.found
        if self._known is None or self._known[0] is not found:
            self._known = found, skills_of(found, self._agent, self._reach)
        return self._known[1]

    # -- news -------------------------------------------------------------------------------

    def come_to(self, paths: Iterable[str], *, changes: bool) -> None:
        """Note paths, relative to the root, that the agent has used, and whether it may have changed some."""
        self._come_to += [tuple(path.split("/")) for path in paths if path and path != "."]
        if changes:
            self._look_at = 0.0

    async def news(self, history: History, today: date) -> News | None:
        """Return what the agent has not been told of yet, by its conversation; None for nothing. After calls
        that only read what it knows, files are looked at once in `LOOK_SECONDS`."""
        if self.session.around is None:
            return None
        if self._watch is None:
            self._watch = InstructionWatch(self.session.around, self._reach)
        comes_to_new = self._watch.come_to(self._come_to)
        self._come_to.clear()
        if not comes_to_new and time.monotonic() < self._look_at:
            return None
        told = {
            one.origin: one.digest for one in self.session.found.instructions if self._reach.allows_file(one)
        }
        day, room = self.session.day.isoformat(), MAX_NEWS_TOKENS
        for entry in history.entries:
            for origin, digest in entry.told.items():
                if origin == DATE:
                    day = digest
                else:
                    told[origin] = digest
            room -= entry.tokens if entry.told else 0
        self._look_at = time.monotonic() + LOOK_SECONDS
        found = await asyncio.to_thread(self._watch.look, told, max(room, 0))
        if day == today.isoformat():
            return found
        line = f"It is {today.isoformat()} by now."
        if found is None:
            return News(line, {DATE: today.isoformat()})
        return News(f"{line}\n\n{found.text}", {**found.files, DATE: today.isoformat()})


_NONE = Shown()
