"""The Dockerfile as words.

Owns: reading its instructions, by stage. Never: what they should be.
"""

from __future__ import annotations

from tests.driver.daemon_process import REPOSITORY

Instruction = list[str]
DOCKERFILE = REPOSITORY / "docker" / "Dockerfile"


def instructions(stage: str | None = None) -> list[Instruction]:
    """Return the instructions as words: all of them, or those of one stage, `FROM` first."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.startswith("#")]
    found = [one.split() for one in "\n".join(lines).replace("\\\n", " ").splitlines() if one.strip()]
    return found if stage is None else stages()[stage]


def stages() -> dict[str, list[Instruction]]:
    found: dict[str, list[Instruction]] = {}
    for words in instructions():
        if words[0] == "FROM":
            found[words[-1]] = [words]
        elif found:
            found[list(found)[-1]].append(words)
    return found
