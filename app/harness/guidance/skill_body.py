"""Reads one skill when an agent loads it.

Owns: checking the folder at that time, the list of its files. Never: which skills an agent has. Blocks.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from app.errors import ToolError
from app.harness.guidance.front_matter import BadFrontMatter
from app.harness.guidance.guidance import Skill
from app.harness.guidance.places import Unusable
from app.harness.guidance.skill_folders import SKILL_FILE, read_skill, skill_tree
from app.tools.contract.ports import SkillContent
from app.workspace import Workspace

MAX_LISTED = 50
MAX_COUNTED = 1_000
MAX_DEPTH = 4

Allows = Callable[[tuple[str, ...]], bool]
"""Tells whether the caller may read a file, by its components below the skill's folder."""


def skill_content(skill: Skill, closed: tuple[Path, ...], allows: Allows) -> SkillContent:
    """Return the skill as it is now. Raises ToolError `skill_unreadable`."""
    tree = skill_tree(Path(skill.folder), closed)
    try:
        found = read_skill(tree)
    except (Unusable, BadFrontMatter) as problem:
        raise _unreadable(skill, str(problem)) from None
    if found is None:
        raise _unreadable(skill, "it is not there any more")
    files = _files(tree, allows)
    folder = skill.folder if skill.parts is None else "/".join(skill.parts) or "."
    return SkillContent(skill.name, found.body, folder, tuple(files[:MAX_LISTED]), len(files))


def _unreadable(skill: Skill, reason: str) -> ToolError:
    return ToolError(
        "skill_unreadable", f"The skill {skill.name!r} cannot be read ({skill.origin}): {reason}."
    )


def _files(tree: Workspace, allows: Allows) -> list[str]:
    """Return the files of the skill beside its `SKILL.md`, those of its own folder first."""
    found: list[str] = []
    folders: list[tuple[str, ...]] = [()]
    for parts in folders:
        for name, is_folder in _listed(tree, parts):
            below = (*parts, name)
            if is_folder and len(below) < MAX_DEPTH and not name.startswith("."):
                folders.append(below)
            elif not is_folder and below != (SKILL_FILE,) and allows(below):
                found.append("/".join(below))
        if len(found) >= MAX_COUNTED or len(folders) >= MAX_COUNTED:
            break
    return found[:MAX_COUNTED]


def _listed(tree: Workspace, parts: tuple[str, ...]) -> list[tuple[str, bool]]:
    try:
        with tree.open(f"./{'/'.join(parts)}") as opened:
            if not opened.is_directory:
                return []
            with os.scandir(opened.descriptor) as entries:
                return sorted(
                    (entry.name, entry.is_dir(follow_symlinks=False))
                    for _, entry in zip(range(MAX_COUNTED), entries, strict=False)
                    if entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
                )
    except (ToolError, OSError):
        return []
