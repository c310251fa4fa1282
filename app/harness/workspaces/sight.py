"""What the agents of a workspace may find of what is not committed.

Owns: which names of a repository or a project these are, by the cage of an agent. Never: taking or copying
them, or the cage in which the agent works.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from app.cages.file_grants import FileGrants, Parts
from app.harness.dsl.compiled import CompiledAgent


@dataclass(frozen=True, slots=True)
class Sight:
    """`beyond`: also what lies outside of the project, in its repository."""

    grants: FileGrants
    beyond: bool

    @classmethod
    def of(cls, agent: CompiledAgent, root: Path, *, beyond: bool) -> Sight | None:
        """Return that of an agent of the project at `root`; None for one without a cage, which sees all."""
        if agent.cage == "disabled":
            return None
        return cls(FileGrants.of([one.model_dump() for one in agent.cage.fs], root), beyond)

    def reads(self, parts: Parts) -> bool:
        """Tell whether the agent may read a file of the project."""
        return self.grants.mode(parts) not in {None, "deny"}

    def enters(self, parts: Parts) -> bool:
        """Tell whether it may read a folder of the project, or something below it."""
        return self.reads(parts) or self.grants.reaches_below(parts)

    def in_repository(self, prefix: str) -> Callable[[bytes], bool]:
        """Return what tells whether a name of a repository is to be found, with the project at `prefix`."""
        above = PurePosixPath(prefix).parts

        def shows(name: bytes) -> bool:
            parts = tuple(os.fsdecode(name).rstrip("/").split("/"))
            if parts[: len(above)] != above:
                return self.beyond
            return self.reads(parts[len(above) :])

        return shows
