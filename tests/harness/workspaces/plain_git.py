"""git in one repository as the harness asks it, without a cage."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.ids import new_id
from app.tools.processes.git_commands import GitProblem
from tests.driver.workspaces import PLAIN


@dataclass(frozen=True)
class PlainGit:
    """In the place of a `GitFolder`."""

    git: Path

    async def run(
        self,
        arguments: Sequence[str],
        given: bytes = b"",
        *,
        index: Path | None = None,
        tree: Path | None = None,
        environment: Mapping[str, str] | None = None,
        **_: Any,
    ) -> bytes:
        places = {"GIT_DIR": str(self.git), "GIT_WORK_TREE": str(tree or self.git)}
        if index is not None:
            places["GIT_INDEX_FILE"] = str(index)
        return await asyncio.to_thread(
            self._run, arguments, given, tree or self.git, {**PLAIN, **places, **(environment or {})}
        )

    def _run(self, arguments: Sequence[str], given: bytes, cwd: Path, environment: dict[str, str]) -> bytes:
        done = subprocess.run(
            ["git", *arguments], cwd=cwd, input=given, capture_output=True, env={**os.environ, **environment}
        )
        if done.returncode:
            raise GitProblem(done.stderr.decode(), exit_code=done.returncode, output=done.stdout)
        return done.stdout

    def new_index(self) -> Path:
        return self.git / f"index-{new_id('wks')}"
