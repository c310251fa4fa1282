"""The instruction files and skills of a session, as they were found.

Owns: these shapes and their form in the storage. Never: finding them, or which agent gets which.
"""

from __future__ import annotations

from typing import Literal

import xxhash

from app.messages import Frozen

Scope = Literal["user", "repository", "project"]
"""Whose a file is: the user's own, of the repository above the project, or of the project."""

INSTRUCTION_NAMES = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")
AGENT_FOLDERS = (".agents", ".claude", ".kaged")
MAX_TOKENS = 8_000
"""Tokens of all instruction files that one agent is sent at its start."""


class FileNote(Frozen):
    """What people should know about a file that cannot be used as it is, or not as a whole."""

    file: str
    reason: str


class InstructionFile(Frozen):
    """One file. `origin` is its path as people read it; `parts` is its real path below the project's root,
    None for one that lies elsewhere."""

    origin: str
    scope: Scope
    parts: tuple[str, ...] | None
    text: str

    @property
    def digest(self) -> str:
        return text_digest(self.text)


class Skill(Frozen):
    """One skill. `folder` is its real folder; `parts` is that below the project's root, None for one that
    lies elsewhere. `origin` is the path of its `SKILL.md` as people read it."""

    name: str
    description: str
    origin: str
    scope: Scope
    folder: str
    parts: tuple[str, ...] | None


class Guidance(Frozen):
    """Everything that was found, in the order in which it counts: of instructions the nearest last, of skills
    the first of a name."""

    instructions: tuple[InstructionFile, ...] = ()
    skills: tuple[Skill, ...] = ()
    warnings: tuple[FileNote, ...] = ()


NOTHING = Guidance()


def text_digest(text: str) -> str:
    """Return the digest by which the text of a file is known."""
    return xxhash.xxh3_64_hexdigest(text.encode("utf-8", "replace"))
