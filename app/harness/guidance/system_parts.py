"""The parts of one agent's system prompt that come from instruction files and skills.

Owns: which files an agent may have, the bound of their tokens, their form. Pure. Never: finding or reading
them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.harness.conversation.estimate import estimate_text
from app.harness.dsl.compiled import CompiledAgent
from app.harness.guidance.guidance import MAX_TOKENS, FileNote, Guidance, InstructionFile, Skill
from app.harness.guidance.skill_folders import SKILL_FILE
from app.messages import SystemBlock
from app.tools.authorisation.cage_policy import CagePolicy
from app.tools.contract.ports import SKILL_TOOL
from app.tools.search.glob_pattern import parse_glob

LEAST_TOKENS = 50
"""A file of which no more than this would be left is left out."""
_MARK = re.compile(r"<(?=\s*+/?\s*+instructions\b)", re.IGNORECASE)
_HEAD = (
    "Instruction files of this project and of its user follow. Where they disagree, the later one applies; "
    "what the user asks for in the conversation comes before all of them."
)
_SKILLS = (
    "Skills are instructions for particular tasks. Before you begin a task that a description matches, load "
    "the skill with the tool `skill` and follow it."
)


@dataclass(frozen=True, slots=True)
class Shown:
    """What one agent is sent: blocks in order, and what people should know about them."""

    instructions: tuple[SystemBlock, ...] = ()
    skills: tuple[SystemBlock, ...] = ()
    warnings: tuple[FileNote, ...] = ()


class Reach:
    """What one agent may be told. `cage` is None without one. What lies in the project must be readable by
    the cage, and must not be withheld by content gates. What lies above the project is for agents without a
    cage. What is the user's own, and lies outside of the project, is for all agents."""

    def __init__(self, agent: CompiledAgent, cage: Mapping[str, Any] | None, root: Path) -> None:
        self._caged = cage is not None
        self._policy = None if cage is None else CagePolicy(cage, root)
        self._gates = [parse_glob(glob).compiled() for glob in agent.content_gates]

    def allows(self, parts: tuple[str, ...]) -> bool:
        """Tell whether the agent may be told what is in a file, by its real path below the project's root."""
        if self._policy is not None and self._policy.lack(parts, "ro") is not None:
            return False
        names = ["/".join(parts[: end + 1]) for end in range(len(parts))]
        return not any(gate.fullmatch(name) for gate in self._gates for name in names)

    def allows_file(self, file: InstructionFile) -> bool:
        if file.parts is not None:
            return self.allows(file.parts)
        return file.scope == "user" or not self._caged

    def allows_skill(self, skill: Skill) -> bool:
        if skill.parts is not None:
            return self.allows((*skill.parts, SKILL_FILE))
        return skill.scope == "user" or not self._caged


def shown_to(guidance: Guidance, agent: CompiledAgent, reach: Reach) -> Shown:
    """Return what an agent is sent of everything that was found."""
    instructions, cut = instruction_blocks([one for one in guidance.instructions if reach.allows_file(one)])
    skills, short = skill_blocks(skills_of(guidance, agent, reach))
    return Shown(instructions, skills, (*cut, *short))


def skills_of(guidance: Guidance, agent: CompiledAgent, reach: Reach) -> list[Skill]:
    """Return the skills that an agent can load; none without the tool."""
    return [one for one in guidance.skills if reach.allows_skill(one)] if has_skills(agent) else []


def has_skills(agent: CompiledAgent) -> bool:
    """Tell whether an agent has the tool that loads skills."""
    tool = agent.tools.get(SKILL_TOOL)
    return tool is not None and tool.enabled


def instruction_blocks(
    files: Sequence[InstructionFile], most: int = MAX_TOKENS
) -> tuple[tuple[SystemBlock, ...], list[FileNote]]:
    """Return a block for each file, the nearest last. Equal ones are there once. Of those that are too long
    together the farthest are cut or left out."""
    once = {file.digest: file for file in reversed(files)}
    kept: list[SystemBlock] = []
    warnings: list[FileNote] = []
    room = most - estimate_text(_HEAD)
    for file in reversed([file for file in files if once.get(file.digest) is file]):
        text = framed(file.origin, file.text)
        tokens = estimate_text(text)
        if tokens > room:
            inside = room - estimate_text(framed(file.origin, "", cut=True))
            left = "left out" if inside < LEAST_TOKENS else "cut"
            reason = f"it is {left}: instruction files have at most {most:,} tokens together"
            warnings.append(FileNote(file=file.origin, reason=f"{reason}, and it has about {tokens:,}"))
            if inside < LEAST_TOKENS:
                continue
            text = framed(file.origin, cut_to(file.text, inside), cut=True)
            tokens = estimate_text(text)
        room -= tokens
        kept.append(SystemBlock(name=f"instructions:{file.origin}", text=text))
    kept.reverse()
    if kept:
        kept[0] = kept[0].model_copy(update={"text": f"{_HEAD}\n\n{kept[0].text}"})
    return tuple(kept), warnings


def framed(origin: str, text: str, *, cut: bool = False) -> str:
    """Return a text between marks with its origin, which nothing in it can end."""
    name = origin.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    end = "\n[The rest of this file is left out.]" if cut else ""
    return f'<instructions file="{name}">\n{_MARK.sub("&lt;", text)}{end}\n</instructions>'


def cut_to(text: str, tokens: int) -> str:
    """Return the beginning of a text, whole lines where possible, with at most so many tokens."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_text(text[:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    head = text[:low]
    line = head.rfind("\n")
    return head[:line] if line > low // 2 and low < len(text) else head


def skill_blocks(
    skills: Sequence[Skill], most: int = MAX_TOKENS
) -> tuple[tuple[SystemBlock, ...], list[FileNote]]:
    """Return the block that lists the skills, none without any. Past `most` tokens they are listed by name
    alone."""
    if not skills:
        return (), []
    lines = [_SKILLS, "<skills>"]
    room = most - estimate_text("\n".join(lines))
    short: list[str] = []
    for skill in skills:
        line = f"- {skill.name}: {_plain(skill.description)} ({skill.origin})"
        tokens = estimate_text(line) + 1
        if tokens > room:
            line = f"- {skill.name} ({skill.origin})"
            short.append(skill.name)
            tokens = estimate_text(line) + 1
        room -= tokens
        lines.append(line)
    warnings = []
    if short:
        reason = (
            f"the list of skills has at most {most:,} tokens: {len(short)} skills have no description in it"
        )
        warnings.append(FileNote(file=", ".join(short[:10]), reason=reason))
    return (SystemBlock(name="skills", text="\n".join([*lines, "</skills>"])),), warnings


def _plain(text: str) -> str:
    return re.sub(r"<(?=\s*+/?\s*+skills\b)", "&lt;", text, flags=re.IGNORECASE)
