"""Finds the instruction files and skills of a project at the start of a session.

Owns: putting instruction files and skills together. Never: keeping it (`hooks.session_start`). Blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.harness.guidance.guidance import Guidance
from app.harness.guidance.instruction_files import InstructionReader
from app.harness.guidance.places import Surroundings
from app.harness.guidance.skill_folders import SkillFinder

MAX_WARNINGS = 100


def find_guidance(around: Surroundings, paths: Sequence[str] = ()) -> Guidance:
    """Return instructions and skills; `paths` are the further folders of skills. What cannot be used is
    among the warnings."""
    reader, finder = InstructionReader(around), SkillFinder(around, paths)
    instructions, skills = reader.all(), finder.all()
    return Guidance(
        instructions=tuple(instructions),
        skills=tuple(skills),
        warnings=tuple((reader.warnings + finder.warnings)[:MAX_WARNINGS]),
    )
